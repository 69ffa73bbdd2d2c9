package injector_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

const halfLine = "HTTP/1.1 "

// What a raw socket sees of each connection fault: on a fresh and on a used
// connection, without a body and with one that no handler had a use for.
func TestConnectionFaultsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name    string
		rule    fault.Rule
		seen    string
		end     string
		outcome trace.Outcome
	}{
		{"reset", rule(fault.ActionReset), halfLine, "RST", trace.OutcomeReset},
		{"stealthy reset", stealthy(rule(fault.ActionReset)), "", "RST", trace.OutcomeReset},
		{"close", rule(fault.ActionClose), halfLine, "FIN", trace.OutcomeFIN},
		{"stealthy close", stealthy(rule(fault.ActionClose)), "", "FIN", trace.OutcomeFIN},
	} {
		for _, body := range []int{0, 1, 1 << 20} {
			t.Run(fmt.Sprintf("%s/fresh/%d", c.name, body), func(t *testing.T) {
				d := start(t, injector.Config{}, c.rule)
				o := observe(t, d.Addr())
				o.say(request("POST", body))
				if seen, end := o.rest(); seen != c.seen || end != c.end {
					t.Errorf("%q and %s, want %q and %s", seen, end, c.seen, c.end)
				}
				checkSevered(t, d.only(t), c.outcome)
			})
			t.Run(fmt.Sprintf("%s/used/%d", c.name, body), func(t *testing.T) {
				second := c.rule
				second.Select = fault.Select{Kind: fault.SelectScript, Pattern: ".X"}
				d := start(t, injector.Config{}, second)
				o := observe(t, d.Addr())
				o.say(request("POST", body))
				if resp, err := http.ReadResponse(o.r, nil); err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("the healthy answer before: %v, %v", resp, err)
				}
				o.say(request("POST", body))
				if seen, end := o.rest(); seen != c.seen || end != c.end {
					t.Errorf("%q and %s, want %q and %s", seen, end, c.seen, c.end)
				}
				as := d.attempts(t)
				checkSevered(t, as[len(as)-1], c.outcome)
			})
		}
	}
}

func checkSevered(t *testing.T, a trace.Attempt, outcome trace.Outcome) {
	t.Helper()
	if a.Outcome != outcome || a.Status != 0 || a.Dep < a.Arr || a.Abandon != trace.None || a.Rule != "p/1" {
		t.Errorf("recorded %+v, want the outcome %s of rule p/1", a, outcome)
	}
}

// A Go client resends a GET whose reused connection died before the first byte
// of an answer: of 200 silent resets it sees none and the ratio is a fiction.
// The half line makes it see each of them, once.
func TestVisibleResetsAreSeenByAClientThatResends(t *testing.T) {
	const calls = 1000
	errs := func(r fault.Rule) (seen, arrived int) {
		d := start(t, injector.Config{}, ratio(r, 20, 100))
		c := client(t)
		for range calls {
			if status, _, err := get(c, d.URL()); err != nil {
				seen++
			} else if status != http.StatusOK {
				t.Errorf("status %d", status)
			}
		}
		return seen, len(d.attempts(t))
	}
	for _, a := range []fault.Action{fault.ActionReset, fault.ActionClose} {
		if seen, arrived := errs(rule(a)); seen != 200 || arrived != calls {
			t.Errorf("visible %s: the client saw %d errors, the dependency %d requests; want 200 and %d", a, seen, arrived, calls)
		}
	}
	// The control: this client does hide faults, so the test above can fail.
	if seen, arrived := errs(stealthy(rule(fault.ActionReset))); seen >= 200 || arrived <= calls {
		t.Errorf("stealthy reset: the client saw %d errors, the dependency %d requests", seen, arrived)
	}
}

