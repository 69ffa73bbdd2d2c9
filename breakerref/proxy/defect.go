package proxy

import (
	"fmt"
	"slices"
	"strings"
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

// Describe says in a few words what a defect does.
func (d Defect) Describe() string {
	switch d {
	case NoBreaker:
		return "every call goes through, as where self-invocation bypasses the breaker"
	case Leaks:
		return fmt.Sprintf("every %dth call that is to be rejected goes through", leakEvery)
	case PermitsAll:
		return "half-open lets everybody through"
	case NeverCloses:
		return "half-open counts its probes as failed, whatever came of them"
	case ClosesAtOnce:
		return "it closes after the wait, without probes"
	case FallbackAlways:
		return "the fallback answers although the dependency did"
	case Empty200:
		return "the fallback's source fails too, and an empty list is served as a success"
	case WindowNeverSlide:
		return "a window of time forgets nothing"
	case NoTimeout:
		return "it waits for the dependency without end"
	case SlowReject:
		return fmt.Sprintf("what its breaker rejects is answered after %v", slowReject)
	}
	return "no defect"
}

// NeedsFallback reports whether a service without a fallback cannot have the defect.
func (d Defect) NeedsFallback() bool { return d == FallbackAlways || d == Empty200 }

// NeedsTimeWindow reports whether a window of calls cannot have the defect.
func (d Defect) NeedsTimeWindow() bool { return d == WindowNeverSlide }

// check refuses a defect that the service has no room for: a negative control that
// is right would be believed to be wrong.
func (d Defect) check(s Service) error {
	switch {
	case d != "" && !slices.Contains(Defects(), d):
		return fmt.Errorf("the defect %q is not one of %s", d, words())
	case d.NeedsFallback() && s.Fallback == nil:
		return fmt.Errorf("the defect %s needs a fallback", d)
	case d.NeedsTimeWindow() && s.Breaker.WindowType != breakerref.TimeBased:
		return fmt.Errorf("the defect %s needs a window of time", d)
	}
	return nil
}

// words lists the defects for an error.
func words() string {
	all := make([]string, 0, len(Defects()))
	for _, d := range Defects() {
		all = append(all, string(d))
	}
	return strings.Join(all, ", ")
}

// leakEvery is how many refusals it takes for a leak.
const leakEvery = 10

// slowReject is how long a slow refusal takes.
const slowReject = 300 * time.Millisecond

// of returns what a service with this defect is set to.
func (d Defect) of(s Service) Service {
	switch d {
	case WindowNeverSlide:
		s.Breaker.WindowType, s.Breaker.Window = breakerref.CountBased, 100_000
	case NoTimeout:
		s.Timeout, s.TimeLimiter = 0, nil
		if s.Model != nil {
			endless := *s.Model
			endless.Count.Timeout, s.Model = 0, &endless
		}
	default:
	}
	return s
}

// permits reports whether a call that the breaker refuses goes through all the same;
// n is the number of the refusal, from 1.
func (d Defect) permits(state breakerref.State, n int) bool {
	switch d {
	case Leaks:
		return n%leakEvery == 0
	case PermitsAll:
		return state == breakerref.HalfOpen
	default:
		return false
	}
}
