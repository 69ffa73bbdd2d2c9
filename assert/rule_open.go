package assert

import (
	"fmt"
	"strings"
	"time"
)

// expected says what the rule asks.
func (r Leak) expected() string { return fmt.Sprintf("at most %d admissions while open", r.Max) }

// judge implements [Rule].
func (r Leak) judge(e *evidence, a Assertion) Verdict {
	expected := r.expected()
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		leaks := v.leaksIn(w)
		_, through, rejected := v.holed(w)
		leaks = append(leaks, through...)
		for _, s := range v.segs {
			if s.state == StateOpen {
				rejected += v.countRejected(s, w)
			}
		}
		out := Verdict{
			Expected: expected, Evidence: ids(leaks),
			Observed: fmt.Sprintf("%d admitted and %d rejected while open", len(leaks), rejected),
		}
		switch {
		case len(leaks) > r.Max:
			out.Result = Fail
			out.Reason = "these calls reached the dependency after the breaker had opened and before its wait was over"
		case rejected < 10:
			return e.noOpening(r.Breaker, expected, plural(rejected, "call")+" rejected wholly while it was open; 10 are needed",
				"send more calls while the breaker is open")
		case !v.breaker.Declared:
			out.Result, out.Reason = Inconclusive, "without a declared wait, a call that came too early looks like the first probe"
			out.Remedy = "declare the breaker's wait and permitted_calls"
		case v.blind():
			out.Result, out.Reason, out.Remedy = Inconclusive, v.ungrouped(), regroup
		case v.nobodys(w) > 0:
			out.Result = Inconclusive
			out.Reason = plural(v.nobodys(w), "call") + " reached the dependency meanwhile, of which it is not known when they were sent, or which instance they asked"
			out.Remedy = "let every call be answered within load.timeout, and let the SUT pass ids on and name its instance"
		case v.unexplained(w) != "":
			out.Result, out.Reason = Inconclusive, v.unexplained(w)
			out.Remedy = "see breaker.open_duration and half_open_probes; raise the rate of phase " + a.Phase
		default:
			out.Result, out.Margin = Pass, fmt.Sprint(r.Max-len(leaks))
		}
		return out
	})
}

// nobodys counts the admissions of a window that arrived while the breaker may have been
// open, and that it may have let through then: nobody knows whose they are.
func (v *view) nobodys(w Interval) int {
	n := 0
	for _, s := range v.segs {
		if s.state != StateOpen {
			continue
		}
		for _, a := range v.byHi[v.arrivedFrom(s.from.Hi+1):] {
			if a.hi >= s.to.Hi && !s.last {
				break
			}
			n += one(w.in(a.hi) && !a.leaked && max(a.lo, a.newest) > s.from.Hi && (a.ghost || a.lo <= s.from.Hi) && !a.unreached)
		}
	}
	return n
}

// holed finds a breaker that lets calls through so often that it never looks
// open: the declared one had to be open, some calls were rejected and others not.
// It returns the outcome at which it had to open, the admissions of a window when
// it was, and the number of rejections.
func (v *view) holed(w Interval) (at numbers, through []*admission, rejected int) {
	for _, s := range v.segs {
		if s.state != StateClosed || s.from.Lo >= w.Hi || s.to.Hi <= w.Lo {
			continue
		}
		opens := v.openings(s.stay)
		// A breaker that opened later than declared rejects calls, too; but only from
		// when it had opened.
		open := Interval{opens.in.Hi, min(min(opens.in.Lo, forever/2)+v.wait, s.to.Lo)}
		if open.Lo >= open.Hi || len(v.rejectedBetween(open.Lo, open.Hi)) < 3 || !v.admittedBetween(open.Lo, open.Hi) {
			continue
		}
		at = s.stay.numbers(opens.may, w)
		for _, r := range v.rejectedBetween(open.Lo, open.Hi) {
			if w.in(r.lo) {
				rejected++
			}
		}
		through = append(through, v.provenIn(open, w)...)
	}
	return at, through, rejected
}

// provenIn returns the admissions of a window that lie wholly inside an interval.
func (v *view) provenIn(in, w Interval) []*admission {
	var as []*admission
	for _, a := range v.adm[v.sentAfter(in.Lo):] {
		if a.lo >= in.Hi {
			break
		}
		if a.hi < in.Hi && !a.ghost && !a.leaked && w.in(a.hi) {
			as = append(as, a)
		}
	}
	return as
}

// leaksIn returns the leaks of a window.
func (v *view) leaksIn(w Interval) []*admission {
	var leaks []*admission
	for _, x := range v.leaks {
		if w.in(x.hi) {
			leaks = append(leaks, x)
		}
	}
	return leaks
}

