package assert

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// evidence is what rules look at: the trace, as one view per breaker and
// instance, and what is wrong with it.
type evidence struct {
	spec      Spec
	trace     *trace.Trace
	views     map[string][]*view                 // by breaker
	joins     map[string]*trace.Join             // by injector, of every target that depends on it
	faults    map[string]map[string][]fault.Rule // by phase, by injector
	stalls    []Interval                         // when this process did not run
	end       time.Duration                      // of the trace
	exited    time.Duration                      // when the SUT died; 0: it did not
	aggregate bool                               // attempts carry no id
	wide      bool                               // doubtful answers prove nothing, see short.go
	checks    []Check
	blockers  map[string]string // breaker to the failed breaker.opens assertion
	miscount  map[string]string // breaker to the failed half_open_probes assertion
	leaks     map[string]string // breaker to the failed leak assertion
}

// Evaluate judges a trace. It is pure: equal arguments give equal reports, in
// whatever order the trace holds its records.
//
// Where it is not known of some calls whether the breaker or something else answered them,
// the trace is judged in both readings, and what they do not agree on is inconclusive.
func Evaluate(spec Spec, t *trace.Trace) Report {
	t = sorted(t)
	e, rep := evaluate(spec, t, false)
	if doubts := e.doubts(); len(doubts) > 0 {
		_, wide := evaluate(spec, t, true)
		return agreed(rep, wide, doubts)
	}
	return rep
}

// evaluate judges a sorted trace in one reading.
func evaluate(spec Spec, t *trace.Trace, wide bool) (*evidence, Report) {
	e := &evidence{
		spec: spec, trace: t, wide: wide,
		views: map[string][]*view{}, joins: map[string]*trace.Join{}, faults: map[string]map[string][]fault.Rule{},
		blockers: map[string]string{}, miscount: map[string]string{}, leaks: map[string]string{},
		end: traceEnd(t), aggregate: aggregated(t),
	}
	e.notes()
	for _, b := range spec.Breakers {
		e.views[b.Name] = e.viewsOf(b)
	}
	e.checks = e.integrity()
	if a, ok := e.steadyAgain(); ok {
		e.spec.Assertions = append(slices.Clone(spec.Assertions), a)
	}
	verdicts := e.verdicts() // Notes in the checks what they affect.
	return e, Report{Verdicts: verdicts, Integrity: e.checks, Breakers: e.timelines()}
}

// notes takes from the marks and the plan what many rules ask.
func (e *evidence) notes() {
	for _, p := range e.spec.Phases {
		e.faults[p.Name] = p.Faults
	}
	for _, m := range e.trace.Marks {
		if m.Kind == trace.MarkStall {
			e.stalls = append(e.stalls, Interval{m.At - m.Dur, m.At})
		}
		if m.Kind == trace.MarkExit && (e.exited == 0 || m.At < e.exited) {
			e.exited = m.At
		}
	}
}

// viewsOf joins the trace for one breaker and infers its states, per instance
// of the SUT when more than one has answered, and per era.
func (e *evidence) viewsOf(b Breaker) []*view {
	join := e.trace.Join(b.Injector, func(target string) bool { return slices.Contains(b.Targets, target) })
	instances, byPeer := e.instancesOf(b, join)
	var vs []*view
	for _, in := range instances {
		own := blindOf(join, in)
		for _, era := range erasOf(own.Blind) {
			v := e.newView(b, in, era, own)
			v.byPeer = byPeer
			v.infer()
			vs = append(vs, v)
		}
	}
	return vs
}

// order is the pass in which a rule is judged: those that others depend on come
// first.
func order(r Rule) int {
	switch r.(type) {
	case Opens, EjectionOpens:
		return 0
	case HalfOpenProbes:
		return 1
	case Leak:
		return 2
	default:
		return 3
	}
}

// verdicts judges every assertion and returns the verdicts in the order of the
// experiment.
func (e *evidence) verdicts() []Verdict {
	as := e.spec.Assertions
	out := make([]Verdict, len(as))
	for pass := range 4 {
		for i, a := range as {
			if order(a.Rule) != pass {
				continue
			}
			v := e.void(a, e.blocked(a.Rule, e.behindAway(a, e.behindDoor(a, e.judge(a)))))
			if v.Expected == "" {
				v.Expected = a.Rule.expected()
			}
			v.ID, v.Kind, v.Phase, v.Line = a.ID, a.Rule.Kind(), a.Phase, a.Line
			e.remember(a, v)
			out[i] = v
		}
	}
	return out
}

