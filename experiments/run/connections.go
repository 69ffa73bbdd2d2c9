package run

import (
	"fmt"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// unmet tells of faults of connections that hit none in a phase in which requests came:
// the service kept its connections, or speaks a protocol that does not ask for such a fault,
// and the phase was a healthy one. What hits requests is in the trace, and judged by it.
func (r *runner) unmet(t *trace.Trace) error {
	type place struct{ injector, phase string }
	came := map[place]int{}
	for _, a := range t.Attempts {
		came[place{a.Injector, a.Phase}]++
	}
	for i, in := range r.plan.Injectors {
		for _, p := range r.plan.Phases {
			n := came[place{in.Name, p.Name}]
			if rule := metNone(p.Faults[in.Name], r.injectors[i].Fired(p.Name)); rule != nil && n > 0 {
				return &PreconditionError{
					What: fmt.Sprintf("fault %s of injector %s hit no connection, although %d requests arrived in phase %s: they came over connections that were open before, that it does not match, or in a protocol that it is not of",
						rule.ID, in.Name, n, p.Name),
					Remedy: "have the SUT open connections in that phase (in the phase before, the fault connection: tell has it close those that it has), and check the fault's match and count",
				}
			}
		}
	}
	return nil
}

// metNone finds a rule for connections that hit none.
func metNone(rules []fault.Rule, counts []fault.Count) *fault.Rule {
	for n := range rules {
		if rules[n].Action.Layer() != fault.LayerRequest && counts[n].Hit == 0 {
			return &rules[n]
		}
	}
	return nil
}
