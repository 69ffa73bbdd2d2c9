package experiments

import (
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/match"
)

// Spec is what a trace of the plan is judged against.
func (p *Plan) Spec() assert.Spec {
	spec := assert.Spec{
		Targets:   p.Targets,
		Classes:   p.Classes,
		Breakers:  p.Breakers,
		Integrity: p.Integrity,

		SteadyState: p.SteadyState,
	}
	for _, r := range p.SUT.Replicas {
		spec.Instances = append(spec.Instances, r.Name)
	}
	// Two floors for the same share: the stricter one holds.
	spec.Integrity.Join = max(spec.Integrity.Join, p.Correlate.MinJoin)
	for _, ph := range p.Phases {
		one := assert.Phase{Name: ph.Name, Measure: ph.Measure, Faults: ph.Faults}
		if ph.Clients != nil {
			one.Clients, one.Think = ph.Clients.N, (ph.Clients.ThinkMin+ph.Clients.ThinkMax)/2
		}
		spec.Phases = append(spec.Phases, one)
	}
	for _, a := range p.Assertions {
		spec.Assertions = append(spec.Assertions, assert.Assertion{ID: a.ID, Phase: a.Phase, Line: a.Line, Rule: a.Rule})
	}
	return spec
}

// breaker finds a breaker by its name.
func (p *Plan) breaker(name string) (assert.Breaker, bool) {
	i := slices.IndexFunc(p.Breakers, func(b assert.Breaker) bool { return b.Name == name })
	if i < 0 {
		return assert.Breaker{}, false
	}
	return p.Breakers[i], true
}

// Sends are the targets that a phase sends calls to.
func (p *Plan) Sends(ph Phase) []match.Target {
	if len(ph.Targets) == 0 {
		return p.Targets
	}
	var some []match.Target
	for _, t := range p.Targets {
		if slices.Contains(ph.Targets, t.Name) {
			some = append(some, t)
		}
	}
	return some
}

// phase finds a phase by its name.
func (p *Plan) phase(name string) (Phase, bool) {
	i := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.Name == name })
	if i < 0 {
		return Phase{}, false
	}
	return p.Phases[i], true
}