// judge judges one assertion, unless its rule needs what this run cannot tell.
func (e *evidence) judge(a Assertion) Verdict {
	if e.aggregate && perCall(a.Rule) {
		return perCallVerdict(a.Rule)
	}
	if e.forced(a.Rule) {
		return Verdict{
			Result: Inconclusive, Observed: "not looked at", Reason: "the breaker ejects a host and gives it all traffic again: it has no half-open state, and no numbers of one",
			Remedy: "use ejection.opens, ejection.duration and ejection.returns",
		}
	}
	return a.Rule.judge(e, a)
}

// blocked turns a verdict that cannot be had into a skipped one, where an
// assertion has failed that other rules lean on: the breaker does not open, does
// not permit as many probes, or lets calls through while open.
func (e *evidence) blocked(r Rule, v Verdict) Verdict {
	b := breakerOf(r)
	if v.Result != Inconclusive || b == "" {
		return v
	}
	by := e.blockers[b]
	if by == "" && order(r) > 1 {
		by = e.miscount[b]
	}
	if _, waits := r.(OpenDuration); by == "" && waits {
		by = e.leaks[b]
	}
	if by != "" {
		v.Result, v.BlockedBy, v.Margin = Skipped, by, ""
	}
	return v
}

// remember notes failures that make other rules pointless.
func (e *evidence) remember(a Assertion, v Verdict) {
	if v.Result != Fail {
		return
	}
	switch r := a.Rule.(type) {
	case Opens:
		setDefault(e.blockers, r.Breaker, a.ID)
	case EjectionOpens:
		setDefault(e.blockers, r.Breaker, a.ID)
	case HalfOpenProbes:
		setDefault(e.miscount, r.Breaker, a.ID)
	case Leak:
		setDefault(e.leaks, r.Breaker, a.ID)
	}
}

// setDefault sets a key that is not set yet.
func setDefault(m map[string]string, k, v string) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

// timelines turns the inferred segments into what reports show.
func (e *evidence) timelines() []Timeline {
	var ts []Timeline
	for _, b := range e.spec.Breakers {
		for _, vs := range e.groups(b.Name) {
			t := Timeline{Name: b.Name, Instance: vs[0].instance}
			for i, v := range vs {
				t.Segments = append(t.Segments, v.segments(vs[:i])...)
				t.Shorts = append(t.Shorts, append(v.shorts, v.refused()...)...)
			}
			t.Shorts = sortShorts(t.Shorts)
			ts = append(ts, t)
		}
	}
	return ts
}

// segments are those of one era, after the views of those before it.
func (v *view) segments(before []*view) []Segment {
	var out []Segment
	for _, s := range v.segs {
		if s.state == StateClosed && s.from.Hi == 0 && v.after() {
			continue // Nothing shows that it was.
		}
		from, to := s.from, s.to
		if n := len(before); n > 0 {
			shut := before[n-1].era.Hi
			from.Lo, to.Lo = max(from.Lo, shut), max(to.Lo, shut)
		}
		state := s.state
		if state == StateOpen && v.ejects() {
			state = StateEjected
		}
		out = append(out, Segment{State: state, From: from, To: to, Last: s.last})
	}
	return out
}

// window is the stretch of time that an assertion speaks of.
func (e *evidence) window(a Assertion) (Interval, bool) {
	if a.Phase == "" {
		return Interval{0, forever}, true
	}
	for i, p := range e.trace.Phases {
		if p.Name != a.Phase {
			continue
		}
		if i+1 < len(e.trace.Phases) {
			// What a phase caused may show in the moment before the next one begins.
			return Interval{p.From, max(p.To, e.trace.Phases[i+1].From)}, true
		}
		return Interval{p.From, forever}, true
	}
	return Interval{}, false
}

// in reports whether an instant lies in a window.
func (w Interval) in(t time.Duration) bool { return t >= w.Lo && t < w.Hi }

// each judges a rule for every instance of a breaker and returns the worst
// verdict, with the instance named.
func (e *evidence) each(breaker string, a Assertion, f func(v *view, w Interval) Verdict) Verdict {
	return e.worst(breaker, a, func(vs []*view, w Interval) Verdict { return e.across(vs, a, w, f) })
}

