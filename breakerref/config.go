package breakerref

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// WindowType says what a sliding window is measured in. The zero value is
// CountBased.
type WindowType int

// The window types of a Resilience4j circuit breaker.
const (
	CountBased WindowType = iota // the last so many calls
	TimeBased                    // the calls of the last so many seconds
)

// String returns the name that Resilience4j gives the type, such as COUNT_BASED.
func (w WindowType) String() string {
	switch w {
	case CountBased:
		return "COUNT_BASED"
	case TimeBased:
		return "TIME_BASED"
	}
	return fmt.Sprintf("WindowType(%d)", int(w))
}

// Config describes a breaker. It is plain data: two equal configurations behave
// alike. The zero value is not valid; start from Default. The name that
// Resilience4j gives a property stands in parentheses.
type Config struct {
	Name string // in errors only

	WindowType   WindowType // (slidingWindowType)
	Window       int        // (slidingWindowSize) calls, or seconds
	MinimumCalls int        // (minimumNumberOfCalls) outcomes before there is a rate

	LockFree bool // (slidingWindowSynchronizationStrategy LOCK_FREE) its windows, see the package

	FailureRate  float32       // (failureRateThreshold) percent
	SlowRate     float32       // (slowCallRateThreshold) percent
	SlowDuration time.Duration // (slowCallDurationThreshold) calls that take longer are slow

	Wait           time.Duration // (waitDurationInOpenState) in whole ms, the rest is cut off
	WaitMultiplier float64       // (exponentialBackoffMultiplier) growth of the wait per opening; 0: it does not grow
	WaitMax        time.Duration // (exponentialMaxWaitDurationInOpenState) in whole ms; 0: no limit
	WaitRandom     float64       // (randomizedWaitFactor) each wait is up to this share shorter or longer, by (Seed, n-th wait)
	Seed           uint64        // of WaitRandom
	AutoHalfOpen   bool          // (automaticTransitionFromOpenToHalfOpenEnabled) go half-open when the wait ends, without a call

	// Waits is an interval function (waitIntervalFunctionInOpenState) as a table: the wait
	// of the first opening in a row, of the second and so on; the last one is that of all
	// that follow. It takes the place of Wait and what changes it.
	Waits []time.Duration

	Permitted             int           // (permittedNumberOfCallsInHalfOpenState) probes
	HalfOpenMaxWait       time.Duration // (maxWaitDurationInHalfOpenState) longest half-open stay in whole ms; below 1 ms: without end
	HalfOpenMaxWaitCloses bool          // (transitionToStateAfterWaitDuration) then go to CLOSED instead of OPEN

	Initial State // (initialState)

	// TransitionsOnly keeps the machine from publishing anything but state transitions and
	// resets: the library publishes nothing either that nobody listens to.
	TransitionsOnly bool

	// Strict makes the machine panic with a [Crash] where the library throws out of one of
	// its own methods. Without it, such a call has the result that its name promises.
	Strict bool
}

// Default returns what Resilience4j uses where nothing is configured.
func Default() Config {
	return Config{
		WindowType:   CountBased,
		Window:       100,
		MinimumCalls: 100,
		FailureRate:  50,
		SlowRate:     100,
		SlowDuration: time.Minute,
		Wait:         time.Minute,
		Permitted:    10,
		Initial:      Closed,
	}
}

// Validate returns all that is wrong with the configuration, joined, or nil. Each
// problem names the property as Resilience4j does, its value and what is allowed.
// The ranges are those of Resilience4j's builder, not the narrower ones of its
// Spring Boot properties.
func (c Config) Validate() error {
	var p problems
	p.require(c.WindowType == CountBased || c.WindowType == TimeBased,
		"slidingWindowType", c.WindowType, "COUNT_BASED or TIME_BASED")
	p.atLeastOne("slidingWindowSize", c.Window)
	p.atLeastOne("minimumNumberOfCalls", c.MinimumCalls)
	p.percent("failureRateThreshold", c.FailureRate)
	p.percent("slowCallRateThreshold", c.SlowRate)
	p.require(c.SlowDuration >= 1,
		"slowCallDurationThreshold", c.SlowDuration, "at least 1ns")
	p.waits(c)
	p.atLeastOne("permittedNumberOfCallsInHalfOpenState", c.Permitted)
	p.require(c.HalfOpenMaxWait >= 0,
		"maxWaitDurationInHalfOpenState", c.HalfOpenMaxWait, "at least 0s")
	p.require(c.Initial.valid(),
		"initialState", c.Initial, "CLOSED, OPEN, HALF_OPEN, DISABLED, METRICS_ONLY or FORCED_OPEN")
	return errors.Join(p...)
}

