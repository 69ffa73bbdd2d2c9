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
	if r, ok := rule.(assert.FallbackForbidden); ok {
		return "", forbiddenTargets(plan, r)
	}
	of := aboutRule(rule)
	return of.Injector, of.Targets
}

// aboutRule is what a rule speaks of; the steady state has none in the plan, and speaks of nothing.
func aboutRule(r assert.Rule) assert.About {
	if r == nil {
		return assert.About{}
	}
	return r.About()
}

// breakersOf are the breakers whose states decide about an assertion: the one that
// its rule names, or those that the calls it looks at ask.
func breakersOf(plan *experiments.Plan, a assert.Assertion) []string {
	if b := aboutRule(a.Rule).Breaker; b != "" {
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