// The ratio is exact to the request whatever 32 clients do at once.
func TestRatioUnderConcurrentClients(t *testing.T) {
	const clients, each = 32, 50
	d := start(t, injector.Config{}, ratio(rule(fault.ActionReset), 30, 100))
	c := client(t)
	var failed, served atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				if _, _, err := get(c, d.URL()); err != nil {
					failed.Add(1)
				} else {
					served.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if f, s := failed.Load(), served.Load(); f != clients*each*30/100 || f+s != clients*each {
		t.Errorf("%d failed, %d served; want exactly 30 %% of %d", f, s, clients*each)
	}
	if got := d.Fired("p"); len(got) != 1 || got[0] != (fault.Count{Rule: "p/1", Seen: clients * each, Hit: clients * each * 30 / 100}) {
		t.Errorf("fired: %+v", got)
	}
	hit := 0
	for _, a := range d.attempts(t) {
		if a.Rule == "p/1" && a.Outcome == trace.OutcomeReset {
			hit++
		}
	}
	if hit != clients*each*30/100 {
		t.Errorf("%d attempts recorded as reset", hit)
	}
}

// A caller who leaves is noticed while the request waits, with and without a
// body, and however it waits.
func TestCallerLeaves(t *testing.T) {
	slow := rule(fault.ActionRespond)
	slow.Latency = fault.Latency{Min: time.Hour, Max: time.Hour}
	held := rule(fault.ActionRespond)
	held.Hold = &fault.Hold{Probes: 1, Rejected: 1, Max: time.Hour}
	pass := rule(fault.ActionPass)
	pass.Latency = slow.Latency
	for name, r := range map[string]fault.Rule{"hang": rule(fault.ActionHang), "latency": slow, "hold": held, "pass": pass} {
		for _, body := range []int{0, 1 << 20} {
			for _, upstream := range []string{"", "http://127.0.0.1:1"} {
				t.Run(fmt.Sprintf("%s/%d/%s", name, body, upstream), func(t *testing.T) {
					d := start(t, injector.Config{Upstream: upstream}, r)
					arrived := make(chan struct{})
					d.rec.OnArrival(func(trace.Attempt) { close(arrived) })
					o := observe(t, d.Addr())
					if _, err := o.conn.Write([]byte(request("POST", body))); err != nil {
						t.Fatal(err)
					}
					<-arrived
					left := d.rec.Since(time.Now())
					o.conn.Close()
					until(t, "abandoned", func() bool { return d.ended() == 1 })
					a := d.only(t)
					if a.Outcome != trace.OutcomeHang || a.Abandon < left || a.Dep != trace.None || a.Status != 0 {
						t.Errorf("recorded %+v, want a hang that was abandoned after %v", a, left)
					}
				})
			}
		}
	}
}

// hung has n clients hang and returns what they end with.
func hung(t *testing.T, d dependency, n int) <-chan error {
	var arrived sync.WaitGroup
	arrived.Add(n)
	d.rec.OnArrival(func(a trace.Attempt) {
		if a.Phase == "p" {
			arrived.Done()
		}
	})
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	ends := make(chan error, n)
	for range n {
		go func() {
			_, _, err := get(&http.Client{Transport: tr}, d.URL())
			ends <- err
		}()
	}
	arrived.Wait()
	return ends
}

func TestHangEndsWithItsPhase(t *testing.T) {
	const n = 200
	before := runtime.NumGoroutine()
	d := start(t, injector.Config{}, rule(fault.ActionHang))
	ends := hung(t, d, n)
	d.Enter("next")
	for range n {
		select {
		case err := <-ends:
			if err == nil {
				t.Fatal("a hang was answered")
			}
		case <-time.After(patience):
			t.Fatal("a hang goes on after its phase")
		}
	}
	if status, _, err := get(client(t), d.URL()); status != http.StatusOK || err != nil {
		t.Errorf("after the phase: %d, %v", status, err)
	}
	as := d.attempts(t)
	if len(as) != n+1 {
		t.Errorf("%d attempts, want %d: a client resent what hung", len(as), n+1)
	}
	for _, a := range as[:n] {
		if a.Outcome != trace.OutcomeHang || a.Dep == trace.None || a.Abandon != trace.None || a.Phase != "p" {
			t.Fatalf("recorded %+v, want a hang that its phase's end ended", a)
		}
	}
	settle(t, before+2) // the client's one idle connection, until cleanup
}

func TestCloseEndsEverything(t *testing.T) {
	slow := rule(fault.ActionRespond)
	slow.Latency = fault.Latency{Min: time.Hour, Max: time.Hour}
	held := rule(fault.ActionRespond)
	held.Hold = &fault.Hold{Probes: 1, Rejected: 1, Max: time.Hour}
	for name, r := range map[string]fault.Rule{"hang": rule(fault.ActionHang), "latency": slow, "hold": held} {
		t.Run(name, func(t *testing.T) {
			const n = 200
			before := runtime.NumGoroutine()
			d := start(t, injector.Config{}, r)
			idle := observe(t, d.Addr()) // says nothing, ever
			ends := hung(t, d, n)
			as := d.attempts(t)
			if len(as) != n {
				t.Errorf("%d attempts, want %d", len(as), n)
			}
			for _, a := range as {
				if a.Dep == trace.None || a.Abandon != trace.None {
					t.Fatalf("recorded %+v, want an end that is not the caller's", a)
				}
			}
			for range n {
				if err := <-ends; err == nil {
					t.Error("an answer after Close")
				}
			}
			if seen, end := idle.rest(); seen != "" || end != "FIN" {
				t.Errorf("an idle connection saw %q and %s", seen, end)
			}
			settle(t, before)
		})
	}
}

// A caller who neither reads nor leaves does not keep Close waiting.
func TestCloseWithACallerWhoDoesNotRead(t *testing.T) {
	big := rule(fault.ActionRespond)
	big.Respond.Body = strings.Repeat("x", 32<<20)
	d := start(t, injector.Config{}, big)
	o := observe(t, d.Addr())
	o.say(request("GET", 0))
	if _, err := o.r.ReadByte(); err != nil {
		t.Fatal(err)
	}
	done := make(chan trace.Attempt)
	go func() { done <- d.only(t) }()
	select {
	case a := <-done:
		if a.Outcome != trace.OutcomeFIN {
			t.Errorf("recorded %+v, want an answer cut short", a)
		}
	case <-time.After(patience):
		t.Fatal("Close waits for a caller who does not read")
	}
}

func TestContextEndsTheInjector(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	i, err := injector.Start(ctx, injector.Config{Name: "dep", Recorder: trace.NewRecorder(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	o := observe(t, i.Addr())
	o.say(request("GET", 0))
	if _, err := http.ReadResponse(o.r, nil); err != nil { // the connection is accepted, not only queued
		t.Fatal(err)
	}
	cancel()
	if _, end := o.rest(); end != "FIN" {
		t.Errorf("the connection ended with %s", end)
	}
	for range 2 {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
}
