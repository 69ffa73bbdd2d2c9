package limit_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// TestBounds checks how much passes within any stretch of time, also if the clock
// steps back.
func TestBounds(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		type passed struct {
			at time.Time
			n  int
		}
		var all []passed
		var latest time.Time
		h := begin(k)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			c := h.draw(t, !k.follows)
			if k.given || c.now.After(latest) {
				latest = c.now
			}
			if h.take(c).Allowed {
				all = append(all, passed{latest, c.n})
			}
		}
		slices.SortStableFunc(all, func(a, b passed) int { return a.at.Compare(b.at) })
		for i := range all {
			sum := 0
			for _, p := range all[i:] {
				sum += p.n
				if d := p.at.Sub(all[i].at); float64(sum) > k.most(d) {
					t.Fatalf("%d passed within %v, at most %g may", sum, d, k.most(d))
				}
			}
		}
	})
}

// TestPromises checks what a Decision says of the present and the future: Remaining,
// RetryAfter and Reset are exact to the call and the nanosecond.
func TestPromises(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		h := begin(k)
		for range rapid.IntRange(1, 12).Draw(t, "calls") {
			c := h.draw(t, !k.follows)
			d := h.take(c)
			if d.Limit != k.limit {
				t.Fatalf("limit is %d, want %d", d.Limit, k.limit)
			}
			checkRemaining(t, h, c, d)
			checkRetryAfter(t, h, c, d)
			checkReset(t, h, c, d)
		}
	})
}

func checkRemaining(t *rapid.T, h *history, c call, d limit.Decision) {
	if d.Remaining > 0 {
		if got := h.ask(c.now, d.Remaining); !got.Allowed || got.Wait > 0 {
			t.Fatalf("%d remain after %v, but are answered %+v", d.Remaining, c, got)
		}
	}
	if got := h.ask(c.now, d.Remaining+1); got.Allowed && got.Wait == 0 {
		t.Fatalf("%d remain after %v, but one more passes: %+v", d.Remaining, c, got)
	}
}

func checkRetryAfter(t *rapid.T, h *history, c call, d limit.Decision) {
	switch {
	case d.Allowed != (d.RetryAfter == 0):
		t.Fatalf("allowed and retry after contradict each other: %+v", d)
	case d.Allowed:
	case d.RetryAfter == limit.Never:
		ahead := time.Duration(rapid.Int64Range(0, 20*int64(h.kind.unit)).Draw(t, "ahead"))
		if got := h.ask(c.now.Add(ahead), c.n); got.Allowed {
			t.Fatalf("%v never passes, but does after %v", c, ahead)
		}
	default:
		if got := h.ask(c.now.Add(d.RetryAfter), c.n); !got.Allowed {
			t.Fatalf("%v does not pass after %v: %+v", c, d.RetryAfter, got)
		}
		if got := h.ask(c.now.Add(d.RetryAfter-1), c.n); got.Allowed {
			t.Fatalf("%v passes 1ns before %v: %+v", c, d.RetryAfter, got)
		}
	}
}

func checkReset(t *rapid.T, h *history, c call, d limit.Decision) {
	if d.Reset == limit.Never {
		return
	}
	if got := h.ask(c.now.Add(d.Reset), tooMany); got.Reset != 0 || got.Remaining != got.Limit {
		t.Fatalf("after %v of %v, want as good as new, got %+v", d.Reset, c, got)
	}
	if d.Reset > 0 {
		if got := h.ask(c.now.Add(d.Reset-1), tooMany); got.Reset != 1 {
			t.Fatalf("1ns before %v, want a reset in 1ns, got %+v", d.Reset, got)
		}
	}
}

// TestRejectedLeavesNoTrace checks that a call that does not pass costs nothing.
func TestRejectedLeavesNoTrace(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		h, clean := begin(k), k.fresh()
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			c := h.draw(t, false)
			d := h.take(c)
			if !d.Allowed {
				continue
			}
			if diff := cmp.Diff(d, clean.Take(c.now, c.n)); diff != "" {
				t.Fatalf("%v is answered differently without those rejected before:\n%s", c, diff)
			}
		}
	})
}

// TestNegative checks that those that copy no library do not give back.
func TestNegative(t *testing.T) {
	eachKind(t, func(t *rapid.T, k kind) {
		if k.follows {
			return // it copies a library
		}
		h := begin(k)
		h.take(call{storyStart, 1})
		n := rapid.IntRange(-9, -1).Draw(t, "n")
		if d := h.take(call{storyStart, n}); d.Allowed || d.RetryAfter != limit.Never || d.Remaining != k.limit-1 {
			t.Fatalf("%d calls are answered %+v", n, d)
		}
	})
}

