package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// judge implements [Rule].
func (r Opens) judge(e *evidence, a Assertion) Verdict {
	return e.worst(r.Breaker, a, func(vs []*view, w Interval) Verdict {
		if out, ok := r.openedUnseen(vs, w); ok {
			return out
		}
		return e.across(vs, a, w, func(v *view, w Interval) Verdict { return r.seen(e, a, v, w) })
	})
}

// seen judges what is seen in one era.
func (r Opens) seen(e *evidence, a Assertion, v *view, w Interval) Verdict {
	limited := r.AtCall > 0 || r.WithinCalls > 0 || r.Within > 0 || r.NotBefore > 0
	switch {
	case v.uncounted() && (r.AtCall > 0 || r.WithinCalls > 0):
		return v.uncountedVerdict(r.expected())
	case limited && v.after() && v.era.Lo > w.Lo:
		return Verdict{Result: Inconclusive, Expected: r.expected(), Observed: "no evidence", Reason: "not all that came in this phase was seen, so there is nothing to count from"}
	}
	seg := v.tripIn(w)
	if seg == nil {
		return r.notOpened(e, v, w, a)
	}
	parts := []Verdict{r.byCount(v, seg, w)}
	if r.AtCall == 0 && r.WithinCalls == 0 {
		parts[0].Margin = "" // Nothing was asked of the count.
	}
	if r.Within > 0 || r.NotBefore > 0 {
		parts = append(parts, r.byTime(seg, w))
	}
	return merge(r.expected(), parts)
}

// expected says what the rule asks.
func (r Opens) expected() string {
	s := "opens"
	switch {
	case r.AtCall > 0:
		s = fmt.Sprintf("opens at outcome %d", r.AtCall)
	case r.WithinCalls > 0:
		s = fmt.Sprintf("opens within %d outcomes", r.WithinCalls)
	}
	if r.Within > 0 {
		s += ", within " + short(r.Within)
	}
	if r.NotBefore > 0 {
		s += ", not before " + short(r.NotBefore)
	}
	if r.Within > 0 || r.NotBefore > 0 {
		s += " of the first faulted outcome"
	}
	return strings.Replace(s, "opens, ", "opens ", 1)
}

// tripIn returns the first opening from CLOSED whose likely start lies in w.
func (v *view) tripIn(w Interval) *segment {
	for i := range v.segs {
		if s := &v.segs[i]; s.state == StateOpen && s.trip != nil && w.in(s.tight.Lo) {
			return s
		}
	}
	return nil
}

// openAt reports whether the breaker was open or half-open when w began.
func (v *view) openAt(t time.Duration) bool {
	for _, s := range v.segs {
		if s.state != StateClosed && s.from.Hi < t && (s.last || s.to.Lo > t) {
			return true
		}
	}
	return false
}

// counted is how many outcomes the breaker had recorded when it opened, the
// tripping one included, as far as they count: from the window's start or the
// last close.
func (t *trip) counted(open Interval, w Interval) numbers {
	n := numbers{Lo: 1}
	for _, a := range t.outcomes {
		if a.o < w.Lo {
			continue
		}
		n.Hi++
		if a.recordedBefore(open) && (t.first || !t.doubtful(a)) {
			n.Lo++
		}
	}
	return n
}

// byCount judges at which outcome the breaker opened.
func (r Opens) byCount(v *view, seg *segment, w Interval) Verdict {
	t := seg.trip
	var show []*admission
	for _, i := range t.candidates {
		show = append(show, t.outcomes[i])
	}
	n := t.counted(seg.from, w)
	if len(show) == 0 || n.Hi < n.Lo {
		return Verdict{
			Result: Inconclusive, Observed: "opened with no outcome before it", Reason: "no outcome at the dependency in this phase explains the opening",
			Remedy: "look for a limiter, a bulkhead or a forced-open breaker in the SUT",
		}
	}
	out := Verdict{Result: Pass, Evidence: ids(show), Margin: "exact", Observed: "opened at outcome " + n.String()}
	out.Resolution = plural(n.Hi-n.Lo+1, "outcome")
	switch {
	case r.AtCall > 0:
		r.decideCount(&out, v, seg, w, n.Lo == r.AtCall && n.Hi == r.AtCall, r.AtCall < n.Lo || r.AtCall > n.Hi)
	case r.WithinCalls > 0:
		out.Margin = plural(r.WithinCalls-n.Hi, "outcome") + " left"
		r.decideCount(&out, v, seg, w, n.Hi <= r.WithinCalls, n.Lo > r.WithinCalls)
	}
	return out
}

