package predict

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// hop is how long a request or an answer travels, one way.
const hop = 100 * time.Microsecond

// upstreamTook is how long a dependency is thought to take that faultline does not
// play itself.
const upstreamTook = 2 * time.Millisecond

// probePhase is where the calls belong that are made before the first phase.
const probePhase = "(probe)"

// playing is a plan under way: the load, the system under test and the
// dependencies, one event after another.
type playing struct {
	plan   *experiments.Plan
	defect defect
	own    time.Duration // the SUT's own time, before it asks its breaker and again before it answers
	epoch  time.Time
	now    time.Duration
	agenda agenda
	draws  uint64

	trace   *trace.Trace
	reached []bool // of call i and dependency d, at i*len(deps)+d: an attempt of its own arrived
	deps    []*dependency
	sut     *sut
	live    *live
	phase   int // its index in the plan
	under   int // calls under way
	idle    ports
	played  []played
	changes []change // of the breakers' true states
}

// played is what came of one phase beside what the trace says.
type played struct {
	peak     int            // most calls under way at once
	arrivals map[string]int // by injector
	changes  []change
}

// run is what came of playing a plan.
type run struct {
	trace   *trace.Trace
	phases  []played
	changes []change
}

// play plays a plan. own is the service's own time, as in playing; calls is about
// how many there will be.
func play(plan *experiments.Plan, own time.Duration, d defect, calls int) (run, error) {
	// Windows of time are kept in seconds of the clock, so where in a second a run
	// begins may matter: it is another place for each service.
	epoch := time.Unix(1_700_000_000, 0).UTC().Add(331 * (own - quick) % time.Second)
	w := &playing{
		plan: plan, defect: d, own: own, epoch: epoch, live: newLive(plan), phase: -1,
		played: make([]played, len(plan.Phases)),
		trace: &trace.Trace{
			Header: trace.Header{Format: trace.Format, Version: trace.Version, Experiment: plan.Name, Seed: plan.Seed, Epoch: epoch},
			Calls:  make([]trace.Call, 0, calls), Attempts: make([]trace.Attempt, 0, calls),
		},
		reached: make([]bool, 0, calls*len(plan.Injectors)),
	}
	for i := range w.played {
		w.played[i].arrivals = map[string]int{}
	}
	for i := range plan.Injectors {
		dep, err := newDependency(w, i)
		if err != nil {
			return run{}, fmt.Errorf("play the faults at %s: %w", plan.Injectors[i].Name, err)
		}
		w.deps = append(w.deps, dep)
	}
	var err error
	if w.sut, err = newSUT(w); err != nil {
		return run{}, err
	}
	if plan.SUT.Reference != nil || plan.SUT.Launch != nil {
		w.mark(trace.MarkLaunch, "", "")
	}
	w.at(time.Millisecond, func() { w.probe(w.probes(), w.begin) })
	for e, ok := w.agenda.next(); ok; e, ok = w.agenda.next() {
		w.now = e.at
		e.do()
	}
	return run{w.trace, w.played, w.changes}, nil
}

// begin begins the load.
func (w *playing) begin() {
	if interviewed(w.plan) {
		w.interview()
	}
	w.enter(0)
}

// dep finds a dependency by its name.
func (w *playing) dep(injector string) *dependency {
	return w.deps[slices.IndexFunc(w.deps, func(d *dependency) bool { return d.in.Name == injector })]
}

// at plans something.
func (w *playing) at(t time.Duration, do func()) { w.agenda.add(max(t, w.now), do) }

// after plans something for when about d has passed: up to a tenth later, and never
// at the instant of something else, so that what is apart in the real world is
// apart here.
func (w *playing) after(d time.Duration, do func()) {
	w.at(w.now+d+w.shift(d/10+999), do)
}

// shift is another duration up to most each time.
func (w *playing) shift(most time.Duration) time.Duration {
	w.draws++
	return pace.Between(pace.Draw(w.plan.Seed, w.draws), 0, most)
}

func (w *playing) mark(k trace.MarkKind, subject, text string) {
	w.trace.Marks = append(w.trace.Marks, trace.Mark{At: w.now, Kind: k, Subject: subject, Text: text})
}

// clock is now as breakers see it.
func (w *playing) clock() time.Time { return w.epoch.Add(w.now) }

// probes are the calls by which a run finds out how attempts are recognised: one to
// each target with a dependency, at each replica.
func (w *playing) probes() []order {
	var os []order
	for _, t := range w.plan.Targets {
		if len(t.DependsOn) == 0 {
			continue
		}
		for range max(1, len(w.plan.SUT.Replicas)) {
			os = append(os, order{phase: probePhase, seq: uint64(len(os)), target: t})
		}
	}
	return os
}

