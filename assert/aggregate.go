package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// rungAggregate is the rung on which attempts carry no id: they are counted, and
// each is an admission of one of the calls that were under way.
const rungAggregate = "aggregate"

// aggregated reports whether attempts could not be joined with calls in a run.
func aggregated(t *trace.Trace) bool {
	return slices.ContainsFunc(t.Marks, func(m trace.Mark) bool { return m.Kind == trace.MarkRung && m.Text == rungAggregate })
}

// perCall reports whether a rule needs to know which call made which attempt.
func perCall(r Rule) bool {
	switch r := r.(type) {
	case Opens:
		return r.AtCall > 0 || r.WithinCalls > 0
	case Closes:
		return r.AfterSuccesses > 0
	case Leak:
		return r.Max > 0
	case HalfOpenProbes, ReopensOnFailedProbe, ReportedStateAgrees, MetricAgrees, EjectionOpens, EjectionReturns:
		return true
	case RetryAmplification:
		return false // Totals bound it.
	case retryRule:
		return true
	case HerdSync:
		return true
	case DownstreamRate:
		return r.By != "" && r.Of != RateAnswers
	case FallbackShare:
		return slices.Contains(r.Of, SetShort) || slices.Contains(r.Of, SetFailed)
	default:
		return false
	}
}

// perCallVerdict is the verdict of such a rule where it is not known.
func perCallVerdict(r Rule) Verdict {
	return Verdict{
		Result: Inconclusive, Expected: r.expected(), Observed: "not looked at",
		Reason: "correlation: aggregate: attempts carry no id, so none can be given to a call, and this rule needs that",
		Remedy: "let the SUT pass traceparent (or a header or a token named in correlate.order) on to the dependency",
	}
}

// blind reports whether attempts cannot be grouped into what the breaker counts:
// they carry no id, and it may count calls.
func (v *view) blind() bool { return v.aggregate && v.breaker.Unit != UnitAttempt }

// guesses makes an admission of an unknown call of every attempt without an id:
// it was decided between the first sending of a call that was under way when the
// attempt arrived, and that arrival. foreign says which targets reach the injector
// without asking the breaker.
func (v *view) guesses(t *trace.Trace, depends func(target string) bool) {
	under := newUnderWay(t, depends)
	v.perCall = 1
	for i := range v.join.Calls {
		c := &v.join.Calls[i].Call
		v.perCall = max(v.perCall, arrivals(v.join.NoID, c.Send, ceased(c)))
	}
	v.aggregate, v.multi = true, v.multi || v.breaker.Unit == UnitUnknown
	var own, before []time.Duration
	crowds := make([]crowd, len(v.join.NoID))
	for i := range v.join.NoID {
		at := &v.join.NoID[i]
		crowds[i] = under.at(at.Arr, v.breaker.Targets)
		if !v.heard(at) {
			continue
		}
		if c, o := crowds[i], at.Done(); c.calls == 1 && c.answered && at.Rule == "" && o != trace.None && c.last >= o {
			own, before = append(own, c.last-o), append(before, at.Arr-c.sent)
		}
	}
	if len(own) > 0 {
		v.own, v.before = quantile(own, 0.99), quantile(before, 0.99)
	}
	for i := range v.join.NoID {
		if at := &v.join.NoID[i]; v.heard(at) {
			v.adm = append(v.adm, v.guess(at, crowds[i]))
		}
	}
}

// guess makes an admission of one attempt. Any of the calls under way may have made
// it, so its outcome was recorded between what the first and the last of them
// allow for.
func (v *view) guess(at *trace.Attempt, c crowd) *admission {
	call := trace.Call{
		ID: fmt.Sprintf("%s#%d", at.Injector, at.Seq), Phase: at.Phase, Sched: c.sent, Send: c.sent, First: trace.None, End: c.first, Status: 200,
	}
	if c.fallback {
		call.Class = match.ClassFallback
	}
	a := &admission{
		call: &trace.Joined{Call: call, Attempts: []trace.Attempt{*at}, Kind: trace.Admitted}, attempt: at,
		lo: c.sent, hi: at.Arr, newest: c.newest, count: 1, faulted: at.Rule != "", ghost: c.foreign || v.instance != "" || at.Stream, // A service may open a stream again by itself.
		o: forever, early: forever, settled: forever, settle: forever,
	}
	o := at.Done()
	switch {
	case o == trace.None && !c.answered:
		v.outcome(a)
		return a
	case o == trace.None:
		o = c.last // the SUT has answered without it
	}
	a.o, a.early, a.settled = o, o, c.last
	if at.Abandon != trace.None {
		a.early = o - v.slack()
	}
	if !c.answered || c.first <= o {
		a.early, a.settled = a.hi, max(c.last, v.awake(o))
	}
	a.early = max(a.early, a.hi)
	a.settled = max(a.settled, a.early)
	a.settle = max(min(a.settled, o+v.slack()), a.early)
	v.streamed(a)
	v.outcome(a)
	return a
}

// arrivals counts the attempts that arrived in [from, to]; they are in the order
// of arrival.
func arrivals(as []trace.Attempt, from, to time.Duration) int {
	by := func(a trace.Attempt, t time.Duration) int { return cmp.Compare(a.Arr, t) }
	first, _ := slices.BinarySearchFunc(as, from, by)
	n, _ := slices.BinarySearchFunc(as[first:], min(to, forever-1)+1, by)
	return n
}

// crowd is the calls that were under way at an instant.
type crowd struct {
	calls       int
	sent        time.Duration // the first sending
	newest      time.Duration // the last one
	first, last time.Duration // the first and the last end
	answered    bool          // all of them were answered
	fallback    bool          // some of them by the fallback
	foreign     bool          // nobody is known to have been under way, or a call that does not ask the breaker
}

// underWay answers which calls were under way at an instant. Instants must not
// decrease.
type underWay struct {
	calls   []trace.Call // in the order of sending
	depends func(target string) bool
	next    int
	open    []*trace.Call // that were answered later
	lost    crowd         // those that were never answered: the SUT may be at them for as long as it likes
}

func newUnderWay(t *trace.Trace, depends func(target string) bool) *underWay {
	return &underWay{calls: t.Calls, depends: depends}
}

// at is the calls that were under way; targets are those that ask the breaker.
func (u *underWay) at(t time.Duration, targets []string) crowd {
	for ; u.next < len(u.calls) && u.calls[u.next].Send <= t; u.next++ {
		switch c := &u.calls[u.next]; {
		case !u.depends(c.Target) && !slices.Contains(targets, c.Target):
		case c.Answered():
			u.open = append(u.open, c)
		default:
			u.lost.take(c, targets)
		}
	}
	u.open = slices.DeleteFunc(u.open, func(c *trace.Call) bool { return c.End < t })
	out := u.lost
	for _, c := range u.open {
		out.take(c, targets)
	}
	if out.calls == 0 {
		return crowd{sent: t, newest: t, first: t, last: t, foreign: true}
	}
	return out
}

// take counts a call among those under way.
func (o *crowd) take(c *trace.Call, targets []string) {
	if o.calls == 0 {
		*o = crowd{sent: forever, first: forever, answered: true}
	}
	o.calls++
	o.sent, o.newest = min(o.sent, c.Send), max(o.newest, c.Send)
	o.first, o.last = min(o.first, c.End), max(o.last, c.End)
	o.answered = o.answered && c.Answered()
	o.fallback = o.fallback || c.Class == match.ClassFallback
	o.foreign = o.foreign || !slices.Contains(targets, c.Target)
}