// decideCount settles a count; where the declared breaker, fed with what was
// observed, had to open elsewhere than the assertion says, the assertion is
// wrong and not the SUT.
func (r Opens) decideCount(out *Verdict, v *view, seg *segment, w Interval, yes, no bool) {
	off := r.AtCall > 0 && v.contradicts(seg.trip)
	switch {
	case seg.trip.guests:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = v.guests("its outcomes cannot be counted")
	case yes && seg.trip.presumed:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "it is not certain that it had closed before: a half-open breaker that failed late looks the same"
		out.Remedy = "send more calls than half-open permits before this phase"
	case yes && !off:
	case !no && !off:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "outcomes overlap, so the trace cannot tell which of them opened it"
		out.Remedy = "use load: {calls: ..., concurrency: 1} in this phase"
		if from := seg.trip.straggler(w); from != "" {
			out.Reason = "calls of phase " + from + " were still under way when counting began, and their outcomes count too"
			out.Remedy = pause
		}
	case !seg.sure || !seg.from.inside(w.Lo, w.Hi):
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "the trace cannot tell when it opened: it may have done so before this phase, or more than once"
		out.Remedy = "raise the rate, so that calls come more often than the wait ends"
	case v.haunted(seg.trip):
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = v.beforehand() + ", so its window may not have been empty"
		out.Remedy = v.bury()
	default:
		out.Result, out.Margin = Fail, ""
		r.asDeclared(out, v, seg.trip, w)
	}
}

// straggler names the phase of a counted outcome whose call was sent before
// counting began.
func (t *trip) straggler(w Interval) string {
	for _, a := range t.outcomes {
		if a.o >= w.Lo && a.call.Call.Send < w.Lo {
			return a.call.Call.Phase
		}
	}
	return ""
}

// contradicts reports whether the declared breaker cannot have opened where this
// one did. Which outcomes came after the last close is known only if half-open
// permits no more than is declared.
func (v *view) contradicts(t *trip) bool {
	if !v.breaker.Declared || !t.known || len(v.allowed(t)) > 0 {
		return false
	}
	return t.first && !t.past || !slices.ContainsFunc(v.visits, func(vis *visit) bool { return v.count(vis).lo > v.permitted() })
}

// asDeclared turns a failed count into an inconclusive one when the declared
// breaker would have opened just where the SUT did.
func (r Opens) asDeclared(out *Verdict, v *view, t *trip, w Interval) {
	if len(v.allowed(t)) == 0 {
		if may := v.openings(t).plain(t); len(may) > 0 {
			out.Reason = "the declared breaker, fed with the same outcomes, opens at outcome " + t.numbers(may, w).String()
		}
		return
	}
	before := 0
	for _, a := range t.outcomes {
		if a.o < w.Lo {
			before++
		}
	}
	out.Result = Inconclusive
	out.Reason = fmt.Sprintf("the window was not empty (%d outcomes before this phase), so the declared breaker opens just there; the assertion asks for something else", before)
	out.Remedy = "put an unmeasured trip and close before this phase, or start it on a fresh SUT"
}

// numbers is the positions, from 1, of outcomes among those since a window began.
func (t *trip) numbers(at []int, w Interval) numbers {
	before := 0
	for _, a := range t.outcomes {
		if a.o < w.Lo {
			before++
		}
	}
	return numbers{Lo: at[0] + 1 - before, Hi: at[len(at)-1] + 1 - before}
}

