package assert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// judge implements [Rule].
func (r Opens) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if v.uncounted() && (r.AtCall > 0 || r.WithinCalls > 0) {
			return uncountedVerdict(r.expected())
		}
		seg := v.tripIn(w)
		if seg == nil {
			return r.notOpened(e, v, w, a)
		}
		if seg.unsure {
			return unsureOpening(r.expected())
		}
		parts := []Verdict{r.byCount(v, seg, w)}
		if r.Within > 0 || r.NotBefore > 0 {
			parts = append(parts, r.byTime(seg, w))
		}
		return merge(r.expected(), parts)
	})
}

// unsureOpening is the verdict about an opening that single rejections preceded.
func unsureOpening(expected string) Verdict {
	return Verdict{
		Result: Inconclusive, Expected: expected, Observed: "opened, but single calls had been rejected before",
		Reason: "it may have been open and half-open before without enough calls to show it",
		Remedy: "raise the rate or the concurrency, or lengthen the wait",
	}
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
		s += " within " + short(r.Within)
	}
	if r.NotBefore > 0 {
		s += " not before " + short(r.NotBefore)
	}
	return s
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

// base is where counting starts: the later of the window's start and the close
// before.
func (t *trip) base(w Interval) time.Duration { return max(t.since, w.Lo) }

// number is the position of an outcome, from 1, among those counted from base.
func (t *trip) number(i int, base time.Duration) int {
	n := 0
	for _, a := range t.outcomes[:i+1] {
		if a.o >= base {
			n++
		}
	}
	return n
}

// filled reports whether the outcomes counted from base fill the declared window,
// so that it does not matter what it held before.
func (v *view) filled(t *trip, base time.Duration) bool {
	c := v.breaker.Config
	return v.breaker.Declared && c.WindowType == breakerref.CountBased &&
		len(t.candidates) > 0 && t.number(t.candidates[0], base) > c.Window
}

// blame says that stragglers are why a count cannot be told, if there are any.
func (t *trip) blame(out *Verdict, base time.Duration) {
	if from := t.straggler(base); from != "" {
		out.Reason = "calls of phase " + from + " were still under way when counting began, and their outcomes count too"
		out.Remedy = "put an unmeasured pause (load: {rate: 0/s}) between the two phases"
	}
}

// straggler names the phase of a counted outcome whose call was sent before
// counting began.
func (t *trip) straggler(base time.Duration) string {
	for _, a := range t.outcomes {
		if a.o >= base && a.call.Call.Send < base {
			return a.call.Call.Phase
		}
	}
	return ""
}

// byCount judges at which outcome the breaker opened.
func (r Opens) byCount(v *view, seg *segment, w Interval) Verdict {
	t := seg.trip
	base := t.base(w)
	var seen []int
	var show []*admission
	for _, i := range t.candidates {
		seen = append(seen, t.number(i, base))
		show = append(show, t.outcomes[i])
	}
	if len(seen) == 0 {
		return Verdict{
			Result: Inconclusive, Observed: "opened with no outcome before it", Reason: "no outcome at the dependency explains the opening",
			Remedy: "look for a limiter, a bulkhead or a forced-open breaker in the SUT",
		}
	}
	out := Verdict{Result: Pass, Evidence: ids(show), Margin: "exact", Observed: "opened at outcome " + numbers(seen)}
	lo, hi := slices.Min(seen), slices.Max(seen)
	out.Resolution = fmt.Sprintf("%d outcome(s)", hi-lo+1)
	switch {
	case r.AtCall > 0:
		r.decideCount(&out, v, t, base, lo == r.AtCall && hi == r.AtCall, r.AtCall < lo || r.AtCall > hi)
	case r.WithinCalls > 0:
		out.Margin = fmt.Sprintf("%d outcomes left", r.WithinCalls-hi)
		r.decideCount(&out, v, t, base, hi <= r.WithinCalls, lo > r.WithinCalls)
	}
	return out
}

