package predict

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// speaksGRPC reports whether the callers of an injector speak gRPC, as some answer or match of
// the plan is for them.
func speaksGRPC(plan *experiments.Plan, in experiments.Injector) bool {
	return in.Stub != nil && in.Stub.GRPC != nil || slices.ContainsFunc(until(plan, "", in.Name), func(r fault.Rule) bool {
		return r.Respond.GRPC != nil || r.Match.GRPC != ""
	})
}

// grpcOf is what an injector records of gRPC of an answer; speaks is whether its caller speaks it.
func grpcOf(speaks bool, r fault.Respond, f fault.Form) string {
	g := r.GRPC
	switch {
	case !speaks || f.Ends() != "":
		return ""
	case g == nil || g.End == fault.GRPCNoTrailers:
		return trace.GRPCNoStatus
	case g.End == fault.GRPCReset:
		return ""
	case g.Frame != "" || f.Malformed != "" || !saysGRPC(r):
		return trace.GRPCUnreadable
	case g.Status.Number() > 0:
	case len(g.Messages) == 0:
		return trace.GRPCNoMessage
	default:
		return string(fault.GRPCCodes()[0])
	}
	return string(g.Status)
}

// saysGRPC reports whether the head of an answer of gRPC says that it is one.
func saysGRPC(r fault.Respond) bool {
	for key, value := range r.Headers {
		if http.CanonicalHeaderKey(key) == "Content-Type" {
			return match.IsGRPC(value)
		}
	}
	return true
}

// grpcSupposed is what is taken for granted of a service whose dependency does not speak gRPC at
// all times.
func grpcSupposed(plan *experiments.Plan, in experiments.Injector) []string {
	if in.Stub == nil || in.Stub.GRPC != nil || !speaksGRPC(plan, in) {
		return nil
	}
	return []string{fmt.Sprintf("it speaks gRPC to %s, and takes what its stub answers, which is HTTP, for a failure", in.Name)}
}

// uncounted names an answer of which nobody says if the breakers of an injector count it: that of
// its stub or of one of the rules; empty: none.
func uncounted(plan *experiments.Plan, in experiments.Injector, rules []fault.Rule) string {
	speaks, failures := speaksGRPC(plan, in), countedAt(plan, in.Name)
	vague := func(r *fault.Respond, f fault.Form) bool {
		return r != nil && slices.ContainsFunc(failures, func(counted match.Failure) bool {
			is, may := counted.Answer(0, grpcOf(speaks, *r, f))
			return is != may
		})
	}
	var stub *fault.Respond
	if in.Stub != nil {
		stub = &in.Stub.Respond
	}
	if vague(stub, fault.Form{}) {
		return in.Name
	}
	for _, r := range rules {
		answer := map[fault.Action]*fault.Respond{fault.ActionRespond: &r.Respond, fault.ActionPass: stub}[r.Action]
		if vague(answer, r.Form) {
			return fmt.Sprintf("fault %s of %s (%s)", r.ID, in.Name, ruleWords(r))
		}
	}
	return ""
}

// countedAt is what the breakers of an injector count.
func countedAt(plan *experiments.Plan, injector string) []match.Failure {
	var all []match.Failure
	for _, b := range plan.Breakers {
		if b.Injector == injector {
			all = append(all, b.Failure)
		}
	}
	if all == nil {
		return []match.Failure{match.DefaultFailure()}
	}
	return all
}
