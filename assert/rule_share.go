package assert

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// Share bounds the share of a class, of rejected calls or of errors among all
// calls of the phase to Targets (empty: all). It is about what clients get, so
// that it needs no breaker. A nil bound is not asked.
type Share struct {
	Subject string // a class, SubjectShort or SubjectError
	Breaker string // of SubjectShort: whose rejections
	Targets []string
	Min     *float64 // 0..1
	Max     *float64
}

// Kind implements [Rule].
func (r Share) Kind() string { return r.Subject + ".share" }

// expected says what the rule asks.
func (r Share) expected() string {
	var parts []string
	if r.Min != nil {
		parts = append(parts, ">= "+percent(*r.Min))
	}
	if r.Max != nil {
		parts = append(parts, "<= "+percent(*r.Max))
	}
	return fmt.Sprintf("%s %s of %s", r.Subject, strings.Join(parts, " and "), callsTo(r.Targets))
}

// callsTo words a set of targets.
func callsTo(targets []string) string {
	if len(targets) == 0 {
		return "all calls"
	}
	return "calls to " + strings.Join(targets, ", ")
}

// judge implements [Rule].
func (r Share) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	breaker := ""
	if r.Subject == SubjectShort {
		breaker = r.Breaker
	}
	pop := e.population(a.Phase, r.Targets, breaker)
	var parts []Verdict
	if r.Min != nil {
		parts = append(parts, r.bound(e, a, pop, *r.Min, true))
	}
	if r.Max != nil {
		parts = append(parts, r.bound(e, a, pop, *r.Max, false))
	}
	if len(parts) == 0 {
		return Verdict{Result: Inconclusive, Reason: "neither min nor max is asked", Remedy: "give min or max"}
	}
	out := merge(r.expected(), parts)
	out.Observed = parts[0].Observed // both looked at the same
	return out
}

// tally counts the calls of a phase by a subject.
type tally struct {
	calls   int // that tell
	members int // of these
	doubt   int // calls that may be either
	said    int // calls that tell and were answered
	spoilt  []*trace.Call
}

// tally counts. A call that was under way when the phase ended may have been
// harmed by what came next: it is left out if calls that were all right took as
// long, else it is in doubt. good says whether members are what is wanted.
func (r Share) tally(e *evidence, pop []seen, to time.Duration, good bool) tally {
	slowest := time.Duration(-1)
	for _, s := range pop {
		if sure, may := s.member(r.Subject); s.call.End <= to && sure == may && sure == good {
			slowest = max(slowest, s.call.End-s.call.Send)
		}
	}
	var t tally
	for _, s := range pop {
		sure, may := s.member(r.Subject)
		switch c := s.call; {
		case c.End > to && to-c.Send <= slowest:
		case c.End > to, sure != may, !c.Answered() && e.stalled(c.Send, c.End):
			t.doubt++
		default:
			t.add(c, sure, good)
		}
	}
	return t
}

// add counts a call that tells.
func (t *tally) add(c *trace.Call, member, good bool) {
	t.calls++
	if c.Answered() {
		t.said++
	}
	if member {
		t.members++
	}
	if member != good {
		t.spoilt = append(t.spoilt, c)
	}
}

// bound judges one bound: a least share if atLeast, else a greatest one.
func (r Share) bound(e *evidence, a Assertion, pop []seen, limit float64, atLeast bool) Verdict {
	t := r.tally(e, pop, e.endOf(a.Phase), atLeast)
	out := Verdict{Result: Inconclusive, Observed: plural(t.calls, "call")}
	if why := e.known(r.Subject); why != "" {
		out.Reason, out.Remedy = why, "declare the class under load.classify, or correct its name"
		return out
	}
	if t.calls < enough {
		out.Reason = fmt.Sprintf("%s %s, %d are needed", plural(t.calls, "call"), inPhase(a), enough)
		out.Remedy = "send more calls in this phase"
		if t.doubt > 0 {
			out.Reason = fmt.Sprintf("%s of which it can be told, %d are needed; %d were under way when the phase ended, or another call's attempt came meanwhile", plural(t.calls, "call"), enough, t.doubt)
			out.Remedy = longer
		}
		return out
	}
	lo := float64(t.members) / float64(t.calls+t.doubt)
	hi := float64(t.members+t.doubt) / float64(t.calls+t.doubt)
	out.Observed = fmt.Sprintf("%s (%d of %s)", percentNear(float64(t.members)/float64(t.calls), limit), t.members, plural(t.calls, "call"))
	if t.doubt > 0 {
		out.Observed = fmt.Sprintf("%s to %s (%d of %s, and %d that may be either)", percentNear(lo, limit), percentNear(hi, limit), t.members, plural(t.calls, "call"), t.doubt)
	}
	missed, planned := e.saturated(a.Phase)
	switch {
	case atLeast && hi < limit, !atLeast && lo > limit:
		out.Result, out.Evidence = Fail, callsOf(t.spoilt)
		out.Reason = r.spoilt(t, atLeast)
	case atLeast && lo < limit, !atLeast && hi > limit:
		out.Reason = fmt.Sprintf("of %s it cannot be told what they would have been: they were under way when the phase ended, or this machine stood still, or another call's attempt came meanwhile", plural(t.doubt, "call"))
		out.Remedy = longer
	case !atLeast && r.Subject != SubjectError && t.said < enough:
		out.Reason, out.Remedy = silence(t.said, t.calls), speak
	case float64(missed) > float64(planned)*e.spec.Integrity.Dropped:
		out.Reason = fmt.Sprintf("%d of %d calls that were due could not even be sent, as the SUT held all that are allowed in flight", missed, planned)
		out.Remedy = "raise load.max_in_flight, or lower the rate"
	case atLeast:
		out.Result, out.Margin = Pass, percent(lo-limit)
	default:
		out.Result, out.Margin = Pass, percent(limit-hi)
	}
	return out
}

// longer is what lets the calls of a phase come to their end.
const longer = "make the phase longer, and put an unmeasured pause after it"

// spoilt says what was there instead, or what there was too much of.
func (r Share) spoilt(t tally, atLeast bool) string {
	if atLeast {
		return "answered otherwise: " + kinds(t.spoilt)
	}
	return "these are: " + kinds(t.spoilt)
}

// percentNear prints a share with as many digits as it takes to see on which side
// of a bound it is.
func percentNear(share, limit float64) string {
	s := percent(share)
	for digits := 3; s == percent(limit) && share != limit && digits < 7; digits++ {
		s = strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.*f", digits, share*100), "0"), ".") + "%"
		if s != percent(limit) {
			break
		}
	}
	return s
}
