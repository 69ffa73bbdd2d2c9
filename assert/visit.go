package assert

import (
	"slices"
	"time"
)

// visit is one stay in HALF_OPEN, as far as the trace tells: several in a row
// look like one when nobody called while the breaker was open between them.
type visit struct {
	half     Interval      // when the wait was over, certain
	likely   Interval      // the same, if the SUT decides as fast as in healthy times
	probes   []*admission  // sent when the breaker was open for certain, in the order of arrival
	maybe    []*admission  // sent before, or of an unknown instance, and perhaps probes
	late     []*admission  // admitted before, but their outcome may have come during the visit
	sure     bool          // the breaker was open before half, for certain
	presumed bool          // CLOSED by the reference's word alone
	several  bool          // there was room for it to be open between two of the probes
	end      State         // StateOpen, StateClosed, or empty when the trace does not show it
	endAt    Interval      // certain
	tight    Interval      // likely
	extra    bool          // more probes than permitted before a rejection
	free     time.Duration // CLOSED: half-open would not have permitted as many by then
	settled  time.Duration // by when all outcomes were recorded
}

// fit reports whether the outcomes of a visit are those of its probes.
func (vis *visit) fit() bool { return vis.sure && len(vis.maybe) == 0 && len(vis.late) == 0 }

// undeclaredWait is the share of the time to the first admission that may be a
// probe for which an undeclared breaker is trusted to have been open: one that was
// sent before may have been let through sooner than it arrived.
const undeclaredWait = 0.45

// nextVisit finds the half-open visit that ends an open interval, or nil.
func (v *view) nextVisit(open segment) *visit {
	i := v.sentAfter(open.from.Hi)
	first := v.index.minHi[i]
	if first == forever {
		return nil
	}
	for v.adm[i].leaked || v.adm[i].ghost {
		i++
	}
	wait := v.wait
	if !v.breaker.Declared {
		wait = time.Duration(float64(v.firstSince(open.from.Hi)-open.from.Lo) * undeclaredWait)
	}
	may := open.from.Lo + wait // what arrived before is no probe
	vis := &visit{half: Interval{open.from.Lo, first}, sure: open.sure}
	limit := v.adm[i].lo
	if k := v.reachedFrom(may); k < i {
		limit = min(limit, max(v.adm[k].lo, may))
	}
	if lo := v.index.rejLo[v.rejectedFrom(limit)]; lo > vis.half.Lo && open.sure {
		vis.half.Lo = min(lo, first)
	}
	vis.likely = vis.half
	if sent := v.sentBefore(limit - v.slackBefore()); sent > vis.half.Lo && open.sure {
		vis.likely.Lo = min(sent, first)
	}
	v.learnWait(open, vis)
	if !v.breaker.LateDropped {
		vis.late = v.lateFor(vis.half.Lo, open.from.Hi, may)
	}
	v.fill(vis, open.from.Hi, may)
	vis.ended()
	return vis
}

// firstSince is the arrival, after t, of the first admission that may have been a
// probe: also of one that was sent before, or of a call that was never answered.
func (v *view) firstSince(t time.Duration) time.Duration { return v.byHi[v.arrivedFrom(t+1)].hi }

