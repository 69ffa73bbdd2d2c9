package injector_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// protocols are callers of each.
func protocols() map[string]func(testing.TB) *http.Client {
	return map[string]func(testing.TB) *http.Client{"HTTP/1.1": client, "HTTP/2": h2Client}
}

// hit sends so many requests from several callers at once, and counts those that a fault hit.
func hit(t *testing.T, c *http.Client, url string, n int) int {
	t.Helper()
	var left, faulted atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				status, _, err := get(c, url)
				if err != nil {
					t.Error(err)
				}
				if status == http.StatusServiceUnavailable {
					faulted.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(faulted.Load())
}

// Of many that come at once, over either protocol, as many are hit as may be, and not one more or less.
func TestLimitsAtTheirBoundary(t *testing.T) {
	for name, caller := range protocols() {
		for _, tt := range []struct {
			limit             injector.Limit
			limits            injector.Limits
			requests, faulted int
		}{
			{injector.LimitFaulted, injector.Limits{Faulted: 1}, 50, 1},
			{injector.LimitFaulted, injector.Limits{Faulted: 399}, 400, 399},
			{injector.LimitFaulted, injector.Limits{Faulted: 400}, 400, 400},
			{injector.LimitFaulted, injector.Limits{Faulted: 401}, 400, 400},
			{injector.LimitFaulted, injector.Limits{Faulted: 1<<64 - 1}, 50, 50},
			{injector.LimitShare, injector.Limits{Share: injector.Ratio{Num: 1, Den: 1}}, 100, 100},
			{injector.LimitShare, injector.Limits{Share: injector.Ratio{Num: 0, Den: 1}}, 100, 0},
			{injector.LimitShare, injector.Limits{Share: injector.Ratio{Num: 1<<64 - 1, Den: 1<<64 - 1}}, 100, 100},
			{injector.LimitShare, injector.Limits{Share: injector.Ratio{Num: 1, Den: 1<<64 - 1}}, 100, 0},
			{injector.LimitPerSecond, injector.Limits{PerSecond: 1 << 40}, 100, 100},
			{injector.LimitActive, injector.Limits{Active: 16}, 200, 200},
		} {
			d := start(t, injector.Config{Limits: tt.limits}, answering(503))
			// A caller has his answer a moment before it is known to be over, so 16 are 17 for a moment.
			if got := hit(t, caller(t), d.URL(), tt.requests); got != tt.faulted && (tt.limit != injector.LimitActive || got > tt.faulted) {
				t.Errorf("%s, %+v: %d of %d were hit, want %d", name, tt.limits, got, tt.requests, tt.faulted)
			} else if s := d.State(); s.Requests != uint64(tt.requests) || s.Faulted != uint64(got) || s.Overflow[tt.limit] != uint64(tt.requests-got) {
				t.Errorf("%s, %+v: %d were hit of %+v", name, tt.limits, got, s)
			}
		}
	}
}

// A share of all is never more than that share of those that have come, whoever comes when.
func TestAShareUnderLoad(t *testing.T) {
	for name, caller := range protocols() {
		d := start(t, injector.Config{Limits: injector.Limits{Share: injector.Ratio{Num: 2, Den: 7}}}, answering(503))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				// More may have come until it is read, and never fewer.
				if s := d.State(); 7*s.Faulted > 2*s.Requests {
					t.Errorf("%s: %d of %d", name, s.Faulted, s.Requests)
				}
			}
		}()
		got := hit(t, caller(t), d.URL(), 700)
		close(stop)
		<-stopped
		if got > 200 || got < 190 {
			t.Errorf("%s: %d of 700 were hit, want 200", name, got)
		}
	}
}

// As many hang as may be held; the next one passes, and when one of them leaves, one more may hang.
func TestHeldAtItsBoundary(t *testing.T) {
	const most = 5
	for name, caller := range protocols() {
		for limit, limits := range map[injector.Limit]injector.Limits{injector.LimitHeld: {Held: most}, injector.LimitActive: {Active: most}} {
			hang := rule(fault.ActionHang)
			hang.Match.Path = "/hang"
			d := start(t, injector.Config{Limits: limits}, hang)
			c := caller(t)
			var hung sync.WaitGroup
			hold := func() context.CancelFunc {
				before := d.State().Held
				ctx, leave := context.WithCancel(context.Background())
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/hang", nil)
				if err != nil {
					t.Fatal(err)
				}
				hung.Go(func() {
					if resp, err := c.Do(req); err == nil {
						t.Errorf("%s, %s: who was to hang got %d", name, limit, resp.StatusCode)
						resp.Body.Close()
					}
				})
				until(t, "it hangs", func() bool { return d.State().Held == before+1 })
				return leave
			}
			var leave []context.CancelFunc
			for range most {
				leave = append(leave, hold())
			}
			for range 3 {
				if status, _, err := get(c, d.URL()+"/hang"); status != http.StatusOK {
					t.Errorf("%s, %s: one more got %d, %v", name, limit, status, err)
				}
			}
			leave[0]()
			until(t, "one has left", func() bool { return d.State().Held == most-1 })
			leave[0] = hold()
			if status, _, err := get(c, d.URL()+"/hang"); status != http.StatusOK {
				t.Errorf("%s, %s: after that one more got %d, %v", name, limit, status, err)
			}
			if s := d.State(); s.Overflow[limit] != 4 || s.Held != most || s.Active != most || s.Faulted != most+1 {
				t.Errorf("%s, %s: %+v", name, limit, s)
			}
			for _, f := range leave {
				f()
			}
			hung.Wait()
		}
	}
}
