package simulate

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
)

// mostCalls is how many calls a trial has room for: clients that come back to a
// dependency that never recovers become more and more.
const mostCalls = 5_000_000

// engine plays one trial.
type engine struct {
	m      *Model
	queue  queue
	guards []*guard
	world  world
	busy   workers
	retry  retry.Config
	limit  int64 // ns of patience with an attempt; far: without end
	end    int64
	most   int64

	spread, think stream
	arrivals      dice // in the order of calls
	pauses        dice
	gap           float64 // ns, mean
	phase         float64 // of even arrivals
	came          uint64  // arrivals so far
	due           int64   // when the next call arrives

	calls  uint64
	now    stage
	border int64 // when the stage ends
	out    Trial
	log    *log  // nil: nothing is kept of the course of time
	load   int64 // attempts in the current second
	last   int64 // when the current second ends
}

// newEngine prepares the trial-th trial of a model, which has to be valid. With stepwise
// the machine is told of every single call.
func newEngine(m *Model, seed, trial uint64, stepwise bool) (*engine, error) {
	e := &engine{
		m: m, queue: newQueue(), limit: far, end: int64(m.Duration), most: mostCalls,
		arrivals: newDice(newStream(seed, trial, ofArrivals)), pauses: newDice(0), spread: newStream(seed, trial, ofSpread), think: newStream(seed, trial, ofThink),
		retry: m.Traffic.Retry, last: second,
	}
	e.world = newWorld(m, newStream(seed, trial, ofFailures), newStream(seed, trial, ofLatency))
	e.retry.Seed = newStream(seed, trial, ofRetry).at(0)
	if t := m.Traffic.Timeout; t > 0 {
		e.limit = int64(t.Truncate(time.Millisecond))
	}
	if n := m.Traffic.Workers; n > 0 {
		e.busy = make(workers, n)
	}
	begin, waits := newStream(seed, trial, ofStart), newStream(seed, trial, ofWaits)
	outage := m.outage()
	e.border = far
	if !outage.none() {
		e.border = int64(outage.From)
	}
	for i := range m.Traffic.Replicas {
		c := m.Breaker
		c.Seed = waits.at(uint64(i))
		g, err := newGuard(c, int64(begin.at(0)>>11)%second, stepwise)
		if err != nil {
			return nil, err
		}
		g.seen = newWatch(outage, g.state, false)
		e.guards = append(e.guards, g)
	}
	e.source(begin)
	return e, nil
}

// source makes the first calls due.
func (e *engine) source(begin stream) {
	t := &e.m.Traffic
	if t.Clients > 0 {
		e.due = far
		for i := range t.Clients {
			e.queue.put(&event{at: int64(open01(begin.at(uint64(i)+2)) * float64(t.Think)), kind: callComes})
		}
		return
	}
	if t.Rate > 0 {
		e.gap = float64(second) / t.Rate
		e.phase = (1 - open01(begin.at(1))) * e.gap
	}
	e.due = 0
	e.due = e.following()
}

// following returns when the next call arrives.
func (e *engine) following() int64 {
	n := e.came
	e.came++
	switch e.m.Traffic.Arrivals {
	case Poisson:
		return e.due + int64(e.arrivals.rand.ExpFloat64()*e.gap)
	case Even:
		return int64(e.phase + float64(n)*e.gap)
	case Recorded:
		if n < uint64(len(e.m.Traffic.Sends)) {
			return int64(e.m.Traffic.Sends[n])
		}
	}
	return far
}

// play runs the trial to its end.
func (e *engine) play() Trial {
	var ev event
	for {
		next := e.queue.next()
		at := min(next, e.due)
		if at >= e.border && e.border <= e.end {
			e.enter(e.border)
			continue
		}
		if at >= e.end {
			break
		}
		if next <= e.due {
			e.queue.take(&ev)
			e.handle(&ev)
			continue
		}
		e.comes(at)
		e.due = e.following()
		if int64(e.calls) >= e.most {
			e.out.Cut = time.Duration(at)
			break
		}
	}
	e.finish()
	return e.out
}

// enter begins the next stage of the trial.
func (e *engine) enter(at int64) {
	e.tick(at)
	e.weigh()
	e.last = at + second
	e.now++
	e.border = far
	if e.now == during {
		e.border = int64(e.m.outage().To)
	}
	for _, g := range e.guards {
		if !g.closed {
			g.advance(max(at-1, 0)) // What is due at the border comes after it.
		}
		g.seen.enters(e.now, g.recorded)
	}
}

// finish sums up.
func (e *engine) finish() {
	end := e.end
	if e.out.Cut > 0 {
		end = int64(e.out.Cut)
	}
	e.tick(end)
	e.weigh()
	ended := int64(0)
	for _, s := range e.out.Ends {
		ended += s.Calls()
	}
	e.out.Pending = int64(e.calls) - ended
	for _, g := range e.guards {
		g.advance(end)
		g.seen.spend(end)
		e.out.Breakers = append(e.out.Breakers, g.seen.out)
	}
}

// comes begins a new call.
func (e *engine) comes(at int64) {
	ev := event{at: at, call: e.calls, began: at, attempt: 1, stage: e.now}
	e.calls++
	if n := uint64(len(e.guards)); n > 1 {
		if e.m.Traffic.Arrivals == Even && e.m.Traffic.Clients == 0 {
			ev.replica = uint16(ev.call % n)
		} else {
			ev.replica = uint16(e.spread.at(ev.call) >> 32 * n >> 32)
		}
	}
	e.begin(&ev)
}

