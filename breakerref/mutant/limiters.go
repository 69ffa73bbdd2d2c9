package mutant

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// atBoundary counts in windows that begin from zero again and again.
func atBoundary(right limit.Config) limit.Config {
	if c, ok := right.(limit.SlidingLogConfig); ok {
		return limit.FixedWindowConfig{Limit: c.Limit, Window: c.Window, Align: limit.FirstCall}
	}
	return right
}

// tooFast refills a bucket twice as fast.
func tooFast(right limit.Config) limit.Config {
	if c, ok := right.(limit.TokenBucketConfig); ok {
		c.Rate *= 2
		return c
	}
	return right
}

// largeBurst has a bucket of twice the size.
func largeBurst(right limit.Config) limit.Config {
	if c, ok := right.(limit.TokenBucketConfig); ok {
		c.Burst *= 2
		return c
	}
	return right
}

// countsRejected counts every call that comes.
func countsRejected(right limit.Config) limit.Config {
	if c, ok := right.(limit.SlidingLogConfig); ok {
		return greedyConfig{c}
	}
	return right
}

// greedyConfig is a sliding log that counts what it rejects.
type greedyConfig struct{ limit.SlidingLogConfig }

// New implements [limit.Config].
func (c greedyConfig) New(time.Time) (limit.Limiter, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("build a limiter that counts what it rejects: %w", err)
	}
	return &greedy{config: c.SlidingLogConfig}, nil
}

// greedy is a sliding log that counts what it rejects.
type greedy struct {
	config limit.SlidingLogConfig
	came   []time.Time // in the window, oldest first
}

// Take implements [limit.Limiter].
func (g *greedy) Take(now time.Time, n int) limit.Decision {
	for len(g.came) > 0 && now.Sub(g.came[0]) >= g.config.Window {
		g.came = g.came[1:]
	}
	d := limit.Decision{Limit: g.config.Limit, Allowed: len(g.came)+n <= g.config.Limit, Reset: g.config.Window}
	for range n {
		g.came = append(g.came, now)
	}
	d.Remaining = max(0, g.config.Limit-len(g.came))
	if !d.Allowed {
		d.RetryAfter = g.config.Window // Which it is not, for who comes before.
	}
	return d
}
