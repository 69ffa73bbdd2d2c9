package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// DownstreamCalls bounds the attempts at an injector in the phase, all of them or
// those that arrived while a breaker was in a state.
type DownstreamCalls struct {
	Injector string
	Breaker  string // of When
	When     State  // empty: always
	Min      *int
	Max      *int

	// PerInstance says that Min and Max are for each instance of the SUT, by the instances
	// that answered the calls; all together they are so many times more. An attempt of a call
	// that no instance answered may be anybody's.
	PerInstance bool
}

// Kind implements [Rule].
func (DownstreamCalls) Kind() string { return "downstream.calls" }

// expected says what the rule asks.
func (r DownstreamCalls) expected() string {
	var parts []string
	if r.Min != nil {
		parts = append(parts, fmt.Sprintf("at least %d", *r.Min))
	}
	if r.Max != nil {
		parts = append(parts, fmt.Sprintf("at most %d", *r.Max))
	}
	s := strings.Join(parts, " and ") + " attempts at " + r.Injector
	if r.When != "" {
		s += " while " + r.When.words()
	}
	if r.PerInstance {
		s += ", for each instance"
	}
	return s
}

// scaled is the rule for all instances together.
func (r DownstreamCalls) scaled(n int) DownstreamCalls {
	times := func(bound *int) *int {
		if bound == nil {
			return nil
		}
		return new(*bound * n)
	}
	r.Min, r.Max = times(r.Min), times(r.Max)
	return r
}

// words is a state in a sentence.
func (s State) words() string {
	switch s {
	case StateOpen:
		return "open"
	case StateHalfOpen:
		return "half-open"
	default:
		return "closed"
	}
}

// fewCalls is how many calls must have been sent for a count of attempts to mean
// something.
const fewCalls = 10

// attemptCount is how many attempts there were, and how many calls were sent in the
// same time, as far as can be told.
type attemptCount struct {
	attempts numbers
	calls    int
	show     []string
}

// judge implements [Rule].
func (r DownstreamCalls) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	if r.Min == nil && r.Max == nil {
		return Verdict{Result: Inconclusive, Reason: "neither min nor max is asked", Remedy: "give min or max"}
	}
	if !r.PerInstance {
		return r.verdict(e, a, r.count(e, a, ""))
	}
	names := e.instances()
	if len(names) == 0 {
		return Verdict{
			Result: Inconclusive, Observed: "no call names an instance", Reason: "how many instances the SUT has is not known",
			Remedy: "name them: sut.replicas with an address each, or sut.instance_header",
		}
	}
	return r.each(e, a, names)
}

// each judges every instance, and all together.
func (r DownstreamCalls) each(e *evidence, a Assertion, names []string) Verdict {
	if all := r.scaled(len(names)).verdict(e, a, r.count(e, a, "")); all.Result == Fail {
		return all // Whoever they were of.
	}
	out := Verdict{Result: Pass}
	var observed, margins []string
	for _, name := range names {
		v := r.verdict(e, a, r.count(e, a, name))
		observed = append(observed, name+": "+v.Observed)
		if v.Margin != "" {
			margins = append(margins, name+": "+v.Margin)
		}
		if v.Result == Fail && out.Result != Fail || v.Result == Inconclusive && out.Result == Pass {
			out = v
			out.Reason = "of instance " + name + ": " + v.Reason
		}
	}
	out.Observed, out.Margin = strings.Join(observed, "; "), strings.Join(margins, "; ")
	return out
}

// count counts the attempts of an instance; of all, without its name.
func (r DownstreamCalls) count(e *evidence, a Assertion, instance string) attemptCount {
	if r.When != "" {
		return r.during(e, a, instance)
	}
	return r.all(e, a, instance)
}

// verdict judges a count.
func (r DownstreamCalls) verdict(e *evidence, a Assertion, n attemptCount) Verdict {
	_, shut := e.shutIn(r.Injector, a)
	out := Verdict{Result: Inconclusive, Observed: plural(n.attempts.Lo, "attempt"), Evidence: n.show}
	if n.attempts.Hi > n.attempts.Lo {
		out.Observed = n.attempts.String() + " attempts"
	}
	if shut {
		n.attempts.Hi = math.MaxInt
		out.Observed = "at least " + plural(n.attempts.Lo, "attempt")
	}
	out.Observed += fmt.Sprintf(", %s meanwhile", plural(n.calls, "call"))
	switch {
	case r.Max != nil && n.attempts.Lo > *r.Max:
		out.Result, out.Reason = Fail, "more attempts arrived than are allowed"
	case n.calls < fewCalls && r.When != "":
		return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("%s for certain while the breaker was %s, %d are needed", plural(n.calls, "call"), r.When.words(), fewCalls),
			"send more calls while the breaker is "+r.When.words())
	case n.calls < fewCalls:
		out.Reason = fmt.Sprintf("%s %s, %d are needed", plural(n.calls, "call"), inPhase(a), fewCalls)
		out.Remedy = "send more calls in this phase"
	case r.Min != nil && n.attempts.Hi < *r.Min:
		out.Result, out.Reason = Fail, "fewer attempts arrived than are wanted"
	case r.Max != nil && n.attempts.Hi > *r.Max, r.Min != nil && n.attempts.Lo < *r.Min:
		out.Reason = "some attempts were let through about when the state changed, so in which state is not known"
		out.Remedy = "raise the rate of this phase, or allow for them"
	default:
		out.Result, out.Margin = Pass, r.margin(n.attempts)
	}
	return out
}

