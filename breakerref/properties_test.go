package breakerref_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
)

// TestProperties holds what every breaker keeps, whatever is done to it: operators,
// late outcomes, timers and clocks that step back included.
func TestProperties(t *testing.T) { rapid.Check(t, properties) }
func FuzzProperties(f *testing.F) { f.Fuzz(rapid.MakeFuzz(properties)) }

// watched is a machine with what was seen of its current stay.
type watched struct {
	*breakerref.Machine
	cfg             breakerref.Config
	now             time.Time
	admitted, given int // calls let through in this stay, and permits given back
}

func properties(t *rapid.T) {
	cfg := drawConfig(t)
	cfg.LockFree = rapid.Bool().Draw(t, "lock-free")
	cfg.AutoHalfOpen = rapid.Bool().Draw(t, "auto")
	cfg.HalfOpenMaxWait = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "half-open max")
	cfg.HalfOpenMaxWaitCloses = rapid.Bool().Draw(t, "then closes")
	cfg.Initial = breakerref.State(rapid.IntRange(0, 5).Draw(t, "initial"))
	w := &watched{cfg: cfg, now: time.Unix(1_735_689_600, 0)}
	m, err := breakerref.New(cfg, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.Machine = m
	t.Repeat(map[string]func(*rapid.T){
		"acquire": w.acquire,
		"record": func(t *rapid.T) {
			w.Record(w.now, rapid.Bool().Draw(t, "failed"), cfg.SlowDuration+time.Duration(rapid.IntRange(0, 1).Draw(t, "slow")))
			w.look()
		},
		"release": func(*rapid.T) {
			w.Advance(w.now) // A timer first, or the permit is that of the stay it ends.
			w.look()
			w.Release(w.now)
			w.given++
		},
		"wait": w.wait,
		"by hand": func(t *rapid.T) {
			to := breakerref.State(rapid.IntRange(0, 5).Draw(t, "to"))
			if w.Transition(w.now, to) == nil {
				w.admitted, w.given = 0, 0 // Also of a state to itself.
			}
			w.look()
		},
		"reset": func(*rapid.T) { w.Reset(w.now); w.admitted, w.given = 0, 0; w.look() },
		"": func(t *rapid.T) {
			got := w.Metrics(w.now)
			w.look()
			for _, rate := range []float32{got.FailureRate, got.SlowRate} {
				if rate != -1 && !(rate >= 0 && rate <= 100) {
					t.Fatalf("a rate of %v", rate)
				}
			}
			if got.Failed > got.Buffered || got.Slow > got.Buffered || got.SlowFailed > min(got.Failed, got.Slow) {
				t.Fatalf("impossible counts: %+v", got)
			}
		},
	})
}

// acquire never lets more calls through than are permitted, between the entry into
// HALF_OPEN and its decision.
func (w *watched) acquire(t *rapid.T) {
	ok := w.Acquire(w.now)
	w.look()
	if ok {
		w.admitted++
	}
	if w.State() == breakerref.HalfOpen && w.admitted-w.given > w.cfg.Permitted {
		t.Fatalf("%d calls were let through and %d permits given back, of %d", w.admitted, w.given, w.cfg.Permitted)
	}
}

// wait lets time pass. That alone closes no breaker, unless a timer is there to do it,
// and changes nothing before the next timer.
func (w *watched) wait(t *rapid.T) {
	before := w.State()
	due, timed := w.NextTimer()
	w.now = w.now.Add(time.Duration(rapid.IntRange(-1200, 3000).Draw(t, "ms")) * time.Millisecond)
	w.Advance(w.now)
	switch after := w.State(); {
	case after == before:
	case !timed || due.After(w.now):
		t.Fatalf("%v became %v without a timer", before, after)
	case after == breakerref.Closed && !w.cfg.HalfOpenMaxWaitCloses:
		t.Fatalf("time alone has closed a breaker that was %v", before)
	}
	w.look()
}

// look begins to count anew if the breaker has entered another stay.
func (w *watched) look() {
	for _, e := range w.Events() {
		if e.Kind == breakerref.EventTransition {
			w.admitted, w.given = 0, 0
		}
	}
}
