package assert

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// judge implements [Rule].
func (r Closes) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		for _, vis := range v.visits {
			if vis.end != StateClosed || !w.in(vis.endAt.Hi) {
				continue
			}
			parts := []Verdict{}
			if r.Within > 0 {
				parts = append(parts, r.byTime(e, v, vis, w))
			}
			if r.AfterSuccesses > 0 {
				parts = append(parts, r.byCount(e, v, vis))
			}
			if len(parts) == 0 {
				parts = append(parts, Verdict{Result: Pass, Observed: "again", Evidence: ids(vis.probes[:min(len(vis.probes), v.permitted())])})
			}
			out := merge(r.expected(), parts)
			out.Observed = "closed " + out.Observed
			return out
		}
		return r.notClosed(e, v, w)
	})
}

// expected says what the rule asks.
func (r Closes) expected() string {
	s := "closes"
	if r.AfterSuccesses > 0 {
		s += fmt.Sprintf(" after %d good probes", r.AfterSuccesses)
	}
	if r.Within > 0 {
		s += " within " + short(r.Within)
	}
	return s
}

// clear is when the dependency was well again: the later of the window's start,
// the mark that the fault is off, and the last faulted outcome before t. The SUT
// knew of it by the upper end.
func (v *view) clear(e *evidence, w Interval, t time.Duration) Interval {
	at := Interval{w.Lo, w.Lo}
	for _, m := range e.trace.Marks {
		if m.Kind == trace.MarkFaultOff && m.Subject == v.breaker.Injector && m.At <= t {
			at = Interval{max(at.Lo, m.At), max(at.Hi, m.At)}
		}
	}
	for _, a := range v.adm {
		if a.faulted && a.o <= t {
			at = Interval{max(at.Lo, a.o), max(at.Hi, a.settled)}
		}
	}
	return at
}

// byTime judges how long it took.
func (r Closes) byTime(e *evidence, v *view, vis *visit, w Interval) Verdict {
	from := v.clear(e, w, vis.endAt.Lo)
	took := Interval{vis.tight.Lo - from.Hi, vis.endAt.Hi - from.Lo}
	took.Lo = max(took.Lo, 0) // It closed after the dependency was well, or as it got well.
	out := Verdict{Result: Pass, Observed: "after " + took.String(), Resolution: short(took.width())}
	switch {
	case took.Hi <= r.Within:
		out.Margin = short(r.Within - took.Hi)
	case vis.endAt.Lo-from.Hi > r.Within:
		out.Result = Fail
	default:
		out.Result, out.Reason, out.Remedy = Inconclusive, "the trace does not pin the close down far enough", "raise the rate of this phase"
	}
	return out
}

// byCount judges after how many good outcomes it closed.
func (r Closes) byCount(e *evidence, v *view, vis *visit) Verdict {
	if id := e.miscount[r.Breaker]; id != "" {
		return Verdict{Result: Skipped, BlockedBy: id, Observed: "not counted"}
	}
	good := append([]*admission(nil), vis.probes...)
	sortByOutcome(good)
	n := r.AfterSuccesses
	switch {
	case vis.unsure:
		return unsureOpening("")
	case vis.late:
		return Verdict{
			Result: Inconclusive, Observed: "not counted", Reason: "an attempt from before the visit ended inside it, and breakers may count it",
			Remedy: "let calls in flight end before the wait does",
		}
	}
	for _, a := range vis.probes[:min(len(vis.probes), vis.free+n)] {
		if v.bad(a) {
			return Verdict{
				Result: Inconclusive, Observed: "some probes failed", Evidence: ids([]*admission{a}),
				Reason: "good probes can only be counted in a visit without bad ones", Remedy: "let the fault end while the breaker is open",
			}
		}
	}
	if len(good) < n {
		return Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%d outcomes", len(good)), Reason: "too few outcomes", Remedy: "make the phase longer"}
	}
	out := Verdict{Result: Pass, Margin: "exact", Observed: fmt.Sprintf("after %d good probes", n), Evidence: ids(good[:n])}
	before, last := time.Duration(0), good[n-1]
	if n > 1 {
		before = good[n-2].settled
	}
	stillShut := v.anyRejectedBetween(before, last.o)
	switch {
	case v.anyRejectedBetween(last.settled, vis.endAt.Hi):
		out.Result, out.Margin, out.Observed = Fail, "", fmt.Sprintf("still rejecting after %d good probes", n)
	case vis.endAt.Hi < last.o:
		out.Result, out.Margin, out.Observed = Fail, "", fmt.Sprintf("calls flowed freely before the outcome of probe %d", n)
	case !stillShut:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("no call was rejected between outcome %d and outcome %d, so an earlier close looks the same", n-1, n)
		out.Remedy = "let the probes go one by one (hold: {one_by_one: true}) under a burst"
	}
	return out
}

