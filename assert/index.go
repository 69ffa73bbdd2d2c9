package assert

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// index answers in the logarithm of the trace's length what is asked at every
// step of the inference.
type index struct {
	minHi  []time.Duration // minHi[i] is the least hi of adm[i:] that proves an admission
	busy   []time.Duration // busy[i] is the greatest settled of adm[:i]
	done   []time.Duration // the same of those that have an outcome
	reach  []time.Duration // reach[i] is the greatest hi of adm[:i]
	nextLo []time.Duration // nextLo[i] is the least lo of byHi[i:]
	rejLo  []time.Duration // rejLo[i] is the greatest lo of rej[:i]
	sent   []time.Duration // lo of the rejections, in order
	alive  []answer
}

// answer is an instant of sending, and the first answer to a call that was sent
// then or later.
type answer struct{ sent, end time.Duration }

// answers prepares the question when the SUT is known to have been awake.
func answers(calls []*trace.Joined) []answer {
	var as []answer
	for _, c := range calls {
		if c.Call.Answered() {
			as = append(as, answer{c.Call.Send, c.Call.End})
		}
	}
	for i := len(as) - 2; i >= 0; i-- {
		as[i].end = min(as[i].end, as[i+1].end)
	}
	return as
}

// awake is by when the SUT has acted on something that it learnt of at t,
// although nobody was answered: it paused no longer, as it has answered a call
// that was sent later, and then had its own time. It is forever when there is no
// such call.
func (v *view) awake(t time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(v.index.alive, t, func(a answer, t time.Duration) int { return cmp.Compare(a.sent, t) })
	if i == len(v.index.alive) {
		return forever
	}
	return v.index.alive[i].end + v.slack()
}

// sort orders decisions and builds the index.
func (v *view) sort() {
	slices.SortStableFunc(v.adm, func(a, b *admission) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi))
	})
	v.byHi = slices.Clone(v.adm)
	slices.SortStableFunc(v.byHi, func(a, b *admission) int { return cmp.Compare(a.hi, b.hi) })
	slices.SortStableFunc(v.rej, func(a, b *rejection) int {
		return cmp.Or(cmp.Compare(a.hi, b.hi), cmp.Compare(a.lo, b.lo))
	})
	n := len(v.adm)
	v.index.busy, v.index.done, v.index.reach = make([]time.Duration, n+1), make([]time.Duration, n+1), make([]time.Duration, n+1)
	for i, a := range v.adm {
		v.index.busy[i+1] = max(v.index.busy[i], a.settled)
		v.index.done[i+1] = v.index.done[i]
		if a.early < forever {
			v.index.done[i+1] = max(v.index.done[i], a.settled)
		}
		v.index.reach[i+1] = max(v.index.reach[i], a.hi)
	}
	v.index.nextLo = make([]time.Duration, n+1)
	v.index.nextLo[n] = forever
	for i, a := range slices.Backward(v.byHi) {
		v.index.nextLo[i] = min(v.index.nextLo[i+1], a.lo)
	}
	v.index.rejLo = make([]time.Duration, len(v.rej)+1)
	v.index.rejLo[0] = -1
	for i, r := range v.rej {
		v.index.rejLo[i+1] = max(v.index.rejLo[i], r.lo)
		v.index.sent = append(v.index.sent, r.lo)
	}
	slices.Sort(v.index.sent)
	v.prove(n+1, n)
}

// prove rebuilds minHi after what has changed in adm[first:last], or all of it.
func (v *view) prove(first, last int) {
	if v.index.minHi == nil {
		v.index.minHi = make([]time.Duration, len(v.adm)+1)
		v.index.minHi[len(v.adm)] = forever
	}
	for i := last - 1; i >= 0; i-- {
		hi := v.index.minHi[i+1]
		if a := v.adm[i]; !a.leaked && !a.ghost {
			hi = min(hi, a.hi)
		}
		if i < first-1 && hi == v.index.minHi[i] {
			return
		}
		v.index.minHi[i] = hi
	}
}

// sentAfter is the index in adm of the first admission whose lo is after t.
func (v *view) sentAfter(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(v.adm, t, func(a *admission, t time.Duration) int {
		if a.lo <= t {
			return -1
		}
		return 1
	})
	return i
}

