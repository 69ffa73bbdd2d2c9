package assert

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// segment is a stretch of one inferred state.
type segment struct {
	state State
	from  Interval
	to    Interval
	tight Interval // OPEN: the likely start, by the outcome that caused it
	trip  *trip    // OPEN that came from CLOSED
	visit *visit   // HALF_OPEN
	after *visit   // OPEN: the visit that ended it, or nil
	last  bool     // cut by the end of the trace
	// OPEN: single rejections came before it, so it may have been open and
	// half-open before without being seen, and this may be a half-open stretch.
	unsure bool
}

// trip is what led from CLOSED to OPEN.
type trip struct {
	since      time.Duration // start of the trace, or the close before
	first      bool          // no close before: the window is as the SUT started
	unsure     bool          // the close before is not pinned down, so the window is not known
	outcomes   []*admission  // recorded since then, in the order of o, up to the first rejection
	candidates []int         // indices into outcomes of those that may have tripped it
}

// visit is one stay in HALF_OPEN.
type visit struct {
	unsure  bool     // the open interval before it is
	late    bool     // an outcome from before it may have been counted in it
	half    Interval // when the wait was over, certain
	likely  Interval // the same, if the SUT decides as fast as in healthy times
	probes  []*admission
	wait    time.Duration // the shortest time for which it may have been open unseen
	end     State         // StateOpen, StateClosed, or empty when the trace does not show it
	endAt   Interval      // certain
	tight   Interval      // likely
	free    int           // CLOSED: probes[free:] has no rejection wholly inside
	decided time.Duration // CLOSED: the likely instant, for counting what came after
	sure    bool          // CLOSED: the visit's own outcomes explain it
}

// infer finds the segments of a view. Leaks are flagged on the way, so that a
// leak is not taken for the end of an open interval.
func (v *view) infer() {
	from, since := Interval{}, time.Duration(-1)
	first, unsure := true, false
	for {
		open, ok := v.nextOpen(since, from)
		if !ok {
			v.segs = append(v.segs, segment{state: StateClosed, from: from, to: v.ending(), last: true})
			return
		}
		open.trip = v.newTrip(since, first, open.from)
		hidden, recent := v.unseen(since, open.from)
		open.trip.unsure = unsure || hidden
		open.unsure = open.unsure || recent
		open.tight = v.tightOpen(open)
		v.segs = append(v.segs, segment{state: StateClosed, from: from, to: open.from})
		end, closed := v.openUntilClosed(open)
		if !closed {
			return
		}
		from, since, first, unsure = end.endAt, end.decided, false, !end.sure
	}
}

// ending is the end of the trace as an interval.
func (v *view) ending() Interval { return Interval{v.end, v.end} }

// openUntilClosed follows OPEN and HALF_OPEN until the breaker closes or the
// trace ends.
func (v *view) openUntilClosed(open segment) (*visit, bool) {
	for {
		if !open.unsure {
			v.flagLeaks(open.from)
		}
		vis := v.nextVisit(open.from)
		if vis == nil {
			open.to, open.last = v.ending(), true
			v.segs = append(v.segs, open)
			return nil, false
		}
		open.to, open.after, vis.unsure = vis.half, vis, vis.unsure || open.unsure
		vis.late = v.lateOutcome(vis, vis.endAt.Hi)
		v.visits = append(v.visits, vis)
		v.segs = append(v.segs, open, segment{state: StateHalfOpen, from: vis.half, to: vis.endAt, visit: vis, last: vis.end == ""})
		switch vis.end {
		case StateClosed:
			return vis, true
		case StateOpen:
			open = segment{state: StateOpen, from: vis.endAt, tight: vis.tight}
		default:
			return nil, false
		}
	}
}

// nextOpen finds the next run of three rejections with no admission wholly
// between them, all sent after the close before (or the start) was certain.
func (v *view) nextOpen(since time.Duration, closed Interval) (segment, bool) {
	var run []*rejection
	unsure := false
	for _, r := range v.rej {
		if r.lo < closed.Hi {
			continue
		}
		if len(run) > 0 && v.admittedBetween(run[0].hi, r.lo) {
			unsure = unsure || v.badBetween(since, run[0].hi)
			run = run[:0]
		}
		run = append(run, r)
		if len(run) == 3 {
			return segment{state: StateOpen, from: v.opened(closed.Lo, run), unsure: unsure}, true
		}
	}
	return segment{}, false
}

// unseen reports whether the declared breaker may have been open in a stretch
// that shows no rejection, and whether so lately that it may still have been
// half-open at the end of it. Any outcome may open it, a good one too, while a bad
// one is in its window.
func (v *view) unseen(since time.Duration, open Interval) (hidden, recent bool) {
	if !v.breaker.Declared {
		return false, false
	}
	var outs []*admission
	for _, a := range v.adm {
		if a.o > since && a.o < open.Lo {
			outs = append(outs, a)
		}
	}
	sortByOutcome(outs)
	wait := time.Duration(float64(v.breaker.Config.Wait) * (1 - earlyShare))
	bad := -1
	for i, a := range outs {
		if v.mayBeBad(a) {
			bad = i
		}
		if bad >= 0 && v.inWindow(outs, bad, i) && v.hidden(a, wait) {
			hidden = true
			recent = len(outs)-1-i < 3*v.permitted()+10
		}
	}
	return hidden, recent
}