// TestGCRAIsATokenBucket compares with the bucket of the theory, in fractions.
func TestGCRAIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := limit.GCRAConfig{
			Limit:  rapid.IntRange(1, 1_000_000).Draw(t, "limit"),
			Period: drawSpan(t, "period"),
			Burst:  rapid.IntRange(1, 50).Draw(t, "burst"),
		}
		unit := max(cfg.Period/time.Duration(cfg.Limit), 1)
		h := begin(kind{fresh: func() limit.Limiter { return must(limit.NewGCRA(cfg)) }, unit: unit, limit: cfg.Burst})
		rate := big.NewRat(int64(cfg.Limit), int64(cfg.Period))
		burst := new(big.Rat).SetInt64(int64(cfg.Burst))
		level, last := burst, storyStart
		for range rapid.IntRange(1, 50).Draw(t, "calls") {
			c := h.draw(t, false)
			d := h.take(c)
			inflow := new(big.Rat).SetInt64(int64(c.now.Sub(last)))
			level = new(big.Rat).Add(level, inflow.Mul(inflow, rate))
			if level.Cmp(burst) > 0 {
				level = burst
			}
			last = c.now
			n := new(big.Rat).SetInt64(int64(c.n))
			allowed := level.Cmp(n) >= 0
			if allowed {
				level = new(big.Rat).Sub(level, n)
			}
			whole := new(big.Int).Quo(level.Num(), level.Denom()).Int64()
			if d.Allowed != allowed || int64(d.Remaining) != whole {
				t.Fatalf("%v: the bucket says %v and holds %s, GCRA %+v", c, allowed, level.FloatString(9), d)
			}
		}
	})
}

// TestGCRAAdmitsAsTokenBucket compares the two limiters where floating point does
// not round: rates and instants are multiples of a power of two.
func TestGCRAAdmitsAsTokenBucket(t *testing.T) {
	const grid = time.Second / 512
	rapid.Check(t, func(t *rapid.T) {
		perSecond := 1 << rapid.IntRange(0, 9).Draw(t, "log2 of the rate")
		burst := rapid.IntRange(1, 9).Draw(t, "burst")
		gcra := must(limit.NewGCRA(limit.GCRAConfig{Limit: perSecond, Period: time.Second, Burst: burst}))
		bucket := must(limit.NewTokenBucket(limit.TokenBucketConfig{Rate: float64(perSecond), Burst: burst}))
		now := storyStart
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 700).Draw(t, "step")) * grid / time.Duration(perSecond) * time.Duration(1))
			now = now.Truncate(grid)
			n := rapid.IntRange(0, burst+1).Draw(t, "n")
			g, b := gcra.Take(now, n), bucket.Take(now, n)
			if g.Allowed != b.Allowed || g.Remaining != b.Remaining {
				t.Fatalf("%d at %v: GCRA %+v, token bucket %+v", n, now.Sub(storyStart), g, b)
			}
			if g.RetryAfter != limit.Never && (g.RetryAfter-b.RetryAfter).Abs() > 1 {
				t.Fatalf("%d at %v: GCRA again in %v, token bucket in %v", n, now.Sub(storyStart), g.RetryAfter, b.RetryAfter)
			}
		}
	})
}

// TestNoDrift takes all there is for a million periods of a length that nothing
// divides. Each takes the burst at once and the rest as soon as it passes.
func TestNoDrift(t *testing.T) {
	const periods, odd = 1_000_000, 333_333_331 * time.Nanosecond
	for name, c := range map[string]struct {
		limiter limit.Limiter
		want    int
	}{
		"fixed window":       {must(limit.NewFixedWindow(limit.FixedWindowConfig{Limit: 3, Window: odd, Align: limit.FirstCall})), 3*periods + 3},
		"fixed window clock": {must(limit.NewFixedWindow(limit.FixedWindowConfig{Limit: 3, Window: odd})), 3*periods + 3},
		"sliding log":        {must(limit.NewSlidingLog(limit.SlidingLogConfig{Limit: 3, Window: odd})), 3*periods + 3},
		"gcra":               {must(limit.NewGCRA(limit.GCRAConfig{Limit: 3, Period: odd, Burst: 2})), 3*periods + 2},
		"atomic":             {must(limit.NewAtomicRateLimiter(limit.AtomicRateLimiterConfig{LimitForPeriod: 3, LimitRefreshPeriod: odd}, alignedStart(odd))), 3*periods + 3},
	} {
		t.Run(name, func(t *testing.T) {
			start := alignedStart(odd)
			end := start.Add(periods * odd)
			got := 0
			for now := start; !now.After(end); {
				d := c.limiter.Take(now, 1)
				if d.Allowed {
					got++
				}
				now = now.Add(d.RetryAfter)
			}
			if got != c.want {
				t.Errorf("%d passed in %d periods, want %d", got, periods, c.want)
			}
		})
	}
}

// alignedStart is an instant at which a window of the clock begins.
func alignedStart(window time.Duration) time.Time {
	nanos := storyStart.UnixNano()
	return time.Unix(0, nanos-nanos%int64(window))
}
