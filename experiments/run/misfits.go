package run

import (
	"fmt"
	"strings"
)

// misfits tells of faults that were not played, because the SUT speaks a protocol that
// does not know them: what was answered in their place is in no experiment.
func (r *runner) misfits() error {
	var parts []string
	for i, in := range r.injectors {
		for _, m := range in.Misfits() {
			name := "fault " + m.Rule
			if !strings.Contains(m.Rule, "/") { // It is the stub.
				name = m.Rule
			}
			requests := "1 request"
			if m.Met > 1 {
				requests = fmt.Sprintf("%d requests", m.Met)
			}
			parts = append(parts, fmt.Sprintf("%s of injector %s was met by %s and not played: %s", name, r.plan.Injectors[i].Name, requests, m.What))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &PreconditionError{
		What: strings.Join(parts, "; ") + "; they were answered 501 instead, so that the run was not what the experiment says",
		Remedy: "have the SUT speak the protocol that the fault is of (h2, settings and grpc are of HTTP/2: with prior knowledge, or over TLS with protocols: [h2]), " +
			"or use a fault of the one that it speaks",
	}
}
