package limit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
)

type validator interface{ Validate() error }

// TestValidate checks that each problem names the field, its value and what is
// allowed, and that the edges of what is allowed pass.
func TestValidate(t *testing.T) {
	second := time.Second
	tooLong := time.Duration(1<<62 + 1)
	for _, c := range []struct {
		name string
		cfg  validator
		want []string // none: it is valid
	}{
		{"bucket", limit.TokenBucketConfig{}, nil},
		{"bucket unlimited", limit.TokenBucketConfig{Rate: limit.Unlimited}, nil},
		{"bucket negative", limit.TokenBucketConfig{Rate: -0.5, Burst: -2}, []string{
			"rate is -0.5, must be at least 0 (per second), or Unlimited",
			"burst is -2, must be from 0 to 2^53, up to which floating point counts",
		}},
		{"bucket NaN", limit.TokenBucketConfig{Rate: math.NaN()}, []string{"rate is NaN, must be at least 0"}},
		{"bucket infinite", limit.TokenBucketConfig{Rate: math.Inf(1)}, []string{"rate is +Inf, must be at least 0"}},
		{"bucket too large", limit.TokenBucketConfig{Burst: 1<<53 + 1}, []string{"burst is 9007199254740993, must be from 0"}},

		{"fixed", limit.FixedWindowConfig{Limit: 1, Window: 1, Align: limit.FirstCall}, nil},
		{"fixed empty", limit.FixedWindowConfig{Align: 2}, []string{
			"limit is 0, must be at least 1", "window is 0s, must be from 1ns to", "align is 2, must be Clock (0) or FirstCall (1)",
		}},
		{"fixed too long", limit.FixedWindowConfig{Limit: 1, Window: tooLong}, []string{"window is 1281023h53m38.427387905s, must be from 1ns to 1281023h53m38.427387904s"}},

		{"log", limit.SlidingLogConfig{Limit: 1, Window: 1}, nil},
		{"log empty", limit.SlidingLogConfig{}, []string{"limit is 0, must be at least 1", "window is 0s, must be from 1ns to"}},
		{"counter", limit.SlidingWindowCounterConfig{Limit: 1, Window: 1}, nil},
		{"counter empty", limit.SlidingWindowCounterConfig{}, []string{"limit is 0, must be at least 1", "window is 0s, must be from 1ns to"}},

		{"gcra", limit.GCRAConfig{Limit: 1, Period: 1, Burst: 1}, nil},
		{"gcra empty", limit.GCRAConfig{}, []string{"limit is 0, must be at least 1", "period is 0s, must be from 1ns to", "burst is 0, must be at least 1"}},
		{"gcra edge", limit.GCRAConfig{Limit: 1, Period: 1 << 31, Burst: 1 << 31}, nil},
		{"gcra debt", limit.GCRAConfig{Limit: 1, Period: 1 << 31, Burst: 1<<31 + 1}, []string{"burst is 2147483649, must be so small that burst*period/limit is at most"}},
		{"gcra overflow", limit.GCRAConfig{Limit: 1, Period: 1 << 62, Burst: math.MaxInt}, []string{"burst is 9223372036854775807, must be so small"}},

		{"atomic default", limit.DefaultAtomicRateLimiterConfig(), nil},
		{"atomic edge", limit.AtomicRateLimiterConfig{LimitForPeriod: math.MaxInt32, LimitRefreshPeriod: 1}, nil},
		{"atomic empty", limit.AtomicRateLimiterConfig{Timeout: -second}, []string{
			"limitForPeriod is 0, must be from 1 to 2147483647", "limitRefreshPeriod is 0s, must be at least 1ns", "timeoutDuration is -1s, must be at least 0",
		}},
		{"atomic too large", limit.AtomicRateLimiterConfig{LimitForPeriod: math.MaxInt32 + 1, LimitRefreshPeriod: 1}, []string{"limitForPeriod is 2147483648, must be from 1 to 2147483647"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.cfg.Validate()
			if len(c.want) == 0 {
				if err != nil {
					t.Fatalf("want no problem, got %v", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("want %q, got no problem", c.want)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("want %d problems, got %q", len(c.want), lines)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, c.want[i]) {
					t.Errorf("problem %d: want %q, got %q", i, c.want[i], line)
				}
			}
		})
	}
}

// TestConstructorsRefuse checks that no constructor takes what Validate refuses.
func TestConstructorsRefuse(t *testing.T) {
	made := map[string]error{}
	_, made["bucket"] = limit.NewTokenBucket(limit.TokenBucketConfig{Rate: -1})
	_, made["fixed"] = limit.NewFixedWindow(limit.FixedWindowConfig{})
	_, made["log"] = limit.NewSlidingLog(limit.SlidingLogConfig{})
	_, made["counter"] = limit.NewSlidingWindowCounter(limit.SlidingWindowCounterConfig{})
	_, made["gcra"] = limit.NewGCRA(limit.GCRAConfig{})
	_, made["atomic"] = limit.NewAtomicRateLimiter(limit.AtomicRateLimiterConfig{}, time.Time{})
	_, made["keyed"] = limit.NewKeyed(0, nil)
	for name, err := range made {
		if err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	if want := "keys is 0, must be at least 1"; made["keyed"].Error() != want {
		t.Errorf("want %q, got %q", want, made["keyed"])
	}
}
