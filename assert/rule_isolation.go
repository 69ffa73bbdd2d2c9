package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Isolation says that calls to some targets are served as well as in a phase before, while
// something else is in trouble (judging.md, section 6): their share of good answers is lower by
// at most Share, and each quantile of their latency is longer by at most its bound.
//
// An answer is good if it is no error (see SubjectError) and not of class rejected. It takes
// 100 calls in each of the two phases, and something in trouble: 20 attempts that faults hit at
// a dependency that the targets do not need, or whose door is shut, or 20 bad calls to other
// targets. A loss of share fails only where chance would not make it once in a thousand
// runs (Wilson's interval at z = 3 on both sides); a latency fails by the time since calls
// were sent and passes by that since they were due, as [Latency] does. Calls that could not be
// sent since the SUT held all that are allowed have no latency; that keeps from passing.
type Isolation struct {
	Targets  []string
	Baseline string          // the phase
	Share    *float64        // 0..1; nil: not asked
	Latency  []QuantileBound // by how much a quantile may grow
}

// Kind implements [Rule].
func (Isolation) Kind() string { return "isolation" }

// expected says what the rule asks.
func (r Isolation) expected() string {
	parts := []string{fmt.Sprintf("%s as in phase %s", callsTo(r.Targets), r.Baseline)}
	if r.Share != nil {
		parts = append(parts, fmt.Sprintf("at most %s fewer good answers", percent(*r.Share)))
	}
	for _, b := range r.Latency {
		parts = append(parts, fmt.Sprintf("%s at most %s longer", quantileName(b.Quantile), short(b.Max)))
	}
	return strings.Join(parts, ", ")
}

// sampled is how many calls it takes in each phase, and troubled how many signs of trouble.
const (
	sampled  = 100
	troubled = enough
)

// judge implements [Rule].
func (r Isolation) judge(e *evidence, a Assertion) Verdict {
	before := Assertion{Phase: r.Baseline}
	switch {
	case !e.ran(a):
		return notRun(a)
	case !e.ran(before):
		return notRun(before)
	}
	now, then := r.sample(e, a.Phase), r.sample(e, r.Baseline)
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%s, %s before", plural(now.calls, "call"), plural(then.calls, "call"))}
	if now.calls < sampled || then.calls < sampled {
		out.Reason = fmt.Sprintf("%s and %s before, %d of each are needed", plural(now.calls, "call"), plural(then.calls, "call"), sampled)
		out.Remedy = "send more calls to " + callsTo(r.Targets)[len("calls to "):] + " in both phases"
		return out
	}
	var parts []Verdict
	if r.Share != nil {
		parts = append(parts, r.share(e, a, now, then))
	}
	for _, b := range r.Latency {
		parts = append(parts, r.slower(b, now, then))
	}
	if len(parts) == 0 {
		return Verdict{Result: Inconclusive, Reason: "neither share nor latency is asked", Remedy: "give share or latency"}
	}
	out = merge(r.expected(), parts)
	if n := r.trouble(e, a.Phase); out.Result == Pass && n < troubled {
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("%d attempts were hit by faults at dependencies that these calls do not need, or calls to other targets went wrong, in this phase: %d are needed to say that anything was in trouble", n, troubled)
		out.Remedy = "give another dependency a fault in this phase, and send calls that need it"
	}
	return out
}

// sampling is what came of calls to the targets in a phase.
type sampling struct {
	calls, bad, doubt int // calls that tell, bad ones of them, and those that may be either
	times             *latencies
	spoilt            []*trace.Call
}

// good reports whether an answer is what a client wants.
func (s seen) good() bool {
	bad, _ := s.member(SubjectError)
	return !bad && s.call.Class != match.ClassRejected
}

// sample looks at the calls to the targets in a phase. What came after the phase may have
// harmed calls that were under way at its end.
func (r Isolation) sample(e *evidence, phase string) sampling {
	s := sampling{times: Latency{Subject: SubjectAll, Targets: r.Targets}.took(e, Assertion{Phase: phase})}
	to := e.endOf(phase)
	for _, one := range e.population(phase, r.Targets, "") {
		switch c := one.call; {
		case one.good() && (c.End <= to || c.Answered()):
			s.calls++
		case c.End > to, !c.Answered() && e.stalled(c.Send, c.End):
			s.doubt++
		default:
			s.calls, s.bad, s.spoilt = s.calls+1, s.bad+1, append(s.spoilt, c)
		}
	}
	return s
}

