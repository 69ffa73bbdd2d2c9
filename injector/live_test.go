package injector_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

func slow(r fault.Rule, d time.Duration) fault.Rule {
	r.Latency = fault.Latency{Min: d, Max: d}
	return r
}

func answering(status int) fault.Rule {
	r := rule(fault.ActionRespond)
	r.Respond.Status = status
	return r
}

func scriptOf(rules ...fault.Rule) fault.Script {
	return fault.Script{Phases: map[string][]fault.Rule{"p": rules}}
}

// statuses compares what the calls got; -1: nothing yet, 0: no answer.
func (w *world) statuses(t *testing.T, what string, want ...int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.status); diff != "" {
		t.Errorf("%s: calls got (-want +got):\n%s", what, diff)
	}
}

// marks are those of faults and notes, in words.
func (d dependency) marks() string {
	var all []string
	for _, m := range d.rec.Snapshot(trace.Header{}).Marks {
		all = append(all, m.At.String()+" "+string(m.Kind)+" "+m.Subject+" "+m.Text)
	}
	return strings.Join(all, "\n")
}

func mustReplace(t *testing.T, w *world, rules ...fault.Rule) {
	t.Helper()
	if _, err := w.Replace(scriptOf(rules...)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// What is under way ends under the old plan, what comes later meets the new one.
func TestReplace(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.call()
		w.at(10 * ms)
		mustReplace(t, w, rule(fault.ActionHang))
		w.call()
		w.at(20 * ms)
		mustReplace(t, w, answering(502))
		w.call()
		w.at(100 * ms)
		w.statuses(t, "three plans", 501, 0, 502)
		w.want(t, "the latency was served, the hang ended with its plan", 50*ms, 20*ms, 20*ms)
		now, _, err := w.ReplaceIf(2, scriptOf())
		if !errors.Is(err, injector.ErrStale) || now != 3 {
			t.Errorf("plan 2 was replaced where 3 is in force: %d, %v", now, err)
		}
		if _, err := w.Replace(scriptOf(answering(99))); err == nil || !strings.Contains(err.Error(), "99 is not the status of an answer") {
			t.Errorf("an invalid script: %v", err)
		}
		w.call()
		w.statuses(t, "neither changed anything", 501, 0, 502, 502)
		if now, _, err := w.ReplaceIf(3, fault.Script{}); err != nil || now != 4 {
			t.Errorf("%d, %v", now, err)
		}
		w.call()
		w.statuses(t, "a plan without this phase", 501, 0, 502, 502, 200)
	}, slow(answering(501), 50*ms))
}

// No request sees half of one plan and half of another.
func TestReplaceIsAtomic(t *testing.T) {
	plan := func(id string, status int) fault.Script {
		r := answering(status)
		r.ID, r.Respond.Body, r.Respond.Headers = id, id, map[string]string{"X-Plan": id}
		return scriptOf(r)
	}
	d := start(t, injector.Config{Script: plan("a", 501)})
	c := client(t)
	stop, replaced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(replaced)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			next := plan("a", 501)
			if n%2 == 0 {
				next = plan("b", 502)
			}
			if _, err := d.Replace(next); err != nil {
				t.Error(err)
			}
		}
	}()
	var calls sync.WaitGroup
	got := [4]map[string]int{}
	for k := range got {
		got[k] = map[string]int{}
		calls.Go(func() {
			for range 300 {
				resp, err := c.Get(d.URL())
				if err != nil {
					t.Error(err)
					return
				}
				body := make([]byte, 8)
				n, _ := resp.Body.Read(body)
				resp.Body.Close()
				got[k][resp.Status[:3]+string(body[:n])+resp.Header.Get("X-Plan")]++
			}
		})
	}
	calls.Wait()
	close(stop)
	<-replaced
	for _, seen := range got {
		for what := range seen {
			if what != "501aa" && what != "502bb" {
				t.Errorf("a mixture: %s", what)
			}
		}
	}
	for _, a := range d.attempts(t) {
		if a.Rule == "a" != (a.Status == 501) || a.Rule == "b" != (a.Status == 502) {
			t.Errorf("the ledger has rule %q with status %d", a.Rule, a.Status)
		}
	}
}

