package proxy_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

// TestDefects shows what each defect does, and that the service without it does
// not.
func TestDefects(t *testing.T) {
	const wait = 2 * time.Second
	for defect, has := range map[proxy.Defect]func(t *testing.T, w *world) bool{
		proxy.NoBreaker: func(t *testing.T, w *world) bool {
			return w.tripped(t, 30) == 30
		},
		proxy.Leaks: func(t *testing.T, w *world) bool {
			return w.tripped(t, 30) == 12 // Ten to trip it and two of twenty.
		},
		proxy.PermitsAll: func(t *testing.T, w *world) bool {
			w.tripped(t, 20)
			time.Sleep(wait)
			return w.volley(t, 20, 503) == 20
		},
		proxy.NeverCloses: func(t *testing.T, w *world) bool {
			w.tripped(t, 20)
			w.dep.answers(status(200))
			time.Sleep(wait)
			for range 5 {
				w.get(t.Context())
			}
			return w.State() == breakerref.Open
		},
		proxy.ClosesAtOnce: func(t *testing.T, w *world) bool {
			w.tripped(t, 20)
			time.Sleep(wait)
			w.get(t.Context())
			return w.State() == breakerref.Closed
		},
		proxy.FallbackAlways: func(t *testing.T, w *world) bool {
			return w.get(t.Context()).source == proxy.SourceFallback
		},
		proxy.Empty200: func(t *testing.T, w *world) bool {
			w.dep.answers(status(503))
			got := w.get(t.Context())
			return got.source == proxy.SourceFallback && got.status == 200 && got.body == "[]"
		},
		proxy.WindowNeverSlide: func(t *testing.T, w *world) bool {
			w.dep.answers(status(503))
			for range 10 {
				w.get(t.Context())
				time.Sleep(time.Second)
			}
			return w.State() == breakerref.Open
		},
		proxy.NoTimeout: func(t *testing.T, w *world) bool {
			w.dep.answers(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(time.Minute):
				}
			})
			return w.get(t.Context()).took > 10*time.Second
		},
		proxy.SlowReject: func(t *testing.T, w *world) bool {
			w.tripped(t, 10)
			return w.get(t.Context()).took > 200*time.Millisecond
		},
	} {
		t.Run(string(defect), func(t *testing.T) {
			cfg := good()
			cfg.Breaker.Wait = wait
			if defect == proxy.WindowNeverSlide {
				cfg.Breaker.WindowType, cfg.Breaker.Window = breakerref.TimeBased, 2
			}
			bubble(t, cfg, func(t *testing.T, w *world) {
				if has(t, w) {
					t.Error("the right service has the defect")
				}
			})
			cfg.Defect = defect
			bubble(t, cfg, func(t *testing.T, w *world) {
				if !has(t, w) {
					t.Error("the defect does not show")
				}
			})
		})
	}
}

// tripped makes n failing calls and returns how many of them arrived.
func (w *world) tripped(t *testing.T, n int) int {
	before := w.dep.arrived.Load()
	w.dep.answers(status(503))
	for range n {
		w.get(t.Context())
	}
	return int(w.dep.arrived.Load() - before)
}

// volley makes n calls at once, which are answered late, and returns how many
// arrived.
func (w *world) volley(t *testing.T, n, code int) int {
	before := w.dep.arrived.Load()
	w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(100 * time.Millisecond)
		status(code)(rw, r)
	})
	var all sync.WaitGroup
	for range n {
		all.Go(func() { w.get(t.Context()) })
	}
	all.Wait()
	return int(w.dep.arrived.Load() - before)
}

// TestDefectsAreRefused where they would not show: an experiment would take a right
// service for a wrong one.
func TestDefectsAreRefused(t *testing.T) {
	for defect, want := range map[proxy.Defect]string{
		"leaky":                `"leaky" is not one of no_breaker, never_opens,`,
		proxy.FallbackAlways:   "fallback_always needs a fallback",
		proxy.Empty200:         "empty_200 needs a fallback",
		proxy.WindowNeverSlide: "window_never_slides needs a window of time",
	} {
		cfg := good()
		cfg.Addr, cfg.Upstream, cfg.Defect, cfg.Fallback = "127.0.0.1:0", "http://127.0.0.1:1", defect, nil
		if _, err := proxy.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", defect, err)
		}
	}
}

