package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// bare is good without a fallback, so that a client sees what became of its call.
func bare() proxy.Config {
	cfg := good()
	cfg.Fallback = nil
	return cfg
}

// after answers with a status after so long.
func after(d time.Duration, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			status(code)(w, r)
		case <-r.Context().Done():
		}
	}
}

// together sends n calls at one instant, and returns what each client got.
func (w *world) together(t *testing.T, n int) []reply {
	t.Helper()
	got := make([]reply, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { got[i] = w.get(t.Context()) })
	}
	all.Wait()
	return got
}

// count is how many of the replies have a status.
func count(replies []reply, status int) (n int) {
	for _, r := range replies {
		if r.status == status {
			n++
		}
	}
	return n
}

// A call that fails three times is three outcomes inside of the retry, and one around it.
func TestOrderOfRetryAndBreaker(t *testing.T) {
	for order, failed := range map[string]int{"": 3, "retry,circuitbreaker": 3, "circuitbreaker,retry": 1} {
		cfg := bare()
		cfg.Retry = attempts(3, 0)
		if order != "" {
			for name := range strings.SplitSeq(order, ",") {
				cfg.Order = append(cfg.Order, proxy.Policy(name))
			}
		}
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			w.get(t.Context()).want(t, 503, proxy.SourcePrimary)
			w.dep.want(t, 3)
			if m := w.metrics(t); m.Failed != failed {
				t.Errorf("%q: the breaker counted %d failures, want %d", order, m.Failed, failed)
			}
		})
	}
}

// Inside of the retry each attempt takes a permit, outside the call does.
func TestOrderOfRetryAndRateLimiter(t *testing.T) {
	for _, tc := range []struct {
		order  []proxy.Policy
		status int
		arrive int32
	}{
		{nil, 429, 2},
		{[]proxy.Policy{proxy.RateLimiter, proxy.CircuitBreaker, proxy.Retry}, 503, 3},
	} {
		cfg := bare()
		cfg.Retry, cfg.Order = attempts(3, 0), tc.order
		cfg.RateLimiter = limit.FixedWindowConfig{Limit: 2, Window: time.Minute}
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			if r := w.get(t.Context()); r.status != tc.status {
				t.Errorf("%v: got %d, want %d", tc.order, r.status, tc.status)
			}
			w.dep.want(t, tc.arrive)
		})
	}
}

func TestRateLimiterTellsWhen(t *testing.T) {
	cfg := bare()
	cfg.RateLimiter, cfg.RateLimitKey = limit.GCRAConfig{Limit: 1, Period: 10 * time.Second, Burst: 2}, "X-Tenant"
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		time.Sleep(2500 * time.Millisecond)
		r := w.get(t.Context())
		r.want(t, 429, proxy.SourceNone)
		got := map[string]string{}
		for _, name := range []string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
			got[name] = r.header.Get(name)
		}
		want := map[string]string{"Retry-After": "8", "X-Ratelimit-Limit": "2", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "18"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the headers (-want +got):\n%s", diff)
		}
		time.Sleep(8 * time.Second)
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.dep.want(t, 3)
		if m := w.metrics(t); m.Buffered != 3 {
			t.Errorf("the breaker knows of %d calls, want 3", m.Buffered)
		}
	})
}

func TestRateLimiterByKey(t *testing.T) {
	cfg := bare()
	cfg.RateLimiter, cfg.RateLimitKey = limit.FixedWindowConfig{Limit: 1, Window: time.Minute}, "X-Tenant"
	w := loopback(t, cfg)
	for _, tc := range []struct {
		tenant string
		status int
	}{{"a", 200}, {"a", 429}, {"b", 200}, {"", 200}, {"", 429}, {"b", 429}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Tenant", tc.tenant)
		resp, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tc.status {
			t.Errorf("tenant %q got %d, want %d", tc.tenant, resp.StatusCode, tc.status)
		}
	}
}

// Who would wait for too long is held for all of his patience, and refused then.
func TestRateLimiterParksWhoItRefuses(t *testing.T) {
	cfg := bare()
	cfg.RateLimiter = limit.AtomicRateLimiterConfig{LimitForPeriod: 1, LimitRefreshPeriod: time.Second, Timeout: 1500 * time.Millisecond}
	bubble(t, cfg, func(t *testing.T, w *world) {
		replies := w.together(t, 3)
		if count(replies, 200) != 2 || count(replies, 429) != 1 {
			t.Fatalf("got %+v, want two answers and a refusal", replies)
		}
		for _, r := range replies {
			switch {
			case r.status == 429 && (r.took < 1500*time.Millisecond || r.took > 1501*time.Millisecond):
				t.Errorf("the refused one waited %v, want 1.5s", r.took)
			case r.status == 200 && r.took > 1001*time.Millisecond:
				t.Errorf("an admitted one waited %v, want at most 1s", r.took)
			}
		}
	})
}

