package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// judge implements [Rule].
func (r Closes) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		for _, vis := range v.visits {
			if vis.end != StateClosed || vis.presumed || !w.in(vis.endAt.Hi) {
				continue
			}
			var parts []Verdict
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
// the marks that the fault is off and the door open, and the last faulted outcome by t; and by when
// the SUT had recorded that outcome, or those of calls that met a shut door.
func (v *view) clear(e *evidence, w Interval, t time.Duration) Interval {
	at := Interval{w.Lo, w.Lo}
	for _, m := range e.trace.Marks {
		if (m.Kind == trace.MarkFaultOff || m.Kind == trace.MarkDoorOpen) && m.Subject == v.breaker.Injector && m.At <= t {
			at = Interval{max(at.Lo, m.At), max(at.Hi, m.At)}
		}
	}
	for _, a := range v.adm {
		if a.faulted && a.o <= t {
			at = Interval{max(at.Lo, a.o), max(at.Hi, a.settled)}
		}
	}
	at.Hi = max(at.Hi, v.tail())
	return at
}

// byTime judges how long it took.
func (r Closes) byTime(e *evidence, v *view, vis *visit, w Interval) Verdict {
	from := v.clear(e, w, vis.endAt.Lo).Lo
	took := Interval{max(vis.tight.Lo-from, 0), vis.endAt.Hi - from}
	late := vis.endAt.Lo - max(from, v.tail()) - r.Within
	out := Verdict{Result: Pass, Observed: took.String() + " after the dependency was well", Resolution: short(took.width())}
	switch {
	case took.Hi <= r.Within:
		out.Margin = short(r.Within - took.Hi)
	case late > 0:
		out.Result, out.miss, out.Reason = Fail, late, "it closed too late"
	default:
		out.Result, out.Reason, out.Remedy = Inconclusive, "the trace does not pin the close down far enough", "raise the rate of this phase"
	}
	return out
}

// byCount judges after how many good outcomes it closed.
func (r Closes) byCount(e *evidence, v *view, vis *visit) Verdict {
	n := r.AfterSuccesses
	if id := e.miscount[r.Breaker]; id != "" {
		return Verdict{Result: Skipped, BlockedBy: id, Observed: "after a number of probes that was not counted"}
	}
	if v.uncounted() {
		return v.uncountedVerdict(r.expected())
	}
	if reason := vis.uncountable(); reason != "" {
		return Verdict{Result: Inconclusive, Observed: "after a number of probes that cannot be told", Reason: reason, Remedy: "let calls in flight end before the wait does, and let all probes succeed"}
	}
	good := slices.Clone(vis.probes)
	sortByOutcome(good)
	if len(good) < n {
		return Verdict{Result: Inconclusive, Observed: "after " + plural(len(good), "outcome"), Reason: "too few outcomes", Remedy: "make the phase longer"}
	}
	out := Verdict{Result: Pass, Margin: "exact", Observed: fmt.Sprintf("after %d good probes", n), Evidence: ids(good[:n])}
	// The k-th outcome was recorded at recorded[k-1].Lo or later; by
	// recorded[k-1].Hi at least k were.
	recorded := recordings(good)
	before := vis.half.Hi
	if n > 1 {
		before = recorded[n-2].Hi
	}
	free := good[len(good)-1].hi
	for _, a := range good {
		if v.bad(a) {
			free = min(free, a.early) // later it may have opened again
		}
	}
	switch {
	case free <= recorded[n-1].Hi && free < good[len(good)-1].hi:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = "some of the probes failed", "let all probes succeed"
	case v.anyRejectedBetween(recorded[n-1].Hi, free):
		out.Result, out.Margin, out.Observed = Fail, "", fmt.Sprintf("later: still rejecting after %d good probes", n)
	case !v.breaker.Declared:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = "without a declared number of permitted calls, probes cannot be told from calls after the close", "declare the breaker's permitted_calls"
	case vis.free < recorded[n-1].Lo:
		out.Result, out.Margin, out.Observed = Fail, "", fmt.Sprintf("earlier: calls flowed freely before the outcome of probe %d", n)
	case !v.anyRejectedBetween(before, recorded[n-1].Lo):
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("no call was rejected between outcome %d and outcome %d, so an earlier close looks the same", n-1, n)
		out.Remedy = "let the probes go one by one (hold: {one_by_one: true}) under a burst"
	case len(recorded) > n && vis.free > recorded[n].Lo:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("no call beyond the permitted ones was admitted before outcome %d, so a later close looks the same", n+1)
		out.Remedy = "raise the rate of this phase"
	}
	return out
}

// recordings bounds, for every k, when the k-th of some outcomes was recorded.
func recordings(as []*admission) []Interval {
	out := make([]Interval, len(as))
	lo := make([]time.Duration, 0, len(as))
	hi := time.Duration(0)
	for _, a := range as {
		lo = append(lo, a.early)
	}
	slices.Sort(lo)
	for i, a := range as {
		hi = max(hi, a.settled)
		out[i] = Interval{lo[i], hi}
	}
	return out
}

// uncountable says why the outcomes of a visit cannot be counted, or nothing.
func (vis *visit) uncountable() string {
	switch {
	case !vis.fit():
		return "attempts from before the opening were under way, and breakers may count them"
	case vis.several:
		return "the breaker may have opened again between two probes"
	}
	return ""
}

// notClosed judges a phase in which the breaker did not close.
func (r Closes) notClosed(e *evidence, v *view, w Interval) Verdict {
	expected := r.expected()
	if len(v.segs) == 1 {
		return e.noOpening(r.Breaker, expected, "the breaker never opened", "open it in a phase before this one")
	}
	if v.closedBefore(w) {
		return e.noOpening(r.Breaker, expected, "the breaker was closed already when the phase began", "let the phase before end while it is open")
	}
	for _, vis := range v.visits {
		if vis.end == StateOpen && w.in(vis.endAt.Hi) && v.hadToClose(vis) {
			return Verdict{
				Result: Fail, Expected: expected, Observed: "good probes, and open again", Evidence: ids(vis.probes),
				Reason: "the declared breaker closes after these probes",
			}
		}
	}
	end := min(w.Hi, v.end+1)
	from := v.clear(e, w, end-1)
	limit, late := r.Within, []*rejection(nil)
	switch most, known := v.longestWait(); {
	case limit > 0 && max(from.Lo, v.tail()) < end:
		from.Lo = max(from.Lo, v.tail())
		late = v.rejectedBetween(from.Lo+limit, end)
	case known && from.Hi < end:
		limit = 2*most + time.Second
		late = slices.DeleteFunc(v.rejectedBetween(v.tripped(from.Hi, w)+limit, end), func(x *rejection) bool { return !v.alone(x) })
	}
	if len(late) >= 3 && v.nobodys(Interval{from.Lo, end}) == 0 { // Else calls of which nobody knows when they were sent may show a close.
		return Verdict{
			Result: Fail, Expected: expected, Observed: fmt.Sprintf("still rejecting %s after the dependency was well", short(late[len(late)-1].lo-from.Lo)),
			Evidence: ids(late), Reason: "calls kept being rejected with nothing wrong at the dependency",
			miss: late[len(late)-1].lo - from.Lo - limit,
		}
	}
	need := 3*v.permitted() + 10
	return Verdict{
		Result: Inconclusive, Expected: expected, Observed: "no close seen",
		Reason: fmt.Sprintf("a close shows by %d admissions in a row without a rejection, a missing one by rejections %s after the fault; there was neither", need, short(limit)),
		Remedy: "make the phase longer than the wait, with enough calls",
	}
}

// tripped is by when the breaker had opened for the last time up to the end of a
// window for what it had recorded, but t at least: failures from before may open
// it, or fail a half-open visit, when the dependency is well again. It is far off
// if the trace cannot tell.
func (v *view) tripped(t time.Duration, w Interval) time.Duration {
	for i, s := range v.segs {
		switch {
		case s.state != StateOpen || s.from.Lo >= w.Hi || s.to.Hi <= t:
		case s.trip == nil && !v.segs[i-1].visit.mayHaveFailed(v):
		case !s.sure:
			return forever / 2
		default:
			t = max(t, s.from.Hi)
		}
	}
	return t
}

// mayHaveFailed reports whether a visit has an outcome that may count against the
// dependency.
func (vis *visit) mayHaveFailed(v *view) bool {
	return slices.ContainsFunc(slices.Concat(vis.probes, vis.maybe, vis.late), v.bad)
}

// longestWait is the longest time that the declared breaker stays open.
func (v *view) longestWait() (time.Duration, bool) {
	c := v.breaker.Config
	switch {
	case !v.breaker.Declared:
		return 0, false
	case len(c.Waits) > 0:
		return slices.Max(c.Waits), true
	case c.WaitRandom > 0:
		return time.Duration(float64(c.Wait) * (1 + c.WaitRandom)), true
	case c.WaitMultiplier <= 1 && c.WaitMax > 0:
		return min(c.Wait, c.WaitMax), true
	case c.WaitMultiplier <= 1: // 0: it does not grow.
		return c.Wait, true
	default:
		return c.WaitMax, c.WaitMax > 0
	}
}

// hadToClose reports whether the outcomes of a visit that ended open close the
// declared breaker, and cannot have opened it again.
func (v *view) hadToClose(vis *visit) bool {
	return vis.fit() && v.decision(vis).end == StateClosed && !slices.ContainsFunc(vis.probes, v.bad)
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
		if len(v.segs) == 1 {
			return e.noOpening(r.Breaker, r.expected(), "the breaker never opened", "open it in a phase before this one")
		}
		if v.closedBefore(w) {
			return e.noOpening(r.Breaker, r.expected(), "the breaker was closed already when the phase began", "let the phase before end while it is open")
		}
		most, known := v.longestWait()
		from := v.clear(e, w, min(w.Hi, v.end))
		if !known || from.Hi == forever {
			return Verdict{
				Result: Inconclusive, Expected: r.expected(), Observed: "no limit",
				Reason: "how long the breaker may stay open is not declared, or a faulted attempt has no end", Remedy: "declare the breaker's wait, and its longest if it grows",
			}
		}
		return r.within(v, from, time.Duration(float64(most)*(1+r.Tolerance)))
	})
}

