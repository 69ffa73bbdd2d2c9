package assert

// earlyShare is how much sooner than declared an admission may come and still
// be the end of the wait.
const earlyShare = 0.05

// flagLeaks marks the admissions that came while the breaker was open and that
// no half-open visit explains. An admission before the declared wait is over is
// a leak unless it starts what looks like a visit after a shorter wait: as many
// as are permitted, or enough outcomes to decide, before the next rejection, and
// then a change of state. It reports whether there were any.
func (v *view) flagLeaks(open Interval) (found bool) {
	if !v.breaker.Declared || v.blind() {
		return false
	}
	var early []*admission
	for i := v.arrivedFrom(open.Hi); i < len(v.byHi); i++ {
		a := v.byHi[i]
		if a.lo <= open.Hi || a.ghost {
			continue
		}
		if a.hi >= open.Lo+v.wait || v.shortWait(open, i) {
			break
		}
		early = append(early, a)
	}
	v.leak(early)
	return len(early) > 0
}

// leak marks admissions as leaks.
func (v *view) leak(as []*admission) {
	first, last := len(v.adm), 0
	for _, a := range as {
		a.leaked = true
		v.leaks = append(v.leaks, a)
		i := v.sentAfter(a.lo)
		first, last = min(first, i), max(last, i)
	}
	v.prove(first, last)
}

// impossible reports whether a visit cannot be one of the declared breaker: it
// rejected calls again although fewer outcomes had come than decide and no probe
// was under way, and then let others through before a wait was over.
func (v *view) impossible(vis *visit) bool {
	if !v.breaker.Declared || v.uncounted() || v.blind() || !vis.fit() || vis.end != StateOpen || len(vis.probes) >= v.decides() {
		return false
	}
	return v.admittedBetween(vis.settled, vis.endAt.Lo+v.wait)
}

// shortWait reports whether the early arrivals from byHi[i] on look like a
// half-open visit: permits or outcomes enough before the next rejection, and
// then, unless it closed, as long a wait again.
func (v *view) shortWait(open Interval, i int) bool {
	first := v.byHi[i]
	r := v.nextRejected(first.hi)
	if r == nil {
		return true // it closed, or the trace ends
	}
	admitted, outcomes, settled := 0, 0, first.settled
	next := i
	for ; next < len(v.byHi) && v.index.nextLo[next] < r.hi; next++ {
		if a := v.byHi[next]; a.lo > open.Hi && a.lo < r.hi {
			admitted++
			settled = max(settled, a.settled)
			if a.early < r.hi {
				outcomes++
			}
		}
	}
	if v.decides() == 1 {
		settled = first.lo // an outcome from before may have decided at once
	}
	switch {
	case admitted < v.permitted() && outcomes < v.decides():
		return false // it rejects while permits are left and nothing was decided
	case next == len(v.byHi), v.nextRejected(v.byHi[next].hi) == nil:
		return true
	case v.permitted() == 1 && v.earlyCount(open, i) > fewEarly:
		return false // single calls, again and again: sparse ones between rejections are leaks
	default:
		return v.byHi[next].hi-settled >= (first.hi-open.Lo)/2
	}
}

// fewEarly is how many single admissions within one declared wait may still be
// the probes of shorter waits, where one call is permitted: a visit of one probe
// and a leak look alike.
const fewEarly = 3

// earlyCount counts the admissions from byHi[i] on that came while the breaker was
// open for certain and before the declared wait was over.
func (v *view) earlyCount(open Interval, i int) int {
	n := 0
	for ; i < len(v.byHi) && v.byHi[i].hi < open.Lo+v.wait; i++ {
		if a := v.byHi[i]; a.lo > open.Hi && !a.ghost {
			n++
		}
	}
	return n
}
