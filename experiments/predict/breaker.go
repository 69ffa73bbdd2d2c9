package predict

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// breaker is one breaker as it is declared, but for a defect.
type breaker struct {
	*playing
	name     string
	instance string
	declared breakerref.Config
	machine  *breakerref.Machine
	defect   defect // the zero value where it is another breaker's
	state    breakerref.State
	refused  int
	seen     int // outcomes in the phase of defect.opensIn
	counted  int // outcomes since the phase's start or the last close
	during   int // the phase of counted
	skipped  int // outcomes that were to open it, in a row
}

// change is a change of a breaker's state.
type change struct {
	breaker, instance string
	at                time.Duration
	to                breakerref.State
	outcomes          int // that were recorded since the phase's start or the last close
}

// permit is what a breaker said to a call.
type permit struct {
	ok    bool
	stray bool // let through by a defect: the machine does not know of it
	half  bool // as a probe
	at    time.Duration
}

func newBreaker(w *playing, b assert.Breaker, instance string) (*breaker, error) {
	out := &breaker{playing: w, name: b.Name, instance: instance, declared: b.Config}
	config := b.Config
	if w.defect.breaker == b.Name {
		out.defect = w.defect
		if w.defect.config != nil {
			w.defect.config(&config)
		}
	}
	m, err := breakerref.New(config, w.clock())
	if err != nil {
		return nil, fmt.Errorf("play breaker %s: %w", b.Name, err)
	}
	out.machine, out.state = m, m.State()
	return out, nil
}

// acquire asks for a call.
func (b *breaker) acquire() permit {
	p := permit{ok: b.machine.Acquire(b.clock()), at: b.now}
	p.half = b.machine.State() == breakerref.HalfOpen
	switch {
	case p.ok && p.half && b.defect.closesAtOnce:
		b.machine.Reset(b.clock())
		p.ok, p.half = b.machine.Acquire(b.clock()), false
	case !p.ok:
		b.refused++
		p.stray = b.defect.leakEvery > 0 && b.refused%b.defect.leakEvery == 0
		p.ok = p.stray
	}
	b.note()
	return p
}

// record takes the outcome of a call that was let through.
func (b *breaker) record(p permit, failed bool, took time.Duration) {
	switch {
	case p.stray || b.defect.neverOpens:
		return
	case p.half && b.defect.neverCloses:
		failed = true
	case p.half && b.defect.blind:
		failed, took = false, 0
	}
	if b.during != b.phase {
		b.during, b.counted = b.phase, 0
	}
	b.counted++
	if b.tooLate(failed, took) {
		return
	}
	b.machine.Record(b.clock(), failed, took)
	b.note()
	b.opens()
}

// tooLate reports whether an outcome is overlooked that would open the breaker, which
// then opens so many outcomes later.
func (b *breaker) tooLate(failed bool, took time.Duration) bool {
	if b.defect.late == 0 || b.machine.State() != breakerref.Closed {
		return false
	}
	right := b.machine.Clone()
	right.Record(b.clock(), failed, took)
	switch {
	case right.State() == breakerref.Closed:
		return false
	case b.skipped == b.defect.late:
		b.skipped = 0
		return false
	}
	b.skipped++
	return true
}

// opens opens the breaker without a cause, where the defect is that.
func (b *breaker) opens() {
	if b.defect.opensIn == "" || b.phase < 0 || b.phase >= len(b.plan.Phases) || b.plan.Phases[b.phase].Name != b.defect.opensIn {
		return
	}
	b.seen++
	enough := b.declared.MinimumCalls
	if b.declared.WindowType == breakerref.CountBased {
		enough = min(enough, b.declared.Window)
	}
	if b.seen == enough && b.machine.State() == breakerref.Closed {
		_ = b.machine.Transition(b.clock(), breakerref.Open) // It may, from CLOSED.
		b.note()
	}
}

// release ends a call that was let through without an outcome.
func (b *breaker) release(p permit) {
	if !p.stray {
		b.machine.Release(b.clock())
		b.note()
	}
}

// note notes a change of state, and empties the machine's list of events.
func (b *breaker) note() {
	b.machine.Events()
	to := b.machine.State()
	if to == b.state {
		return
	}
	b.state = to
	c := change{b.name, b.instance, b.now, to, b.counted}
	if to == breakerref.Closed {
		b.counted = 0
	}
	b.changes = append(b.changes, c)
	if b.phase >= 0 && b.phase < len(b.played) {
		b.played[b.phase].changes = append(b.played[b.phase].changes, c)
	}
}
