package assert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
)

// RetryForbidden says that certain requests to a dependency are never sent a second time: those
// whose method is not idempotent (RFC 9110, section 9.2.2), or on paths such as payments. What
// is given of Methods, Paths (both of the requests at the dependency) and Targets has to fit.
//
// The dependency has read both requests, so it fails also where the HTTP library may have sent
// the second by itself, which the reason says; but not where an answer of HTTP/2 says that
// the first was not looked at (REFUSED_STREAM, GOAWAY), after which any request may be sent again. It
// passes by three such requests that had every reason to be tried once more, see [RetryAttempts]. A
// SUT that has spent a budget of retries has no such reason, which nobody sees: ask it of the beginning
// of an outage.
//
// That the SUT tries a rejection again cannot be seen at a dependency, which it does not reach.
// What shows it is short.latency, bounded below one wait of the retry.
type RetryForbidden struct {
	Injector string
	Methods  []string
	Paths    []string // as in a fault's match
	Targets  []string // of the calls
}

// Kind implements [Rule].
func (RetryForbidden) Kind() string { return "retry.forbidden" }

func (r RetryForbidden) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r RetryForbidden) expected() string {
	s := "no retry of " + r.what()
	if len(r.Targets) > 0 {
		s += ", of calls to " + strings.Join(r.Targets, ", ")
	}
	return s
}

// what words the requests.
func (r RetryForbidden) what() string {
	s := "any request"
	if len(r.Methods) > 0 {
		s = strings.Join(r.Methods, ", ")
	}
	if len(r.Paths) > 0 {
		s += " " + strings.Join(r.Paths, ", ")
	}
	return s + " at " + r.Injector
}

// fits reports whether tries are of such a request.
func (r RetryForbidden) fits(t *tries) bool {
	at := t.list[0]
	path, _, _ := strings.Cut(at.Path, "?")
	method := len(r.Methods) == 0 || slices.ContainsFunc(r.Methods, func(m string) bool { return strings.EqualFold(m, at.Method) })
	route := len(r.Paths) == 0 || slices.ContainsFunc(r.Paths, func(p string) bool { return (fault.Match{Path: p}).MayMatch(at.Method, path) })
	return method && route && (len(r.Targets) == 0 || slices.Contains(r.Targets, t.call.Target))
}

// judge implements [Rule].
func (r RetryForbidden) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	rs := e.retriesOf(r.Injector, a)
	var all, wrong, vague, due []*tries
	for _, t := range rs.all {
		if !r.fits(t) {
			continue
		}
		all = append(all, t)
		switch {
		case rs.sentAgain(t):
			wrong = append(wrong, t)
		case len(t.list) > 1:
			vague = append(vague, t)
		case rs.due(t):
			due = append(due, t)
		}
	}
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%d of %s sent again; %s more had every reason to be tried once more", len(wrong), plural(len(all), "such request"), plural(len(due), "request"))}
	if out.Reason, out.Remedy = rs.unsaid(); out.Reason != "" {
		return out
	}
	resends, again := doubts(vague)
	byLibrary, _ := doubts(wrong)
	switch {
	case len(wrong) > 0:
		out.Result, out.Evidence = Fail, callIDs(wrong)
		out.Reason = fmt.Sprintf("the dependency got %s twice or more: %s", plural(len(wrong), "such request"), rs.example(wrong[0]))
		if byLibrary > 0 {
			out.Reason += fmt.Sprintf("; %s of it the HTTP library may have sent by itself, as its connection had broken without an answer: it has to be told not to", plural(byLibrary, "attempt"))
		}
	case len(vague) > 0:
		out.Evidence, out.Remedy = callIDs(vague), doubtRemedy
		out.Reason = doubtWords(resends, again)
	case len(all) == 0:
		out.Reason, out.Remedy = "no such request reached the dependency in this phase", "correct methods, paths and targets, or name a phase in which such requests are made"
	case len(due) < fewest:
		out.Reason = fmt.Sprintf("%s had every reason to be tried once more (a fault made it fail, its client waited, and the breaker was closed), %d are needed", plural(len(due), "such request"), fewest)
		out.Remedy = "let such requests fail in this phase, by respond: {status: 503}, while the breaker stays closed"
	default:
		out.Result, out.Margin, out.Evidence = Pass, "exact", callIDs(due[:fewest])
	}
	return out
}

// sentAgain reports whether a request was sent a second time for certain, after the
// dependency had read it.
func (r *retries) sentAgain(t *tries) bool {
	for i, l := range t.links {
		if l == linkRetry || l == linkResend && !r.refused(t, i) {
			return true
		}
	}
	return false
}

// refused reports whether a fault of HTTP/2 may have told the caller of an attempt that it was
// not looked at (RFC 9113, section 8.7).
func (r *retries) refused(t *tries, i int) bool {
	at := t.list[i]
	return slices.ContainsFunc(r.e.faults[at.Phase][r.injector], func(f fault.Rule) bool {
		return f.ID == at.Rule && f.H2 != nil && (f.H2.GoAway != nil || f.H2.Reset != nil && f.H2.Reset.Code == "REFUSED_STREAM")
	})
}

// example words the first request that was sent again.
func (r *retries) example(t *tries) string {
	at := t.list[0]
	return fmt.Sprintf("%s %s of call %s came %d times", at.Method, at.Path, t.call.ID, len(t.list))
}