// unexplained says what in a window keeps admissions from being told apart from
// leaks, or nothing.
func (v *view) unexplained(w Interval) string {
	var stray []*rejection
	for _, s := range v.segs {
		if s.from.Lo >= w.Hi || s.to.Hi <= w.Lo {
			continue
		}
		vis := s.visit
		switch {
		case s.state == StateOpen && !s.sure:
			return "calls came so rarely, or in such an order, that the trace cannot tell when the breaker opened"
		case s.state == StateOpen && s.after != nil && s.to.Hi < s.tight.Hi+v.wait:
			return "calls were admitted before the declared wait was over, in a way that a shorter wait explains too"
		case vis != nil && vis.several:
			return "the breaker may have been open between two probes"
		case vis != nil && v.letThrough(vis):
			return "a call was admitted after the probes before it had to open the breaker"
		case vis != nil && vis.end != StateClosed && v.anyRejectedBetween(vis.probes[0].hi, vis.probes[len(vis.probes)-1].lo):
			return "calls were rejected between two probes"
		case vis != nil && vis.extra:
			return "more calls were admitted between rejections than half-open permits"
		case s.state == StateClosed:
			stray = append(stray, v.rejectedBetween(max(s.from.Hi, w.Lo-1), min(s.to.Lo, w.Hi))...)
		}
	}
	if len(stray) > 2 {
		return fmt.Sprintf("%d calls were rejected while the breaker seemed closed", len(stray))
	}
	return ""
}

// countRejected counts the rejections of a window that lie wholly inside an open
// interval.
func (v *view) countRejected(s segment, w Interval) int {
	n := 0
	for _, r := range v.rejectedBetween(max(s.from.Hi, w.Lo-1), s.to.Hi) {
		if w.in(r.lo) {
			n++
		}
	}
	return n
}

// judge implements [Rule].
func (r OpenDuration) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		parts := r.intervals(v, w)
		switch need := max(1, len(r.Sequence)); {
		case len(r.Sequence) > 0 && v.unsureIn(w):
			return Verdict{
				Result: Inconclusive, Expected: r.expected(), Observed: "openings that may not have shown",
				Reason: "calls come so rarely that an opening may have been missed, and the others would be out of step",
				Remedy: "raise the rate while the breaker is open",
			}
		case len(parts) < need:
			return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("%s could be measured to its end in this phase; needed: %d", plural(len(parts), "open interval"), need),
				"make the phase longer than the wait, under load")
		case len(r.Sequence) > 0:
			return merge(r.expected(), parts)
		default:
			return anyOf(r.expected(), "open intervals", parts)
		}
	})
}

// intervals judges each open interval that ended in a window; with a sequence,
// as many as that has.
func (r OpenDuration) intervals(v *view, w Interval) []Verdict {
	var parts []Verdict
	for _, s := range v.segs {
		if s.state != StateOpen || s.after == nil || !w.in(s.to.Hi) || !s.sure {
			continue
		}
		want := r.Equals
		if len(r.Sequence) > 0 {
			if len(parts) == len(r.Sequence) {
				break
			}
			want = r.Sequence[len(parts)]
		}
		parts = append(parts, r.one(s, want))
	}
	return parts
}

// unsureIn reports whether openings of a window may have been missed.
func (v *view) unsureIn(w Interval) bool {
	for _, s := range v.segs {
		if w.in(s.to.Hi) && (s.state == StateOpen && !s.sure || s.visit != nil && s.visit.several) {
			return true
		}
	}
	return false
}

// expected says what the rule asks.
func (r OpenDuration) expected() string {
	if len(r.Sequence) > 0 {
		in := make([]string, 0, len(r.Sequence))
		for _, d := range r.Sequence {
			in = append(in, short(d))
		}
		return fmt.Sprintf("open for %s, +- %s", strings.Join(in, ", then "), percent(r.Tolerance))
	}
	return fmt.Sprintf("open for %s +- %s", short(r.Equals), percent(r.Tolerance))
}

// one judges one open interval. Only the certain bounds can fail it; the likely
// ones, which lean on how fast the SUT acts on an outcome, can pass it.
func (r OpenDuration) one(s segment, want time.Duration) Verdict {
	tol := time.Duration(float64(want) * r.Tolerance)
	certain, likely := sub(s.to, s.from), sub(s.after.likely, s.tight)
	out := Verdict{Observed: likely.String(), Resolution: short(likely.width())}
	out.Evidence = ids(s.after.probes[:1])
	switch {
	case certain.apart(want-tol, want+tol):
		out.Result, out.Observed, out.miss = Fail, certain.String(), certain.distance(want-tol, want+tol)
		out.Reason = "it stayed open for too long"
		if certain.Hi < want-tol {
			out.Reason = "its wait was over too early"
		}
	case s.leaks:
		out.Result = Inconclusive
		out.Reason = "calls were admitted in between, so it may have been open more than once"
		out.Remedy = "see breaker.leak"
	case likely.inside(want-tol, want+tol):
		out.Result = Pass
		out.Margin = fmt.Sprintf("%s of %s left", short(min(likely.Lo-(want-tol), want+tol-likely.Hi)), short(tol))
	default:
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("the trace shows it only to %s, the tolerance is %s", short(max(certain.width(), likely.width())), short(tol))
		out.Remedy = "raise the rate while the breaker is open, or widen the tolerance"
	}
	return out
}
