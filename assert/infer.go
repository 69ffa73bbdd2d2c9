package assert

import (
	"slices"
	"time"
)

// segment is a stretch of one inferred state.
type segment struct {
	state State
	from  Interval
	to    Interval
	tight Interval // OPEN: the likely start, by the outcome that caused it
	sure  bool     // OPEN: from holds the opening, and no other one before to
	leaks bool     // OPEN: calls were admitted in between
	trip  *trip    // OPEN that came from CLOSED
	stay  *trip    // CLOSED: what was recorded meanwhile
	visit *visit   // HALF_OPEN
	after *visit   // OPEN: the visit that ended it, or nil
	last  bool     // cut by the end of the trace
}

// infer finds the segments of a view. Leaks are flagged on the way, so that a
// leak is not taken for the end of an open interval.
func (v *view) infer() {
	if v.ejects() {
		v.inferEjections()
		return
	}
	since, first, presumed := v.start(), true, false
	for {
		open, ok := v.nextOpen(since, first)
		if !ok {
			rest := v.newTrip(since, first, v.ending())
			v.segs = append(v.segs, segment{state: StateClosed, from: since, to: v.ending(), last: true, stay: rest})
			return
		}
		open.trip.presumed = presumed
		v.segs = append(v.segs, segment{state: StateClosed, from: since, to: open.from, stay: open.trip})
		end, closed := v.openUntilClosed(open)
		if !closed {
			return
		}
		since, first = end.endAt, false
		presumed = end.presumed && len(end.probes) <= v.permitted()
	}
}

// start is when the breaker is first known to be closed: at once in a SUT that
// was started for this run, else when it has admitted more calls than half-open
// would, with no rejection and no room for an opening between them.
func (v *view) start() Interval {
	if v.fresh {
		return Interval{}
	}
	wait, n := v.shortest(), 0
	sent, lastLo := time.Duration(0), time.Duration(-1)
	for _, a := range v.byHi {
		switch {
		case v.anyRejectedBetween(-1, a.hi):
			return Interval{}
		case a.ghost:
			continue
		case n == 0 || a.hi-lastLo >= wait:
			n, sent = 0, a.lo
		}
		sent, lastLo = min(sent, a.lo), max(lastLo, a.lo)
		if n++; n > v.permitted() {
			return Interval{sent, a.hi}
		}
	}
	return Interval{}
}

// ending is the end of the trace as an interval.
func (v *view) ending() Interval { return Interval{v.end, v.end} }

// openUntilClosed follows OPEN and HALF_OPEN until the breaker closes or the
// trace ends.
func (v *view) openUntilClosed(open segment) (*visit, bool) {
	for {
		open.leaks = v.flagLeaks(open.from)
		vis := v.nextVisit(open)
		for vis != nil && v.impossible(vis) {
			v.leak(vis.probes)
			open.leaks = true
			vis = v.nextVisit(open)
		}
		if vis == nil {
			open.to, open.last = v.ending(), true
			v.segs = append(v.segs, open)
			return nil, false
		}
		open.to, open.after = vis.half, vis
		v.visits = append(v.visits, vis)
		v.segs = append(v.segs, open, segment{state: StateHalfOpen, from: vis.half, to: vis.endAt, visit: vis, last: vis.end == ""})
		switch vis.end {
		case StateClosed:
			return vis, true
		case StateOpen:
			open = segment{state: StateOpen, from: vis.endAt, tight: vis.tight, sure: true}
		default:
			return nil, false
		}
	}
}

// nextOpen finds the next run of three rejections with no admission wholly
// between them, all sent after the breaker was closed for certain.
func (v *view) nextOpen(since Interval, first bool) (segment, bool) {
	var run []*rejection
	for _, r := range v.rej[v.rejectedFrom(since.Hi):] {
		if r.lo < since.Hi {
			continue
		}
		if len(run) > 0 && v.admittedBetween(run[0].hi, r.lo) {
			run = run[:0]
		}
		if run = append(run, r); len(run) == 3 {
			return v.opening(since, first, run[0]), true
		}
	}
	return segment{}, false
}

