package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/retry"
)

func TestDefault(t *testing.T) {
	want := retry.Config{MaxAttempts: 3, Wait: 500 * time.Millisecond}
	if diff := cmp.Diff(want, retry.Default()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigValidate(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*retry.Config)
		want string
	}{
		"default": {func(*retry.Config) {}, ""},
		"all at once": {func(c *retry.Config) {
			c.Wait, c.Multiplier, c.MaxWait, c.RandomFactor = time.Millisecond, 0.5, time.Millisecond, 1
		}, ""},
		"no wait": {func(c *retry.Config) { c.Wait = 0 }, ""},
		"negative": {func(c *retry.Config) {
			*c = retry.Config{MaxAttempts: 0, Wait: -1, Multiplier: 0, MaxWait: -1, RandomFactor: 0}
		}, "maxAttempts is 0, must be from 1 to 2147483647\n" +
			"waitDuration is -1ns, must be at least 0s\n" +
			"exponentialMaxWaitDuration is -1ns, must be at least 1ms, or 0 for no limit\n" +
			"exponentialMaxWaitDuration is -1ns, must be 0 unless exponentialBackoffMultiplier is set"},
		"growth of nothing": {
			func(c *retry.Config) { c.Wait, c.Multiplier = 999*time.Microsecond, 2 },
			"waitDuration is 999µs, must be at least 1ms with exponentialBackoffMultiplier or randomizedWaitFactor",
		},
		"chance of nothing": {
			func(c *retry.Config) { c.Wait, c.RandomFactor = 0, 0.5 },
			"waitDuration is 0s, must be at least 1ms with exponentialBackoffMultiplier or randomizedWaitFactor",
		},
		"multiplier": {
			func(c *retry.Config) { c.Multiplier = -1 },
			"exponentialBackoffMultiplier is -1, must be above 0, or 0 for a wait that does not grow",
		},
		"infinite": {
			func(c *retry.Config) { c.Multiplier = math.Inf(1) },
			"exponentialBackoffMultiplier is +Inf, must be above 0, or 0 for a wait that does not grow",
		},
		"not numbers": {
			func(c *retry.Config) { c.Multiplier, c.RandomFactor = math.NaN(), math.NaN() },
			"exponentialBackoffMultiplier is NaN, must be above 0, or 0 for a wait that does not grow\n" +
				"randomizedWaitFactor is NaN, must be from 0 to 1",
		},
		"factor": {
			func(c *retry.Config) { c.RandomFactor = 1.1 },
			"randomizedWaitFactor is 1.1, must be from 0 to 1",
		},
		"a limit alone": {
			func(c *retry.Config) { c.MaxWait = time.Second },
			"exponentialMaxWaitDuration is 1s, must be 0 unless exponentialBackoffMultiplier is set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := retry.Default()
			c.set(&cfg)
			_, err := retry.New(cfg, retry.Predicates{})
			says(t, err, c.want)
		})
	}
}

func TestBudgetConfigValidate(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  retry.BudgetConfig
		want string
	}{
		"default": {retry.DefaultBudget(), ""},
		"widest":  {retry.BudgetConfig{Window: 60900 * time.Millisecond, Ratio: 1000}, ""},
		"all wrong": {
			retry.BudgetConfig{Window: 999 * time.Millisecond, MinPerSecond: -1, Ratio: 1001},
			"ttl is 999ms, must be from 1s to 60s (and a part of a second)\n" +
				"minRetriesPerSec is -1, must be from 0 to 2147483647\n" +
				"percentCanRetry is 1001, must be from 0 to 1000",
		},
		"not a number": {
			retry.BudgetConfig{Window: 61 * time.Second, Ratio: math.NaN()},
			"ttl is 1m1s, must be from 1s to 60s (and a part of a second)\n" +
				"percentCanRetry is NaN, must be from 0 to 1000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := retry.NewBudget(c.cfg, time.Time{})
			says(t, err, c.want)
		})
	}
}

func TestThrottleConfigValidate(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  retry.ThrottleConfig
		want string
	}{
		"example":  {retry.ThrottleConfig{MaxTokens: 10, TokenRatio: 0.1}, ""},
		"generous": {retry.ThrottleConfig{MaxTokens: 1000, TokenRatio: 1e300}, ""},
		"zero": {
			retry.ThrottleConfig{},
			"maxTokens is 0, must be from 1 to 1000\ntokenRatio is 0, must be above 0",
		},
		"too much": {
			retry.ThrottleConfig{MaxTokens: 1001, TokenRatio: math.Inf(1)},
			"maxTokens is 1001, must be from 1 to 1000\ntokenRatio is +Inf, must be above 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := retry.NewThrottle(c.cfg)
			says(t, err, c.want)
		})
	}
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAttemptsCountFromOne(t *testing.T) {
	p := must(retry.New(retry.Default(), retry.Predicates{}))
	defer func() {
		if got := recover(); got != "retry: attempt is 0, they count from 1" {
			t.Errorf("recovered %v", got)
		}
	}()
	p.Next(0, 0, retry.Outcome{})
}
