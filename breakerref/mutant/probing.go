package mutant

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// probing are the mutants of what a breaker does when it is half-open.
func probing() []Mutant {
	ms := slices.Concat(permitting(), deciding(), late())
	for i := range ms {
		ms[i] = ms[i].needs(ofProbes)
	}
	return ms
}

// permitting are those of who is let through.
func permitting() []Mutant {
	return []Mutant{
		numbered("probe_too_many", "lets one probe more through than it may", func(c *breakerref.Config) { c.Permitted++ }, probes),
		numbered("probe_too_few", "lets one probe less through than it may", func(c *breakerref.Config) { c.Permitted = max(1, c.Permitted-1) }, probes),
		breaker("permits_all", "lets everybody through when it is half-open", Change{wrong: func(w *wrong) {
			w.refused = func(_ time.Time, state breakerref.State) bool { return state == breakerref.HalfOpen }
		}}, probes).anyones(),
		breaker("probe_leak", "loses a permit for probes each time that it opens", Change{wrong: probeLeak}, probes, stuck),
		breaker("closes_at_once", "closes after its wait, without probes", Change{wrong: closesAtOnce}, probes, reopens).anyones(),
		breaker("hung_probe_lost", "never gets the permit of a probe back that ended in a timeout", Change{wrong: hungProbeLost}, stuck),
		numbered("half_open_by_timer", "becomes half-open by a timer, where it should wait for a call", func(c *breakerref.Config) { c.AutoHalfOpen = true }, agrees),
	}
}

// probeLeak takes one permit more at each visit after the first.
func probeLeak(w *wrong) {
	visits := 0
	w.moved = func(now time.Time, _, to breakerref.State) {
		if to != breakerref.HalfOpen {
			return
		}
		for range visits {
			w.library.Acquire(now)
		}
		visits++
	}
}

func closesAtOnce(w *wrong) {
	w.admitted = func(now time.Time, p *Permit) bool {
		if p.State != breakerref.HalfOpen {
			return true
		}
		w.Breaker.Close(now)
		again, answer := w.Breaker.Acquire(now)
		*p = again
		return answer == model.Admitted
	}
}

func hungProbeLost(w *wrong) {
	w.outcome = func(_ time.Time, p Permit, o *Outcome) bool { return p.State != breakerref.HalfOpen || !o.Abandoned }
}

// deciding are those of what follows from the outcomes of probes.
func deciding() []Mutant {
	return []Mutant{
		breaker("never_closes", "counts its probes as failed, whatever came of them", Change{wrong: func(w *wrong) {
			w.outcome = func(_ time.Time, p Permit, o *Outcome) bool {
				o.Failed = o.Failed || p.State == breakerref.HalfOpen
				return true
			}
		}}, closes, recovers).anyones(),
		breaker("half_open_for_ever", "hears nothing of what came of its probes", Change{wrong: func(w *wrong) {
			w.outcome = func(_ time.Time, p Permit, _ *Outcome) bool { return p.State != breakerref.HalfOpen }
		}}, closes, reopens).anyones(),
		breaker("closes_on_failed_probes", "closes although its probes have failed", Change{wrong: func(w *wrong) {
			w.outcome = func(_ time.Time, p Permit, o *Outcome) bool {
				if p.State == breakerref.HalfOpen {
					*o = Outcome{}
				}
				return true
			}
		}}, reopens).anyones(),
		breaker("one_success_closes", "closes at the first good probe", Change{wrong: decidesAt(false)}, closes),
		breaker("one_failure_reopens", "opens again at the first failed probe, whatever its rate", Change{wrong: decidesAt(true)}, closes),
		breaker("one_success_more", "needs one good probe more to close", Change{wrong: oneSuccessMore}, closes),
	}
}

// decidesAt decides at the first probe that failed, or did not.
func decidesAt(failed bool) func(*wrong) {
	return func(w *wrong) {
		w.outcome = func(now time.Time, _ Permit, o *Outcome) bool {
			if w.State() != breakerref.HalfOpen || o.Failed != failed {
				return true
			}
			to := breakerref.Closed
			if failed {
				to = breakerref.Open
			}
			_ = w.library.Transition(now, to) // It may, from HALF_OPEN.
			return false
		}
	}
}

// oneSuccessMore gives the permit of the first good probe of a visit back, uncounted.
func oneSuccessMore(w *wrong) {
	fresh := false
	w.moved = func(_ time.Time, _, to breakerref.State) { fresh = to == breakerref.HalfOpen }
	w.outcome = func(now time.Time, _ Permit, o *Outcome) bool {
		if w.State() != breakerref.HalfOpen || o.Failed || !fresh {
			return true
		}
		fresh = false
		w.library.Release(now)
		return false
	}
}

// late are those of outcomes whose call was admitted in an earlier state. In Resilience4j
// they count for the state that they find; gobreaker drops them.
func late() []Mutant {
	mutant := func(name, says string, failed bool, caught ...string) Mutant {
		return Mutant{
			Name: name, Says: says, Part: PartBreaker, Base: Gobreaker, Caught: caught, base: ofGobreaker,
			Breaker: Change{
				Model: func(c *model.Config) { c.Late = model.LateCounted },
				wrong: func(w *wrong) {
					w.outcome = func(_ time.Time, p Permit, o *Outcome) bool {
						return p.State != breakerref.Closed || w.State() == breakerref.Closed || o.Failed == failed
					}
				},
			},
		}
	}
	return []Mutant{
		mutant("late_success_closes", "closes by the late success of a call that was let through before it opened", false, reopens, closes),
		mutant("late_failure_reopens", "opens again by the late failure of a call that was let through before it opened", true, closes),
	}
}
