package assert_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

const ms = time.Millisecond

// span is a duration drawn uniformly from [lo, hi].
type span struct{ lo, hi time.Duration }

func fixed(d time.Duration) span { return span{d, d} }

// setup is a whole simulated run: client, SUT, dependency and plan. There is no
// goroutine and no clock in it; equal setups give equal traces.
type setup struct {
	Seed    uint64
	Breaker breakerref.Config
	Make    func(breakerref.Config, time.Time) breaker // nil: the reference
	Failure match.Failure

	Undeclared bool        // the judge is not told of Breaker
	Unit       assert.Unit // as the judge is told
	Running    []bool      // outcomes (true: failed) before a run that did not launch the SUT; nil: launched
	Probe      int         // correlation calls before the first phase

	Net, Own, Post, Base span // one hop; before the breaker is asked; before an outcome is recorded, and again before the answer; healthy dependency
	Pool                 int  // connections per instance; 0: no limit. Admitted calls queue for one
	Fallback             span
	NoFallback           bool
	Second               bool // the fallback asks another dependency
	SecondTook           span
	Retry                retry
	SUTTimeout           time.Duration // 0: none
	ClientTimeout        time.Duration
	Stalls               stalls
	Instances            int  // 0: one, without an instance header
	Replicas             bool // the instances have addresses of their own, so that every call names its one
	Ejection             *assert.Ejection
	Shared               bool // the instances share one breaker
	SaidShared           bool // as the judge is told
	Starved              bool // the last instance gets no calls, though it is known
	Connections          bool // attempts of an instance come over one connection
	OwnPeers             bool // attempts come from an address of their instance, not from this machine's
	Aggregate            bool // nothing passes ids on
	Pay                  int  // every so many calls go to a route that must not fall back; 0: none
	FallsBack            bool // it does all the same
	Propagates           bool // the SUT lets go of the dependency when its client leaves
	Aside                aside
	Classes              match.Classes // nil: names alone
	Guard                func() guard  // what lets calls in before the breaker is asked; nil: nothing
	Phases               []phase
}

// retry is how the SUT repeats calls.
type retry struct {
	Attempts   int // 0 or 1: none
	Backoff    span
	Inside     bool // the breaker sees one call; else every attempt asks it
	Rejections bool // also what the breaker rejected is tried again
	policy
}

// stalls are pauses of the whole SUT process.
type stalls struct {
	Every time.Duration // mean distance; 0: none
	Took  span
}

// phase is load and faults.
type phase struct {
	Name       string
	Unmeasured bool
	Duration   time.Duration // open loop
	Rate       float64       // per second
	Jitter     time.Duration
	Calls      int // closed loop
	Workers    int
	Gap        time.Duration
	Until      bool // ends when the breaker looks open
	Bunch      int  // of an open loop: so many at once
	Clients    int  // closed loop for Duration, each thinks between its calls
	Think      span
	Faults     []fault.Rule
}

// happened is a change of the true state.
type happened struct {
	instance int
	at       time.Duration
	from, to breakerref.State
	recorded int // outcomes since the change before
	failed   int // of these
}

// result is a trace and what really happened.
type result struct {
	trace  *trace.Trace
	spec   assert.Spec // without assertions
	truth  []happened
	leaks  []time.Duration // admissions while open
	failed int             // calls without a complete answer
}