// begin begins an attempt, if the breaker lets it.
func (e *engine) begin(ev *event) {
	asks := ev.attempt == 1 || !e.m.Traffic.Around
	if asks && !e.guards[ev.replica].acquire(ev.at) {
		if !e.m.Traffic.SparesRejected && !e.m.Traffic.Around && e.again(ev) {
			return
		}
		e.out.Ends[ev.stage].Rejected++
		e.log.count(ev.at, logRejected)
		e.gone(ev, true)
		return
	}
	e.tick(ev.at)
	e.load++
	e.out.Attempts[e.now]++
	e.log.count(ev.at, logAttempt)
	failed, takes := e.world.attempt(ev)
	if e.busy != nil {
		takes = e.busy.serve(ev.at, takes) - ev.at
	}
	if takes > e.limit {
		failed, takes = true, e.limit
	}
	ev.sent = ev.at
	ev.failed = failed
	ev.at += takes
	ev.kind = attemptEnds
	e.queue.put(ev)
}

// handle does what is due.
func (e *engine) handle(ev *event) {
	switch ev.kind {
	case attemptEnds:
		e.ends(ev)
	case attemptBegins:
		e.begin(ev)
	case callComes:
		e.comes(ev.at)
		if int64(e.calls) >= e.most && e.out.Cut == 0 {
			e.out.Cut = time.Duration(ev.at)
			e.end = ev.at
		}
	}
}

// ends is the end of an attempt.
func (e *engine) ends(ev *event) {
	around := e.m.Traffic.Around
	if !around {
		e.guards[ev.replica].record(ev.at, ev.failed, ev.at-ev.sent)
	}
	if ev.failed && e.again(ev) {
		return
	}
	if around {
		e.guards[ev.replica].record(ev.at, ev.failed, ev.at-ev.began)
	}
	if ev.failed {
		e.out.Ends[ev.stage].Failed++
		e.log.count(ev.at, logFailed)
	} else {
		e.out.Ends[ev.stage].Answered++
		e.log.count(ev.at, logAnswered)
	}
	e.gone(ev, ev.failed)
}

// again makes another attempt due, if there is one left.
func (e *engine) again(ev *event) bool {
	if int(ev.attempt) >= e.retry.MaxAttempts {
		return false
	}
	ev.at += int64(e.retry.WaitAfter(ev.call, int(ev.attempt)))
	ev.attempt++
	ev.kind = attemptBegins
	e.queue.put(ev)
	return true
}

// gone is what a caller does who has his answer, or none.
func (e *engine) gone(ev *event, empty bool) {
	t := &e.m.Traffic
	switch {
	case empty && t.Comeback > 0:
		e.out.Comeback++
		e.queue.put(&event{at: ev.at + int64(t.Comeback), kind: callComes})
	case t.Clients > 0:
		e.queue.put(&event{at: ev.at + 1 + int64(e.pauses.at(e.think, ev.call).ExpFloat64()*float64(t.Think)), kind: callComes})
	}
}

// tick goes on to the second of an instant. Attempts come in the order of time.
func (e *engine) tick(at int64) {
	if at < e.last {
		return
	}
	e.weigh()
	e.last += ((at-e.last)/second + 1) * second
}

// weigh ends the current second.
func (e *engine) weigh() {
	if e.now == before {
		e.out.PeakBefore = max(e.out.PeakBefore, e.load)
	}
	if e.now == after {
		e.out.PeakAfter = max(e.out.PeakAfter, e.load)
	}
	e.load = 0
}

// world says what the dependency does to an attempt.
type world struct {
	failures, latency stream
	dice              dice
	parts             []part
	cur               int
	until             int64 // of the current part
	constant          uint64
	fixed             int64 // latency of the current part; below 0: it is drawn
}

// part is a time in which the dependency behaves alike.
type part struct {
	from, to    int64
	share, rise float64 // of failures at its beginning, and what is added up to its end
	latency     sampler
}

func newWorld(m *Model, failures, latency stream) world {
	w := world{failures: failures, latency: latency, dice: newDice(0)}
	rest := newSampler(m.Traffic.Latency)
	at := int64(0)
	quiet := func(to int64) {
		if to > at {
			w.parts = append(w.parts, part{from: at, to: to, share: m.Traffic.Background, latency: rest})
		}
	}
	for _, p := range m.Traffic.Phases {
		quiet(int64(p.From))
		one := part{from: int64(p.From), to: int64(p.To), share: p.Failures[0], rise: p.Failures[1] - p.Failures[0], latency: rest}
		if p.Latency != nil {
			one.latency = newSampler(*p.Latency)
		}
		w.parts = append(w.parts, one)
		at = int64(p.To)
	}
	quiet(math.MaxInt64)
	w.use(0)
	return w
}

func (w *world) use(i int) {
	w.cur = i
	p := &w.parts[i]
	w.until, w.constant, w.fixed = p.to, below(p.share), p.latency.fixed
	if p.latency.sigma != 0 || len(p.latency.samples) > 0 {
		w.fixed = -1
	}
}

// attempt says whether an attempt fails, and how long the dependency works on it.
func (w *world) attempt(ev *event) (failed bool, takes int64) {
	for ev.at >= w.until {
		w.use(w.cur + 1)
	}
	p := &w.parts[w.cur]
	n := ev.call
	if ev.attempt > 1 {
		n = mix(n + uint64(ev.attempt)*golden)
	}
	limit := w.constant
	if p.rise != 0 {
		limit = below(p.share + p.rise*float64(ev.at-p.from)/float64(p.to-p.from))
	}
	takes = w.fixed
	if takes < 0 {
		takes = p.latency.draw(w.dice.at(w.latency, n))
	}
	return w.failures.at(n)>>11 < limit, takes
}