// decideCount settles a count; where the declared breaker, fed with what was
// observed, had to open elsewhere than the assertion says, the assertion is
// wrong and not the SUT.
func (r Opens) decideCount(out *Verdict, v *view, t *trip, base time.Duration, yes, no bool) {
	switch {
	case yes && t.unsure && t.since >= base:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "the close before is not pinned down, so counting from it is not sure"
		out.Remedy = "let the close happen in a phase of its own before this one"
	case yes:
	case !no:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "outcomes overlap, so the trace cannot tell which of them opened it"
		out.Remedy = "use load: {calls: ..., concurrency: 1} in this phase"
		t.blame(out, base)
	case t.straggler(base) != "":
		out.Result, out.Margin = Inconclusive, ""
		t.blame(out, base)
	default:
		out.Result, out.Margin = Fail, ""
		if v.breaker.Declared && r.asDeclared(out, v, t, base) {
			return
		}
		if !v.known(t) && !v.filled(t, base) {
			out.Result = Inconclusive
			out.Reason = "the SUT was running before, so its window may not have been empty"
			if t.unsure {
				out.Reason = "the close before is not pinned down, so what the window held is not known"
			}
			out.Remedy = "let faultline launch the SUT, or put an unmeasured trip and close before this phase"
		}
	}
}

