package assert

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// forever stands for the end of something that the trace did not see end.
const forever = time.Duration(math.MaxInt64)

// admission is a decision of the breaker to let a call through.
type admission struct {
	call    *trace.Joined
	attempt *trace.Attempt
	lo, hi  time.Duration // the decision
	newest  time.Duration // when its call was sent at the latest, where that is not known
	o       time.Duration // the outcome at the dependency; forever when it has none
	early   time.Duration // the SUT cannot have recorded the outcome before
	settled time.Duration // by when the SUT must have recorded it
	settle  time.Duration // by when it very likely had: settled, or o plus the SUT's own time
	failed  bool
	failMay bool // settled differently by another reading
	slow    bool
	slowMay bool
	faulted bool       // a fault rule hit it
	retried bool       // the SUT tried again afterwards
	next    *admission // the attempt that followed it, where each asks the breaker
	count   int        // attempts that it stands for: more than one where the breaker sees calls only
	leaked  bool       // admitted while the breaker was open, see early.go
	ghost   bool       // of a call that was never answered, so that its instance is not known

	unreached bool // a ghost of a call that surely did not come to the dependency, see short.go
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
	breaker   Breaker
	instance  string
	byPeer    bool     // the instance is known by the address of its attempts alone, see instances.go
	era       Interval // what of the trace it looks at, see door.go
	join      trace.Join
	calls     []*trace.Joined // in the order of sending, of this instance
	adm       []*admission    // in the order of lo
	byHi      []*admission    // the same in the order of hi
	rej       []*rejection    // in the order of hi
	admRoom   []admission
	rejRoom   []rejection
	index     index
	own       time.Duration // h: the SUT's own time after an outcome, p99
	before    time.Duration // the SUT's own time before an attempt, p99
	wait      time.Duration // the least time that this breaker stays open; 0: not known
	perCall   int           // aggregate: more attempts no call can have made
	aggregate bool          // attempts carry no id, see aggregate.go
	multi     bool          // some call made two attempts or more
	fresh     bool          // the SUT was started for this run, so its window was empty
	end       time.Duration // of the trace
	epoch     time.Time
	leaks     []*admission // in the order of arrival
	segs      []segment
	visits    []*visit

	doubts bool                   // of some calls it is not known whether the breaker rejected them, see short.go
	aside  map[*trace.Joined]bool // answered by something else than the breaker
	shorts []Short
	vague  bool // an answer of class primary may be of the fallback, as nothing but its status tells them apart
}

// newView builds the decisions of one breaker from the joined calls of one
// instance in one era.
func (e *evidence) newView(b Breaker, instance string, era Interval, join trace.Join) *view {
	t := e.trace
	depends := func(target string) bool { return e.depends(target, b.Injector) }
	v := &view{breaker: b, instance: instance, era: era, join: join, epoch: t.Header.Epoch, end: min(traceEnd(t), era.Hi)}
	var ghosts []*trace.Joined
	for i := range join.Calls {
		switch c := &join.Calls[i]; {
		case touched(join.Blind, &c.Call):
			v.unseen(c)
		case !era.in(c.Call.Send):
		case instance == "" || c.Call.Instance == instance:
			v.calls = append(v.calls, c)
			v.multi = v.multi || len(c.Attempts) > 1
		case c.Call.Instance == "":
			ghosts = append(ghosts, c)
		}
	}
	v.own, v.before = v.ownTime(), v.beforeTime()
	v.wait = v.declaredWait()
	for _, m := range t.Marks {
		v.fresh = v.fresh || m.Kind == trace.MarkLaunch && !v.after()
	}
	v.index.alive = answers(v.calls)
	v.room()
	for _, c := range v.calls {
		v.decisions(c, false)
	}
	for _, c := range ghosts {
		v.decisions(c, true)
	}
	if aggregated(t) {
		v.guesses(t, depends)
	}
	v.sort()
	primary, ok := e.spec.Classes.Find(match.ClassPrimary)
	v.vague = ok && primary.StatusOnly()
	v.tellApart(e.wide, e.neighboursOf(b))
	return v
}