// What is cancelled is gone; what is not runs on, holds its place and is heard of by
// nobody.
func TestTimeLimiter(t *testing.T) {
	for _, work := range []timelimit.Work{timelimit.Future, timelimit.Completable} {
		cfg := bare()
		cfg.Timeout, cfg.Bulkhead = 0, places(1)
		cfg.TimeLimiter = &timelimit.Config{Timeout: 100 * time.Millisecond, CancelRunningFuture: true, Work: work}
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(after(time.Second, 200))
			r := w.get(t.Context())
			r.want(t, 502, proxy.SourceNone)
			if r.took.Round(time.Millisecond) != 100*time.Millisecond {
				t.Errorf("%v: given up after %v, want 100ms", work, r.took)
			}
			time.Sleep(10 * time.Millisecond)
			next := w.get(t.Context())
			if held := strings.Contains(next.body, "bulkhead"); held != (work == timelimit.Completable) {
				t.Errorf("%v: the next call got %d %s", work, next.status, next.body)
			}
			time.Sleep(2 * time.Second)
			if m := w.metrics(t); m.Failed == 0 || m.Failed != m.Buffered {
				t.Errorf("%v: the breaker counted %+v, want failures only", work, m)
			}
		})
	}
}

// The time runs from when there is a future: what blocks the caller before is not limited.
func TestTimeLimiterDoesNotLimitTheWayToTheFuture(t *testing.T) {
	cfg := bare()
	cfg.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 1, MaxWait: time.Second}
	cfg.TimeLimiter = &timelimit.Config{Timeout: 100 * time.Millisecond, CancelRunningFuture: true}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(after(90*time.Millisecond, 200))
		if replies := w.together(t, 5); count(replies, 200) != 5 {
			t.Errorf("got %+v, want five answers", replies)
		}
	})
	cfg.Order = []proxy.Policy{proxy.CircuitBreaker, proxy.Bulkhead, proxy.TimeLimiter}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(after(200*time.Millisecond, 200))
		if replies := w.together(t, 5); count(replies, 502) != 5 {
			t.Errorf("got %+v, want five timeouts", replies)
		}
	})
}

func TestBulkheadThatIsWaitedFor(t *testing.T) {
	cfg := bare()
	cfg.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 2, MaxWait: 250 * time.Millisecond, FairCallHandling: true}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(after(100*time.Millisecond, 200))
		replies := w.together(t, 10)
		if got, refused := count(replies, 200), count(replies, 503); got != 6 || refused != 4 {
			t.Errorf("%d answers and %d refusals, want 6 and 4", got, refused)
		}
		for _, r := range replies {
			if r.status == 503 && (r.took.Round(time.Millisecond) != 250*time.Millisecond || !strings.Contains(r.body, "the bulkhead is full")) {
				t.Errorf("refused after %v: %s", r.took, r.body)
			}
		}
		w.dep.want(t, 6)
	})
}

// A time limiter around the bulkhead gives up who waits in it, whose place goes to others.
func TestBulkheadLetsGoOfWhoGaveUp(t *testing.T) {
	cfg := bare()
	cfg.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 1, MaxWait: time.Minute, FairCallHandling: true}
	cfg.Model = &model.Config{}
	*cfg.Model, _ = model.Preset("opossum") // Its own timeout is around all that is inside.
	cfg.Model.Count.Timeout = 100 * time.Millisecond
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(after(70*time.Millisecond, 200))
		if replies := w.together(t, 5); count(replies, 200) != 1 || count(replies, 502) != 4 {
			t.Errorf("got %+v, want one answer and four timeouts", replies)
		}
		w.dep.answers(status(200))
		time.Sleep(time.Minute)
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
	})
}

// Nothing takes a call out of the queue: it is made although nobody waits any more.
func TestThreadPool(t *testing.T) {
	cfg := bare()
	cfg.ThreadPool = &bulkhead.ThreadPoolConfig{Core: 2, Max: 2, QueueCapacity: 3, KeepAlive: time.Second}
	cfg.TimeLimiter = &timelimit.Config{Timeout: 150 * time.Millisecond, CancelRunningFuture: true, Work: timelimit.Completable}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(after(100*time.Millisecond, 200))
		replies := w.together(t, 10)
		if got := [3]int{count(replies, 200), count(replies, 502), count(replies, 503)}; got != [3]int{2, 3, 5} {
			t.Errorf("%v answers, timeouts and refusals, want 2, 3 and 5", got)
		}
		time.Sleep(time.Second)
		w.dep.want(t, 5)
	})
}

