package proxy

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Defect is one wrong behaviour of an otherwise right service: a negative control
// for what judges it. What a wrong number does (a wait, a minimum, no fallback) is
// no defect but configuration.
type Defect string

// The defects.
const (
	NoBreaker        Defect = "no_breaker"          // every call goes through, as when self-invocation bypasses the breaker's proxy
	Leaks            Defect = "leak"                // every tenth call that is to be refused goes through
	PermitsAll       Defect = "permits_all"         // half-open lets everybody through
	NeverCloses      Defect = "never_closes"        // probes count as failed, whatever came of them
	ClosesAtOnce     Defect = "closes_at_once"      // after the wait it closes without probes
	FallbackAlways   Defect = "fallback_always"     // the fallback answers although the dependency did
	Empty200         Defect = "empty_200"           // the fallback's source fails too, and its empty list is served as a success
	WindowNeverSlide Defect = "window_never_slides" // a window of time forgets nothing
	NoTimeout        Defect = "no_timeout"          // it waits for the dependency without end
	SlowReject       Defect = "slow_reject"         // what its breaker refuses is answered after 300 ms
)

// Defects are all of them.
func Defects() []Defect {
	return []Defect{
		NoBreaker, Leaks, PermitsAll, NeverCloses, ClosesAtOnce,
		FallbackAlways, Empty200, WindowNeverSlide, NoTimeout, SlowReject,
	}
}

// leakEvery is how many refusals it takes for a leak.
const leakEvery = 10

// slowReject is how long a slow refusal takes.
const slowReject = 300 * time.Millisecond

// config is what a breaker with this defect is set to.
func (d Defect) config(c breakerref.Config) breakerref.Config {
	if d == WindowNeverSlide && c.WindowType == breakerref.TimeBased {
		c.WindowType, c.Window = breakerref.CountBased, 100_000
	}
	return c
}

// permits reports whether a call that the breaker refuses goes through all the same;
// n is the number of the refusal, from 1.
func (d Defect) permits(state breakerref.State, n int) bool {
	switch d {
	case NoBreaker:
		return true
	case Leaks:
		return n%leakEvery == 0
	case PermitsAll:
		return state == breakerref.HalfOpen
	default:
		return false
	}
}
