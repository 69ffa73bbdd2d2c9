package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// erasOf are the times between those in which an injector was blind; there is at least one.
func erasOf(blind []trace.Blind) []Interval {
	eras, from := []Interval{}, time.Duration(0)
	for _, b := range blind {
		eras = append(eras, Interval{from, b.From})
		from = b.To
	}
	if from < forever {
		eras = append(eras, Interval{from, forever})
	}
	return eras
}

// touched reports whether the injector was blind while a call was under way.
func touched(blind []trace.Blind, c *trace.Call) bool {
	return slices.ContainsFunc(blind, func(b trace.Blind) bool { return b.Touches(c.Send, c.End) })
}

// ceased is by when the SUT had recorded all outcomes of a call that met a blind time. One
// that it has not answered, since its client left, it may be at for as long as it likes: no
// attempt shows when it gave up.
func ceased(c *trace.Call) time.Duration {
	if c.Answered() {
		return c.End
	}
	return forever
}

// unseen takes in a call that met a blind time, if it may have asked the breaker, or told it
// of an outcome, in this era.
func (v *view) unseen(c *trace.Joined) {
	if other := c.Call.Instance != "" && v.instance != "" && c.Call.Instance != v.instance; other || c.Call.Send > v.era.Hi || ceased(&c.Call) < v.era.Lo {
		return
	}
	at := &trace.Attempt{Injector: v.breaker.Injector, ID: c.Call.ID, Phase: c.Call.Phase, Arr: c.Call.End, Dep: trace.None, Abandon: trace.None}
	end := ceased(&c.Call)
	v.adm = append(v.adm, &admission{
		call: c, attempt: at, lo: c.Call.Send, hi: c.Call.End, newest: c.Call.Send, o: c.Call.End, early: c.Call.Send, settled: end, settle: end,
		failMay: true, slowMay: true, count: 1, ghost: true,
	})
}

// tail is until when calls that met the door before this era may have been held up by it: a
// connection that began in vain goes on doing so when the door is open again.
func (v *view) tail() time.Duration {
	tail := time.Duration(0)
	for i := range v.join.Calls {
		if c := &v.join.Calls[i]; c.Call.Send <= v.era.Lo && ceased(&c.Call) >= v.era.Lo && touched(v.join.Blind, &c.Call) {
			tail = max(tail, ceased(&c.Call))
		}
	}
	return tail
}

// heard reports whether an attempt without an id is one of this era. One that waited behind
// the door was made before: its call is among those that met it.
func (v *view) heard(at *trace.Attempt) bool { return !at.Late && v.era.in(at.Arr) }

// after reports whether the injector was blind before this era, so that the breaker's state
// at its beginning is not known.
func (v *view) after() bool { return v.era.Lo > 0 }

// beforehand says why a window may hold outcomes that were not seen.
func (v *view) beforehand() string {
	if v.after() && v.gone() {
		return "the SUT was gone before, and may have been started anew"
	}
	if v.after() {
		return "the dependency's door was shut before, and what came to it was not seen"
	}
	return "the SUT was running before"
}

// gone reports whether it is the SUT that was gone, and no door that was shut.
func (v *view) gone() bool {
	return slices.ContainsFunc(v.join.Blind, func(b trace.Blind) bool { return b.Why == whyAway })
}

// guests says why outcomes cannot be told that may have been recorded, and what to do; so
// says what follows.
func (v *view) guests(so string) (reason, remedy string) {
	if v.gone() {
		return "calls that were under way when the SUT was gone may have been outcomes to its breaker, so " + so, "let the SUT run through the phase"
	}
	if len(v.join.Blind) > 0 {
		return "calls that met the shut door may have told this breaker of outcomes, so " + so,
			"put an unmeasured pause, and an unmeasured phase of calls, between the door and this phase; let every call be answered within load.timeout"
	}
	if len(v.aside) > 0 {
		return "calls that something else answered than the breaker (" + v.asideWords() + ") may have been outcomes to it, so " + so,
			"keep these apart: a phase in which no limiter, bulkhead or cache answers"
	}
	return "calls that were never answered may have asked this instance or another one, so " + so, "let every call be answered within load.timeout"
}

// groups are the views of a breaker: one group for each instance, in the order of eras.
func (e *evidence) groups(breaker string) [][]*view {
	var out [][]*view
	for _, v := range e.views[breaker] {
		if n := len(out) - 1; n >= 0 && out[n][0].instance == v.instance {
			out[n] = append(out[n], v)
			continue
		}
		out = append(out, []*view{v})
	}
	return out
}

// across judges a rule in each era that a window reaches into: a failure in one decides, and
// a pass in one is enough, unless the rule speaks of the whole window.
func (e *evidence) across(vs []*view, a Assertion, w Interval, f func(v *view, w Interval) Verdict) Verdict {
	if len(vs) == 1 {
		return f(vs[0], w)
	}
	by := map[Result]Verdict{}
	for _, v := range vs {
		if v.era.Lo < w.Hi && v.era.Hi > w.Lo {
			got := f(v, w)
			by[got.Result] = got
		}
	}
	for _, r := range []Result{Fail, Pass, Inconclusive, Skipped} {
		if v, ok := by[r]; ok {
			return v
		}
	}
	return Verdict{Result: Inconclusive, Observed: "nothing", Reason: "no call of phase " + a.Phase + " could be seen at the dependency"}
}

