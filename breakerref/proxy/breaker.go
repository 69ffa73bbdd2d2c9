package proxy

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// breaker is a machine for many goroutines. The clock is read under the lock, so
// that the machine never sees time go back.
type breaker struct {
	name   string
	cfg    breakerref.Config
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	machine  *breakerref.Machine
	journal  *journal // nil: nobody asks for it
	defect   Defect
	refusals int
}

// permit is what the breaker said to a call.
type permit struct {
	ok    bool
	state breakerref.State // that decided
	start time.Time        // when it did
	stray bool             // let through by a defect: the machine does not know of it
}

// acquire asks for a call. If it is permitted, the caller owes one record, ignore or
// release.
func (b *breaker) acquire() permit {
	var p permit
	b.do(note{}, func(now time.Time, m *breakerref.Machine) {
		p = permit{start: now, ok: m.Acquire(now), state: m.State()}
		switch {
		case p.ok && p.state == breakerref.HalfOpen && b.defect == ClosesAtOnce:
			m.Reset(now)
			p.ok = m.Acquire(now)
			p.state = m.State()
		case !p.ok:
			b.refusals++
			p.stray = b.defect.permits(p.state, b.refusals)
			p.ok = p.stray
		}
	})
	return p
}

// record ends a permitted call with its outcome; n has the reason if it failed.
func (b *breaker) record(p permit, failed bool, n note) {
	if p.stray {
		return
	}
	if b.defect == NeverCloses && p.state == breakerref.HalfOpen && !failed {
		failed, n.reason = true, b.defect.Describe()
	}
	b.do(n, func(now time.Time, m *breakerref.Machine) { m.Record(now, failed, n.took) })
}

// ignore ends a permitted call with an error that does not count.
func (b *breaker) ignore(p permit, n note) {
	if !p.stray {
		b.do(n, func(now time.Time, m *breakerref.Machine) { m.Ignore(now) })
	}
}

// release ends a permitted call without an outcome.
func (b *breaker) release(p permit) {
	if !p.stray {
		b.do(note{}, func(now time.Time, m *breakerref.Machine) { m.Release(now) })
	}
}

// move does what an operator does.
func (b *breaker) move(to breakerref.State) (state breakerref.State, err error) {
	b.do(note{}, func(now time.Time, m *breakerref.Machine) {
		err = m.Transition(now, to)
		state = m.State()
	})
	return state, err
}

// read returns the state and the metrics as of now.
func (b *breaker) read() (state breakerref.State, metrics breakerref.Metrics) {
	b.do(note{}, func(now time.Time, m *breakerref.Machine) {
		metrics = m.Metrics(now) // Lets time pass, which the state depends on.
		state = m.State()
	})
	return state, metrics
}

// look is all that the actuator shows of a breaker, of one instant.
type look struct {
	name    string
	cfg     breakerref.Config
	at      time.Time
	state   breakerref.State
	metrics breakerref.Metrics
	journal journal // a copy
}

// look needs a journal.
func (b *breaker) look() look {
	b.mu.Lock()
	now := b.now()
	l := look{name: b.name, cfg: b.cfg, at: now, metrics: b.machine.Metrics(now), state: b.machine.State()}
	passed := b.settle(note{})
	l.journal = *b.journal
	l.journal.events = slices.Clone(b.journal.events)
	b.mu.Unlock()
	b.log(passed)
	return l
}

// do works on the machine; n is of the call that the work ends, if it ends one.
func (b *breaker) do(n note, work func(time.Time, *breakerref.Machine)) {
	b.mu.Lock()
	work(b.now(), b.machine)
	events := b.settle(n)
	b.mu.Unlock()
	b.log(events)
}

// settle takes the machine's events, every time, because the machine keeps them until
// then. The caller holds the lock.
func (b *breaker) settle(n note) []breakerref.Event {
	events := b.machine.Events()
	if b.journal != nil {
		b.journal.add(events, n)
	}
	return events
}

// log tells of transitions.
func (b *breaker) log(events []breakerref.Event) {
	for _, e := range events {
		if e.Kind == breakerref.EventTransition {
			b.logger.Info("the circuit breaker changed its state",
				slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.Time("at", e.At))
		}
	}
}