// TestDefectsAreExplained, each in words of its own.
func TestDefectsAreExplained(t *testing.T) {
	seen := map[string]proxy.Defect{proxy.Defect("").Describe(): ""}
	for _, d := range proxy.Defects() {
		if other, ok := seen[d.Describe()]; ok {
			t.Errorf("%q is explained as %q is: %s", d, other, d.Describe())
		}
		seen[d.Describe()] = d
	}
}

// TestBulkhead lets five calls wait and refuses the others at once; the breaker
// hears nothing of those.
func TestBulkhead(t *testing.T) {
	cfg := good()
	cfg.Bulkhead, cfg.Fallback = places(5), nil
	bubble(t, cfg, func(t *testing.T, w *world) {
		if n := w.volley(t, 20, 200); n != 5 {
			t.Errorf("%d of 20 calls at once arrived, want 5", n)
		}
		if m := w.metrics(t); m.Buffered != 5 || m.Failed != 0 {
			t.Errorf("the breaker knows of %d calls, %d of them failed", m.Buffered, m.Failed)
		}
		if n := w.volley(t, 3, 200); n != 3 {
			t.Errorf("afterwards %d of 3 calls arrived", n)
		}
	})
}

// TestARetryTriesTheBulkheadAgain, though not the breaker that refused.
func TestARetryTriesTheBulkheadAgain(t *testing.T) {
	cfg := good()
	cfg.Bulkhead, cfg.Fallback, cfg.Retry = places(5), nil, attempts(2, 150*time.Millisecond)
	bubble(t, cfg, func(t *testing.T, w *world) {
		if n := w.volley(t, 10, 200); n != 10 {
			t.Errorf("%d of 10 calls arrived, want all, five of them at the second attempt", n)
		}
		if n := w.volley(t, 20, 200); n != 10 {
			t.Errorf("%d of 20 calls arrived, want 10", n)
		}
	})
}

// TestWorkers lets a slow dependency starve a route that does not need it.
func TestWorkers(t *testing.T) {
	cfg := good()
	cfg.Workers = 4
	cfg.Routes = []proxy.Route{{Path: "/browse*", Respond: &proxy.Answer{Body: "products"}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		browse := func() time.Duration {
			got := w.send(t.Context(), http.MethodGet, "/browse/1", nil)
			got.want(t, 200, proxy.SourcePrimary)
			return got.took
		}
		if took := browse(); took > 10*time.Millisecond {
			t.Errorf("an idle service answered after %v", took)
		}
		var busy sync.WaitGroup
		busy.Go(func() { w.volley(t, 4, 200) })
		time.Sleep(10 * time.Millisecond)
		if took := browse(); took < 80*time.Millisecond {
			t.Errorf("a service whose workers all wait answered after %v", took)
		}
		busy.Wait()
		w.dep.want(t, 4)
	})
}

// TestRoutes shows that each route has a breaker of its own.
func TestRoutes(t *testing.T) {
	cfg := good()
	cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://127.0.0.1:1"
	for name, routes := range map[string][]proxy.Route{
		"a path":     {{Path: "pay", Respond: &proxy.Answer{}}},
		"either":     {{Path: "/pay"}},
		"not both":   {{Path: "/pay", Respond: &proxy.Answer{}, Service: &cfg.Service}},
		"its status": {{Path: "/pay", Respond: &proxy.Answer{Status: 99}}},
	} {
		c := cfg
		c.Routes = routes
		if _, err := proxy.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "route ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var bad atomic.Int32
	second := good().Service
	second.Fallback = nil
	w := loopback(t, withRoute(t, &bad, second))
	w.trip(t, 10)
	for range 3 {
		w.send(t.Context(), http.MethodGet, "/pay/1", nil).want(t, 500, proxy.SourcePrimary)
	}
	if bad.Load() != 3 {
		t.Errorf("%d calls arrived behind the route, want 3", bad.Load())
	}
	w.get(t.Context()).want(t, 202, proxy.SourceFallback)
	w.dep.want(t, 10)
}

// withRoute is a configuration whose /pay* goes to a dependency that fails.
func withRoute(t *testing.T, arrived *atomic.Int32, s proxy.Service) proxy.Config {
	t.Helper()
	other := loopback(t, good())
	other.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		status(500)(rw, r)
	})
	s.Upstream = other.depURL
	cfg := good()
	cfg.Routes = []proxy.Route{{Path: "/pay*", Service: &s}}
	return cfg
}