// shutIn returns the time in which the door of an injector was shut during the phase of an
// assertion, if it was.
func (e *evidence) shutIn(injector string, a Assertion) (trace.Blind, bool) {
	for _, b := range e.trace.Blind(injector) {
		if a.Phase == "" {
			return b, true
		}
		for _, p := range e.trace.Phases {
			if p.Name == a.Phase && b.From < p.To && b.To > p.From {
				return b, true
			}
		}
	}
	return trace.Blind{}, false
}

// harmOfDoor says which verdicts about a phase do not stand when something may have happened
// in it that was not seen. What rules about answers leave open they have said themselves.
func harmOfDoor(r Rule) harm {
	switch r := r.(type) {
	case StaysClosed, Leak, DownstreamConcurrency, DownstreamRate, HerdPeak, retryRule:
		return voidsPass
	case ShortLatency:
		return voidsAll
	case OpenDuration:
		if len(r.Sequence) > 0 {
			return voidsAll
		}
	}
	return harmless
}

// behindDoor weakens a verdict about a phase in which a door was shut, and says so where
// nothing could be decided.
func (e *evidence) behindDoor(a Assertion, v Verdict) Verdict {
	of := a.Rule.About()
	injector := of.Injector
	if vs := e.views[of.Breaker]; len(vs) > 0 {
		injector = vs[0].breaker.Injector
	}
	b, shut := e.shutIn(injector, a)
	if !shut {
		return v
	}
	if harmOfDoor(a.Rule).hits(v, Check{}) && v.Result != Inconclusive && v.Result != Skipped {
		v.Result, v.Margin, v.Reason = Inconclusive, "", "what was seen is not all"
	}
	if v.Result != Inconclusive || clientSide(a.Rule) {
		return v
	}
	unseen := fmt.Sprintf("the door of %s was shut (%s): what came to it then left no sign", injector, b.Why)
	if v.Reason != "" {
		unseen += "; " + v.Reason
	}
	v.Reason = unseen
	v.Remedy = "let the dependency fail in a way that is seen there (respond, reset, close, hang), or ask this of a phase in which the door is open"
	return v
}

// clientSide reports whether a rule is about what clients get, so that no door hides any
// of it.
func clientSide(r Rule) bool {
	switch r := r.(type) {
	case Latency, FallbackForbidden, FallbackStaleness, steadyState, Isolation, SLO:
		return true
	case DownstreamRate:
		return r.Of == RateAnswers
	case Share:
		return r.Subject != SubjectShort
	case RecoveryTime:
		return r.Target.Subject != SubjectShort
	}
	return false
}

// openedUnseen judges an opening that nobody saw, in the time in which a door was shut: the
// breaker was closed before, and each call that was sent afterwards was rejected, until its
// wait was over. Nothing but what came to the shut door can have opened it.
func (r Opens) openedUnseen(vs []*view, w Interval) (Verdict, bool) {
	for i := 1; i < len(vs); i++ {
		before, after := vs[i-1], vs[i]
		if last := before.segs[len(before.segs)-1]; before.era.Hi >= w.Hi || after.era.Lo < w.Lo || last.state != StateClosed || last.from.Hi == 0 && !before.fresh {
			continue
		}
		if len(after.segs) < 2 || len(after.adm) > 0 && after.index.minHi[0] <= after.segs[1].from.Hi {
			continue
		}
		open := Interval{before.era.Hi, after.segs[1].from.Hi}
		return r.unseen(after, open), true
	}
	return Verdict{}, false
}

// unseen is the verdict about an opening in an interval in which no outcome was seen.
func (r Opens) unseen(after *view, open Interval) Verdict {
	out := Verdict{
		Result: Pass, Expected: r.expected(), Evidence: ids(after.rej[:min(3, len(after.rej))]),
		Observed: fmt.Sprintf("opened while the door was shut: it was closed before, and rejected what came when the door was open again, %s later", short(open.width())),
	}
	switch {
	case r.AtCall > 0 || r.WithinCalls > 0:
		out.Result, out.Reason = Inconclusive, "the outcomes that opened it were not seen, so they cannot be counted"
	case r.NotBefore > 0, r.Within > 0 && open.width() > r.Within:
		out.Result, out.Reason = Inconclusive, "when it opened was not seen"
	case r.Within > 0:
		out.Margin = short(r.Within - open.width())
	}
	return out
}

// unservedUnseen counts those of them that met a shut door.
func (e *evidence) unservedUnseen(a Assertion, breaker string, targets []string) int {
	n := 0
	calls := e.views[breaker][0].join.Calls
	for i := range calls {
		c := &calls[i]
		if c.Unserved && c.Call.Class != match.ClassPrimary && (a.Phase == "" || c.Call.Phase == a.Phase) && slices.Contains(targets, c.Call.Target) {
			n++
		}
	}
	return n
}

// wasShut checks that a door was shut in a phase that ran: nobody who comes to it can show that.
func (e *evidence) wasShut(p Phase, injector string, r fault.Rule) []Check {
	if !e.ran(Assertion{Phase: p.Name}) {
		return nil
	}
	_, shut := e.shutIn(injector, Assertion{Phase: p.Name})
	observed := "the trace says that it was"
	if !shut {
		observed = "the trace does not say that it was"
	}
	return []Check{{
		Name: checkDoor, Phase: p.Name, OK: shut, Expected: "fault " + r.ID + " shuts the door of " + injector, Observed: observed,
		Remedy: "judge a trace that this version of faultline recorded",
	}}
}
