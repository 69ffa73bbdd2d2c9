package limit_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// kind is a limiter with a random configuration.
type kind struct {
	fresh func() limit.Limiter
	unit  time.Duration // the stretch of time in which it matters
	limit int
	// most is the most that may pass within d, both ends included, or infinity if
	// nothing is promised for that d.
	most func(d time.Duration) float64
	// follows says that a clock that steps back takes the limiter with it; else time
	// stands still, or counts as given.
	follows, given bool
}

// tooMany changes nothing, where a call for 0 moves the instant that a bucket counts
// from, and with it what floating point rounds.
const tooMany = 1 << 40

func must[L limit.Limiter](l L, err error) limit.Limiter {
	if err != nil {
		panic(err)
	}
	return l
}

// spans has round and odd lengths, and short ones in which every nanosecond counts.
func drawSpan(t *rapid.T, name string) time.Duration {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{1, 7, time.Millisecond, time.Second}),
		rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 50).Draw(t, "ns")) }),
		rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 3e9).Draw(t, "ns")) }),
	).Draw(t, name)
}

func within(d, bound time.Duration, most float64) float64 {
	if d <= bound {
		return most
	}
	return math.Inf(1)
}

// kinds draws each limiter of the package.
func kinds() map[string]func(t *rapid.T) kind {
	return map[string]func(t *rapid.T) kind{
		"token bucket": func(t *rapid.T) kind { return drawBucket(t, 0) },
		"token bucket reserved": func(t *rapid.T) kind {
			return drawBucket(t, time.Duration(rapid.Int64Range(1, 3e9).Draw(t, "longest wait")))
		},
		"gcra": func(t *rapid.T) kind {
			cfg := limit.GCRAConfig{
				Limit:  rapid.IntRange(1, 9).Draw(t, "limit"),
				Period: drawSpan(t, "period"),
				Burst:  rapid.IntRange(1, 9).Draw(t, "burst"),
			}
			return kind{
				fresh: func() limit.Limiter { return must(limit.NewGCRA(cfg)) },
				unit:  cfg.Period, limit: cfg.Burst, given: true,
				most: func(d time.Duration) float64 {
					return float64(int64(cfg.Burst) + int64(d)*int64(cfg.Limit)/int64(cfg.Period))
				},
			}
		},
		"fixed window": func(t *rapid.T) kind {
			cfg := limit.FixedWindowConfig{
				Limit:  rapid.IntRange(1, 9).Draw(t, "limit"),
				Window: drawSpan(t, "window"),
				Align:  rapid.SampledFrom([]limit.Align{limit.Clock, limit.FirstCall}).Draw(t, "align"),
			}
			return kind{
				fresh: func() limit.Limiter { return must(limit.NewFixedWindow(cfg)) },
				unit:  cfg.Window, limit: cfg.Limit,
				most: func(d time.Duration) float64 { return within(d, cfg.Window, 2*float64(cfg.Limit)) },
			}
		},
		"sliding log": func(t *rapid.T) kind {
			cfg := limit.SlidingLogConfig{Limit: rapid.IntRange(1, 9).Draw(t, "limit"), Window: drawSpan(t, "window")}
			return kind{
				fresh: func() limit.Limiter { return must(limit.NewSlidingLog(cfg)) },
				unit:  cfg.Window, limit: cfg.Limit,
				most: func(d time.Duration) float64 { return within(d, cfg.Window-1, float64(cfg.Limit)) },
			}
		},
		"sliding window counter": func(t *rapid.T) kind {
			cfg := limit.SlidingWindowCounterConfig{Limit: rapid.IntRange(1, 9).Draw(t, "limit"), Window: drawSpan(t, "window")}
			return kind{
				fresh: func() limit.Limiter { return must(limit.NewSlidingWindowCounter(cfg)) },
				unit:  cfg.Window, limit: cfg.Limit,
				most: func(d time.Duration) float64 {
					l := int64(cfg.Limit)
					return within(d, cfg.Window-1, float64(l+l*int64(d)/int64(cfg.Window)))
				},
			}
		},
		"atomic":          func(t *rapid.T) kind { return drawAtomic(t, 0) },
		"atomic reserved": func(t *rapid.T) kind { return drawAtomic(t, drawSpan(t, "timeout")) },
	}
}

// reserving asks a bucket for reservations.
type reserving struct {
	*limit.TokenBucket
	longest time.Duration
}

