package limit_test

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// TestTokenBucketIsTheRealOne compares with golang.org/x/time/rate, bit for bit: what
// passes, the wait for it, and the tokens after it, also when the clock steps back.
func TestTokenBucketIsTheRealOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := limit.TokenBucketConfig{
			Rate: rapid.OneOf(
				rapid.SampledFrom([]float64{0, 1e-300, 0.1, 1, 3, 1000, 1e9, 3e9, 1e300, limit.Unlimited}),
				rapid.Float64Range(0, 100),
				rapid.Float64Range(0, 1e10),
			).Draw(t, "rate"),
			Burst: rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 1<<53)).Draw(t, "burst"),
		}
		mine, err := limit.NewTokenBucket(cfg)
		if err != nil {
			t.Fatal(err)
		}
		theirs := rate.NewLimiter(rate.Limit(cfg.Rate), cfg.Burst)
		now := storyStart
		last := limit.Decision{}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(drawStep(t, last))
			n := rapid.OneOf(
				rapid.SampledFrom([]int{1, 1, 1, 0, 2, -1, cfg.Burst, cfg.Burst + 1}),
				rapid.IntRange(0, cfg.Burst),
			).Draw(t, "n")
			if rapid.Bool().Draw(t, "reserve") {
				last = mine.Reserve(now, n, limit.Never)
				r := theirs.ReserveN(now, n)
				want := r.DelayFrom(now)
				if !r.OK() {
					want = 0
				}
				if last.Allowed != r.OK() || last.Wait != want {
					t.Fatalf("reserve %d at %v: want %v after %v, got %+v", n, now.Sub(storyStart), r.OK(), want, last)
				}
			} else {
				last = mine.Take(now, n)
				if want := theirs.AllowN(now, n); last.Allowed != want || last.Wait != 0 {
					t.Fatalf("take %d at %v: want %v, got %+v", n, now.Sub(storyStart), want, last)
				}
			}
			if got, want := mine.Tokens(now), theirs.TokensAt(now); got != want {
				t.Fatalf("%d at %v: want %v tokens, got %v", n, now.Sub(storyStart), want, got)
			}
		}
	})
}

func drawStep(t *rapid.T, last limit.Decision) time.Duration {
	const day = int64(24 * time.Hour)
	switch rapid.IntRange(0, 7).Draw(t, "step") {
	case 0, 1:
		return 0
	case 2:
		return time.Duration(rapid.Int64Range(0, 5).Draw(t, "ns"))
	case 3:
		return time.Duration(rapid.Int64Range(0, 3e9).Draw(t, "ns"))
	case 4:
		return -time.Duration(rapid.Int64Range(0, 3e9).Draw(t, "ns"))
	case 5:
		return min(last.RetryAfter, time.Duration(day))
	case 6:
		return max(min(last.RetryAfter, time.Duration(day))-1, 0)
	default:
		return time.Duration(rapid.Int64Range(0, day).Draw(t, "ns"))
	}
}
