package injector_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
)

// A fault that is taken away and comes back within a second has used up what it had used up: by adding
// it again and again nobody gets more out of it than its rate.
func TestAFaultThatIsAddedAgainHasItsOldStormGuard(t *testing.T) {
	mine := answering(503)
	mine.ID = "mine"
	add := func(t *testing.T, w *world) {
		t.Helper()
		if _, err := w.Apply(mine, time.Minute); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	off := func(t *testing.T, w *world) {
		t.Helper()
		if err := w.Clear(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	for name, again := range map[string]func(*testing.T, *world){
		"added, cleared, added":             func(t *testing.T, w *world) { off(t, w); add(t, w) },
		"added, over with its phase, added": func(t *testing.T, w *world) { w.Enter(""); add(t, w) },
		"added, then in a plan":             func(t *testing.T, w *world) { mustReplace(t, w, mine) },
		"in a plan, in none, in a plan": func(t *testing.T, w *world) {
			mustReplace(t, w, mine)
			mustReplace(t, w)
			mustReplace(t, w, mine)
		},
		"in a plan, in none, then added": func(t *testing.T, w *world) {
			mustReplace(t, w, mine)
			mustReplace(t, w)
			add(t, w)
		},
		"among many that come and go": func(t *testing.T, w *world) {
			for k := range 300 {
				other := answering(503)
				other.ID = fmt.Sprint("other", k)
				mustReplace(t, w, other)
			}
			add(t, w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bounded(t, injector.Limits{PerSecond: 2}, func(t *testing.T, w *world) {
				add(t, w)
				w.call()
				w.at(500 * ms)
				w.call()
				again(t, w)
				w.at(999 * ms)
				w.call()
				w.at(1000 * ms)
				w.call()
				w.call()
				again(t, w)
				w.at(1499 * ms)
				w.call()
				w.at(1500 * ms)
				w.call()
				w.statuses(t, "two in any second", 503, 503, 200, 503, 200, 200, 503)
			})
		})
	}
}

// The rate is exact at its boundary, over HTTP/1.1 and HTTP/2, while the fault is added anew all the time.
func TestTheStormGuardIsExactUnderLoad(t *testing.T) {
	const most = 40
	for name, caller := range map[string]func(testing.TB) *http.Client{"HTTP/1.1": client, "HTTP/2": h2Client} {
		t.Run(name, func(t *testing.T) {
			d := start(t, injector.Config{Limits: injector.Limits{PerSecond: most}})
			mine := answering(503)
			mine.ID = "mine"
			stop := make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					d.Clear()
					if _, err := d.Apply(mine, time.Minute); err != nil {
						t.Error(err)
						return
					}
				}
			})
			c := caller(t)
			until(t, "it is on", func() bool { return len(d.State().Rules) > 0 })
			for range 8 {
				all.Go(func() {
					for limit := time.Now().Add(2500 * time.Millisecond); time.Now().Before(limit); {
						if _, _, err := get(c, d.URL()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			time.AfterFunc(2500*time.Millisecond, func() { close(stop) })
			all.Wait()
			var hits []time.Duration
			for _, a := range d.attempts(t) {
				if a.Rule != "" {
					hits = append(hits, a.Arr)
				}
			}
			// The ledger has when a request arrived, and the guard counts when it was hit, which is a moment later.
			const moment = 500 * time.Millisecond
			for k := most; k < len(hits); k++ {
				if within := hits[k] - hits[k-most]; within < time.Second-moment {
					t.Errorf("%d hits within %v", most+1, within)
				}
			}
			if len(hits) < 2*most {
				t.Errorf("%d hits in all: the guard is too strict", len(hits))
			}
			t.Logf("%d hits", len(hits))
		})
	}
}