// An added fault comes before the phase's own, lives as long as it was given, and the
// phase's own faults outlive it.
func TestApply(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.call()
		w.at(10 * ms)
		id, err := w.Apply(rule(fault.ActionHang), 40*ms)
		if err != nil || id != "added/1" {
			t.Fatalf("%q, %v", id, err)
		}
		w.at(20 * ms)
		w.call()
		w.at(49 * ms)
		w.statuses(t, "both wait", -1, -1)
		w.at(50 * ms)
		w.statuses(t, "the added one is over, at its instant", -1, 0)
		w.call()
		w.at(60 * ms)
		w.Enter("")
		synctest.Wait()
		w.want(t, "the phase's hangs lasted with the phase", 60*ms, 50*ms, 60*ms)
		if diff := cmp.Diff("10ms fault_on dep added/1\n50ms fault_off dep added/1", w.marks()); diff != "" {
			t.Error(diff)
		}
		var rules []string
		for _, a := range w.snapshot() {
			rules = append(rules, a.Phase+":"+a.Rule)
		}
		if diff := cmp.Diff([]string{"p:p/1", "p:added/1", "p:p/1"}, rules); diff != "" {
			t.Error(diff)
		}
	}, rule(fault.ActionHang))
}

func TestApplyEndsWithItsPhase(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		if _, err := w.Apply(rule(fault.ActionHang), time.Minute); err != nil {
			t.Fatal(err)
		}
		w.call()
		w.at(10 * ms)
		w.Enter("p")
		synctest.Wait()
		w.call()
		w.statuses(t, "the phase was entered again", 0, 200)
		if diff := cmp.Diff("0s fault_on dep added/1\n10ms fault_off dep added/1", w.marks()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestApplyRefuses(t *testing.T) {
	d := start(t, injector.Config{}, answering(503))
	named := answering(503)
	named.ID = "mine"
	for _, tt := range []struct {
		rule fault.Rule
		ttl  time.Duration
		say  string
	}{
		{answering(503), 0, "its time to live is 0s; must be above 0 and at most 15m0s"},
		{answering(503), injector.MostTTL + 1, "must be above 0 and at most 15m0s"},
		{answering(99), time.Second, "respond.status: 99 is not the status"},
		{named, time.Minute, ""},
		{named, time.Minute, `the id "mine" already names a fault`},
		{fault.Rule{ID: "p/1", Action: fault.ActionHang, Select: fault.Select{Kind: fault.SelectAll}}, time.Minute, `the id "p/1" already names a fault`},
	} {
		_, err := d.Apply(tt.rule, tt.ttl)
		if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
			t.Errorf("%v for %v: %v, want %q", tt.rule.ID, tt.ttl, err, tt.say)
		}
	}
	for range injector.MostAdded - 1 {
		if _, err := d.Apply(answering(503), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Apply(answering(503), time.Minute); err == nil || !strings.Contains(err.Error(), "64 faults were added already") {
		t.Errorf("one more: %v", err)
	}
}

// Everything that waits for a fault's sake ends at once; what a healthy dependency waits
// for does not.
func TestClear(t *testing.T) {
	drip := answering(503)
	drip.Respond.Body = "0123456789"
	drip.Form.Drip = &fault.Drip{Chunks: 10, Over: time.Hour}
	slices := answering(503)
	slices.Form.Slice = &fault.Slice{Size: 1, Gap: time.Minute}
	pace := answering(503)
	pace.Form.Bandwidth = 1
	half := answering(503)
	half.Form.After = &fault.After{Do: fault.AfterHalf, Wait: time.Hour}
	quiet := answering(503)
	quiet.Form.Cut = &fault.Cut{At: fault.CutHead, By: fault.ActionHang}
	for name, tt := range map[string]struct {
		rule   fault.Rule
		status int
		end    time.Duration // for the caller
	}{
		"hang":      {rule(fault.ActionHang), 0, 10 * ms},
		"hold":      {held(fault.Hold{Probes: 1, Rejected: 1, Max: time.Hour}), 503, 10 * ms},
		"latency":   {slow(answering(503), time.Hour), 503, 10 * ms},
		"drip":      {drip, 503, 10 * ms},
		"slices":    {slices, 503, 10 * ms},
		"bandwidth": {pace, 503, 10 * ms},
		"quiet":     {quiet, 0, 10 * ms},
		"half":      {half, 503, 0},
		"close":     {slow(rule(fault.ActionClose), time.Hour), 0, 10 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				w.call()
				w.at(10 * ms)
				if got := w.State(); got.Active != 1 || got.Faulted != 1 {
					t.Errorf("%+v", got)
				}
				if err := w.Clear(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				w.at(20 * ms)
				w.call()
				w.statuses(t, "cleared", tt.status, 200)
				w.want(t, "at once", tt.end, 20*ms)
				if got := w.State(); got.Active != 0 || got.Held != 0 || got.Phase != "p" || len(got.Rules) != 0 {
					t.Errorf("%+v", got)
				}
				if diff := cmp.Diff("10ms fault_off dep p\n10ms note dep faults were cleared", w.marks()); diff != "" {
					t.Error(diff)
				}
				w.Enter("")
				synctest.Wait()
			}, tt.rule)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		w := &world{net: p, dependency: start(t, injector.Config{Listen: p.listen, Stub: injector.Stub{Latency: 50 * ms}})}
		w.client = newClient(p)
		w.call()
		w.at(10 * ms)
		w.Clear()
		w.at(60 * ms)
		w.want(t, "a healthy dependency", 50*ms)
		w.client.CloseIdleConnections()
	})
}

// Without renewal all faults end at the instant at which the lease does, and come back only
// when it is renewed and a phase is entered.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		w := &world{net: p, dependency: start(t, injector.Config{Listen: p.listen, Lease: 5 * time.Second}, rule(fault.ActionHang))}
		w.client = newClient(p)
		w.call()
		w.at(4 * time.Second)
		if err := w.Renew(); err != nil {
			t.Fatal(err)
		}
		w.at(9*time.Second - 1)
		w.statuses(t, "renewed", -1)
		w.at(9 * time.Second)
		w.call()
		w.statuses(t, "over", 0, 200)
		w.want(t, "at its end", 9*time.Second, 9*time.Second)
		if err := w.Enter("p"); !errors.Is(err, injector.ErrLapsed) {
			t.Errorf("enter: %v", err)
		}
		if _, err := w.Replace(scriptOf()); !errors.Is(err, injector.ErrLapsed) {
			t.Errorf("replace: %v", err)
		}
		if _, err := w.Apply(answering(503), time.Second); !errors.Is(err, injector.ErrLapsed) {
			t.Errorf("apply: %v", err)
		}
		if s := w.State(); !s.Lease.Lapsed {
			t.Errorf("%+v", s.Lease)
		}
		w.call()
		if err := w.Renew(); !errors.Is(err, injector.ErrLapsed) {
			t.Errorf("renew: %v", err)
		}
		if err := w.Renew(); err != nil {
			t.Error(err)
		}
		w.call()
		w.statuses(t, "renewed, but no phase was entered", 0, 200, 200, 200)
		if err := w.Enter("p"); err != nil {
			t.Error(err)
		}
		w.call()
		w.statuses(t, "entered", 0, 200, 200, 200, -1)
		if diff := cmp.Diff("9s fault_off dep p\n9s note dep the lease of 5s was not renewed, so all faults are off", w.marks()); diff != "" {
			t.Error(diff)
		}
		w.at(14 * time.Second)
		w.statuses(t, "over again", 0, 200, 200, 200, 0)
		w.client.CloseIdleConnections()
	})
	d := start(t, injector.Config{})
	if err := d.Renew(); !errors.Is(err, injector.ErrNoLease) {
		t.Errorf("renew without a lease: %v", err)
	}
}
