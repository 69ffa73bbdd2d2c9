package predict

import (
	"slices"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// ofStream reports whether a fault is one of connections that calls may share, so that what it
// does to a call cannot be told before.
func ofStream(r fault.Rule) bool { return r.TCP != nil || r.Match.WebSocket }

// throughStream names the first such fault up to the end of a phase (of all, if it is empty),
// and its injector. What it did to a breaker, or to a connection, may last.
func throughStream(plan *experiments.Plan, phase string) (rule, injector string) {
	for _, p := range plan.Phases {
		for _, in := range plan.Injectors {
			if i := slices.IndexFunc(p.Faults[in.Name], ofStream); i >= 0 {
				return p.Faults[in.Name][i].ID, in.Name
			}
		}
		if p.Name == phase {
			break
		}
	}
	return "", ""
}

// requests reports whether some dependency sees requests.
func requests(plan *experiments.Plan) bool {
	return slices.ContainsFunc(plan.Injectors, func(in experiments.Injector) bool { return in.TCP == nil })
}

// streamsSupposed says what is played in place of what cannot be foreseen.
func streamsSupposed(plan *experiments.Plan) []string {
	if !anyFault(plan, plan.Injectors, ofStream) {
		return nil
	}
	return []string{"faults of TCP connections and of WebSockets change nothing, as what they do is up to what is said there; what comes after them is not predicted"}
}