// probe makes calls one after the other and then goes on.
func (w *playing) probe(os []order, then func()) {
	if len(os) == 0 {
		w.mark(trace.MarkRung, "", w.rung())
		then()
		return
	}
	os[0].due = w.now
	w.call(os[0], func() { w.after(0, func() { w.probe(os[1:], then) }) })
}

// rung is what attempts are thought to be joined by: the first of the plan's order.
func (w *playing) rung() string { return carrier(w.plan) }

func carrier(plan *experiments.Plan) string {
	if len(plan.Correlate.Order) == 0 {
		return match.Traceparent
	}
	return plan.Correlate.Order[0]
}

// rungAggregate is the rung on which attempts are joined with no call.
const rungAggregate = "aggregate"

// enter begins a phase, or ends the last one. What is due in the phase is planned
// by its load.
func (w *playing) enter(i int) {
	name, last := "", i == len(w.plan.Phases)
	w.phase = i
	if !last {
		name = w.plan.Phases[i].Name
	}
	for _, in := range w.plan.Injectors {
		if !last && len(w.plan.Phases[i].Faults[in.Name]) > 0 {
			w.mark(trace.MarkFaultOn, in.Name, name)
		}
		w.dep(in.Name).enter(name)
		if i > 0 && len(w.plan.Phases[i-1].Faults[in.Name]) > 0 {
			w.mark(trace.MarkFaultOff, in.Name, w.plan.Phases[i-1].Name)
		}
	}
	if last {
		return
	}
	begin := func() {
		w.mark(trace.MarkPhaseStart, name, "")
		w.live.begin()
		w.played[i].peak = w.under
		w.load(i)
	}
	if wait := w.plan.Phases[i].AlignedAt(w.clock()); wait > 0 {
		w.at(w.now+wait, begin)
		return
	}
	begin()
}

// leave ends a phase and begins the next one.
func (w *playing) leave(i int, from time.Duration, planned, sent, saturated int) {
	p := w.plan.Phases[i]
	w.mark(trace.MarkPhaseEnd, p.Name, "")
	w.trace.Phases = append(w.trace.Phases, trace.Phase{
		Name: p.Name, From: from, To: w.now, Measure: p.Measure, OpenLoop: !p.ClosedLoop(),
		Planned: planned, Sent: sent, Saturated: saturated,
	})
	w.after(0, func() { w.enter(i + 1) })
}

// ports are the connections on which nothing is under way, by the client's end.
type ports struct {
	free  []int
	taken int
}

// take takes the one that was used last, or a new one.
func (p *ports) take() int {
	if n := len(p.free); n > 0 {
		port := p.free[n-1]
		p.free = p.free[:n-1]
		return port
	}
	const first = 1024
	p.taken++
	return first + p.taken
}

// order is one call to be made.
type order struct {
	phase  string
	seq    uint64
	due    time.Duration
	target match.Target
}

// call makes a call and tells when it is over.
func (w *playing) call(o order, over func()) {
	n := len(w.trace.Calls)
	in := w.sut.replica(o.seq)
	r := &request{
		call: n, id: o.phase + "/" + strconv.FormatUint(o.seq, 10), phase: o.phase, target: o.target, waits: &scope{},
	}
	w.trace.Calls = append(w.trace.Calls, trace.Call{
		ID: r.id, Phase: o.phase, Target: o.target.Name, Sched: o.due, Send: w.now, First: trace.None, Instance: in.name, Port: w.idle.take(),
	})
	w.reached = append(w.reached, make([]bool, len(w.deps))...)
	w.under++
	if w.phase >= 0 && w.phase < len(w.played) {
		w.played[w.phase].peak = max(w.played[w.phase].peak, w.under)
	}
	ended := false
	end := func(a answer) {
		if ended {
			return
		}
		ended = true
		w.under--
		c := &w.trace.Calls[n]
		c.End, c.Status, c.Class, c.Err, c.RetryAfter = w.now, a.status, a.class, a.err, a.retryAfter
		c.Told = a.told
		if a.err == trace.ErrNone {
			c.First = w.now
			w.idle.free = append(w.idle.free, c.Port)
		}
		w.live.ended(w, n)
		over()
	}
	w.after(hop, func() {
		in.serve(r, func(a answer) { w.after(hop, func() { end(a) }) })
	})
	w.agenda.queue(w.now, w.plan.Timeout, func() {
		if !ended {
			w.after(hop, r.waits.end)
		}
		end(answer{err: trace.ErrTimeout})
	})
}
