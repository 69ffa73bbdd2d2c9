package verify

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/retry"
)

// System is a declared configuration: a circuit breaker and what is around it.
type System struct {
	Breaker breakerref.Config
	Retry   *retry.Config // nil: none

	// Inside says that the breaker is around the retry, so that it asks once for a call; as
	// the library has it where nobody says otherwise, each attempt asks the breaker.
	Inside bool

	// FinalRefusal says that a call that the breaker refused is not tried again.
	FinalRefusal bool
}

// Declared is a system with where its values come from.
type Declared struct {
	System

	// Origins say of a parameter where its value was written, as "application.yml:12:7".
	Origins map[Param]string
	// Beside are settings that no traffic can show, or that this package does not look at,
	// each with the reason.
	Beside []Beside
}

// Beside is a setting that is not decided.
type Beside struct {
	Key, Value, Origin, Reason string
}

// Scaled is the system of a service that was started with all its waits multiplied.
func (s System) Scaled(by float64) System {
	scale := func(d *time.Duration) {
		*d = time.Duration(math.Round(float64(*d)*by/float64(time.Millisecond))) * time.Millisecond
	}
	for _, d := range []*time.Duration{&s.Breaker.Wait, &s.Breaker.WaitMax, &s.Breaker.HalfOpenMaxWait} {
		if *d > 0 {
			scale(d)
			*d = max(*d, time.Millisecond)
		}
	}
	return s
}

// effective is the breaker as a replay needs it. Nobody outside sees whether a timer or a
// call made it half-open, and a random wait is a range here.
func (s System) effective() breakerref.Config {
	c := s.Breaker
	c.AutoHalfOpen, c.WaitRandom, c.TransitionsOnly = false, 0, true
	return c
}

// decides is after how many outcomes a half-open visit is decided.
func (s System) decides() int { return min(s.Breaker.MinimumCalls, s.Breaker.Permitted) }

// first is after how many outcomes a closed breaker decides for the first time.
func (s System) first() int {
	if s.Breaker.WindowType == breakerref.CountBased {
		return min(s.Breaker.MinimumCalls, s.Breaker.Window)
	}
	return s.Breaker.MinimumCalls
}

// tries is how many attempts a call may make.
func (s System) tries() int {
	if s.Retry == nil {
		return 1
	}
	return s.Retry.MaxAttempts
}

// repeats is how many attempts make one outcome of a failing call.
func (s System) repeats() int {
	if s.Inside {
		return s.tries()
	}
	return 1
}

// least is the smallest number of n outcomes that reaches a rate, in the library's own
// arithmetic of 32 bits; n+1 if none does.
func least(n int, percent float32) int {
	for k := range n + 1 {
		if float32(k)*100/float32(n) >= percent {
			return k
		}
	}
	return n + 1
}

// refusal is how long a call takes at least that a breaker refuses: where it is tried again,
// the caller waits.
func (s System) refusal() time.Duration {
	if s.Inside || s.FinalRefusal {
		return 0
	}
	return s.pauses(1)
}

// wait is how long a breaker is open for the n-th time in a row, but for chance.
func (s System) wait(n int) time.Duration {
	at := time.Unix(0, 0)
	m, err := breakerref.New(s.effective(), at)
	if err != nil {
		return 0
	}
	for range max(n, 1) {
		_ = m.Transition(at, breakerref.Open) // There is no state that it could not open from.
	}
	return m.OpenUntil().Sub(at)
}

// row is the row of a setting that is not decided.
func (b Beside) row() Row {
	return Row{Param: b.Key, Declared: b.Value, Origin: b.Origin, Verdict: Untold, Reason: b.Reason}
}
