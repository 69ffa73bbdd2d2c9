package calibrate

import (
	"slices"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
)

// baseOf is the model whose breakers do what a plan declares: the one that a tag names, or
// Resilience4j's.
func baseOf(plan *experiments.Plan) string {
	for _, base := range mutant.Bases() {
		if slices.Contains(plan.Tags, base) {
			return base
		}
	}
	return mutant.Resilience4j
}

// fits reports whether an experiment has room for a mutant, and a rule that can name it.
func fits(m mutant.Mutant, plan *experiments.Plan) bool {
	return baseOf(plan) == m.Base && room(m.Needs, plan) &&
		slices.ContainsFunc(plan.Assertions, func(a experiments.PlanAssertion) bool { return slices.Contains(m.Caught, a.Kind) })
}

// room reports whether a plan's service has what a mutant goes wrong with.
func room(n mutant.Needs, plan *experiments.Plan) bool {
	if n.Fallback && (plan.SUT.Reference == nil || plan.SUT.Reference.Fallback == nil) {
		return false
	}
	if n.Limiter && (plan.SUT.Reference == nil || plan.SUT.Reference.RateLimiter == nil) {
		return false
	}
	for _, b := range plan.Breakers {
		if n.TimeWindow && b.Config.WindowType != breakerref.TimeBased || n.CallWindow && b.Config.WindowType != breakerref.CountBased {
			return false
		}
	}
	return true
}
