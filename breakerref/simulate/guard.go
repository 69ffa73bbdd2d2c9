package simulate

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// guard is the breaker of one replica. While it is closed its outcomes are counted in a
// window of its own; everything else, and every wait and probe, is the machine's.
type guard struct {
	machine *breakerref.Machine
	fast    bool
	closed  bool // and fast: the window counts
	window  window
	start   time.Time
	slow    int64
	events  []breakerref.Event

	state    breakerref.State
	recorded int64 // outcomes
	seen     *watch
}

// beginning is the second of the wall clock in which all trials begin. It is of no
// account: only whole seconds are told apart.
const beginning = 1_700_000_000

// newGuard returns a breaker that is made offset nanoseconds after a full second.
func newGuard(c breakerref.Config, offset int64, stepwise bool) (*guard, error) {
	c.TransitionsOnly, c.Strict = true, false
	g := &guard{start: time.Unix(beginning, offset), slow: int64(c.SlowDuration), fast: fast(c) && !stepwise}
	m, err := breakerref.New(c, g.start)
	if err != nil {
		return nil, err
	}
	g.machine, g.state = m, m.State()
	if g.fast {
		g.window = newWindow(c)
		g.closed = g.state == breakerref.Closed
		g.window.reset(second - offset)
	}
	return g, nil
}

// time is the wall clock at an instant of the trial.
func (g *guard) time(at int64) time.Time { return g.start.Add(time.Duration(at)) }

// acquire asks whether an attempt may begin.
func (g *guard) acquire(at int64) bool {
	if g.closed {
		return true
	}
	ok := g.machine.Acquire(g.time(at))
	g.news()
	return ok
}

// record tells of an outcome.
func (g *guard) record(at int64, failed bool, took int64) {
	if !g.closed {
		g.advance(at) // A timer may close the breaker, and then its window counts.
	}
	g.recorded++
	if !g.closed {
		g.machine.Record(g.time(at), failed, time.Duration(took))
		g.news()
		return
	}
	var o uint8
	if failed {
		o = isFailed
	}
	if took > g.slow {
		o |= isSlow
	}
	if g.window.record(at, o) {
		// There is a transition from CLOSED to OPEN, so this is no error.
		_ = g.machine.Transition(g.time(at), breakerref.Open)
		g.news()
	}
}

// advance lets the timers fire that are due.
func (g *guard) advance(at int64) {
	g.machine.Advance(g.time(at))
	g.news()
}

// news tells of every change of state.
func (g *guard) news() {
	g.events = g.machine.AppendEvents(g.events[:0])
	for _, e := range g.events {
		if e.Kind != breakerref.EventTransition {
			continue
		}
		at := int64(e.At.Sub(g.start))
		g.state = e.To
		if g.closed = g.fast && e.To == breakerref.Closed; g.closed {
			sub := (at + int64(g.start.Nanosecond())) % second
			g.window.reset(at + second - sub)
		}
		g.seen.moved(at, e.From, e.To, g.recorded)
	}
}