// margin says how many attempts fewer or more would do.
func (r DownstreamCalls) margin(n numbers) string {
	var parts []string
	if r.Min != nil {
		parts = append(parts, fmt.Sprintf("%d above the least", n.Lo-*r.Min))
	}
	if r.Max != nil {
		parts = append(parts, fmt.Sprintf("%d below the most", *r.Max-n.Hi))
	}
	return strings.Join(parts, ", ")
}

// all counts the attempts of a phase: every one is seen.
func (r DownstreamCalls) all(e *evidence, a Assertion, instance string) attemptCount {
	var n attemptCount
	e.eachAttempt(r.Injector, a.Phase, func(at *trace.Attempt, c *trace.Call) {
		sure, may := answeredBy(c, instance)
		if !may {
			return
		}
		n.attempts.Lo += one(sure && !at.Late) // Else it may have been made in the phase before.
		n.attempts.Hi++
		if at.ID != "" {
			n.name(at.ID)
		} else if len(n.show) < 10 {
			n.name(nameOf(at, nil))
		}
	})
	for _, s := range e.population(a.Phase, nil, "") {
		if sure, _ := answeredBy(s.call, instance); sure && e.depends(s.call.Target, r.Injector) {
			n.calls++
		}
	}
	return n
}

// during counts the attempts of a phase that were let through in a state. An
// attempt whose decision may have fallen into another state may count or not.
func (r DownstreamCalls) during(e *evidence, a Assertion, instance string) attemptCount {
	var n attemptCount
	w, _ := e.window(a)
	guests := map[*trace.Attempt]bool{}
	for _, v := range e.views[r.Breaker] {
		if instance == "" || v.instance == "" || v.instance == instance {
			n.view(e, a, r, v, w, instance, guests)
		}
	}
	return n
}

// view counts what one view shows of a state.
func (n *attemptCount) view(e *evidence, a Assertion, r DownstreamCalls, v *view, w Interval, instance string, guests map[*trace.Attempt]bool) {
	spans, probes, told := v.stays(r.When, w), v.probesOf(w), r.When == StateOpen && v.told(w)
	for _, x := range v.adm {
		his, perhaps := answeredBy(&x.call.Call, instance)
		if !perhaps {
			continue
		}
		for _, at := range e.attemptsIn(x, a.Phase) {
			sure, may := r.place(x, at.Arr, spans, probes[x])
			n.add(x, at, sure && his, sure || may && !told, guests) // what came about when it opened, the state before explains
		}
	}
	n.calls += v.pressing(r.When, spans, w)
}

// answeredBy reports whether an instance answered a call, for certain or perhaps. Without
// its name, any did; of an unknown call nobody knows.
func answeredBy(c *trace.Call, instance string) (sure, may bool) {
	if instance == "" {
		return true, true
	}
	if c == nil || c.Instance == "" {
		return false, true
	}
	return c.Instance == instance, c.Instance == instance
}

// name keeps an id for evidence, ten at the most.
func (n *attemptCount) name(id string) {
	if k := len(n.show); k < 10 && (k == 0 || n.show[k-1] != id) {
		n.show = append(n.show, id)
	}
}

// attemptsIn returns those of the attempts that an admission stands for that arrived in a
// phase (in any measured phase, if it is empty): the last ones may have come in the phase after.
func (e *evidence) attemptsIn(x *admission, phase string) []*trace.Attempt {
	in := func(at *trace.Attempt) bool { return at.Phase == phase || phase == "" && e.measured(at.Phase) }
	var out []*trace.Attempt
	if x.count == 1 && in(x.attempt) {
		out = append(out, x.attempt)
	}
	for i := range x.call.Attempts {
		if at := &x.call.Attempts[i]; x.count > 1 && in(at) {
			out = append(out, at)
		}
	}
	return out
}