// lastRejected is the last rejection, from r on, before another call arrives.
func (v *view) lastRejected(r *rejection) *rejection {
	next := forever
	if i := v.arrivedFrom(r.lo); i < len(v.byHi) {
		next = v.byHi[i].hi
	}
	for _, later := range v.rej[v.rejectedFrom(r.hi):] {
		if later.hi >= next {
			break
		}
		r = later
	}
	return r
}

// within judges whether a call was admitted in time.
func (r NeverStuck) within(v *view, from Interval, limit time.Duration) Verdict {
	expected := fmt.Sprintf("a call is admitted within %s of the end of the fault", short(limit))
	out := Verdict{Result: Pass, Expected: expected}
	for _, vis := range v.visits {
		for _, x := range vis.probes {
			if x.lo >= from.Lo && x.hi <= from.Lo+limit {
				out.Observed, out.Margin = "after "+Interval{x.lo - from.Lo, x.hi - from.Lo}.String(), short(from.Lo+limit-x.hi)
				out.Evidence = []string{x.id()}
				return out
			}
		}
	}
	late := v.nextRejected(from.Hi + limit)
	if late != nil && v.index.busy[v.sentAfter(late.hi)] <= from.Hi { // else a probe may be under way
		last := v.lastRejected(late)
		out.Result, out.Observed = Fail, fmt.Sprintf("none; still rejecting after %s", short(last.lo-from.Lo))
		out.miss = last.lo - from.Hi - limit
		out.Evidence, out.Reason = ids([]*rejection{late}), "the breaker lets nobody through although its wait is over"
		return out
	}
	out.Result, out.Observed = Inconclusive, "no call that tells"
	out.Reason = "no load asked the breaker right after its wait, or calls from before were still under way"
	out.Remedy = "keep the load on for longer than the wait"
	return out
}