// reachedFrom is the index in adm of the first admission that arrived at t or
// later.
func (v *view) reachedFrom(t time.Duration) int {
	lo, hi := 0, len(v.adm)
	for lo < hi {
		if mid := (lo + hi) / 2; v.index.reach[mid+1] < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// walk is the state of following a visit.
type walk struct {
	lastLo time.Duration // the greatest lo so far
	clean  int           // probes[clean:] came after more than are permitted, with no opening and no rejection since
}

// fill walks the admissions of a visit in the order of arrival until a
// rejection lies wholly after all their outcomes (it reopened) or enough of
// them came without a rejection inside (it closed). Those sent after shut are
// probes; others that arrived at may or later are perhaps.
func (v *view) fill(vis *visit, shut, may time.Duration) {
	w := walk{lastLo: shut, clean: v.permitted()}
	for i := v.arrivedFrom(min(shut, may)); i < len(v.byHi); i++ {
		a := v.byHi[i]
		switch {
		case a.leaked || a.lo <= shut && a.hi < may:
			continue
		case v.shutAfter(vis, v.index.nextLo[i]):
			v.reopened(vis)
			return
		}
		vis.settled = max(vis.settled, a.settled)
		if a.lo <= shut || a.ghost {
			vis.maybe = append(vis.maybe, a)
			continue
		}
		vis.probes = append(vis.probes, a)
		if v.step(vis, &w) {
			vis.extra = w.clean > v.permitted() && !vis.several
			v.closed(vis, w.clean)
			return
		}
	}
	if v.shutAfter(vis, forever) {
		v.reopened(vis)
		return
	}
	vis.extra = w.clean > v.permitted() && !vis.several
	vis.endAt, vis.tight = v.ending(), v.ending()
}

// shutAfter reports whether a rejection lies wholly after all outcomes of a
// visit so far, and before t.
func (v *view) shutAfter(vis *visit, t time.Duration) bool {
	return len(vis.probes) > 0 && vis.settled < forever && v.anyRejectedBetween(vis.settled, t)
}

// step takes in the last probe and reports whether the breaker must have closed:
// half-open permits so many and no more, unless it opened in between.
func (v *view) step(vis *visit, w *walk) bool {
	n, last := v.permitted(), len(vis.probes)-1
	a := vis.probes[last]
	if last > 0 && a.hi-w.lastLo >= v.shortest() {
		vis.several, w.clean = true, last+n
	}
	w.lastLo = max(w.lastLo, a.lo)
	for w.clean < last && v.anyRejectedBetween(vis.probes[w.clean].lo, a.hi) {
		w.clean++
	}
	return len(vis.probes)-w.clean >= 2*n+10
}

// closed ends a visit in CLOSED; probes[free] is an admission that half-open
// would not have permitted any more.
func (v *view) closed(vis *visit, free int) {
	hi, lo := vis.probes[free].hi, forever
	vis.free = hi
	for _, a := range slices.Concat(vis.probes[:free], vis.maybe, vis.late) {
		lo = min(lo, a.early)
	}
	if r := v.index.rejLo[v.rejectedFrom(vis.probes[0].hi)]; v.after() {
		lo = max(lo, r) // What came of calls that met a shut door, before that rejection, did not close it.
	}
	if c := v.breaker.Config; c.HalfOpenMaxWaitCloses && v.timedOut(vis, hi) {
		lo = min(lo, vis.half.Lo+c.HalfOpenMaxWait)
	}
	lo = min(max(lo, vis.half.Lo), hi)
	if r := v.index.rejLo[v.rejectedFrom(vis.probes[len(vis.probes)-1].hi)]; r > vis.half.Hi {
		lo = max(lo, min(r, hi))
	}
	vis.end, vis.endAt, vis.tight = StateClosed, Interval{lo, hi}, Interval{lo, hi}
	if d := v.decision(vis); d.end == StateClosed && vis.fit() && !vis.several {
		vis.tight = Interval{min(max(lo, d.likely.Lo), hi), min(max(lo, d.likely.Hi), hi)}
	}
}

// firstBad is the earliest instant at which an outcome of a visit may have counted against
// the dependency.
func (v *view) firstBad(vis *visit) time.Duration {
	first := forever
	for _, a := range slices.Concat(vis.probes, vis.maybe, vis.late) {
		if v.bad(a) {
			first = min(first, a.early)
		}
	}
	return first
}

// timedOut reports whether the declared breaker may have left half-open by its timer, and
// so without any outcome, before t.
func (v *view) timedOut(vis *visit, t time.Duration) bool {
	most := v.breaker.Config.HalfOpenMaxWait
	return v.breaker.Declared && most >= time.Millisecond && t-vis.half.Lo >= most
}

// reopened ends a visit in OPEN, unless the reference says that its first
// outcomes closed it and that what came after may have tripped it anew.
func (v *view) reopened(vis *visit) {
	d := v.decision(vis)
	if d.end == StateClosed && vis.fit() {
		anew := v.newTrip(d.at, false, Interval{vis.settled, vis.settled})
		if len(v.openings(anew).may) > 0 {
			vis.end, vis.endAt, vis.tight, vis.presumed = StateClosed, d.at, d.likely, true
			return
		}
	}
	lo, likely := vis.half.Lo, time.Duration(0)
	for _, a := range vis.probes {
		lo, likely = max(lo, a.lo), max(likely, a.settle)
	}
	if bad := v.firstBad(vis); bad < forever && !v.timedOut(vis, bad) {
		lo = max(lo, bad)
	}
	hi := vis.settled
	for _, a := range vis.late {
		hi = max(hi, a.settled) // it may have decided after all probes had
	}
	if r := v.nextRejected(vis.settled); r != nil {
		hi = min(hi, r.hi)
	}
	vis.extra = len(vis.probes) > v.permitted() && !vis.several
	vis.end, vis.endAt = StateOpen, Interval{lo, max(lo, hi)}
	vis.tight = Interval{lo, max(lo, min(likely, hi))}
	if len(vis.late) > 0 {
		vis.tight = vis.endAt
	}
	if d.end == StateOpen && vis.fit() && !vis.several && d.likely.Lo >= lo {
		vis.tight = Interval{d.likely.Lo, min(d.likely.Hi, vis.endAt.Hi)}
	}
}

// lateFor returns the admissions from before a visit that was opened by then,
// are none of its probes, and whose outcome may have come during it: breakers
// may count that.
func (v *view) lateFor(half, shut, may time.Duration) []*admission {
	var late []*admission
	to := v.sentAfter(shut)
	for _, a := range v.adm[min(v.settledAfter(half), to):to] {
		if a.hi < may && a.settled >= half && a.early < forever && !a.leaked {
			late = append(late, a)
		}
	}
	return late
}

// ended drops those late outcomes that came after a visit.
func (vis *visit) ended() {
	vis.late = slices.DeleteFunc(vis.late, func(a *admission) bool { return a.early > vis.endAt.Hi })
}

// shortest is the least time that the breaker can have been open unseen.
func (v *view) shortest() time.Duration {
	if v.breaker.Declared || v.wait > 0 {
		return v.wait
	}
	return brief
}

// learnWait takes the least wait of an undeclared breaker from what was seen.
func (v *view) learnWait(open segment, vis *visit) {
	if v.breaker.Declared || !open.sure {
		return
	}
	least := time.Duration(float64(vis.half.Lo-open.from.Hi) * (1 - earlyShare))
	if least > 0 && (v.wait == 0 || least < v.wait) {
		v.wait = least
	}
}