func (r reserving) Take(now time.Time, n int) limit.Decision { return r.Reserve(now, n, r.longest) }

func drawBucket(t *rapid.T, longest time.Duration) kind {
	cfg := limit.TokenBucketConfig{
		Rate: rapid.OneOf(
			rapid.SampledFrom([]float64{0, 0.1, 1, 3, 1000, 1e9, 3e9}),
			rapid.Float64Range(0.001, 5e9),
		).Draw(t, "rate"),
		Burst: rapid.IntRange(0, 9).Draw(t, "burst"),
	}
	unit := time.Second
	if cfg.Rate > 1 {
		unit = max(time.Duration(float64(time.Second)/cfg.Rate), 1)
	}
	return kind{
		fresh: func() limit.Limiter {
			bucket, err := limit.NewTokenBucket(cfg)
			return must(reserving{bucket, longest}, err)
		},
		unit: unit, limit: cfg.Burst, follows: true,
		most: func(d time.Duration) float64 {
			if longest > 0 {
				return math.Inf(1)
			}
			return float64(cfg.Burst) + cfg.Rate*(d+1).Seconds() + 1e-6
		},
	}
}

func drawAtomic(t *rapid.T, timeout time.Duration) kind {
	cfg := limit.AtomicRateLimiterConfig{
		LimitForPeriod:     rapid.IntRange(1, 9).Draw(t, "limit"),
		LimitRefreshPeriod: drawSpan(t, "period"),
		Timeout:            timeout,
	}
	return kind{
		fresh: func() limit.Limiter { return must(limit.NewAtomicRateLimiter(cfg, storyStart)) },
		unit:  cfg.LimitRefreshPeriod, limit: cfg.LimitForPeriod, follows: true,
		most: func(d time.Duration) float64 {
			if timeout > 0 {
				return math.Inf(1)
			}
			return within(d, cfg.LimitRefreshPeriod, 2*float64(cfg.LimitForPeriod))
		},
	}
}

// call is one question to a limiter.
type call struct {
	now time.Time
	n   int
}

// history asks a limiter and can begin again: limiters cannot be copied.
type history struct {
	kind  kind
	live  limit.Limiter
	calls []call
	last  limit.Decision
}

func begin(k kind) *history { return &history{kind: k, live: k.fresh()} }

func (h *history) take(c call) limit.Decision {
	h.calls = append(h.calls, c)
	h.last = h.live.Take(c.now, c.n)
	return h.last
}

// ask tells what the limiter would answer now.
func (h *history) ask(now time.Time, n int) limit.Decision {
	l := h.kind.fresh()
	for _, c := range h.calls {
		l.Take(c.now, c.n)
	}
	return l.Take(now, n)
}

// draw draws the next call, often at an instant that matters: the same one, the one
// at which the last call would pass, the one before.
func (h *history) draw(t *rapid.T, back bool) call {
	now := storyStart
	if len(h.calls) > 0 {
		now = h.calls[len(h.calls)-1].now
	}
	step := time.Duration(0)
	ways := []string{"stay", "stay", "unit", "retry", "retry-1", "reset", "far"}
	if back {
		ways = append(ways, "back")
	}
	switch rapid.SampledFrom(ways).Draw(t, "step") {
	case "unit":
		step = time.Duration(rapid.Int64Range(0, 2*int64(h.kind.unit)).Draw(t, "ns"))
	case "retry":
		step = h.last.RetryAfter
	case "retry-1":
		step = max(h.last.RetryAfter-1, 0)
	case "reset":
		step = h.last.Reset
	case "far":
		step = time.Duration(rapid.Int64Range(0, 20).Draw(t, "units")) * h.kind.unit
	case "back":
		step = -time.Duration(rapid.Int64Range(0, 3*int64(h.kind.unit)).Draw(t, "ns"))
	}
	if step > 1<<40 {
		step = h.kind.unit
	}
	n := rapid.SampledFrom([]int{1, 1, 1, 0, 2, h.kind.limit, h.kind.limit + 1, max(h.last.Remaining, 1)}).Draw(t, "n")
	return call{now.Add(step), n}
}

// eachKind checks a property of every limiter.
func eachKind(t *testing.T, property func(t *rapid.T, k kind)) {
	t.Helper()
	for name, draw := range kinds() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, draw(t)) })
		})
	}
}
