package assert

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/trace"
)

// forever stands for the end of something that the trace did not see end.
const forever = time.Duration(math.MaxInt64)

// admission is a decision of the breaker to let a call through.
type admission struct {
	call    *trace.Joined
	attempt trace.Attempt
	lo, hi  time.Duration // the decision
	o       time.Duration // the outcome at the dependency; forever when it has none
	settled time.Duration // by when the SUT must have seen the outcome
	settle  time.Duration // by when it very likely had: settled, or o plus the SUT's own time
	failed  bool
	failMay bool // settled differently by another reading of a duration
	slow    bool
	slowMay bool
	faulted bool // a fault rule hit it
	leaked  bool // admitted while the breaker was open, see early.go
}

// id names the call, for evidence.
func (a *admission) id() string { return a.call.Call.ID }

// rejection is a decision of the breaker to answer a call itself.
type rejection struct {
	call   *trace.Joined
	lo, hi time.Duration
}

// view is one breaker (on one instance of the SUT) as the trace shows it.
type view struct {
	breaker  Breaker
	instance string
	join     trace.Join
	calls    []*trace.Joined // in the order of sending, of this instance
	adm      []*admission    // in the order of lo
	rej      []*rejection    // in the order of hi
	minHi    []time.Duration // minHi[i] is the least hi of adm[i:]
	own      time.Duration   // h: the SUT's own time after an outcome, p99
	before   time.Duration   // the SUT's own time before an attempt, p99
	multi    bool            // some call made two attempts or more
	fresh    bool            // the SUT was started for this run, so its window was empty
	end      time.Duration   // of the trace
	epoch    time.Time
	segs     []segment
	visits   []*visit
}

// newView builds the decisions of one breaker from the joined calls of one
// instance.
func newView(b Breaker, instance string, join trace.Join, t *trace.Trace) *view {
	v := &view{breaker: b, instance: instance, join: join, epoch: t.Header.Epoch, end: traceEnd(t)}
	for i := range join.Calls {
		c := &join.Calls[i]
		if instance == "" || c.Call.Instance == instance {
			v.calls = append(v.calls, c)
			v.multi = v.multi || len(c.Attempts) > 1
		}
	}
	v.own, v.before = v.ownTime(), v.beforeTime()
	for _, m := range t.Marks {
		v.fresh = v.fresh || m.Kind == trace.MarkLaunch
	}
	for _, c := range v.calls {
		v.decisions(c)
	}
	slices.SortStableFunc(v.adm, func(a, b *admission) int { return cmp.Compare(a.lo, b.lo) })
	slices.SortStableFunc(v.rej, func(a, b *rejection) int { return cmp.Compare(a.hi, b.hi) })
	v.index()
	return v
}

// index prepares the question "is any admission wholly between x and y".
func (v *view) index() {
	v.minHi = make([]time.Duration, len(v.adm)+1)
	v.minHi[len(v.adm)] = forever
	for i := len(v.adm) - 1; i >= 0; i-- {
		v.minHi[i] = v.minHi[i+1]
		if !v.adm[i].leaked {
			v.minHi[i] = min(v.minHi[i], v.adm[i].hi)
		}
	}
}

// traceEnd is the last instant that the trace knows of.
func traceEnd(t *trace.Trace) time.Duration {
	end := time.Duration(0)
	for _, c := range t.Calls {
		end = max(end, c.End)
	}
	for _, p := range t.Phases {
		end = max(end, p.To)
	}
	return end
}

// ownTime is h: the 99th percentile of the time between the last outcome of an
// unharmed call at the dependency and the SUT's answer to it.
func (v *view) ownTime() time.Duration {
	var own []time.Duration
	for _, c := range v.calls {
		if c.Kind != trace.Admitted || !c.Call.Answered() {
			continue
		}
		last := c.Attempts[len(c.Attempts)-1]
		if o := last.Done(); o != trace.None && last.Rule == "" && c.Call.End >= o {
			own = append(own, c.Call.End-o)
		}
	}
	if len(own) == 0 {
		return time.Millisecond
	}
	return quantile(own, 0.99)
}

// slackBefore is how long after the sending of a call the SUT may take to decide
// about it before this package gives up a narrower bound: three times what a
// call needs to reach the dependency in healthy times, and 10 ms.
func (v *view) slackBefore() time.Duration { return 3*v.before + 10*time.Millisecond }

// beforeTime is the 99th percentile of the time between sending a call and the
// arrival of its first attempt, while nothing is wrong.
func (v *view) beforeTime() time.Duration {
	var before []time.Duration
	for _, c := range v.calls {
		if len(c.Attempts) > 0 && c.Attempts[0].Rule == "" {
			before = append(before, c.Attempts[0].Arr-c.Call.Send)
		}
	}
	if len(before) == 0 {
		return time.Millisecond
	}
	return quantile(before, 0.99)
}

