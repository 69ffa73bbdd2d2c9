package proxy_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

// A proxy with a model lets through what the model itself lets through, call by call.
func TestEveryModelDecides(t *testing.T) {
	for n, name := range model.Presets() {
		cfg := bare()
		cfg.Model = preset(t, name)
		if cfg.Model.Trip.Min > 100 { // Not in the calls that are made here.
			cfg.Model.Trip.Min = 10
		}
		clock := newClock(tenOClock())
		cfg.Now = clock.now
		bubble(t, cfg, func(t *testing.T, w *world) {
			m, err := model.New(*cfg.Model, clock.now())
			if err != nil {
				t.Fatal(err)
			}
			chance := rand.New(rand.NewPCG(7, uint64(n)))
			seen := map[model.Answer]int{}
			for range 400 {
				clock.pass(time.Duration(chance.Int64N(int64(100 * time.Millisecond))))
				if chance.IntN(8) == 0 {
					clock.pass(cfg.Model.Open.Wait / 2)
				}
				code := 200 + 303*min(1, chance.IntN(3))
				outcome := map[int]model.Outcome{200: model.Success, 503: model.Failure}[code]
				token, answer := m.Acquire(clock.now())
				before := w.dep.arrived.Load()
				w.dep.answers(status(code))
				got := w.get(t.Context())
				seen[answer]++
				if arrived := w.dep.arrived.Load() > before; arrived != (answer == model.Admitted) {
					t.Fatalf("%s: a call that is %v got %d, arrived: %v", name, answer, got.status, arrived)
				}
				if answer == model.Admitted && m.Record(clock.now(), token, outcome, 0) {
					got.want(t, 503, proxy.SourceNone)
				}
				w.wantState(t, m.State())
			}
			if seen[model.Rejected] < 10 || seen[model.Admitted] < 10 {
				t.Errorf("%s: the calls were %v", name, seen)
			}
		})
	}
}

// opened is a world whose model has opened and waited; the dependency is well again.
func (w *world) opened(t *testing.T, failures int, wait time.Duration) {
	t.Helper()
	w.trip(t, failures)
	w.dep.answers(after(100*time.Millisecond, 200))
	time.Sleep(wait)
}

// While cockatiel's probe is out, the others wait for what comes of it.
func TestModelsMayMakeCallsWait(t *testing.T) {
	cfg := bare()
	cfg.Model = preset(t, "cockatiel-consecutive")
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.opened(t, 5, 10*time.Second)
		replies := w.together(t, 4)
		slow := 0
		for _, r := range replies {
			r.want(t, 200, proxy.SourcePrimary)
			if r.took > 150*time.Millisecond {
				slow++
			}
		}
		if slow != 3 {
			t.Errorf("%d of four calls waited for the probe, want 3: %+v", slow, replies)
		}
		w.trip(t, 5)
		time.Sleep(10 * time.Second)
		w.dep.answers(after(100*time.Millisecond, 503))
		if replies := w.together(t, 4); count(replies, 503) != 4 {
			t.Errorf("got %+v, want the failed probe and three refusals", replies)
		}
		w.dep.want(t, 5+4+5+1)
	})
}

// The call that opens pybreaker is answered by the breaker, although it was made.
func TestModelsMayMaskTheLastFailure(t *testing.T) {
	cfg := bare()
	cfg.Model = preset(t, "pybreaker")
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(500))
		for range 4 {
			w.get(t.Context()).want(t, 500, proxy.SourcePrimary)
		}
		r := w.get(t.Context())
		r.want(t, 503, proxy.SourceNone)
		if !strings.Contains(r.body, "the circuit breaker is OPEN") {
			t.Errorf("the fifth failure is told as %s", r.body)
		}
		w.dep.want(t, 5)
	})
}

// Hystrix gives a call a second, whatever the service's own timeout.
func TestModelsMayHaveATimeout(t *testing.T) {
	for _, defect := range []proxy.Defect{"", proxy.NoTimeout} {
		cfg := bare()
		cfg.Model, cfg.Timeout, cfg.Defect = preset(t, "hystrix"), 0, defect
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(after(5*time.Second, 200))
			r := w.get(t.Context())
			if want := map[proxy.Defect]time.Duration{"": time.Second, proxy.NoTimeout: 5 * time.Second}[defect]; r.took.Round(time.Millisecond) != want {
				t.Errorf("%q: a call that hangs was answered after %v, want %v", defect, r.took, want)
			}
		})
	}
}

// The defects are those of any breaker.
func TestModelsHaveDefects(t *testing.T) {
	for defect, arrive := range map[proxy.Defect]int32{
		"": 6 + 1, proxy.NoBreaker: 6 + 30, proxy.Leaks: 6 + 1 + 2, proxy.PermitsAll: 6 + 30,
	} {
		cfg := bare()
		cfg.Model, cfg.Defect = preset(t, "gobreaker"), defect
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			for range 6 {
				w.get(t.Context())
			}
			time.Sleep(61 * time.Second)
			w.dep.answers(after(100*time.Millisecond, 503))
			w.together(t, 30)
			w.dep.want(t, arrive)
		})
	}
	for defect, state := range map[proxy.Defect]breakerref.State{
		"": breakerref.HalfOpen, proxy.NeverCloses: breakerref.Open, proxy.ClosesAtOnce: breakerref.Closed,
	} {
		cfg := bare()
		cfg.Model, cfg.Defect = preset(t, "pgmux"), defect
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.opened(t, 10, 10*time.Second)
			w.get(t.Context())
			w.wantState(t, state)
		})
	}
}

func TestStateOfAModel(t *testing.T) {
	cfg := bare()
	cfg.Model = preset(t, "pgmux")
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context())
		w.dep.answers(status(503))
		w.get(t.Context())
		w.send(t.Context(), http.MethodGet, proxy.StatePath, nil).wantJSON(t, 200,
			`{"state":"CLOSED","model":"pgmux","calls":2,"successes":1,"failures":1,"ignored":0}`)
	})
}

// A breaker that nobody asks knows of nothing, as in a service that bypasses it.
func TestNoBreakerIsNotAsked(t *testing.T) {
	cfg, _ := watched(tenOClock())
	cfg.Defect, cfg.Fallback = proxy.NoBreaker, nil
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(503))
		for range 20 {
			w.get(t.Context()).want(t, 503, proxy.SourcePrimary)
		}
		w.actuator(t, "/circuitbreakerevents").wantJSON(t, 200, `{"circuitBreakerEvents":[]}`)
		w.update(t, "test", "FORCE_OPEN")
		w.get(t.Context()).want(t, 503, proxy.SourcePrimary)
		w.dep.want(t, 21)
		w.wantState(t, breakerref.ForcedOpen)
	})
}