// byTime judges when the breaker opened, from the first faulted outcome.
func (r Opens) byTime(seg *segment, w Interval) Verdict {
	first := forever
	for _, a := range seg.trip.outcomes {
		if a.faulted && a.o >= w.Lo {
			first = min(first, a.o)
		}
	}
	if first == forever {
		return Verdict{Result: Inconclusive, Observed: "opened before any faulted outcome", Reason: "there is nothing to count from"}
	}
	took := Interval{max(seg.from.Lo-first, 0), seg.from.Hi - first}
	if !seg.sure {
		took.Lo = 0
	}
	out := Verdict{Result: Pass, Observed: "after " + took.String(), Resolution: short(took.width())}
	lo, hi := r.NotBefore, r.Within
	if hi == 0 {
		hi = forever
	}
	switch {
	case took.inside(lo, hi):
		left := hi - took.Hi
		if lo > 0 {
			left = min(left, took.Lo-lo)
		}
		out.Margin = short(left)
	case took.apart(lo, hi):
		out.Result, out.miss = Fail, took.distance(lo, hi)
		out.Reason = "it opened too late"
		if took.Hi < lo {
			out.Reason = "it opened too early"
		}
	default:
		out.Result, out.Reason, out.Remedy = Inconclusive, "the trace does not pin the opening down far enough", "raise the rate of this phase"
	}
	return out
}

// notOpened judges a phase in which the breaker did not open.
func (r Opens) notOpened(e *evidence, v *view, w Interval, a Assertion) Verdict {
	out := Verdict{Expected: r.expected()}
	if v.openAt(w.Lo) {
		out.Result, out.Observed = Inconclusive, "it was open already when the phase began"
		out.Reason, out.Remedy = "an opening can only be seen from closed", "let it close before this phase"
		return out
	}
	outs, faulted := v.outcomesIn(w)
	out.Evidence = ids(outs[max(0, len(outs)-3):])
	out.Observed = fmt.Sprintf("did not open within %s (%d faulted)", plural(len(outs), "outcome"), faulted) + v.laterTrip(e, w)
	if at, through, rejected := v.holed(Interval{0, w.Hi}); rejected > 0 {
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("the declared breaker opens by outcome %d; from there on this one rejected %d calls and let %d others through", at.Hi, rejected, len(through))
		out.Remedy = "see breaker.leak"
		return out
	}
	at, enough := v.mustOpen(w, r)
	if !enough {
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("%s: too few to expect an opening, or calls came too rarely to show it", plural(faulted, "faulted outcome"))
		out.Remedy = "send more calls in phase " + a.Phase + ", several within the breaker's wait"
		if v.aggregate && faulted >= v.breaker.Config.MinimumCalls {
			out.Reason = fmt.Sprintf("correlation: aggregate: %s reached the dependency, and attempts that belong to no call do not show when the breaker had to open", plural(faulted, "faulted attempt"))
			out.Remedy = perCallVerdict(r).Remedy
		}
		return out
	}
	out.Result, out.certain = Fail, true
	if at > 0 {
		out.Reason = fmt.Sprintf("the declared breaker opens at outcome %d of these", at)
	} else {
		out.Reason = fmt.Sprintf("%d outcomes failed at the dependency and calls went on arriving there", faulted)
	}
	return out
}

// outcomesIn returns the outcomes of a window in the order of o and how many of
// them a fault had hit.
func (v *view) outcomesIn(w Interval) (outs []*admission, faulted int) {
	for _, a := range v.adm {
		if a.o != forever && w.in(a.o) {
			outs = append(outs, a)
			if a.faulted {
				faulted++
			}
		}
	}
	sortByOutcome(outs)
	return outs, faulted
}

// brief is the shortest wait that an undeclared breaker is thought to have.
const brief = 100 * time.Millisecond