// opening is the opening from CLOSED whose first rejection was r. It is at the
// earliest where the breaker could have been open for its whole wait without an
// admission between, as half-open rejects too. If the first such moment is so
// early that the wait may have been over at r, and a probe been admitted, the
// breaker may have been half-open, or have opened more than once, by then.
func (v *view) opening(since Interval, first bool, r *rejection) segment {
	s := segment{state: StateOpen, from: Interval{since.Hi, r.hi}}
	s.trip = v.newTrip(since, first, s.from)
	wait := v.shortest()
	if at, ok := v.mayOpen(wait, v.couldTrip(s.trip, since), r.hi); ok {
		s.from.Lo = min(at, r.hi)
		sent := v.sentAfter(r.hi)
		s.sure = r.hi-at < wait || v.sentAfter(at) == sent && v.reachedFrom(at+wait) >= sent
	} else {
		s.from.Lo, s.sure = v.lastAdmitted(since.Hi, r), v.breaker.Declared
	}
	if first && !v.fresh && since.Hi == 0 {
		s.sure = false // it may have been open before the trace began
	}
	s.trip.suspect(s.from)
	s.tight = v.tightOpen(s)
	return s
}

// mayOpen is the first moment at which the breaker may have been open for a wait
// without showing it, leaving out those after which it admitted more calls than
// half-open would, before any of them had an outcome.
func (v *view) mayOpen(wait, from, to time.Duration) (at time.Duration, ok bool) {
	for {
		at, ok := v.hidesOpen(wait, from, to)
		i := v.sentAfter(at)
		last := i + v.permitted()
		if !ok || last >= len(v.adm) || v.index.done[i] > v.adm[i].lo {
			return at, ok
		}
		first, arrived := forever, time.Duration(0)
		for _, a := range v.adm[i : last+1] {
			first, arrived = min(first, a.early), max(arrived, a.hi)
		}
		if arrived >= first || slices.ContainsFunc(v.adm[i:last+1], func(a *admission) bool { return a.ghost }) {
			return at, true
		}
		from = v.adm[last].lo
	}
}

// couldTrip is the earliest moment at which a breaker whose window was empty had
// any reason to open: its first failure.
func (v *view) couldTrip(t *trip, since Interval) time.Duration {
	if !t.known || t.past {
		return since.Lo
	}
	at := forever
	for _, a := range t.outcomes {
		if v.bad(a) {
			at = min(at, a.early)
		}
	}
	if at == forever {
		return since.Lo
	}
	return max(since.Lo, at)
}

// lastAdmitted is the start of the last admission that was sent before a
// rejection was, and arrived before it was answered.
func (v *view) lastAdmitted(since time.Duration, r *rejection) time.Duration {
	for i := v.sentAfter(r.lo) - 1; i >= 0 && v.adm[i].lo > since; i-- {
		if v.adm[i].hi <= r.hi {
			return v.adm[i].lo
		}
	}
	return since
}

// tightOpen narrows an opening to the outcomes that may have caused it; where
// the breaker is declared, to those of them that the reference allows.
func (v *view) tightOpen(s segment) Interval {
	cands := s.trip.candidates
	if allowed := v.allowed(s.trip); len(allowed) > 0 {
		cands = allowed
	}
	hull, ok := Interval{}, false
	for _, i := range cands {
		a := s.trip.outcomes[i]
		in := Interval{max(a.early, s.from.Lo), min(a.settle, s.from.Hi)}
		if in.Lo > in.Hi {
			continue
		}
		if !ok {
			hull, ok = in, true
			continue
		}
		hull = Interval{min(hull.Lo, in.Lo), max(hull.Hi, in.Hi)}
	}
	if !ok {
		return s.from
	}
	return hull
}