func TestRejectionsMayFail(t *testing.T) {
	for fail, failed := range map[bool]int{false: 0, true: 5} {
		cfg := bare()
		cfg.Bulkhead, cfg.RejectionsFail = places(5), fail
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.volley(t, 10, 200)
			if m := w.metrics(t); m.Failed != failed {
				t.Errorf("the breaker counted %d failures, want %d", m.Failed, failed)
			}
			if open := w.State() == breakerref.Open; open != fail {
				t.Errorf("after five refusals of ten calls the breaker is %v", w.State())
			}
		})
	}
}

func TestRetryBacksOffWithinItsBudget(t *testing.T) {
	cfg := bare()
	cfg.Breaker.Window, cfg.Breaker.MinimumCalls = 1000, 1000
	cfg.Retry = &retry.Config{MaxAttempts: 4, Wait: 10 * time.Millisecond, Multiplier: 3, MaxWait: 50 * time.Millisecond}
	cfg.RetryBudget = &retry.BudgetConfig{Window: 10 * time.Second, MinPerSecond: 1}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(503))
		if r := w.get(t.Context()); r.took.Round(time.Millisecond) != 90*time.Millisecond {
			t.Errorf("four attempts took %v, want waits of 10, 30 and 50ms", r.took)
		}
		for range 10 {
			w.get(t.Context())
		}
		w.dep.want(t, 11+10) // Every first call, and the ten retries that the budget holds.
	})
}

func TestPoliciesAreChecked(t *testing.T) {
	for want, change := range map[string]func(c *proxy.Config){
		`the order of policies has "cache", must be of retry, circuitbreaker`: func(c *proxy.Config) { c.Order = []proxy.Policy{"cache", proxy.CircuitBreaker} },
		"the order of policies has retry twice":                               func(c *proxy.Config) { c.Order = []proxy.Policy{proxy.Retry, proxy.Retry, proxy.CircuitBreaker} },
		"leaves out circuitbreaker, which there is":                           func(c *proxy.Config) { c.Order = []proxy.Policy{proxy.Retry} },
		"leaves out bulkhead, which there is":                                 func(c *proxy.Config) { c.Order, c.Bulkhead = []proxy.Policy{proxy.CircuitBreaker}, places(1) },
		"there is a budget of retries, but no retry":                          func(c *proxy.Config) { b := retry.DefaultBudget(); c.RetryBudget = &b },
		"there is a key of a rate limiter, but no rate limiter":               func(c *proxy.Config) { c.RateLimitKey = "X" },
		`the key of the rate limiter is "a b", must be the name of a header`:  func(c *proxy.Config) { c.RateLimitKey = "a b" },
		"there are a bulkhead of both kinds": func(c *proxy.Config) {
			c.Bulkhead, c.ThreadPool = places(1), &bulkhead.ThreadPoolConfig{Core: 1, Max: 1}
		},
		"the retry: maxAttempts is 0":         func(c *proxy.Config) { c.Retry = &retry.Config{} },
		"the rate limiter: ":                  func(c *proxy.Config) { c.RateLimiter = limit.GCRAConfig{} },
		"the time limiter: timeoutDuration":   func(c *proxy.Config) { c.TimeLimiter = &timelimit.Config{Timeout: -1} },
		"the bulkhead: maxConcurrentCalls":    func(c *proxy.Config) { c.Bulkhead = places(-1) },
		"the thread pool: ":                   func(c *proxy.Config) { c.ThreadPool = &bulkhead.ThreadPoolConfig{} },
		"the number of instances is negative": func(c *proxy.Config) { c.Instances = -1 },
		"trip.rule":                           func(c *proxy.Config) { c.Model = &model.Config{} },
		"the defect permits_all needs a breaker with a half-open state, nginx": func(c *proxy.Config) {
			c.Model, c.Defect = preset(t, "nginx"), proxy.PermitsAll
		},
		"the defect permits_all needs a breaker that limits its probes, pgmux": func(c *proxy.Config) {
			c.Model, c.Defect = preset(t, "pgmux"), proxy.PermitsAll
		},
		"is one of Resilience4j's breaker": func(c *proxy.Config) {
			c.Breaker.WindowType = breakerref.TimeBased
			c.Model, c.Defect = preset(t, "pgmux"), proxy.WindowNeverSlide
		},
		"the actuator is Resilience4j's and knows none of its states": func(c *proxy.Config) {
			c.Model, c.Actuator = preset(t, "pgmux"), true
		},
	} {
		cfg := good()
		cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://127.0.0.1:1"
		change(&cfg)
		p, err := proxy.Start(t.Context(), cfg)
		if err == nil {
			closeProxy(t, p)
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// preset is a model as it comes.
func preset(t *testing.T, name string) *model.Config {
	t.Helper()
	c, ok := model.Preset(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return &c
}