// inWindow reports whether outcome i is still in the declared window at outcome j.
func (v *view) inWindow(outs []*admission, i, j int) bool {
	c := v.breaker.Config
	if c.WindowType == breakerref.TimeBased {
		return outs[j].o-outs[i].o <= time.Duration(c.Window)*time.Second
	}
	return j-i < c.Window
}

// hidden reports whether an outcome may have opened the breaker without any call
// to show it: none that was sent afterwards was let through before a wait was over.
func (v *view) hidden(by *admission, wait time.Duration) bool {
	return v.firstSentAfter(by.o)-by.o >= wait
}

// firstSentAfter is the first arrival of an admission that was sent after t.
func (v *view) firstSentAfter(t time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(v.adm, t, func(a *admission, t time.Duration) int {
		if a.lo <= t {
			return -1
		}
		return 1
	})
	return v.minHi[i]
}

// badBetween reports whether an outcome in (x, y] can have opened the breaker.
func (v *view) badBetween(x, y time.Duration) bool {
	for _, a := range v.adm {
		if a.lo > y {
			break
		}
		if a.o > x && a.o <= y && v.mayBeBad(a) {
			return true
		}
	}
	return false
}

// opened is the certain interval of an opening with these first rejections: it
// lies before the earliest answer of them and after the last admission that had
// arrived when none of them was sent yet. An admission that overlaps one of them
// may as well be a probe of a later visit.
func (v *view) opened(since time.Duration, run []*rejection) Interval {
	sent := run[0].lo
	for _, r := range run {
		sent = min(sent, r.lo)
	}
	lo := max(since, 0)
	for _, a := range v.adm {
		if a.lo > sent {
			break
		}
		if a.hi < sent {
			lo = max(lo, a.lo)
		}
	}
	return Interval{lo, run[0].hi}
}

// newTrip collects the outcomes that a breaker closed since then has recorded,
// and those of them that may have opened it.
func (v *view) newTrip(since time.Duration, first bool, open Interval) *trip {
	t := &trip{since: max(since, 0), first: first}
	for _, a := range v.adm {
		if a.o > since && a.o <= open.Hi {
			t.outcomes = append(t.outcomes, a)
		}
	}
	sortByOutcome(t.outcomes)
	for i, a := range t.outcomes {
		if a.settled > open.Lo {
			t.candidates = append(t.candidates, i)
		}
	}
	return t
}

// sortByOutcome orders admissions by the time of their outcome.
func sortByOutcome(as []*admission) {
	slices.SortStableFunc(as, func(a, b *admission) int {
		return cmp.Or(cmp.Compare(a.o, b.o), cmp.Compare(a.hi, b.hi))
	})
}