// declaredWait is the least time for which the declared breaker stays open; 0 if there is
// none, as with a wait that shrinks.
func (v *view) declaredWait() time.Duration {
	c := v.breaker.Config
	least := c.Wait
	switch {
	case !v.breaker.Declared, c.WaitMultiplier > 0 && c.WaitMultiplier < 1:
		return 0
	case len(c.Waits) > 0:
		least = slices.Min(c.Waits)
	case c.WaitRandom > 0:
		least = time.Duration(float64(least) * (1 - c.WaitRandom))
	case c.WaitMax > 0:
		least = min(least, c.WaitMax)
	}
	return time.Duration(float64(least.Truncate(time.Millisecond)) * (1 - earlyShare))
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

// room makes room for all decisions at once.
func (v *view) room() {
	adm, rej := 0, 0
	for _, c := range v.calls {
		if adm += len(c.Attempts); c.Kind == trace.Short {
			rej++
		}
	}
	v.admRoom, v.rejRoom = make([]admission, 0, adm), make([]rejection, 0, rej)
	v.adm, v.rej = slices.Grow(v.adm, adm), make([]*rejection, 0, rej)
}

// take puts x into room, if there is any left, and returns where it is.
func take[T any](room *[]T, x T) *T {
	if len(*room) == cap(*room) {
		return &x
	}
	*room = append(*room, x)
	return &(*room)[len(*room)-1]
}

// decisions appends what one call shows.
func (v *view) decisions(c *trace.Joined, ghost bool) {
	if c.Kind == trace.Short && !ghost {
		v.rej = append(v.rej, take(&v.rejRoom, rejection{call: c, lo: c.Call.Send, hi: c.Call.End}))
		return
	}
	attempts, count := c.Attempts, 1
	if v.breaker.Unit == UnitCall && len(attempts) > 1 {
		first, last := attempts[0], attempts[len(attempts)-1]
		count = len(attempts)
		last.Arr = first.Arr
		attempts = []trace.Attempt{last}
	}
	var before *admission
	for i := range attempts {
		at := &attempts[i]
		a := take(&v.admRoom, admission{call: c, attempt: at, lo: c.Call.Send, hi: at.Arr, count: count, faulted: at.Rule != "", ghost: ghost})
		if before != nil && v.breaker.Unit == UnitAttempt {
			before.next, a.lo = a, max(a.lo, min(before.early, at.Arr))
		}
		next := forever
		if i+1 < len(attempts) && v.breaker.Unit == UnitAttempt {
			next = attempts[i+1].Arr
		}
		v.settle(a, next)
		v.adm = append(v.adm, a)
		before = a
	}
}

// settle fills in what became of an admission and by when the SUT knew; next is
// the arrival of the attempt that followed it, or forever.
func (v *view) settle(a *admission, next time.Duration) {
	c, o := a.call.Call, a.attempt.Done()
	a.o, a.early, a.settled, a.settle = forever, forever, forever, forever
	if o == trace.None {
		if !c.Answered() {
			v.outcome(a)
			return
		}
		o = c.End // the SUT has answered without it
	}
	a.o, a.early = o, o
	if a.attempt.Abandon != trace.None {
		a.early = o - v.slack() // the SUT gave up before the dependency saw it leave
	}
	switch {
	case next < forever:
		a.settled, a.retried = max(o, next), true
	case !c.Answered():
		a.early = min(a.early, c.End-v.slack())
		a.settled = v.awake(o)
	case c.End > o:
		a.settled = c.End
	default: // a time limit inside the SUT, or a call that goes on after the answer
		a.early, a.settled = a.hi, v.awake(o)
	}
	a.early = max(a.early, a.hi)
	a.settle = min(a.settled, o+v.slack())
	v.streamed(a)
	v.outcome(a)
}

// outcome says whether the attempt counts as failed and as slow. The SUT
// measured a duration between what the dependency saw and what its client saw,
// so near a limit both readings are possible.
func (v *view) outcome(a *admission) {
	f, at, may := v.breaker.Failure, a.attempt, false
	if a.o == forever {
		return
	}
	switch {
	case at.Abandon != trace.None || at.Dep == trace.None:
		a.failed = f.Abandon
	case at.Outcome == trace.OutcomeReset:
		a.failed = f.Reset
	case at.Outcome == trace.OutcomeFIN, at.Outcome == trace.OutcomeHang:
		a.failed = f.EOF
	default:
		a.failed, may = f.Answer(at.Status, at.GRPC)
	}
	a.failMay = a.failed || may || f.Abandon && a.givenUp() || at.Stream
	short, long := a.early-a.hi, a.settled-a.lo
	if f.Slow > 0 {
		a.failed = a.failed || short > f.Slow
		a.failMay = a.failMay || long > f.Slow
	}
	if v.breaker.Declared {
		a.slow = short > v.breaker.Config.SlowDuration
		a.slowMay = long > v.breaker.Config.SlowDuration
	}
}

// givenUp reports whether the SUT may have given an attempt up that the dependency
// saw answered: its client had left, or it answered before, or from its fallback,
// or tried again.
func (a *admission) givenUp() bool {
	c := a.call.Call
	return leaves(&c) || c.Answered() && (c.End < a.o || c.Class == match.ClassFallback) || a.retried
}

// bad reports whether the breaker may count the outcome against the dependency.
func (v *view) bad(a *admission) bool { return a.failMay || a.slowMay }

// permitted is N: the declared number of probes, else Resilience4j's default; where
// only attempts can be counted, as many as so many calls can have made.
func (v *view) permitted() int {
	n := breakerref.Default().Permitted
	if v.breaker.Declared {
		n = v.breaker.Config.Permitted
	}
	if v.blind() {
		n *= v.perCall
	}
	return n
}

// decides is how many outcomes end a half-open visit of the declared breaker.
func (v *view) decides() int {
	if !v.breaker.Declared {
		return 1
	}
	return min(v.breaker.Config.MinimumCalls, v.breaker.Config.Permitted)
}

// quantile is the exact q-quantile (nearest rank) of durations; it sorts them.
func quantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	i := int(math.Ceil(q*float64(len(ds)))) - 1
	return ds[min(max(i, 0), len(ds)-1)]
}

// sortByOutcome orders admissions by the time of their outcome.
func sortByOutcome(as []*admission) {
	slices.SortFunc(as, func(a, b *admission) int {
		if a.o != b.o {
			return cmp.Compare(a.o, b.o)
		}
		return cmp.Or(cmp.Compare(a.hi, b.hi), strings.Compare(a.id(), b.id()))
	})
}
