package retry

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Config describes a Policy. It is plain data: two equal configurations behave alike.
// The zero value is not valid; start from Default. The name that Resilience4j gives a
// property stands in parentheses.
type Config struct {
	Name string // in errors only

	MaxAttempts          int  // (maxAttempts) with the first call
	FailAfterMaxAttempts bool // (failAfterMaxAttempts) a value that exhausts them is an error

	Wait         time.Duration // (waitDuration) in whole ms, the rest is cut off
	Multiplier   float64       // (exponentialBackoffMultiplier) growth of the wait per attempt; 0: it does not grow
	MaxWait      time.Duration // (exponentialMaxWaitDuration) in whole ms; 0: no limit
	RandomFactor float64       // (randomizedWaitFactor) share of the wait that chance adds or takes away; 0: none
	Seed         uint64        // of chance
}

// Default returns what Resilience4j uses where nothing is configured.
func Default() Config {
	return Config{MaxAttempts: 3, Wait: 500 * time.Millisecond}
}

// The values that Resilience4j uses where exponential or randomized waits are switched
// on without a value.
const (
	DefaultMultiplier   = 1.5
	DefaultRandomFactor = 0.5
)

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the property as Resilience4j does, its value and what is allowed. The
// ranges are those of Resilience4j's builder; its Spring Boot properties do not take a
// randomizedWaitFactor of 1.
func (c Config) Validate() error {
	var p problems
	p.require(c.MaxAttempts >= 1 && c.MaxAttempts <= math.MaxInt32,
		"maxAttempts", c.MaxAttempts, "from 1 to 2147483647")
	if c.Multiplier == 0 && c.RandomFactor == 0 {
		p.require(c.Wait >= 0, "waitDuration", c.Wait, "at least 0s")
	} else {
		p.require(c.Wait >= time.Millisecond,
			"waitDuration", c.Wait, "at least 1ms with exponentialBackoffMultiplier or randomizedWaitFactor")
	}
	p.require(c.Multiplier >= 0 && !math.IsInf(c.Multiplier, 1),
		"exponentialBackoffMultiplier", c.Multiplier, "above 0, or 0 for a wait that does not grow")
	p.require(c.MaxWait == 0 || c.MaxWait >= time.Millisecond,
		"exponentialMaxWaitDuration", c.MaxWait, "at least 1ms, or 0 for no limit")
	p.require(c.MaxWait == 0 || c.Multiplier != 0,
		"exponentialMaxWaitDuration", c.MaxWait, "0 unless exponentialBackoffMultiplier is set")
	p.require(c.RandomFactor >= 0 && c.RandomFactor <= 1,
		"randomizedWaitFactor", c.RandomFactor, "from 0 to 1")
	return errors.Join(p...)
}

// problems collects what is wrong with a configuration.
type problems []error

func (p *problems) require(ok bool, property string, value any, allowed string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s is %v, must be %s", property, value, allowed))
	}
}