// add takes in an attempt of an admission. A ghost is met at every instance, as each may be
// the one that it asked, and counts once.
func (n *attemptCount) add(x *admission, at *trace.Attempt, sure, may bool, guests map[*trace.Attempt]bool) {
	switch {
	case x.ghost:
		n.attempts.Hi += one((sure || may) && !guests[at])
		guests[at] = guests[at] || sure || may
	case sure:
		n.attempts.Lo++
		n.attempts.Hi++
		n.name(x.id())
	case may:
		n.attempts.Hi++
	}
}

// place says whether an attempt of an admission, by its arrival, fell into the state that is
// asked for: for certain, or perhaps. vis is the visit of which it is a probe, if it is one.
func (r DownstreamCalls) place(x *admission, arrived time.Duration, spans stays, vis *visit) (sure, may bool) {
	if vis == nil || r.When == StateClosed {
		return spans.place(Interval{x.lo, arrived})
	}
	sure = r.When == StateHalfOpen && arrived < vis.endAt.Lo && !vis.several && !vis.presumed
	return sure, r.When == StateHalfOpen && x.lo <= vis.endAt.Hi
}

// probesOf finds the admissions that are probes for certain, with their visits:
// they ended the open interval before, however early their calls were sent. There
// are none if in some reading of the window they are leaks, as without a declared
// wait.
func (v *view) probesOf(w Interval) map[*admission]*visit {
	probes := map[*admission]*visit{}
	if !v.told(w) {
		return probes
	}
	for _, vis := range v.visits {
		if !vis.sure {
			continue
		}
		for _, x := range vis.probes {
			probes[x] = vis
		}
	}
	return probes
}

// told reports whether what a declared breaker does explains every admission of a
// window, and each is known to be whose it is, so that none but those wholly inside an open interval can be leaks.
func (v *view) told(w Interval) bool {
	return v.breaker.Declared && !v.blind() && v.unexplained(w) == "" && v.nobodys(w) == 0 && len(v.leaksIn(w)) == 0
}

// pressing counts the calls of a window that were sent while the breaker was in a
// state, as far as that is certain: stays in half-open are so short that it counts
// those that were under way in it.
func (v *view) pressing(state State, spans stays, w Interval) int {
	n := 0
	for _, c := range v.calls {
		if !w.in(c.Call.Send) {
			continue
		}
		sure, may := spans.place(Interval{c.Call.Send, c.Call.End})
		if sure || may && state == StateHalfOpen {
			n++
		}
	}
	return n
}

// stay is one stretch of a state: wide holds it for certain, and it holds sure.
type stay struct{ sure, wide Interval }

// stays are the stretches of a state, in the order of time.
type stays []stay

// stays finds the stretches of a state. One that may hold another state unseen is
// not sure anywhere.
func (v *view) stays(state State, w Interval) stays {
	var out stays
	for i, s := range v.segs {
		if s.state != state {
			continue
		}
		in := stay{wide: Interval{s.from.Lo, s.to.Hi}, sure: Interval{s.from.Hi - 1, s.to.Lo}}
		if s.last {
			in.wide.Hi, in.sure.Hi = forever, forever
		}
		if v.veiled(i, w) {
			in.sure = Interval{forever, -1}
		}
		out = append(out, in)
	}
	return out
}

// veiled reports whether a segment may hold another state unseen, as far as it
// lies in a window.
func (v *view) veiled(i int, w Interval) bool {
	s := v.segs[i]
	switch {
	case s.state == StateOpen:
		return !s.sure
	case s.state == StateHalfOpen:
		return !s.visit.sure || s.visit.several || s.visit.presumed
	case i == 0 && !v.fresh && s.from.Hi == 0, i > 0 && v.segs[i-1].visit != nil && v.segs[i-1].visit.presumed:
		return true
	}
	until := min(s.to.Lo, w.Hi)
	if n := len(v.adm); n > 0 {
		until = min(until, v.adm[n-1].lo) // then nobody was there to see
	}
	_, hides := v.hidesOpen(v.shortest(), max(s.from.Hi, w.Lo), until)
	return hides
}

// place says whether a decision fell into one of the stretches: for certain, or
// perhaps.
func (ss stays) place(d Interval) (sure, may bool) {
	i, _ := slices.BinarySearchFunc(ss, d.Lo, func(s stay, t time.Duration) int {
		if s.wide.Hi < t {
			return -1
		}
		return 1
	})
	for ; i < len(ss) && ss[i].wide.Lo <= d.Hi; i++ {
		may = true
		sure = sure || d.Lo > ss[i].sure.Lo && d.Hi < ss[i].sure.Hi
	}
	return sure, may
}
