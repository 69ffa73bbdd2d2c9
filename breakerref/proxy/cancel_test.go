package proxy_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// TestAClientThatLeavesEndsItsCall where the service says so: the dependency sees it leave, no
// further attempt is made, the breaker hears of nothing and its permission is given back.
func TestAClientThatLeavesEndsItsCall(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*proxy.Config)
		ends bool
	}{
		"it cancels":                {func(*proxy.Config) {}, true},
		"it cancels within a retry": {func(c *proxy.Config) { c.Retry = &retry.Config{MaxAttempts: 3} }, true},
		"it cancels within a time limit": {func(c *proxy.Config) {
			c.TimeLimiter = &timelimit.Config{Timeout: time.Minute, CancelRunningFuture: true}
		}, true},
		"it cannot stop what it works on": {func(c *proxy.Config) {
			c.TimeLimiter = &timelimit.Config{Timeout: time.Minute, Work: timelimit.Completable}
		}, false},
		"it goes on for clients that have left": {func(c *proxy.Config) { c.Defect = "cancel_ignored" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good()
			cfg.Cancels, cfg.Timeout, cfg.Breaker.Permitted = true, 20*time.Second, 1
			c.set(&cfg)
			bubble(t, cfg, func(t *testing.T, w *world) {
				w.trip(t, 10)
				time.Sleep(2100 * time.Millisecond)
				left := make(chan bool, 1)
				w.dep.answers(func(_ http.ResponseWriter, r *http.Request) {
					select {
					case <-r.Context().Done():
						left <- true
					case <-time.After(5 * time.Second):
						left <- false
					}
				})
				before := w.dep.arrived.Load()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if r := w.get(ctx); r.err == nil {
					t.Fatal("the client did not leave")
				}
				if got := <-left; got != c.ends {
					t.Errorf("the dependency saw its caller leave: %t", got)
				}
				time.Sleep(time.Second)
				if n := w.dep.arrived.Load() - before; n != 1 {
					t.Errorf("%d attempts were made", n)
				}
				if c.ends {
					w.wantState(t, breakerref.HalfOpen) // It has heard of no outcome.
				}
				w.dep.answers(status(200))
				if r := w.get(t.Context()); c.ends && r.source != proxy.SourcePrimary {
					t.Errorf("the only permission for a probe was not given back: %+v", r)
				}
			})
		})
	}
}
