package predict

import (
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// pause reports whether a phase sends nothing.
func pause(p experiments.Phase) bool {
	return !p.ClosedLoop() && p.Schedule(0).Count(p.Duration) == 0
}

// config is what a breaker is declared to be, if it is.
func config(plan *experiments.Plan, breaker string) (breakerref.Config, bool) {
	b := declaration(plan, breaker)
	return b.Config, b.Declared
}

// declaration is what is said of a breaker.
func declaration(plan *experiments.Plan, breaker string) assert.Breaker {
	for _, b := range plan.Breakers {
		if b.Name == breaker {
			return b
		}
	}
	return assert.Breaker{}
}

// breakerAt is the declared breaker at an injector, or none.
func breakerAt(plan *experiments.Plan, injector string) string {
	for _, b := range plan.Breakers {
		if b.Injector == injector && b.Declared {
			return b.Name
		}
	}
	return ""
}

// faulted reports whether a phase (any, if it is empty) has a fault at an injector.
func faulted(plan *experiments.Plan, phase, injector string) bool {
	return slices.ContainsFunc(plan.Phases, func(p experiments.Phase) bool {
		return (phase == "" || p.Name == phase) && len(p.Faults[injector]) > 0
	})
}

// forbiddenTargets are the targets that must not fall back.
func forbiddenTargets(plan *experiments.Plan, r assert.FallbackForbidden) []string {
	w := words{forbidden: []assert.FallbackForbidden{r}}
	var names []string
	for _, t := range plan.Targets {
		if w.forbids(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

// looksAt is the injector whose attempts a rule looks at, or the targets whose calls it does;
// neither: all of them.
func looksAt(plan *experiments.Plan, rule assert.Rule) (injector string, targets []string) {
	switch r := rule.(type) {
	case assert.AbandonedAfter:
		return r.Injector, nil
	case assert.DownstreamCalls:
		return r.Injector, nil
	case assert.DownstreamRate:
		return r.Injector, r.Targets
	case assert.DownstreamConcurrency:
		return r.Injector, nil
	case assert.Share:
		return "", r.Targets
	case assert.Latency:
		return "", r.Targets
	case assert.Isolation:
		return "", r.Targets
	case assert.SLO:
		return "", r.Targets
	case assert.FallbackForbidden:
		return "", forbiddenTargets(plan, r)
	}
	return retriedAt(rule), nil
}

// breakersOf are the breakers whose states decide about an assertion: the one that
// its rule names, or those that the calls it looks at ask.
func breakersOf(plan *experiments.Plan, a assert.Assertion) []string {
	if b := named(a.Rule); b != "" {
		return []string{b}
	}
	injector, targets := looksAt(plan, a.Rule)
	var names []string
	for _, b := range plan.Breakers {
		asked := len(targets) == 0 || slices.ContainsFunc(targets, func(t string) bool { return slices.Contains(b.Targets, t) })
		if (injector == "" || b.Injector == injector) && asked && faultedBy(plan, a.Phase, b.Injector) {
			names = append(names, b.Name)
		}
	}
	return names
}

// named is the breaker that a rule names, or none.
func named(r assert.Rule) string {
	switch r := r.(type) {
	case assert.Opens:
		return r.Breaker
	case assert.StaysClosed:
		return r.Breaker
	case assert.Leak:
		return r.Breaker
	case assert.OpenDuration:
		return r.Breaker
	case assert.HalfOpenProbes:
		return r.Breaker
	case assert.ReopensOnFailedProbe:
		return r.Breaker
	case assert.Closes:
		return r.Breaker
	case assert.NeverStuck:
		return r.Breaker
	case assert.ShortLatency:
		return r.Breaker
	case assert.FallbackShare:
		return r.Breaker
	case assert.FallbackContinuity:
		return r.Breaker
	case assert.RecoveryTime:
		return r.Breaker
	case assert.DownstreamCalls:
		return r.Breaker
	case assert.HerdPeak:
		return r.Breaker
	case assert.HerdSync:
		return r.Breaker
	case assert.ReportedStateAgrees:
		return r.Breaker
	case assert.MetricAgrees:
		return r.Breaker
	default:
		return namedAside(r)
	}
}

// namedAside is named for rules about what is beside a breaker's states.
func namedAside(r assert.Rule) string {
	switch r := r.(type) {
	case assert.EjectionOpens:
		return r.Breaker
	case assert.EjectionDuration:
		return r.Breaker
	case assert.EjectionReturns:
		return r.Breaker
	case assert.FallbackStaleness:
		return r.Breaker
	default:
		return ""
	}
}

// faultedBy reports whether an injector has a fault in a phase or before it.
func faultedBy(plan *experiments.Plan, phase, injector string) bool {
	for _, p := range plan.Phases {
		if len(p.Faults[injector]) > 0 {
			return true
		}
		if p.Name == phase {
			return false
		}
	}
	return false
}

// passesOn reports whether the answer of a dependency is known to reach the client
// as it is.
func passesOn(plan *experiments.Plan) bool { return plan.SUT.Reference != nil }

// matched reports whether a fault is for certain requests only.
func matched(r fault.Rule) bool {
	return !r.Match.Everything()
}

// hasFallback reports whether a class fallback is declared.
func hasFallback(plan *experiments.Plan) bool {
	_, ok := plan.Classes.Find(match.ClassFallback)
	return ok
}
