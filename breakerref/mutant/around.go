package mutant

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// admitting are the mutants of which calls a breaker lets through while it is open or closed.
func admitting() []Mutant {
	leak := func(name string, every int) Mutant {
		says := fmt.Sprintf("lets every %dth call through that it should reject", every)
		return breaker(name, says, Change{wrong: func(w *wrong) {
			n := 0
			w.refused = func(time.Time, breakerref.State) bool {
				n++
				return n%every == 0
			}
		}}, leaks).anyones()
	}
	const late = 300 * time.Millisecond
	return []Mutant{
		leak("leak", 10),
		leak("leak_now_and_then", 100),
		breaker("rejects_when_closed", "rejects every 20th call while it is closed", Change{wrong: rejectsWhenClosed}, rejections),
		{
			Name: "slow_reject", Says: fmt.Sprintf("answers what its breaker rejects after %v", late),
			Part: PartBreaker, Base: Resilience4j, Around: Around{SlowReject: late}, Caught: []string{fast},
		},
		breaker("per_instance", "has two breakers that are asked in turn, where one is shared", Change{Twins: 2}, opens).anyones(),
	}
}

func rejectsWhenClosed(w *wrong) {
	const every = 20
	n := 0
	w.admitted = func(now time.Time, p *Permit) bool {
		if p.State != breakerref.Closed {
			return true
		}
		if n++; n%every == 0 {
			w.library.Release(now)
			return false
		}
		return true
	}
}

// reporting are the mutants of what a breaker says of itself.
func reporting() []Mutant {
	lie := func(name, says string, told func(breakerref.State) breakerref.State) Mutant {
		m := breaker(name, says, Change{wrong: func(w *wrong) { w.told = told }}, agrees)
		m.Part = PartReport
		return m
	}
	return []Mutant{
		lie("says_closed", "says that it is closed, whatever it is", func(breakerref.State) breakerref.State { return breakerref.Closed }),
		lie("says_open_closed", "says closed for open, and open for closed", func(s breakerref.State) breakerref.State {
			switch s {
			case breakerref.Closed:
				return breakerref.Open
			case breakerref.Open:
				return breakerref.Closed
			default:
				return s
			}
		}),
		{
			Name: "hides_rejected", Says: "shows half of the calls that it has rejected in its counter",
			Part: PartReport, Base: Resilience4j, Around: Around{HidesRejected: true}, Caught: []string{agreesCount},
		},
	}
}

// around are the mutants of the service around its breaker.
func around() []Mutant {
	return []Mutant{
		{
			Name: "no_timeout", Says: "waits for the dependency without end",
			Part: PartTimeout, Base: Resilience4j, Around: Around{NoTimeout: true}, Caught: []string{abandons},
		},
		{
			Name: "fallback_always", Says: "answers with the fallback although the dependency did",
			Part: PartFallback, Base: Resilience4j, Around: Around{FallbackAlways: true}, Caught: []string{fallbacks}, Needs: Needs{Fallback: true},
		},
		{
			Name: "empty_200", Says: "has nothing to fall back to, and serves an empty list as a success",
			Part: PartFallback, Base: Resilience4j, Around: Around{EmptyFallback: true}, Caught: []string{fallbacks}, Needs: Needs{Fallback: true},
		},
		{
			Name: "no_fallback", Says: "has no fallback",
			Part: PartFallback, Base: Resilience4j, Around: Around{NoFallback: true}, Caught: []string{fallbacks}, Needs: Needs{Fallback: true},
		},
	}
}