// worst judges a rule for every instance of a breaker, given as its eras, and returns the
// worst verdict, with the instance named.
func (e *evidence) worst(breaker string, a Assertion, f func(vs []*view, w Interval) Verdict) Verdict {
	w, ok := e.window(a)
	if !ok {
		out := notRun(a)
		out.Observed = ""
		return out
	}
	var worst Verdict
	for i, vs := range e.groups(breaker) {
		got := f(vs, w)
		if vs[0].byPeer {
			got = unnamed(got)
		}
		if in := vs[0].instance; in != "" {
			got.Observed += " (instance " + in + ")"
		}
		if i == 0 || rank(got.Result) > rank(worst.Result) {
			worst = got
		}
	}
	return worst
}

// rank orders results from good to bad.
func rank(r Result) int { return slices.Index([]Result{Pass, Skipped, Inconclusive, Fail}, r) }

// noOpening is the verdict of a rule that needs an open breaker where there was
// none: skipped when an assertion already says so, else inconclusive.
func (e *evidence) noOpening(breaker, expected, reason, remedy string) Verdict {
	if id := e.blockers[breaker]; id != "" {
		return Verdict{Result: Skipped, BlockedBy: id, Expected: expected, Reason: reason}
	}
	return Verdict{Result: Inconclusive, Expected: expected, Observed: "no evidence", Reason: reason, Remedy: remedy}
}

// uncounted reports that retries were seen and nothing says what they ask.
func (v *view) uncounted() bool { return v.multi && v.breaker.Unit == UnitUnknown }

// ungrouped says why it is not known which attempts the breaker counts as one; empty: it is known.
func (v *view) ungrouped() string {
	switch {
	case v.uncounted():
		return "it is not declared whether each retry asks the breaker or only each call"
	case v.blind():
		return "correlation: aggregate: attempts cannot be grouped into the calls that this breaker sees"
	}
	return ""
}

// regroup is what to do then.
const regroup = "set unit: attempt (each retry asks the breaker, as with a retry outside it) or unit: call (only each call does; then the SUT has to pass traceparent on)"

// uncountedVerdict is the verdict of a counting rule in that case.
func (v *view) uncountedVerdict(expected string) Verdict {
	return Verdict{
		Result: Inconclusive, Expected: expected, Observed: "some calls made two attempts or more",
		Reason: v.ungrouped(), Remedy: regroup,
	}
}

// ids returns the first ids of a list, at most ten.
func ids[T interface{ id() string }](as []T) []string {
	var out []string
	for _, a := range as {
		if len(out) == 10 {
			break
		}
		if id := a.id(); len(out) == 0 || out[len(out)-1] != id {
			out = append(out, id)
		}
	}
	return out
}

// id names the rejected call, for evidence.
func (r *rejection) id() string { return r.call.Call.ID }

// sub is the interval of the difference x - y.
func sub(x, y Interval) Interval { return Interval{x.Lo - y.Hi, x.Hi - y.Lo} }

// inside reports whether i lies within [lo, hi].
func (w Interval) inside(lo, hi time.Duration) bool { return w.Lo >= lo && w.Hi <= hi }

// apart reports whether i does not touch [lo, hi].
func (w Interval) apart(lo, hi time.Duration) bool { return w.Hi < lo || w.Lo > hi }

// distance is how far i is from [lo, hi], from which it is apart.
func (w Interval) distance(lo, hi time.Duration) time.Duration { return max(lo-w.Hi, w.Lo-hi) }

// String prints an interval as people read it.
func (w Interval) String() string {
	lo, hi := short(w.Lo), short(w.Hi)
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// short rounds a duration to what a person wants to read.
func short(d time.Duration) string {
	switch {
	case d >= forever/2:
		return "the end"
	case d.Abs() >= time.Second:
		return d.Round(time.Millisecond).String()
	case d.Abs() >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(100 * time.Nanosecond).String()
	}
}

// width is the resolution that an interval stands for.
func (w Interval) width() time.Duration { return w.Hi - w.Lo }

// byResult picks the first verdict of the worst result.
func byResult(vs []Verdict) Verdict {
	return slices.MaxFunc(vs, func(a, b Verdict) int { return cmp.Compare(rank(a.Result), rank(b.Result)) })
}