// event is something due in the simulation.
type event struct {
	at  time.Duration
	seq int
	do  func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(e any)   { *a = append(*a, e.(event)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// world is a run under way.
type world struct {
	setup
	rng     *rand.Rand
	agenda  agenda
	seq     int
	now     time.Duration
	pauses  []pauseOf
	epoch   time.Time
	rec     trace.Trace
	primary *dependency
	second  *dependency
	suts    []*sut
	turn    int    // of the load balancer
	peer    string // of the attempt that arrives
	arrived map[string]int
	paying  map[string]bool   // calls to the route that must not fall back
	leaving map[string]func() // lets go of the dependency, by call
	memory  memory
	live    struct {
		rejected int
		open     bool
	}
	truth  []happened
	failed int
}

type pauseOf struct{ from, to time.Duration }

// simulate carries a setup out.
func simulate(s setup) result {
	w := &world{
		setup: s, rng: rand.New(rand.NewPCG(s.Seed, 77)), epoch: time.Unix(1_700_000_000, 123_456_789),
		arrived: map[string]int{}, paying: map[string]bool{}, leaving: map[string]func(){}, memory: newMemory(),
	}
	w.primary, w.second = newDependency(w, "payments", script(s.Phases)), newDependency(w, "backup", fault.Script{})
	for i := range max(1, s.Instances) {
		w.suts = append(w.suts, newSUT(w, i))
		if s.Shared {
			w.suts[i].breaker = w.suts[0].breaker
		}
	}
	w.planPauses()
	if s.Running == nil {
		w.mark(trace.MarkLaunch, "")
	}
	w.at(w.now+ms, func() { w.probe(0) })
	for w.agenda.Len() > 0 {
		e := heap.Pop(&w.agenda).(event)
		w.now = e.at
		e.do()
	}
	if s.Aggregate {
		w.rec.Marks = append(w.rec.Marks, trace.Mark{Kind: trace.MarkRung, Text: "aggregate"})
		for i := range w.rec.Attempts {
			w.rec.Attempts[i].ID, w.rec.Attempts[i].By = "", ""
		}
	}
	t := snapshot(w.rec, w.epoch)
	out := result{trace: t, spec: w.spec(), truth: w.truth, failed: w.failed}
	for _, s := range w.suts {
		if d, ok := s.breaker.(*defective); ok {
			for _, at := range d.leaked {
				out.leaks = append(out.leaks, at.Sub(w.epoch))
			}
		}
	}
	return out
}

// snapshot sorts a trace as the recorder does.
func snapshot(t trace.Trace, epoch time.Time) *trace.Trace {
	rec := trace.NewRecorder(epoch)
	for _, p := range t.Phases {
		rec.Phase(p)
	}
	for _, m := range t.Marks {
		rec.Mark(m)
	}
	for _, c := range t.Calls {
		rec.Ended(c)
	}
	for _, a := range t.Attempts {
		h := rec.Arrived(a)
		rec.Departed(h, func(to *trace.Attempt) {
			to.Dep, to.Abandon, to.Outcome, to.Status = a.Dep, a.Abandon, a.Outcome, a.Status
		})
	}
	return rec.Snapshot(trace.Header{Experiment: "sim"})
}

// script is the faults of all phases.
func script(ps []phase) fault.Script {
	s := fault.Script{Phases: map[string][]fault.Rule{}}
	for _, p := range ps {
		if len(p.Faults) > 0 {
			s.Phases[p.Name] = p.Faults
		}
	}
	return s
}

// spec is what the judge is told, without assertions.
func (w *world) spec() assert.Spec {
	s := assert.Spec{
		Targets: []match.Target{
			{Name: "checkout", Method: "POST", Path: "/checkout", DependsOn: []string{"payments"}, Weight: 1},
			{Name: "pay", Method: "POST", Path: "/pay?now=1", DependsOn: []string{"payments"}, Weight: 1},
		},
		Classes:   w.Classes,
		Integrity: assert.DefaultIntegrity(),
		Breakers: []assert.Breaker{{
			Name: "cb", Injector: "payments", Targets: []string{"checkout", "pay"}, Unit: w.Unit,
			Declared: !w.Undeclared, Config: w.Breaker, Failure: w.Failure, Shared: w.SaidShared, Ejection: w.Ejection,
		}},
	}
	if w.Classes == nil {
		s.Classes = match.Classes{{Name: match.ClassPrimary}, {Name: match.ClassFallback}, {Name: match.ClassRejected}}
	}
	for i := range w.Instances {
		if w.Starved {
			s.Instances = append(s.Instances, fmt.Sprintf("i%d", i))
		}
	}
	if w.Undeclared {
		s.Breakers[0].Config = breakerref.Default()
	}
	for _, p := range w.Phases {
		ph := assert.Phase{Name: p.Name, Measure: !p.Unmeasured, Faults: map[string][]fault.Rule{}, Clients: p.Clients, Think: (p.Think.lo + p.Think.hi) / 2}
		if rules := w.primary.named(p.Name); len(rules) > 0 {
			ph.Faults["payments"] = rules
		}
		s.Phases = append(s.Phases, ph)
	}
	return s
}

// at plans something.
func (w *world) at(t time.Duration, do func()) {
	w.seq++
	heap.Push(&w.agenda, event{at: max(t, w.now), seq: w.seq, do: do})
}

// inSUT plans something that the SUT does: it waits out a pause.
func (w *world) inSUT(t time.Duration, do func()) { w.at(w.awake(t), do) }

// awake is when the SUT gets to do what is due at t.
func (w *world) awake(t time.Duration) time.Duration {
	for _, p := range w.pauses {
		if t >= p.from && t < p.to {
			return p.to + time.Duration(w.rng.Int64N(int64(2*ms)))
		}
	}
	return t
}

// planPauses draws when the SUT stands still.
func (w *world) planPauses() {
	if w.Stalls.Every == 0 {
		return
	}
	total := time.Minute
	for _, p := range w.Phases {
		total += p.Duration
	}
	for t := w.exp(w.Stalls.Every); t < total; t += w.exp(w.Stalls.Every) {
		p := pauseOf{t, t + w.draw(w.Stalls.Took)}
		w.pauses = append(w.pauses, p)
		t = p.to
	}
}

// draw takes a duration from a span, never the same twice.
func (w *world) draw(s span) time.Duration {
	d := s.lo + time.Duration(w.rng.Int64N(1000))
	if s.hi > s.lo {
		d += time.Duration(w.rng.Int64N(int64(s.hi - s.lo)))
	}
	return d
}

// exp draws an exponential distance.
func (w *world) exp(mean time.Duration) time.Duration {
	return time.Duration(w.rng.ExpFloat64() * float64(mean))
}

func (w *world) mark(k trace.MarkKind, subject string) {
	w.rec.Marks = append(w.rec.Marks, trace.Mark{At: w.now, Kind: k, Subject: subject})
}

// clock is now as the breaker sees it.
func (w *world) clock() time.Time { return w.epoch.Add(w.now) }

// probe makes the n-th correlation call and then starts the first phase.
func (w *world) probe(n int) {
	if n == w.Probe {
		w.enter(0)
		return
	}
	w.call("probe", n, w.now, func() { w.at(w.now+5*ms, func() { w.probe(n + 1) }) })
}

// enter begins a phase, or ends the last one.
func (w *world) enter(i int) {
	last := i == len(w.Phases)
	name := ""
	if !last {
		name = w.Phases[i].Name
		if len(w.Phases[i].Faults) > 0 {
			w.mark(trace.MarkFaultOn, "payments")
		}
	}
	w.primary.enter(name)
	w.second.enter(name)
	if i > 0 && len(w.Phases[i-1].Faults) > 0 {
		w.mark(trace.MarkFaultOff, "payments")
	}
	if last {
		return
	}
	w.mark(trace.MarkPhaseStart, name)
	w.live.open, w.live.rejected = false, 0
	switch {
	case w.Phases[i].Calls > 0:
		w.closedLoop(i)
	case w.Phases[i].Clients > 0:
		w.clients(i)
	default:
		w.openLoop(i)
	}
}

// leave ends a phase and begins the next one.
func (w *world) leave(i int, from time.Duration, sent int) {
	p := w.Phases[i]
	planned := sent
	if p.Calls > 0 {
		planned = p.Calls
	}
	w.mark(trace.MarkPhaseEnd, p.Name)
	w.rec.Phases = append(w.rec.Phases, trace.Phase{
		Name: p.Name, From: from, To: w.now, Measure: !p.Unmeasured, OpenLoop: p.Calls+p.Clients == 0, Planned: planned, Sent: sent,
	})
	w.at(w.now+50*time.Microsecond, func() { w.enter(i + 1) })
}
