package injector_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// bounded runs f in a bubble with a dependency under these limits.
func bounded(t *testing.T, l injector.Limits, f func(*testing.T, *world), rules ...fault.Rule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		w := &world{net: p, dependency: start(t, injector.Config{Listen: p.listen, Limits: l}, rules...)}
		w.client = newClient(p)
		f(t, w)
		w.Enter("")
		w.calls.Wait()
		w.client.CloseIdleConnections()
	})
}

// spared is what the ledger says of requests that passed because of a limit.
func (w *world) spared() string {
	var all []string
	for _, a := range w.snapshot() {
		if a.Spared != "" && (a.Rule != "" || a.Status != 200) {
			all = append(all, "faulted all the same")
		}
		all = append(all, a.Spared)
	}
	return strings.Join(all, "|")
}

// Each limit lets the next request pass, says so in the ledger, the state and the counts,
// and lets a fault hit again when there is room.
func TestLimits(t *testing.T) {
	t.Run("faulted", func(t *testing.T) {
		bounded(t, injector.Limits{Faulted: 2}, func(t *testing.T, w *world) {
			for range 4 {
				w.call()
			}
			w.Enter("p")
			w.call()
			w.statuses(t, "two in all", 503, 503, 200, 200, 200)
			if got, want := w.spared(), "||rule p/1: limit faulted|rule p/1: limit faulted|rule p/1: limit faulted"; got != want {
				t.Errorf("the ledger has %s", got)
			}
			s := w.State()
			if s.Faulted != 2 || s.Overflow[injector.LimitFaulted] != 3 || s.Rules[0].Spared != 1 || s.Rules[0].Hit != 0 {
				t.Errorf("%+v", s)
			}
			if diff := cmp.Diff([]fault.Count{{Rule: "p/1", Seen: 1}}, w.Fired("p")); diff != "" {
				t.Error(diff)
			}
		}, answering(503))
	})
	t.Run("share", func(t *testing.T) {
		bounded(t, injector.Limits{Share: injector.Ratio{Num: 1, Den: 3}}, func(t *testing.T, w *world) {
			for range 9 {
				w.call()
			}
			w.statuses(t, "never more than a third so far", 200, 200, 503, 200, 200, 503, 200, 200, 503)
		}, answering(503))
	})
	t.Run("active", func(t *testing.T) {
		bounded(t, injector.Limits{Active: 2}, func(t *testing.T, w *world) {
			for range 3 {
				w.call()
			}
			w.at(50 * ms)
			w.call()
			w.statuses(t, "two at a time", 503, 503, 200, -1)
			w.at(100 * ms)
		}, slow(answering(503), 50*ms))
	})
	t.Run("held", func(t *testing.T) {
		bounded(t, injector.Limits{Held: 1}, func(t *testing.T, w *world) {
			w.call()
			w.call()
			if s := w.State(); s.Held != 1 || s.Active != 1 {
				t.Errorf("%+v", s)
			}
			w.Enter("p")
			synctest.Wait()
			w.call()
			w.statuses(t, "one at a time", 0, 200, -1)
			if _, err := w.Apply(answering(503), time.Minute); err != nil {
				t.Fatal(err)
			}
			w.call()
			w.statuses(t, "who is answered is not held", 0, 200, -1, 503)
		}, rule(fault.ActionHang))
	})
	t.Run("connections of HTTP/2", func(t *testing.T) {
		odd := rule(fault.ActionSettings)
		odd.Settings = &fault.H2Settings{MaxStreams: 7}
		d := start(t, injector.Config{Limits: injector.Limits{Active: 1}}, odd)
		first := h2Client(t)
		for n, c := range []*http.Client{first, h2Client(t)} {
			if status, _, err := get(c, d.URL()); status != 200 || err != nil {
				t.Errorf("%d: %d %v", n, status, err)
			}
		}
		if s := d.State(); s.Active != 1 || s.Overflow[injector.LimitActive] != 1 || s.Rules[0].Hit != 1 || s.Rules[0].Spared != 1 {
			t.Errorf("%+v", s)
		}
		first.CloseIdleConnections()
		until(t, "over", func() bool { return d.State().Active == 0 })
	})
	t.Run("per second", func(t *testing.T) {
		bounded(t, injector.Limits{PerSecond: 2}, func(t *testing.T, w *world) {
			for _, at := range []time.Duration{0, 600 * ms, 999 * ms, 1000 * ms, 1500 * ms, 1600 * ms, 1999 * ms, 2000 * ms} {
				w.at(at)
				w.call()
			}
			w.statuses(t, "two in any second", 503, 503, 200, 503, 200, 503, 200, 503)
			if got := w.State().Overflow[injector.LimitPerSecond]; got != 3 {
				t.Errorf("%d spared", got)
			}
		}, answering(503))
	})
}

