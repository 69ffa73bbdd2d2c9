package proxy_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// What is tried again is what Retried says, failed or not.
func TestRetried(t *testing.T) {
	only := func(words ...string) *match.Failure {
		f, err := match.ParseFailure(words)
		if err != nil {
			t.Fatal(err)
		}
		return &f
	}
	for name, c := range map[string]struct {
		retried proxy.Retried
		answer  http.HandlerFunc
		arrive  int32
	}{
		"failures":            {proxy.Retried{}, status(503), 3},
		"a listed status":     {proxy.Retried{Failure: only("503")}, status(503), 3},
		"one that is not":     {proxy.Retried{Failure: only("502")}, status(503), 1},
		"no failure":          {proxy.Retried{Failure: only("404")}, status(404), 3},
		"a reset":             {proxy.Retried{Failure: only("reset")}, cut(true), 3},
		"an end is no reset":  {proxy.Retried{Failure: only("reset")}, cut(false), 1},
		"another method":      {proxy.Retried{Methods: []string{http.MethodPut}}, status(503), 1},
		"the method":          {proxy.Retried{Methods: []string{http.MethodGet}}, status(503), 3},
		"slow has no part":    {proxy.Retried{Failure: only("slow>1ms", "404")}, after(5*time.Millisecond, 200), 1},
		"nothing that is bad": {proxy.Retried{Failure: only()}, status(503), 1},
	} {
		cfg := bare()
		cfg.Retry, cfg.Retried = attempts(3, 0), &c.retried
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(c.answer)
			w.get(t.Context())
			if got := w.dep.arrived.Load(); got != c.arrive {
				t.Errorf("%s: %d attempts, want %d", name, got, c.arrive)
			}
		})
	}
}

// A refusal of the breaker is tried again only where that is said.
func TestRetriedRefusals(t *testing.T) {
	for _, refusals := range []bool{false, true} {
		cfg := bare()
		cfg.Retry, cfg.Retried = attempts(3, time.Second), &proxy.Retried{Failure: &match.Failure{}, Refusals: refusals}
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			for range 10 {
				w.get(t.Context())
			}
			w.dep.want(t, 10)
			w.dep.answers(status(200))
			start := time.Now()
			got, want := w.get(t.Context()).status, map[bool]int{false: 503, true: 200}[refusals]
			if took := time.Since(start); got != want || (took >= 2*time.Second) != refusals {
				t.Errorf("refusals %t: got %d after %v, want %d", refusals, got, took, want)
			}
		})
	}
}

// A wait is as long as the dependency asks, and never shorter than the policy's own.
func TestRetryHeedsAfter(t *testing.T) {
	for name, c := range map[string]struct {
		told  func() string
		least time.Duration
	}{
		"seconds":     {func() string { return "3" }, 3 * time.Second},
		"a date":      {func() string { return time.Now().Add(4 * time.Second).UTC().Format(http.TimeFormat) }, 3 * time.Second},
		"a past date": {func() string { return time.Now().Add(-4 * time.Second).UTC().Format(http.TimeFormat) }, 100 * time.Millisecond},
		"nothing":     {func() string { return "" }, 100 * time.Millisecond},
		"nonsense":    {func() string { return "soon" }, 100 * time.Millisecond},
	} {
		cfg := bare()
		cfg.Retry, cfg.Retried = attempts(2, 100*time.Millisecond), &proxy.Retried{HeedAfter: true}
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
				if text := c.told(); text != "" {
					rw.Header().Set("Retry-After", text)
				}
				status(503)(rw, r)
			})
			start := time.Now()
			w.get(t.Context())
			w.dep.want(t, 2)
			if took := time.Since(start); took < c.least || took > c.least+1100*time.Millisecond {
				t.Errorf("%s: it took %v, want %v", name, took, c.least)
			}
		})
	}
}

// With RateLimitTold those who are let through hear of the limiter, too, whoever answers.
func TestRateLimiterTellsAll(t *testing.T) {
	cfg := good()
	cfg.RateLimiter, cfg.RateLimitTold = limit.SlidingLogConfig{Limit: 3, Window: 10 * time.Second}, true
	bubble(t, cfg, func(t *testing.T, w *world) {
		for i, want := range []struct {
			status          int
			left, dependent string
		}{{200, "2", "X"}, {202, "1", ""}, {200, "0", "X"}, {202, "0", ""}} {
			w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("X-Ratelimit-Remaining", "77") // One of its own.
				rw.Header().Set("X-Other", "X")
				status(map[int]int{200: 200, 202: 503}[want.status])(rw, r)
			})
			r := w.get(t.Context())
			got := []string{r.header.Get("X-Ratelimit-Limit"), r.header.Get("X-Ratelimit-Remaining"), r.header.Get("X-Other")}
			if diff := cmp.Diff([]string{"3", want.left, want.dependent}, got); diff != "" || r.status != want.status {
				t.Errorf("call %d: status %d, headers (-want +got):\n%s", i, r.status, diff)
			}
		}
	})
}

// Past its age a kept answer is not given.
func TestTheCacheForgets(t *testing.T) {
	cfg := bare()
	cfg.CacheGood, cfg.CacheMaxAge = 1, 5*time.Second
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(200))
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.dep.answers(status(503))
		time.Sleep(4900 * time.Millisecond)
		w.get(t.Context()).want(t, 200, proxy.SourceCache)
		time.Sleep(200 * time.Millisecond)
		w.get(t.Context()).want(t, 503, proxy.SourcePrimary)
	})
}