// asDeclared turns a failed count into an inconclusive one when the declared
// breaker would have opened just where the SUT did.
func (r Opens) asDeclared(out *Verdict, v *view, t *trip, base time.Duration) bool {
	allowed := v.allowed(t)
	if len(allowed) == 0 {
		at, _ := v.openings(t.outcomes)
		if len(at) > 1 {
			out.Result = Inconclusive
			out.Reason = "outcomes overlap, and in another order the declared breaker opens elsewhere"
			out.Remedy = "use load: {calls: ..., concurrency: 1} in this phase"
			return true
		}
		if v.known(t) && len(at) > 0 {
			out.Reason = "the declared breaker, fed with the same outcomes, opens at outcome " +
				numbers([]int{t.number(at[0], base), t.number(at[len(at)-1], base)})
			if t.number(at[len(at)-1], base) == 0 {
				out.Reason = "the declared breaker, fed with the same outcomes, opens before this phase"
			}
		}
		return false
	}
	before := len(t.outcomes) - t.number(len(t.outcomes)-1, base)
	out.Result = Inconclusive
	out.Reason = fmt.Sprintf("the window was not empty (%d outcomes before this phase), so the declared breaker opens just there; the assertion asks for something else", before)
	out.Remedy = "put an unmeasured trip and close before this phase, or start it on a fresh SUT"
	return true
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
	out := Verdict{Result: Pass, Observed: "after " + took.String(), Resolution: short(took.width())}
	lo, hi := r.NotBefore, r.Within
	if hi == 0 {
		hi = forever
	}
	switch {
	case took.inside(lo, hi):
		out.Margin = short(min(took.Lo-lo, hi-took.Hi))
	case took.apart(lo, hi):
		out.Result = Fail
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
	if n := v.rejectionsIn(w); n > 0 && n*100 >= len(outs) {
		out.Result, out.Observed = Inconclusive, fmt.Sprintf("%d of %d calls were rejected, never three with no admission between", n, n+len(outs))
		out.Reason = "too few calls came while it was open, or it lets calls through while open"
		out.Remedy = "raise the rate or the concurrency of this phase, or lengthen the wait"
		return out
	}
	out.Evidence = ids(outs[max(0, len(outs)-3):])
	out.Observed = fmt.Sprintf("not within %d outcomes (%d faulted)", len(outs), faulted) + v.laterTrip(e, w)
	at, enough := v.mustOpen(w, r)
	if !enough {
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("%d faulted outcomes are too few, or came too far apart, to expect a rejected call", faulted)
		out.Remedy = "send more calls in phase " + a.Phase + ", several within the breaker's wait"
		return out
	}
	out.Result = Fail
	switch {
	case at > 0:
		out.Reason = fmt.Sprintf("the declared breaker is open by outcome %d of these", at)
	case v.breaker.Declared:
		out.Reason = "the declared breaker is open before this phase"
	default:
		out.Reason = fmt.Sprintf("%d outcomes failed at the dependency and calls went on arriving there", faulted)
	}
	return out
}

// rejectionsIn counts the rejections that were sent in a window.
func (v *view) rejectionsIn(w Interval) int {
	n := 0
	for _, r := range v.rej {
		if w.in(r.lo) {
			n++
		}
	}
	return n
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

// mustOpen reports whether an opening was due in a window that shows none:
// where the breaker is declared, by replaying what was observed since it was
// closed; else by the asked number of outcomes. at is the number of the outcome
// in the window at which the declared breaker opens.
func (v *view) mustOpen(w Interval, r Opens) (at int, enough bool) {
	outs, _ := v.outcomesIn(w)
	if !v.breaker.Declared {
		want := max(r.AtCall, r.WithinCalls)
		if want == 0 {
			want = breakerref.Default().MinimumCalls
		}
		failed := 0
		for _, a := range outs {
			if a.failed {
				failed++
			}
		}
		return 0, failed >= want
	}
	due := v.dueOpening(w)
	if due == nil {
		return 0, false
	}
	for _, x := range outs {
		if x.o <= due.o {
			at++
		}
	}
	return at, v.shownShut(due)
}

// dueOpening is the outcome by which the declared breaker, fed with what was
// observed since it was closed last, is open at the latest; nil when it may stay
// closed to the end of the window, or its window is not known.
func (v *view) dueOpening(w Interval) *admission {
	if !v.breaker.Declared {
		return nil
	}
	since, sure := v.closedSince(w.Lo)
	if !sure {
		return nil
	}
	var all []*admission
	for _, a := range v.adm {
		if a.o != forever && a.o > since && a.o < w.Hi {
			all = append(all, a)
		}
	}
	sortByOutcome(all)
	opens, never := v.openings(all)
	_, faulted := v.outcomesIn(w)
	if never || len(opens) == 0 || since < 0 && !v.fresh && faulted < 2*v.breaker.Config.Window {
		return nil
	}
	return all[opens[len(opens)-1]]
}

// shownShut reports whether a call came soon enough after an outcome that had to
// open the breaker to show that it did not: at low traffic every call may find
// another wait just over, and look the same.
func (v *view) shownShut(due *admission) bool {
	over := due.o + time.Duration(float64(v.breaker.Config.Wait)*(1-earlyShare))
	for _, x := range v.adm {
		if x.lo > due.settled && x.hi < over {
			return true
		}
	}
	return false
}

// closedSince is when the closed stretch that holds t began, -1 for the start, and
// whether that is pinned down.
func (v *view) closedSince(t time.Duration) (since time.Duration, sure bool) {
	since, sure = -1, true
	for _, vis := range v.visits {
		if vis.end == StateClosed && vis.endAt.Lo <= t {
			since, sure = vis.decided, vis.sure
		}
	}
	return since, sure
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

// nth prints a position, or a range of positions, as an ordinal.
func nth(lo, hi int) string {
	if lo != hi {
		return fmt.Sprintf("%s to %s", nth(lo, lo), nth(hi, hi))
	}
	suffix := "th"
	if lo%100 < 11 || lo%100 > 13 {
		switch lo % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", lo, suffix)
}

// numbers prints a set of positions as one or as a range.
func numbers(ns []int) string {
	lo, hi := slices.Min(ns), slices.Max(ns)
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// merge combines the parts of one rule: the worst result decides.
func merge(expected string, parts []Verdict) Verdict {
	out := byResult(parts)
	out.Expected = expected
	seen := make([]string, 0, len(parts))
	for _, p := range parts {
		seen = append(seen, p.Observed)
	}
	out.Observed = strings.Join(seen, "; ")
	return out
}
