package assert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// FallbackForbidden says that no call to certain routes is answered by class
// fallback. Routes and Methods both have to fit; an empty list fits all.
type FallbackForbidden struct {
	Routes  []string // paths of targets, without the query; a * at the end stands for any rest
	Methods []string
}

// Kind implements [Rule].
func (FallbackForbidden) Kind() string { return "fallback.forbidden" }

// expected says what the rule asks.
func (r FallbackForbidden) expected() string {
	what := "any method"
	if len(r.Methods) > 0 {
		what = strings.Join(r.Methods, ", ")
	}
	if len(r.Routes) > 0 {
		what += " " + strings.Join(r.Routes, ", ")
	}
	return "no fallback for " + what
}

// fits reports whether a target is one of the forbidden routes.
func (r FallbackForbidden) fits(t match.Target) bool {
	method := t.Method
	if method == "" {
		method = "GET"
	}
	if len(r.Methods) > 0 && !slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, method) }) {
		return false
	}
	p, _, _ := strings.Cut(t.Path, "?")
	return len(r.Routes) == 0 || slices.ContainsFunc(r.Routes, func(route string) bool {
		if prefix, ok := strings.CutSuffix(route, "*"); ok {
			return strings.HasPrefix(p, prefix)
		}
		return path.Clean(route) == path.Clean(p)
	})
}

// judge implements [Rule].
func (r FallbackForbidden) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	var targets []string
	for _, t := range e.spec.Targets {
		if r.fits(t) {
			targets = append(targets, t.Name)
		}
	}
	out := Verdict{Result: Inconclusive, Observed: "no such call"}
	if len(targets) == 0 {
		out.Reason, out.Remedy = "no target of the load has such a route and method", "add a target that asks for it, or correct routes and methods"
		return out
	}
	if why := e.known(match.ClassFallback); why != "" {
		out.Reason, out.Remedy = why, "declare class fallback under load.classify"
		return out
	}
	pop := e.population(a.Phase, targets, "")
	var wrong []*trace.Call
	needed, answered := 0, answeredOf(pop)
	for _, s := range pop {
		if s.call.Class == match.ClassFallback && s.call.Answered() {
			wrong = append(wrong, s.call)
		}
		if sure, _ := s.member(SubjectError); sure || s.call.Class == match.ClassRejected {
			needed++
		}
	}
	needed += e.unserved(a, targets)
	out.Observed = fmt.Sprintf("%d of %s fell back", len(wrong), plural(len(pop), "call"))
	switch {
	case len(wrong) > 0:
		out.Result, out.Evidence = Fail, callsOf(wrong)
		out.Reason = "the fallback answered on a route where it must not: " + kinds(wrong)
	case len(pop) < enough:
		out.Reason = fmt.Sprintf("%s to %s %s, %d are needed", plural(len(pop), "call"), strings.Join(targets, ", "), inPhase(a), enough)
		out.Remedy = "send more calls to these routes in this phase"
	case answered < enough:
		out.Reason, out.Remedy = silence(answered, len(pop)), speak
	case needed == 0:
		out.Reason = "none of these calls was rejected or failed, so nothing would have fallen back"
		out.Remedy = "name a phase in which the dependency of these routes fails"
	default:
		out.Result, out.Margin = Pass, "exact"
		out.Observed = fmt.Sprintf("none of %s fell back, though some were rejected or failed", plural(len(pop), "call"))
	}
	return out
}

// answeredOf counts the calls that were answered.
func answeredOf(pop []seen) int {
	n := 0
	for _, s := range pop {
		if s.call.Answered() {
			n++
		}
	}
	return n
}

// unserved counts the calls of a phase to some targets whose dependency failed or
// whose breaker rejected them, and that were answered as if nothing were wrong.
func (e *evidence) unserved(a Assertion, targets []string) int {
	n := 0
	for _, b := range e.spec.Breakers {
		n += e.unservedUnseen(a, b.Name, targets)
		for _, v := range e.views[b.Name] {
			for _, c := range v.calls {
				if (a.Phase == "" || c.Call.Phase == a.Phase) && slices.Contains(targets, c.Call.Target) && v.unserved(c) {
					n++
				}
			}
		}
	}
	return n
}

// unserved reports whether the dependency of a call failed, or the breaker rejected
// it: without an arrival and well answered it is as likely a cache.
func (v *view) unserved(c *trace.Joined) bool {
	return c.Kind == trace.Short && c.Call.Class != match.ClassPrimary || v.callFailed(c)
}