// settledAfter is when the last outcome of a call that was under way at t was
// known: a probe that failed for what was wrong before begins another wait.
func (v *view) settledAfter(t time.Duration) time.Duration {
	at := t
	for _, a := range v.adm {
		if a.lo <= t && a.settled < forever {
			at = max(at, a.settled)
		}
	}
	return at
}

// firstAdmitted is the admission sent at or after t, leaks left out, that arrived
// first; one that lies at forever when there is none.
func (v *view) firstAdmitted(t time.Duration) *admission {
	first := &admission{lo: forever, hi: forever}
	for _, x := range v.adm {
		if x.lo >= t && !x.leaked && x.hi < first.hi {
			first = x
		}
	}
	return first
}

// longestWait is the longest time for which the declared breaker stays open.
func (v *view) longestWait() time.Duration {
	c := v.breaker.Config
	switch {
	case c.WaitMultiplier == 0:
		return c.Wait
	case c.WaitMax > 0:
		return c.WaitMax
	default:
		return forever / 8 // It grows without a limit.
	}
}

// notClosed judges a phase in which the breaker did not close.
func (r Closes) notClosed(e *evidence, v *view, w Interval) Verdict {
	expected := r.expected()
	if len(v.segs) == 1 {
		return e.noOpening(r.Breaker, expected, "the breaker never opened", "open it in a phase before this one")
	}
	for _, vis := range v.visits {
		if end, _, ok := v.visitEnd(vis.probes); ok && !vis.late && !vis.unsure && !v.badBetween(vis.half.Lo, vis.endAt.Hi) && end == StateClosed && vis.end == StateOpen && w.in(vis.endAt.Hi) {
			return Verdict{
				Result: Fail, Expected: expected, Observed: "good probes, and open again", Evidence: ids(vis.probes),
				Reason: "the declared breaker closes after these probes",
			}
		}
	}
	end := min(w.Hi, v.end)
	limit := r.Within
	if limit == 0 && v.breaker.Declared {
		limit = 2*v.longestWait() + time.Second
	}
	from := v.clear(e, w, w.Lo).Hi
	for _, s := range v.segs {
		if s.state == StateOpen && w.in(s.from.Hi) {
			from = max(from, s.from.Hi) // Outcomes from before opened it once more.
		}
	}
	if late := v.rejectedBetween(from+limit, end+1); limit > 0 && len(late) >= 3 {
		return Verdict{
			Result: Fail, Expected: expected, Observed: fmt.Sprintf("still rejecting %s after the dependency was well", short(late[len(late)-1].lo-from)),
			Evidence: ids(late), Reason: "calls kept being rejected with nothing wrong at the dependency",
		}
	}
	if v.closedBefore(w) {
		return e.noOpening(r.Breaker, expected, "the breaker was closed already when the phase began", "let the phase before end while it is open")
	}
	need := 3*v.permitted() + 10
	return Verdict{
		Result: Inconclusive, Expected: expected, Observed: "no close seen",
		Reason: fmt.Sprintf("a close is known by %d admissions without a rejection, or its absence by rejections %s after the fault", need, short(limit)),
		Remedy: "make the phase longer than the wait, with enough calls",
	}
}

// closedBefore reports whether the breaker was closed when a window began.
func (v *view) closedBefore(w Interval) bool {
	for _, s := range v.segs {
		if s.state == StateClosed && s.from.Hi <= w.Lo && (s.last || s.to.Lo >= w.Lo) {
			return true
		}
	}
	return false
}

// expected says what the rule asks.
func (r NeverStuck) expected() string {
	return "a call is admitted within the wait + " + percent(r.Tolerance) + " of the end of the fault"
}

// judge implements [Rule].
func (r NeverStuck) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		well := v.clear(e, w, w.Hi-1)
		from := well.Lo
		limit := v.settledAfter(well.Hi) + time.Duration(float64(v.longestWait())*(1+r.Tolerance))
		expected := fmt.Sprintf("a call is admitted within %s of the end of the fault", short(limit-from))
		if len(v.segs) == 1 {
			return e.noOpening(r.Breaker, expected, "the breaker never opened", "open it in a phase before this one")
		}
		first := v.firstAdmitted(from)
		if first.hi <= limit {
			return Verdict{
				Result: Pass, Expected: expected, Observed: "after " + Interval{first.lo - from, first.hi - from}.String(),
				Margin: short(limit - first.hi), Evidence: []string{first.id()},
			}
		}
		if late := v.rejectedBetween(limit, min(first.lo, w.Hi, v.end+1)); len(late) > 0 {
			return Verdict{
				Result: Fail, Expected: expected, Observed: fmt.Sprintf("none; still rejecting after %s", short(late[0].lo-from)),
				Evidence: ids(late), Reason: "the breaker lets nobody through although its wait is over",
			}
		}
		return Verdict{
			Result: Inconclusive, Expected: expected, Observed: "no call after the wait", Reason: "no load asked the breaker after its wait",
			Remedy: "keep the load on for longer than the wait",
		}
	})
}
