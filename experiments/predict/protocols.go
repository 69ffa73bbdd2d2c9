package predict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// unanswered is how a request ends that a fault of HTTP/2 gives no answer; false: it
// gets one. Silence is no end.
func unanswered(h *fault.H2) (trace.Outcome, bool) {
	switch {
	case !h.Unanswered():
		return "", false
	case h.Silent():
		return trace.OutcomeHang, true
	case h.GoAway != nil:
		return trace.OutcomeFIN, true
	}
	return trace.OutcomeReset, true
}

// endOf is how an answer ends, if that is not its own end.
func endOf(r *fault.Rule, a *fault.Respond) fault.Action {
	if end := r.Form.Ends(); end != "" {
		return end
	}
	if r.H2 != nil && r.H2.Reset != nil || a != nil && a.GRPC != nil && a.GRPC.End == fault.GRPCReset {
		return fault.ActionReset
	}
	return ""
}

// sizeOf is how long the body of an answer is.
func sizeOf(a *fault.Respond) int64 {
	if a == nil {
		return 0
	}
	size := int64(len(a.Body)) + a.Fill
	if a.GRPC != nil {
		const prefix = 5
		for _, m := range a.GRPC.Messages {
			size += int64(prefix + len(strings.TrimRight(m, "="))*3/4) // Four letters are three bytes.
		}
	}
	return size
}

// unforeseen says why what an assertion looks at does not follow from what is
// declared: some fault at its dependencies, in its phase or before, leaves it to what a
// client does with its connections, or to what it takes for a failure.
func unforeseen(plan *experiments.Plan, a assert.Assertion) (reason, remedy string) {
	if what := undeclared(plan, a.Rule); what != "" {
		return what + " is not declared", "run it"
	}
	if what := untold(plan, a.Rule); what != "" {
		return what + ", is not declared", "run it"
	}
	for _, name := range lookedAt(plan, a) {
		in := plan.Injectors[slices.IndexFunc(plan.Injectors, func(in experiments.Injector) bool { return in.Name == name })]
		rules := until(plan, a.Phase, name)
		if what := uncounted(plan, in, rules); what != "" {
			return fmt.Sprintf("whether the service takes the answer of gRPC of %s for a failure is not declared", what),
				"give an OK a message (messages: \"\" is an empty one), name it in the breaker's failure, as grpc:no_status, grpc:unreadable or grpc:no_message, or run it"
		}
		for _, r := range rules {
			why := open(r)
			if why == "" && multiplexed(in) && endsConnection(r) {
				why = "other requests may share the connection that it ends, and clients may send a request again, which is not declared"
			}
			if why != "" {
				return fmt.Sprintf("with fault %s of %s (%s), %s", r.ID, name, ruleWords(r), why), "run it"
			}
		}
	}
	return "", ""
}

// until are the faults of an injector up to the end of a phase; of all, if it is empty.
func until(plan *experiments.Plan, phase, injector string) []fault.Rule {
	var rules []fault.Rule
	for _, p := range plan.Phases {
		rules = append(rules, p.Faults[injector]...)
		if p.Name == phase {
			break
		}
	}
	return rules
}

// open says what nobody declares that a fault depends on; empty: nothing.
func open(r fault.Rule) string {
	h := r.H2
	switch {
	case r.Action == fault.ActionTLS || r.Action == fault.ActionSettings:
		return "it is a matter of how many connections the service opens, which is not declared"
	case h != nil && h.GoAway != nil && h.Unanswered():
		return "clients may send a request again, and others share its connection, which is not declared"
	case h != nil && h.Abort:
		return "other requests may share the connection that is reset, which is not declared"
	case h != nil && h.Reset != nil && (h.Reset.Code == refusedStream || h.Reset.Code.Storms()):
		return "clients may send a request again, which is not declared"
	}
	return ""
}

// multiplexed reports whether callers certainly speak HTTP/2, so that requests share
// connections.
func multiplexed(in experiments.Injector) bool {
	return in.Stub != nil && in.Stub.GRPC != nil || in.TLS != nil && !slices.Contains(in.TLS.Protocols, "http/1.1")
}

// endsConnection reports whether a fault that HTTP/1.1 knows ends a whole connection over
// HTTP/2, or its stream so that it may be sent again.
func endsConnection(r fault.Rule) bool {
	cut, after := r.Form.Cut, r.Form.After
	return r.Stealth || r.Action == fault.ActionClose || r.Action == fault.ActionGarbage ||
		cut != nil && (cut.By == fault.ActionClose || cut.At == fault.CutStart) ||
		after != nil && after.Do != fault.AfterTell
}

// refusedStream tells a client that its request was not looked at.
const refusedStream = fault.ErrCode("REFUSED_STREAM")

// lookedAt are the injectors that decide about an assertion.
func lookedAt(plan *experiments.Plan, a assert.Assertion) []string {
	if name := aboutRule(a.Rule).Breaker; name != "" {
		for _, b := range plan.Breakers {
			if b.Name == name {
				return []string{b.Injector}
			}
		}
	}
	injector, targets := looksAt(plan, a.Rule)
	if injector != "" {
		return []string{injector}
	}
	var at []string
	for _, in := range plan.Injectors {
		asked := func(t match.Target) bool {
			return t.Depends(in.Name) && (len(targets) == 0 || slices.Contains(targets, t.Name))
		}
		if slices.ContainsFunc(plan.Targets, asked) {
			at = append(at, in.Name)
		}
	}
	return at
}

// protocolsSupposed is what is taken for granted of what a service speaks.
func protocolsSupposed(plan *experiments.Plan) []string {
	var out []string
	for _, in := range plan.Injectors {
		http2 := in.Stub != nil && in.Stub.GRPC != nil
		var left []string
		for _, r := range until(plan, "", in.Name) {
			http2 = http2 || r.H2 != nil || r.Action == fault.ActionSettings || r.Respond.GRPC != nil
			if r.Action == fault.ActionTLS || r.Action == fault.ActionSettings {
				left = append(left, r.ID)
			}
		}
		if http2 {
			out = append(out, "it speaks HTTP/2 to "+in.Name)
		}
		out = append(out, grpcSupposed(plan, in)...)
		if in.TLS != nil {
			out = append(out, "it trusts the certificate of "+in.Name)
		}
		if len(left) > 0 {
			out = append(out, fmt.Sprintf("its connections to %s are those of a sound dependency: what %s does to them is not played", in.Name, strings.Join(left, ", ")))
		}
	}
	return out
}

// storms warns of what some clients answer by sending again without end.
func storms(plan *experiments.Plan, p experiments.Phase) []Warning {
	var out []Warning
	for _, in := range plan.Injectors {
		for _, r := range p.Faults[in.Name] {
			if r.H2 != nil && r.H2.Reset != nil && r.H2.Reset.Code.Storms() {
				out = append(out, Warning{
					Phase:  p.Name,
					What:   fmt.Sprintf("fault %s resets streams with %s, on which some clients (Go's) send the request again at once and without end, thousands of times a second", r.ID, r.H2.Reset.Code),
					Remedy: "use INTERNAL_ERROR, or let the fault hit the first few requests",
				})
			}
		}
	}
	return out
}
