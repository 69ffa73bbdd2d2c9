package assert

import "time"

// earlyShare is how much sooner than declared an admission may come and still
// be the end of the wait.
const earlyShare = 0.05

// flagLeaks marks the admissions that came while the breaker was open and that
// no half-open visit explains. An admission before the declared wait is over is
// a leak unless it starts what looks like a visit after a shorter wait: a group
// of as many as are permitted, with no rejection between them, followed by a
// change of state.
func (v *view) flagLeaks(open Interval) {
	if !v.breaker.Declared {
		return
	}
	for {
		as := v.arrivalsAfter(open.Hi)
		if len(as) == 0 || as[0].hi >= v.expectedHalf(open) || v.shortWait(open, as) {
			return
		}
		as[0].leaked = true
		v.index()
	}
}

// expectedHalf is the earliest instant at which the declared wait may be over.
func (v *view) expectedHalf(open Interval) time.Duration {
	return open.Lo + time.Duration(float64(v.breaker.Config.Wait)*(1-earlyShare))
}

// shortWait reports whether the early arrivals look like a half-open visit.
func (v *view) shortWait(open Interval, as []*admission) bool {
	n := v.permitted()
	m := min(v.breaker.Config.MinimumCalls, n)
	group := 1
	settled := as[0].settle
	for group < len(as) && !v.anyRejectedBetween(as[group-1].hi, as[group].lo) {
		settled = max(settled, as[group].settle)
		group++
	}
	rejectedNext := v.anyRejectedBetween(as[group-1].hi, forever)
	if rejectedNext && group < m {
		return false // calls were rejected while permits were left and nothing was decided
	}
	if group >= n && n > 1 || group == len(as) && !rejectedNext {
		return true
	}
	if group == len(as) {
		return true // rejected for the rest of the trace: a change of state
	}
	if v.earlyCount(open, as) > fewEarly {
		return false
	}
	wait := as[0].hi - open.Lo
	return as[group].hi-settled >= wait/2
}

// fewEarly is how many admissions within one declared wait may still be the ends
// of shorter waits; more of them are leaks.
const fewEarly = 3

// earlyCount counts the admissions before the declared wait is over.
func (v *view) earlyCount(open Interval, as []*admission) int {
	n := 0
	for _, a := range as {
		if a.hi >= v.expectedHalf(open) {
			break
		}
		n++
	}
	return n
}
