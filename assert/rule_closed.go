package assert

import (
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// expected says what the rule asks.
func (StaysClosed) expected() string { return "no opening" }

// judge implements [Rule].
func (r StaysClosed) judge(e *evidence, a Assertion) Verdict {
	expected := r.expected()
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if v.openAt(w.Lo) {
			return Verdict{
				Result: Inconclusive, Expected: expected, Observed: "it was open already when the phase began",
				Reason: "nothing can be said about a breaker that is open", Remedy: "let it close before this phase",
			}
		}
		if seg := v.tripIn(w); seg != nil {
			return r.opened(v, seg, w)
		}
		return r.stayed(e, v, w, a)
	})
}

// opened judges a phase in which the breaker opened: wrong, unless the outcomes
// came in an order in which the declared breaker may open as well.
func (r StaysClosed) opened(v *view, seg *segment, w Interval) Verdict {
	t := seg.trip
	out := Verdict{Result: Fail, Expected: "no opening", Observed: "opened"}
	if seg.from.Lo < w.Lo || seg.from.Hi >= w.Hi {
		out.Result, out.Observed = Inconclusive, "opened about when the phase began or ended"
		out.Reason = "the trace does not tell in which phase it opened"
		out.Remedy = "put an unmeasured pause (load: {rate: 0/s}) between the phases"
		return out
	}
	if len(t.candidates) > 0 {
		last := t.candidates[len(t.candidates)-1]
		out.Observed = fmt.Sprintf("opened at outcome %d", t.number(last, t.base(w)))
		out.Evidence = ids(t.outcomes[max(0, last-9) : last+1])
	}
	if seg.unsure {
		return unsureOpening("no opening")
	}
	if at, _ := v.openings(t.outcomes); v.breaker.Declared && v.known(t) && len(at) > 0 {
		out.Result = Inconclusive
		out.Reason = "in the order in which they came, these outcomes may open the declared breaker too"
		out.Remedy = "use concurrency 1, so that the order of outcomes is the order of the fault's ratio; lower the ratio; or correct the declared numbers"
	}
	return out
}

// stayed judges a phase without an opening: it must have been exposed to what
// was planned.
func (r StaysClosed) stayed(e *evidence, v *view, w Interval, a Assertion) Verdict {
	outs, faulted := v.outcomesIn(w)
	out := Verdict{Result: Pass, Expected: "no opening", Evidence: ids(outs[max(0, len(outs)-3):])}
	share := 0.0
	if len(outs) > 0 {
		share = float64(faulted) / float64(len(outs))
	}
	out.Observed = fmt.Sprintf("closed through %d outcomes, %s of them faulted", len(outs), percent(share))
	need := 20
	if v.breaker.Declared {
		need = 2 * min(v.breaker.Config.MinimumCalls, v.breaker.Config.Window)
	}
	if len(outs) < need {
		out.Result, out.Reason = Inconclusive, fmt.Sprintf("%d outcomes are fewer than twice the minimum number of calls (%d)", len(outs), need)
		out.Remedy = "send more calls in phase " + a.Phase
		return out
	}
	out.Margin = fmt.Sprintf("%d outcomes more than needed", len(outs)-need)
	if due := v.dueOpening(w); due != nil && !v.shownShut(due) {
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "these outcomes open the declared breaker, and calls came too far apart to show whether it did"
		out.Remedy = "send several calls within the breaker's wait"
		return out
	}
	if wrong := e.shareOff(a.Phase, v.breaker.Injector); wrong != "" {
		out.Result, out.Reason, out.Remedy = Inconclusive, wrong, "make the fault's match fit what the SUT sends"
	}
	return out
}

// shareOff says when a rule of a phase did not hit the share that was planned.
func (e *evidence) shareOff(phase, injector string) string {
	for _, p := range e.spec.Phases {
		if p.Name != phase {
			continue
		}
		for _, rule := range p.Faults[injector] {
			seen, hit := e.matched(phase, injector, rule)
			if want, ok := planned(rule.Select, seen); ok && math.Abs(float64(hit)-want) > 1 {
				return fmt.Sprintf("fault %s hit %d of %d requests, planned were %.0f", rule.ID, hit, seen, want)
			}
		}
	}
	return ""
}

// matched counts the arrivals of a phase that a rule could hit, and did.
func (e *evidence) matched(phase, injector string, rule fault.Rule) (seen, hit int) {
	for _, at := range e.trace.Attempts {
		if at.Injector != injector || at.Phase != phase || !matchesRule(rule.Match, at) {
			continue
		}
		seen++
		if at.Rule == rule.ID {
			hit++
		}
	}
	return seen, hit
}

// planned is how many of n requests a selection hits.
func planned(s fault.Select, n int) (float64, bool) {
	switch s.Kind {
	case fault.SelectRatio:
		return float64(n) * float64(s.Num) / float64(s.Den), true
	case fault.SelectAll:
		return float64(n), true
	default:
		return 0, false
	}
}

// expected says what the rule asks.
func (r Leak) expected() string { return fmt.Sprintf("at most %d admissions while open", r.Max) }

// judge implements [Rule].
func (r Leak) judge(e *evidence, a Assertion) Verdict {
	expected := r.expected()
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		var leaks []*admission
		rejected := 0
		for _, s := range v.segs {
			if s.state != StateOpen {
				continue
			}
			rejected += v.countRejected(s, w)
			for _, x := range v.adm {
				if x.leaked && x.lo > s.from.Hi && x.hi < s.to.Hi && w.in(x.hi) {
					leaks = append(leaks, x)
				}
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
			return e.noOpening(r.Breaker, expected, fmt.Sprintf("only %d calls were rejected wholly while it was open; 10 are needed", rejected),
				"send more calls while the breaker is open")
		default:
			out.Result, out.Margin = Pass, fmt.Sprint(r.Max-len(leaks))
		}
		return out
	})
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
		if id := e.leaks[r.Breaker]; id != "" {
			return Verdict{Result: Skipped, BlockedBy: id, Expected: r.expected(), Reason: "leaks hide where the wait ends"}
		}
		parts := r.intervals(v, w)
		switch need := max(1, len(r.Sequence)); {
		case len(parts) < need:
			return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("the phase holds the end of %d open intervals, needed are %d", len(parts), need),
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
		if s.state != StateOpen || s.after == nil || !w.in(s.to.Hi) {
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

// expected says what the rule asks.
func (r OpenDuration) expected() string {
	if len(r.Sequence) > 0 {
		return fmt.Sprintf("open for %v in turn +- %s", r.Sequence, percent(r.Tolerance))
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
	case s.unsure:
		return unsureOpening("")
	case certain.apart(want-tol, want+tol):
		out.Result, out.Observed = Fail, certain.String()
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