// tightOpen narrows an opening to the outcomes that may have caused it; where
// the breaker is declared, to those of them that the reference allows.
func (v *view) tightOpen(s segment) Interval {
	cands := s.trip.candidates
	if v.breaker.Declared {
		if allowed := v.allowed(s.trip); len(allowed) > 0 {
			cands = allowed
		}
	}
	hull, ok := Interval{}, false
	for _, i := range cands {
		a := s.trip.outcomes[i]
		in := Interval{max(a.o, s.from.Lo), min(a.settle, s.from.Hi)}
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

// arrivalsAfter returns the admissions sent after t that are no leaks, in the
// order of arrival.
func (v *view) arrivalsAfter(t time.Duration) []*admission {
	i, _ := slices.BinarySearchFunc(v.adm, t, func(a *admission, t time.Duration) int {
		if a.lo <= t {
			return -1
		}
		return 1
	})
	var as []*admission
	for _, a := range v.adm[i:] {
		if !a.leaked {
			as = append(as, a)
		}
	}
	slices.SortStableFunc(as, func(a, b *admission) int { return cmp.Compare(a.hi, b.hi) })
	return as
}

// nextVisit finds the half-open visit that ends an open interval, or nil.
func (v *view) nextVisit(open Interval) *visit {
	as := v.arrivalsAfter(open.Hi)
	if len(as) == 0 {
		return nil
	}
	earliest := as[0].lo
	for _, a := range as {
		earliest = min(earliest, a.lo)
	}
	vis := &visit{half: Interval{open.Lo, as[0].hi}}
	vis.likely = vis.half
	for _, r := range v.rej {
		if r.hi < earliest {
			vis.half.Lo = max(vis.half.Lo, r.lo)
		}
		if r.lo+v.slackBefore() < earliest {
			vis.likely.Lo = max(vis.likely.Lo, r.lo)
		}
	}
	v.doubt(vis, open)
	v.fill(vis, as, open)
	return vis
}

// doubt widens the start of a visit by admissions that were sent before OPEN was
// certain and arrived when the wait may have been over: they may be stragglers,
// or the first probes.
func (v *view) doubt(vis *visit, open Interval) {
	over := open.Hi
	if v.breaker.Declared {
		over = v.expectedHalf(open)
	}
	for _, a := range v.adm {
		if a.lo > open.Hi {
			break
		}
		if a.hi > over && a.hi < vis.half.Hi && a.lo > open.Lo {
			vis.half.Lo, vis.likely.Lo = min(vis.half.Lo, a.lo), min(vis.likely.Lo, a.lo)
		}
	}
}

// fill walks the admissions of a visit in the order of arrival until a
// rejection lies wholly after all their outcomes (it reopened) or enough of
// them came without a rejection inside (it closed): N that may be probes and
// 2N+10 more. At low traffic every call may find another wait just over; so an
// admission that comes a wait after a bad outcome starts the count anew.
func (v *view) fill(vis *visit, as []*admission, open Interval) {
	n := v.permitted()
	vis.wait = v.shortestWait(vis, open)
	settled := time.Duration(0)
	free := 0
	for _, a := range as {
		if len(vis.probes) > 0 && settled < a.lo && v.anyRejectedBetween(settled, a.lo) {
			v.reopened(vis, settled)
			return
		}
		if v.anew(vis, a) {
			free = len(vis.probes)
		}
		vis.probes = append(vis.probes, a)
		settled = max(settled, a.settled)
		for free < len(vis.probes)-1 && v.anyRejectedBetween(vis.probes[free].lo, a.hi) {
			free++
		}
		if len(vis.probes)-free >= 3*n+10 {
			v.closed(vis, free)
			return
		}
	}
	if settled < forever && v.anyRejectedBetween(settled, forever) {
		v.reopened(vis, settled)
		return
	}
	vis.endAt, vis.tight = v.ending(), v.ending()
}

// shortestWait is the shortest time for which the breaker may have been open
// unseen: the declared one, else what the open interval before took at least.
func (v *view) shortestWait(vis *visit, open Interval) time.Duration {
	if v.breaker.Declared {
		return time.Duration(float64(v.breaker.Config.Wait) * (1 - earlyShare))
	}
	return max(vis.half.Lo-open.Hi, 0)
}

// anew reports whether an admission may be the first probe of another visit: the
// first that came after an outcome that may have reopened this one, and a wait
// later. Only the last admissions matter: what is older was looked at before.
func (v *view) anew(vis *visit, a *admission) bool {
	tail := vis.probes[max(0, len(vis.probes)-2*v.permitted()-10):]
	firstBad := forever
	for _, b := range tail {
		if v.mayBeBad(b) {
			firstBad = min(firstBad, b.o)
		}
	}
	for _, b := range tail {
		if b.o >= firstBad && b.o < a.lo && a.hi-b.o >= vis.wait && v.firstSentAfter(b.o) == a.hi {
			return true
		}
	}
	return false
}

// closed ends a visit in CLOSED; no rejection lies wholly inside probes[free:],
// so at most as many of those are probes as are permitted.
func (v *view) closed(vis *visit, free int) {
	last := vis.probes[len(vis.probes)-1]
	if v.breaker.Declared {
		last = vis.probes[min(free+v.permitted(), len(vis.probes)-1)]
	}
	lo, hi := last.hi, last.hi
	for _, a := range vis.probes[:free+1] {
		lo = min(lo, a.o)
	}
	for _, r := range v.rejectedBetween(vis.half.Hi, vis.probes[len(vis.probes)-1].hi) {
		lo = max(lo, min(r.lo, hi))
	}
	vis.end, vis.endAt, vis.free = StateClosed, Interval{lo, hi}, free
	vis.tight, vis.decided = vis.endAt, lo
	if end, at, ok := v.visitEnd(vis.probes); ok && end == StateClosed && at.o <= hi && at.settle >= lo {
		vis.decided, vis.sure = max(at.o, lo), true
		vis.tight = Interval{vis.decided, min(at.settle, hi)}
	}
}

// reopened ends a visit in OPEN, unless the reference says that its first
// outcomes closed it and what came after tripped it anew.
func (v *view) reopened(vis *visit, settled time.Duration) {
	n := v.permitted()
	if end, _, ok := v.visitEnd(vis.probes); ok && end == StateClosed && len(vis.probes) > n &&
		!v.anyRejectedBetween(vis.probes[n].lo, vis.probes[len(vis.probes)-1].hi) {
		v.closed(vis, 0)
		vis.sure, vis.unsure = false, true // Nothing but the declaration says so.
		return
	}
	lo, likely := time.Duration(0), time.Duration(0)
	firstBad := forever
	for _, a := range vis.probes {
		lo = max(lo, a.lo)
		likely = max(likely, a.settle)
		if v.mayBeBad(a) {
			firstBad = min(firstBad, a.o)
		}
	}
	if firstBad < forever && !v.lateOutcome(vis, settled) {
		lo = max(lo, firstBad)
	}
	hi := max(settled, lo)
	vis.end, vis.endAt = StateOpen, Interval{lo, hi}
	vis.tight = Interval{vis.endAt.Lo, max(vis.endAt.Lo, min(likely, hi))}
}