// share judges how much rarer good answers are.
func (r Isolation) share(e *evidence, a Assertion, now, then sampling) Verdict {
	lost := func(s sampling) float64 { return float64(s.bad) / float64(s.calls) }
	most := float64(now.bad+now.doubt) / float64(now.calls+now.doubt)
	fell := lost(now) - lost(then)
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%s of %s were bad, %s of %s before", percent(lost(now)), plural(now.calls, "call"), percent(lost(then)), plural(then.calls, "call"))}
	lo, _ := wilson(now.bad, now.calls)
	_, hi := wilson(then.bad, then.calls)
	missed, planned := e.saturated(a.Phase)
	switch {
	case lo-hi > *r.Share && float64(now.bad)/float64(now.calls+now.doubt)-lost(then) > *r.Share:
		out.Result, out.Evidence, out.miss = Fail, callsOf(now.spoilt), starved(now.spoilt)
		out.Reason = "answered otherwise: " + kinds(now.spoilt)
	case fell > *r.Share:
		out.Reason = fmt.Sprintf("%s fewer were good, which of so few calls may be chance", percent(fell))
		out.Remedy = "send more calls in both phases"
	case most-lost(then) > *r.Share:
		out.Reason = fmt.Sprintf("of %s it cannot be told what they would have been: they were under way when the phase ended, or this machine stood still", plural(now.doubt, "call"))
		out.Remedy = longer
	case float64(missed) > float64(planned)*e.spec.Integrity.Dropped:
		out.Reason = fmt.Sprintf("%d of %d calls that were due could not even be sent, as the SUT held all that are allowed in flight", missed, planned)
		out.Remedy = "raise load.max_in_flight: it must be able to hold the calls that are in trouble for as long as load.timeout, and these beside"
	default:
		out.Result, out.Margin = Pass, percent(*r.Share-fell)
	}
	return out
}

// slower judges by how much a quantile of the latency grew.
func (r Isolation) slower(b QuantileBound, now, then sampling) Verdict {
	name := quantileName(b.Quantile)
	planned, service := quantileOf(now.times.planned, b.Quantile), quantileOf(now.times.service, b.Quantile)
	least, most := quantileOf(then.times.service, b.Quantile), quantileOf(then.times.planned, b.Quantile)
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%s %s since due, %s since sent; %s before", name, short(planned), short(service), short(least))}
	switch {
	case planned < forever && planned-least <= b.Max:
		out.Result, out.Margin = Pass, short(b.Max-(planned-least))
	case most < forever && service-most > b.Max:
		out.Result, out.miss, out.Evidence = Fail, service-most-b.Max, callsOf(now.times.slowest)
		out.Reason = "answers took longer by more than that, since their calls were sent"
	case planned == forever:
		out.Reason = fmt.Sprintf("%s had no answer and %d more could not be sent, so how long they would have taken is not known", plural(now.times.unanswered, "call"), now.times.unsent)
		out.Remedy = "ask for share as well; raise load.timeout and load.max_in_flight above what the SUT takes"
	default:
		out.Reason = "calls were sent later than they were due: the SUT kept the bound from when they were sent, but not from when they were due"
		out.Remedy = "lower the rate, or run on a machine with more free CPU"
	}
	return out
}

// trouble counts the signs that something was wrong in a phase that these targets have no part
// in.
func (r Isolation) trouble(e *evidence, phase string) int {
	own := func(injector string) bool {
		return slices.ContainsFunc(r.Targets, func(t string) bool { return e.depends(t, injector) })
	}
	n := 0
	for _, m := range e.trace.Marks {
		if _, shut := e.shutIn(m.Subject, Assertion{Phase: phase}); m.Kind == trace.MarkDoorShut && shut && !own(m.Subject) {
			n += troubled // Nobody saw who came to it.
		}
	}
	for i := range e.trace.Attempts {
		if at := &e.trace.Attempts[i]; at.Phase == phase && at.Rule != "" && !own(at.Injector) {
			n++
		}
	}
	for _, s := range e.population(phase, nil, "") {
		if !slices.Contains(r.Targets, s.call.Target) && !s.good() {
			n++
		}
	}
	return n
}

// wilson bounds a share of which so many of n were seen, so that it lies outside by chance in
// one of several hundred samples (E. B. Wilson, 1927, at z = 3).
func wilson(seen, n int) (lo, hi float64) {
	const z2 = 9.0
	p, m := float64(seen)/float64(n), float64(n)
	mid, half := p+z2/(2*m), math.Sqrt(z2*(p*(1-p)/m+z2/(4*m*m)))
	return max(0, (mid-half)/(1+z2/m)), min(1, (mid+half)/(1+z2/m))
}