// waits checks what says how long the breaker stays open.
func (p *problems) waits(c Config) {
	if len(c.Waits) > 0 {
		for _, w := range c.Waits {
			p.require(w >= time.Millisecond, "waitIntervalFunctionInOpenState", w, "at least 1ms for every opening")
		}
		p.require(c.WaitMultiplier == 0 && c.WaitMax == 0 && c.WaitRandom == 0, "waitIntervalFunctionInOpenState", c.Waits,
			"empty when exponentialBackoffMultiplier, exponentialMaxWaitDurationInOpenState or randomizedWaitFactor is set")
		return
	}
	p.require(c.Wait >= time.Millisecond,
		"waitDurationInOpenState", c.Wait, "at least 1ms")
	p.require(c.WaitMultiplier >= 0 && !math.IsInf(c.WaitMultiplier, 1),
		"exponentialBackoffMultiplier", c.WaitMultiplier, "above 0, or 0 for a wait that does not grow")
	p.require(c.WaitMax == 0 || c.WaitMax >= time.Millisecond,
		"exponentialMaxWaitDurationInOpenState", c.WaitMax, "at least 1ms, or 0 for no limit")
	p.require(c.WaitMax == 0 || c.WaitMultiplier != 0,
		"exponentialMaxWaitDurationInOpenState", c.WaitMax, "0 unless exponentialBackoffMultiplier is set")
	p.require(c.WaitRandom >= 0 && c.WaitRandom <= 1,
		"randomizedWaitFactor", c.WaitRandom, "from 0 to 1")
}

// minimum returns how many outcomes a count based window of the given size needs
// before it has a rate. It can hold no more than its size, so more is not asked.
func (c Config) minimum(size int) int { return min(c.MinimumCalls, size) }

// waitFor returns how long the breaker stays open when it opens for the n-th time
// in a row, n from 1, and for the draw-th time at all. Growth is step by step, each
// cut to whole milliseconds: a wait of 1 ms that grows by 1.1 never grows.
func (c Config) waitFor(n int, draw uint64) time.Duration {
	if len(c.Waits) > 0 {
		return c.Waits[min(max(n, 1), len(c.Waits))-1].Truncate(time.Millisecond)
	}
	ms := c.Wait.Milliseconds()
	if c.WaitMultiplier != 0 {
		for range n - 1 {
			grown := scale(ms, c.WaitMultiplier)
			if grown == ms {
				break
			}
			ms = grown
		}
	}
	if c.WaitRandom != 0 {
		ms = c.randomized(ms, draw)
	}
	if c.WaitMax != 0 {
		ms = min(ms, c.WaitMax.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond
}

// randomized returns a whole number of milliseconds around ms, at least one. All
// within the range come up equally often, the ends included.
func (c Config) randomized(ms int64, draw uint64) int64 {
	delta := c.WaitRandom * float64(ms)
	chance := rand.New(rand.NewPCG(c.Seed, draw)).Float64()
	return scale(1, max(1, float64(ms)-delta+chance*(2*delta+1)))
}

// scale multiplies whole milliseconds and cuts the result to whole milliseconds,
// at most as many as a time.Duration holds.
func scale(ms int64, by float64) int64 {
	const most = math.MaxInt64 / int64(time.Millisecond)
	scaled := float64(ms) * by
	if scaled >= float64(most) {
		return most
	}
	return int64(scaled)
}

// problems collects what is wrong with a configuration.
type problems []error

func (p *problems) require(ok bool, property string, value any, allowed string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s is %v, must be %s", property, value, allowed))
	}
}

// atLeastOne has the upper bound of the 32-bit integers that the library uses.
func (p *problems) atLeastOne(property string, value int) {
	p.require(value >= 1 && value <= math.MaxInt32, property, value, "from 1 to 2147483647")
}

// percent refuses values that are not a number, because no comparison holds for
// them.
func (p *problems) percent(property string, value float32) {
	p.require(value > 0 && value <= 100, property, value, "above 0 and at most 100 (percent)")
}