// mustOpen reports whether an opening was due in a window that shows none:
// where the breaker is declared, by replaying what was observed since it was
// closed; else by the asked number of failures. The opening must have shown: a
// call was admitted for certain when the breaker had to be open. at is the number
// of the outcome in the window at which the declared breaker opens.
func (v *view) mustOpen(w Interval, r Opens) (at int, due bool) {
	if !v.breaker.Declared {
		return 0, v.failedOn(w, r)
	}
	for _, s := range v.segs {
		if s.state != StateClosed || s.from.Lo >= w.Hi || s.to.Hi <= w.Lo {
			continue
		}
		if s.stay.guests && s.stay.guestsFrom > s.from.Hi {
			// Up to then all outcomes are seen.
			before := s.stay.guestsFrom - 1
			s.stay = v.newTrip(s.from, s.stay.first, Interval{before, before})
		}
		opens := v.openings(s.stay)
		if in := v.unhaunted(opens, s); in.Hi < w.Hi && v.admittedBetween(in.Hi, in.Lo+v.wait) {
			if plain := opens.plain(s.stay); len(plain) > 0 {
				return s.stay.numbers(plain, w).Lo, true
			}
			return 0, true // With outcomes in the window that were not seen, no number says when.
		}
	}
	return 0, false
}

// unhaunted narrows when the declared breaker opens: what the window held before the
// trace may have opened it at the beginning of a closed stretch, but that would have
// shown if calls came often enough.
func (v *view) unhaunted(o openings, s segment) Interval {
	in, plain := o.in, o.plain(s.stay)
	if !s.stay.past || len(plain) == 0 {
		return in
	}
	if _, hides := v.hidesOpen(v.shortest(), s.from.Hi, o.haunted); hides {
		return in
	}
	in.Lo = forever
	for _, i := range plain {
		in.Lo = min(in.Lo, s.stay.outcomes[i].early)
	}
	return in
}

// failedOn reports whether as many outcomes of a window failed as were asked
// for, or as Resilience4j wants by default, and calls went on arriving.
func (v *view) failedOn(w Interval, r Opens) bool {
	want := max(r.AtCall, r.WithinCalls)
	if want == 0 {
		want = breakerref.Default().MinimumCalls
	}
	if v.anyRejectedBetween(w.Lo-1, min(w.Hi, forever-1)+1) {
		return false // it may have been open, but too few calls came to show it
	}
	outs, _ := v.outcomesIn(w)
	failed, settled := 0, time.Duration(0)
	for _, a := range outs {
		settled = max(settled, a.settled)
		if a.failed {
			failed++
		}
		if failed >= want {
			return v.admittedBetween(settled, settled+brief)
		}
	}
	return false
}

// laterTrip says where the breaker opened after a window, if it did.
func (v *view) laterTrip(e *evidence, w Interval) string {
	for _, s := range v.segs {
		if s.trip == nil || s.tight.Lo < w.Hi || len(s.trip.candidates) == 0 {
			continue
		}
		where := ""
		for _, p := range e.trace.Phases {
			if s.tight.Lo >= p.From {
				where = " in phase " + p.Name
			}
		}
		since := "the last close"
		if s.trip.first {
			since = "the start"
		}
		c := s.trip.candidates
		return fmt.Sprintf("; it opened later%s, at the %s outcome since %s", where, nth(c[0]+1, c[len(c)-1]+1), since)
	}
	return ""
}

// numbers is a range of positions.
type numbers struct{ Lo, Hi int }

// String prints one position, or the range.
func (n numbers) String() string {
	if n.Lo == n.Hi {
		return strconv.Itoa(n.Lo)
	}
	return fmt.Sprintf("%d to %d", n.Lo, n.Hi)
}

// merge combines the parts of one rule: the worst result decides.
func merge(expected string, parts []Verdict) Verdict {
	out := byResult(parts)
	out.Expected, out.miss = expected, missOf(parts)
	seen := make([]string, 0, len(parts))
	for _, p := range parts {
		seen = append(seen, p.Observed)
		if out.Result == Pass && out.Margin == "" {
			out.Margin = p.Margin // Not every part asks for something.
		}
	}
	out.Observed = strings.Join(seen, "; ")
	return out
}

// missOf is by how much several looks at one thing fail in time alone; 0 if one of
// them fails otherwise.
func missOf(parts []Verdict) time.Duration {
	miss := time.Duration(0)
	for _, p := range parts {
		switch {
		case p.Result != Fail:
		case p.miss == 0:
			return 0
		default:
			miss = max(miss, p.miss)
		}
	}
	return miss
}
