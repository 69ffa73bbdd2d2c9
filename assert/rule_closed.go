package assert

import (
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
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

// pause is what keeps one phase from meddling with the next.
const pause = "put an unmeasured pause (load: {rate: 0/s}) between the phases"

// opened judges a phase in which the breaker opened: wrong, unless the outcomes
// came in an order in which the declared breaker may open as well.
func (r StaysClosed) opened(v *view, seg *segment, w Interval) Verdict {
	t := seg.trip
	out := Verdict{Result: Fail, Expected: r.expected()}
	if n := t.counted(seg.from, w); len(t.candidates) > 0 && n.Hi >= n.Lo {
		last := t.candidates[len(t.candidates)-1]
		out.Observed = "opened at outcome " + n.String()
		out.Evidence = ids(t.outcomes[max(0, last-9) : last+1])
	}
	may := v.openings(t).plain(t)
	switch {
	case !seg.from.inside(w.Lo, w.Hi):
		out.Result = Inconclusive
		out.Reason = "it opened about when this phase began or ended, so its faults need not be the cause"
		out.Remedy = pause
	case !v.breaker.Declared:
		out.Reason = "calls were rejected from there on"
	case t.guests:
		out.Result = Inconclusive
		out.Reason, out.Remedy = v.guests("what opened it is not known")
	case v.ungrouped() != "":
		out.Result, out.Reason, out.Remedy = Inconclusive, v.ungrouped(), regroup
	case !t.known || v.haunted(t):
		out.Result = Inconclusive
		out.Reason = v.beforehand() + ", so its window may have held failures"
		out.Remedy = v.bury()
	case len(may) > 0:
		out.Result = Inconclusive
		out.Reason = "in the order in which they came, these outcomes may open the declared breaker too"
		out.Remedy = "use concurrency 1, so that the order of outcomes is the order of the fault's ratio; lower the ratio; or correct the declared numbers"
	default:
		out.Reason = "the declared breaker, fed with the same outcomes, stays closed"
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
	if short, calls := v.shortIn(w); float64(short) > float64(calls)*shortNoise {
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("%d of %d calls did not reach the dependency: too few to show an open breaker, too many to rule it out", short, calls)
		out.Remedy = "raise the rate of phase " + a.Phase
		return out
	}
	if v.mayHide(w) {
		out.Result, out.Margin, out.Reason = Inconclusive, "", "calls come so rarely that the breaker may have opened and its wait been over between two of them"
		out.Remedy = "raise the rate of phase " + a.Phase
		return out
	}
	if wrong := e.shareOff(a.Phase, v.breaker.Injector); wrong != "" {
		out.Result, out.Reason, out.Remedy = Inconclusive, wrong, "make the fault's match fit what the SUT sends"
	}
	return out
}

// shortNoise is the share of calls that something else than an open breaker may
// answer, such as a cache.
const shortNoise = 0.01

// shortIn counts the rejected calls of a window, and all.
func (v *view) shortIn(w Interval) (short, calls int) {
	for _, c := range v.calls {
		if w.in(c.Call.Send) {
			calls++
			short += one(c.Kind == trace.Short && !v.aside[c])
		}
	}
	if missing, all := v.missing(w); missing > short {
		return missing, all
	}
	return short, calls
}

// missing counts the calls of a window, where attempts carry no id, and how many of them
// reached nobody, as fewer attempts arrived meanwhile: rejected, or tried again in vain until
// their clients had left.
func (v *view) missing(w Interval) (short, calls int) {
	if !v.aggregate {
		return 0, 0
	}
	until := w.Lo
	for i := range v.join.Calls {
		if c := &v.join.Calls[i].Call; w.in(c.Send) {
			calls++
			until = max(until, c.End)
		}
	}
	return calls - arrivals(v.join.NoID, w.Lo, until), calls
}

// mayHide reports whether an opening in a window need not have shown, or the
// breaker was not closed all the time.
func (v *view) mayHide(w Interval) bool {
	for _, s := range v.segs {
		if s.state != StateClosed && s.from.Lo < w.Hi && s.to.Hi > w.Lo && (s.state != StateOpen || s.tight.Lo < w.Hi) {
			return true
		}
	}
	until := time.Duration(0)
	outs, _ := v.outcomesIn(w)
	for _, a := range outs {
		if a.settled < forever {
			until = max(until, a.settled)
		}
	}
	// After the last admission of the trace nobody was there to see.
	if n := len(v.adm); n > 0 {
		until = min(until, v.adm[n-1].lo)
	}
	_, hides := v.hidesOpen(v.shortest(), w.Lo, until)
	return hides
}

// shareOff says when a rule of a phase did not hit the share that was planned.
func (e *evidence) shareOff(phase, injector string) string {
	for _, p := range e.spec.Phases {
		if p.Name != phase {
			continue
		}
		faults := p.Faults[injector]
		for i, rule := range faults {
			// What else a match looks at is not recorded, so who it saw is not known.
			if !rule.Match.ByMethodAndPath() || rule.Action.Layer() != fault.LayerRequest {
				continue
			}
			seen, hit := e.matched(phase, injector, rule, faults[:i])
			if want, ok := planned(rule.Select, seen); ok && math.Abs(float64(hit)-want) > slack(faults) {
				return fmt.Sprintf("fault %s hit %d of %d requests, planned were %.0f", rule.ID, hit, seen, want)
			}
		}
	}
	return ""
}

// slack is how far a share may be off: one request, or as many as there are rules
// whose matches only overlap, see [fault.Phase].
func slack(faults []fault.Rule) float64 {
	n := 0
	for _, r := range faults {
		if r.Select.Kind.Draws() {
			n++
		}
	}
	return float64(max(1, n))
}

// matched counts the arrivals of a phase that a rule could hit, and did. Those that
// an earlier rule took did not come to it, but for what other ratios took.
func (e *evidence) matched(phase, injector string, rule fault.Rule, earlier []fault.Rule) (seen, hit int) {
	took := map[string]bool{}
	for _, r := range earlier {
		took[r.ID] = !r.Select.Kind.Draws()
	}
	for i := range e.trace.Attempts {
		at := &e.trace.Attempts[i]
		if at.Injector != injector || at.Phase != phase || took[at.Rule] || !matchesRule(rule.Match, at) {
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
	if s.Sticky != (fault.Sticky{}) {
		return 0, false // It is a share of the keys, which are not recorded.
	}
	switch s.Kind {
	case fault.SelectRatio:
		return float64(n) * float64(s.Num) / float64(s.Den), true
	case fault.SelectAll:
		return float64(n), true
	default:
		return 0, false
	}
}