// slack is how long after an outcome the SUT may take to act on it before this
// package gives up a narrower bound: three times its own time and 10 ms.
func (v *view) slack() time.Duration { return 3*v.own + 10*time.Millisecond }

// decisions appends what one call shows.
func (v *view) decisions(c *trace.Joined) {
	if c.Kind == trace.Short {
		v.rej = append(v.rej, &rejection{call: c, lo: c.Call.Send, hi: c.Call.End})
		return
	}
	attempts := c.Attempts
	if v.breaker.Unit == UnitCall && len(attempts) > 1 {
		first, last := attempts[0], attempts[len(attempts)-1]
		last.Arr = first.Arr
		attempts = []trace.Attempt{last}
	}
	for i, at := range attempts {
		a := &admission{call: c, attempt: at, lo: c.Call.Send, hi: at.Arr, faulted: at.Rule != ""}
		if i > 0 {
			if prev := attempts[i-1].Done(); prev != trace.None {
				a.lo = max(a.lo, min(prev, at.Arr))
			}
		}
		v.settle(a, i == len(attempts)-1, attempts, i)
		v.adm = append(v.adm, a)
	}
}

// settle fills in what became of an admission and by when the SUT knew.
func (v *view) settle(a *admission, last bool, attempts []trace.Attempt, i int) {
	a.o, a.settled, a.settle = forever, forever, forever
	if o := a.attempt.Done(); o != trace.None {
		a.o = o
		switch {
		case !last:
			a.settled = max(o, attempts[i+1].Arr)
		case a.call.Call.Answered() && a.call.Call.End >= o:
			a.settled = a.call.Call.End
		default:
			a.settled = o + v.slack()
		}
		a.settle = min(a.settled, o+v.slack())
	}
	v.outcome(a)
}

// outcome says whether the attempt counts as failed and as slow. The SUT
// measured a duration between what the dependency saw and what its client saw,
// so near a limit both readings are possible.
func (v *view) outcome(a *admission) {
	f, at := v.breaker.Failure, a.attempt
	if a.o == forever {
		return
	}
	switch {
	case at.Abandon != trace.None:
		a.failed = f.Abandon
	case at.Outcome == trace.OutcomeReset:
		a.failed = f.Reset
	case at.Outcome == trace.OutcomeFIN, at.Outcome == trace.OutcomeHang:
		a.failed = f.EOF
	default:
		a.failed = f.Status(at.Status)
	}
	a.failMay = a.failed
	short, long := a.o-a.hi, a.settle-a.lo
	if f.Slow > 0 {
		a.failed = a.failed || short > f.Slow
		a.failMay = a.failMay || long > f.Slow
	}
	if v.breaker.Declared {
		a.slow = short > v.breaker.Config.SlowDuration
		a.slowMay = long > v.breaker.Config.SlowDuration
	}
}

// bad reports whether the declared breaker would count the outcome against the
// dependency.
func (v *view) bad(a *admission) bool {
	return a.failed || v.slowCounts() && a.slow
}

// mayBeBad is bad in the least favourable reading.
func (v *view) mayBeBad(a *admission) bool {
	return a.failed || a.failMay || v.slowCounts() && (a.slow || a.slowMay)
}

// slowCounts reports whether the declared breaker can open by slow calls alone.
func (v *view) slowCounts() bool {
	return v.breaker.Declared && v.breaker.Config.SlowDuration < breakerref.Default().SlowDuration
}

// admittedBetween reports whether an admission lies wholly between x and y.
func (v *view) admittedBetween(x, y time.Duration) bool {
	return v.firstSentAfter(x) < y
}

// rejectedBetween returns the rejections that lie wholly between x and y.
func (v *view) rejectedBetween(x, y time.Duration) []*rejection {
	var in []*rejection
	i, _ := slices.BinarySearchFunc(v.rej, x, func(r *rejection, t time.Duration) int { return cmp.Compare(r.hi, t) })
	for ; i < len(v.rej) && v.rej[i].hi < y; i++ {
		if v.rej[i].lo > x {
			in = append(in, v.rej[i])
		}
	}
	return in
}

// anyRejectedBetween reports whether a rejection lies wholly between x and y.
func (v *view) anyRejectedBetween(x, y time.Duration) bool {
	i, _ := slices.BinarySearchFunc(v.rej, x, func(r *rejection, t time.Duration) int { return cmp.Compare(r.hi, t) })
	for ; i < len(v.rej) && v.rej[i].hi < y; i++ {
		if v.rej[i].lo > x {
			return true
		}
	}
	return false
}

// permitted is N: the declared number of probes, else Resilience4j's default.
func (v *view) permitted() int {
	if v.breaker.Declared {
		return v.breaker.Config.Permitted
	}
	return breakerref.Default().Permitted
}

// quantile is the exact q-quantile (nearest rank) of durations; it sorts them.
func quantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	i := int(math.Ceil(q*float64(len(ds)))) - 1
	return ds[min(max(i, 0), len(ds)-1)]
}
