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
	for i, in := range r.plan.Injectors {
		for _, p := range r.plan.Phases {
			came := 0
			for _, a := range t.Attempts {
				if a.Injector == in.Name && a.Phase == p.Name {
					came++
				}
			}
			counts := r.injectors[i].Fired(p.Name)
			for n, rule := range p.Faults[in.Name] {
				if rule.Action.Layer() == fault.LayerRequest || rule.Action.Door() || came == 0 || counts[n].Hit > 0 {
					continue
				}
				return &PreconditionError{
					What: fmt.Sprintf("fault %s of injector %s hit no connection, although %d requests arrived in phase %s: they came over connections that were open before, that it does not match, or in a protocol that it is not of",
						rule.ID, in.Name, came, p.Name),
					Remedy: "have the SUT open connections in that phase (in the phase before, the fault connection: tell has it close those that it has), and check the fault's match and count",
				}
			}
		}
	}
	return nil
}