// arrivedFrom is the index in byHi of the first admission that arrived at t or
// later.
func (v *view) arrivedFrom(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(v.byHi, t, func(a *admission, t time.Duration) int { return cmp.Compare(a.hi, t) })
	return i
}

// rejectedFrom is the index in rej of the first rejection that was answered at t
// or later.
func (v *view) rejectedFrom(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(v.rej, t, func(r *rejection, t time.Duration) int { return cmp.Compare(r.hi, t) })
	return i
}

// admittedBetween reports whether an admission lies wholly between x and y.
func (v *view) admittedBetween(x, y time.Duration) bool { return v.index.minHi[v.sentAfter(x)] < y }

// anyRejectedBetween reports whether a rejection lies wholly between x and y.
func (v *view) anyRejectedBetween(x, y time.Duration) bool {
	return v.index.rejLo[v.rejectedFrom(y)] > x
}

// rejectedBetween returns the rejections that lie wholly between x and y.
func (v *view) rejectedBetween(x, y time.Duration) []*rejection {
	var in []*rejection
	for i := v.rejectedFrom(x); i < len(v.rej) && v.rej[i].hi < y; i++ {
		if v.rej[i].lo > x {
			in = append(in, v.rej[i])
		}
	}
	return in
}

// alone reports whether no admitted call can have been under way at a
// rejection, so that nothing but OPEN explains it.
func (v *view) alone(r *rejection) bool { return v.index.busy[v.sentAfter(r.hi)] < r.lo }

// settledAfter is the index in adm before which every outcome had been recorded
// by t.
func (v *view) settledAfter(t time.Duration) int {
	i, _ := slices.BinarySearchFunc(v.index.done, t, func(b, t time.Duration) int {
		if b <= t {
			return -1
		}
		return 1
	})
	return max(i-1, 0)
}

// hidesOpen reports whether a breaker may have opened and been open for a wait
// after some admission in [from, to) and before the next one, so that an opening
// need not show; at is the first such moment.
func (v *view) hidesOpen(wait, from, to time.Duration) (at time.Duration, hides bool) {
	i := v.sentAfter(from)
	for t := from; t < to; i++ {
		if v.index.minHi[i] >= t+wait {
			return t, true
		}
		if i == len(v.adm) {
			break
		}
		t = v.adm[i].lo
	}
	return 0, false
}

// nextRejected returns the first rejection, by its answer, that lies wholly
// after t, or nil.
func (v *view) nextRejected(t time.Duration) *rejection {
	for _, r := range v.rej[v.rejectedFrom(t):] {
		if r.lo > t {
			return r
		}
	}
	return nil
}

// sentBefore is when the last rejected call before t was sent, or -1.
func (v *view) sentBefore(t time.Duration) time.Duration {
	i, _ := slices.BinarySearch(v.index.sent, t)
	if i == 0 {
		return -1
	}
	return v.index.sent[i-1]
}

// sorted returns a trace in the order of time, as recorders leave it; one that is
// not in order is copied.
func sorted(t *trace.Trace) *trace.Trace {
	phases := func(a, b trace.Phase) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Name, b.Name)) }
	calls := func(a, b trace.Call) int { return cmp.Or(cmp.Compare(a.Send, b.Send), cmp.Compare(a.ID, b.ID)) }
	attempts := func(a, b trace.Attempt) int {
		return cmp.Or(cmp.Compare(a.Arr, b.Arr), cmp.Compare(a.Injector, b.Injector), cmp.Compare(a.Seq, b.Seq))
	}
	if slices.IsSortedFunc(t.Phases, phases) && slices.IsSortedFunc(t.Calls, calls) && slices.IsSortedFunc(t.Attempts, attempts) {
		return t
	}
	c := *t
	c.Phases, c.Calls, c.Attempts = slices.Clone(t.Phases), slices.Clone(t.Calls), slices.Clone(t.Attempts)
	slices.SortFunc(c.Phases, phases)
	slices.SortFunc(c.Calls, calls)
	slices.SortFunc(c.Attempts, attempts)
	return &c
}
