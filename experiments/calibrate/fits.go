package calibrate

import (
	"slices"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
)

// baseOf is the model of the breaker that a plan's service has.
func baseOf(plan *experiments.Plan) string {
	switch ref := plan.SUT.Reference; {
	case ref == nil:
		return mutant.Resilience4j
	case ref.Ejection != nil:
		return "envoy"
	case ref.Model != nil:
		return ref.Model.Preset
	}
	return mutant.Resilience4j
}

// fits reports whether an experiment has room for a mutant, and a rule that can name it.
func fits(m mutant.Mutant, plan *experiments.Plan) bool {
	if !based(m, plan) || !room(m.Needs, plan) || !around(m.Needs, plan.SUT.Reference) {
		return false
	}
	return slices.ContainsFunc(plan.Assertions, func(a experiments.PlanAssertion) bool { return slices.Contains(m.Caught, a.Kind) })
}

// based reports whether a plan's service has the model whose rule a mutant breaks: the
// breaker, or the kind of rate limiter.
func based(m mutant.Mutant, plan *experiments.Plan) bool {
	ref := plan.SUT.Reference
	if slices.Contains(experiments.LimiterKinds(), m.Base) && m.Part == mutant.PartLimiter {
		return ref != nil && ref.RateLimiter != nil && ref.RateLimiter.Kind == m.Base
	}
	ofBreaker := m.Part == mutant.PartBreaker || m.Part == mutant.PartReport
	return !ofBreaker || baseOf(plan) == m.Base
}

// room reports whether a plan's breakers have what a mutant goes wrong with.
func room(n mutant.Needs, plan *experiments.Plan) bool {
	for _, b := range plan.Breakers {
		if n.TimeWindow && b.Config.WindowType != breakerref.TimeBased || n.CallWindow && b.Config.WindowType != breakerref.CountBased {
			return false
		}
	}
	return true
}

// around reports whether a service has what a mutant goes wrong with around its breaker.
func around(n mutant.Needs, ref *experiments.Reference) bool {
	if ref == nil {
		ref = &experiments.Reference{}
	}
	for _, of := range []struct{ needed, there bool }{
		{n.Fallback, ref.Fallback != nil},
		{n.Retry, ref.Retry != nil},
		{n.TimeLimiter, ref.TimeLimiter != nil},
		{n.Bulkhead, ref.Bulkhead != nil},
		{n.Limiter, ref.RateLimiter != nil},
		{n.LimitKey, ref.RateLimiter != nil && ref.RateLimiter.By != ""},
		{n.Order, ref.Order != nil},
		{n.Cache, ref.Cache != nil},
		{n.Paging, ref.Paging != nil},
		{n.Cancels, ref.Cancels},
	} {
		if of.needed && !of.there {
			return false
		}
	}
	return true
}