// The first request beyond a limit is logged, the others are counted.
func TestALimitIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	d := start(t, injector.Config{Limits: injector.Limits{Faulted: 1}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, answering(503))
	c := client(t)
	for range 5 {
		get(c, d.URL())
	}
	d.attempts(t)
	if n := strings.Count(log.String(), "a limit is reached"); n != 1 || !strings.Contains(log.String(), "rule=p/1 limit=faulted") {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

// Limits are exact also when all come at once.
func TestLimitsUnderLoad(t *testing.T) {
	d := start(t, injector.Config{Limits: injector.Limits{Faulted: 777, Active: 3}}, ratio(slow(answering(503), ms), 2, 3))
	c := client(t)
	var calls sync.WaitGroup
	var faulted, most [32]int
	for k := range faulted {
		calls.Go(func() {
			for range 100 {
				status, _, err := get(c, d.URL())
				if err != nil {
					t.Error(err)
				}
				if status == 503 {
					faulted[k]++
				}
				most[k] = max(most[k], d.State().Active)
			}
		})
	}
	calls.Wait()
	// A caller has his answer a moment before it is known to be over.
	until(t, "all over", func() bool { return d.State().Active == 0 })
	s, sum := d.State(), 0
	for k := range faulted {
		if sum += faulted[k]; most[k] > 3 {
			t.Errorf("%d were active", most[k])
		}
	}
	if s.Requests != 3200 || s.Faulted != uint64(sum) || sum > 777 || s.Active != 0 {
		t.Errorf("%d faulted of %+v", sum, s)
	}
	// 2133 are selected; all that passed were counted.
	if over := s.Overflow[injector.LimitFaulted] + s.Overflow[injector.LimitActive]; over+s.Faulted != 2133 || s.Rules[0].Spared != over || s.Rules[0].Hit != s.Faulted {
		t.Errorf("%d passed: %+v", over, s)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	for say, cfg := range map[string]injector.Config{
		"none is below 0": {Limits: injector.Limits{Active: -1}},
		"a share of 3 in 2 is more than all of them": {Limits: injector.Limits{Share: injector.Ratio{Num: 3, Den: 2}}},
		"a lease of -1s is over before it begins":    {Lease: -time.Second},
	} {
		if _, err := injector.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
}

// Callers that nobody listens to are held, too: one too many is served.
func TestDeafIsLimited(t *testing.T) {
	d := start(t, injector.Config{Limits: injector.Limits{Held: 2}}, rule(fault.ActionDeaf))
	var deaf []observer
	for range 2 {
		o := observe(t, d.Addr())
		o.say(request("GET", 0))
		deaf = append(deaf, o)
		until(t, "one more is held", func() bool { return d.State().Held == len(deaf) })
	}
	if status, _, err := get(client(t), d.URL()); status != 200 {
		t.Errorf("the third got %d, %v", status, err)
	}
	if got := d.State().Overflow[injector.LimitHeld]; got != 1 {
		t.Errorf("%d were let in", got)
	}
	if err := d.Clear(); err != nil {
		t.Error(err)
	}
	for _, o := range deaf {
		if line, err := o.r.ReadString('\n'); line != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("who was held got %q, %v", line, err)
		}
	}
	if got := d.State().Held; got != 0 {
		t.Errorf("%d are held after the end", got)
	}
}
