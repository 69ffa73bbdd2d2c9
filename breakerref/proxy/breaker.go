package proxy

import (
	"log/slog"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// breaker is a machine for many goroutines. The clock is read under the lock, so
// that the machine never sees time go back.
type breaker struct {
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	machine  *breakerref.Machine
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

// acquire asks for a call. If it is permitted, the caller owes one record or
// release.
func (b *breaker) acquire() permit {
	var p permit
	b.do(func(now time.Time, m *breakerref.Machine) {
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

// record ends a permitted call with its outcome.
func (b *breaker) record(p permit, failed bool, took time.Duration) {
	if p.stray {
		return
	}
	b.do(func(now time.Time, m *breakerref.Machine) {
		if b.defect == NeverCloses && p.state == breakerref.HalfOpen {
			failed = true
		}
		m.Record(now, failed, took)
	})
}

// release ends a permitted call without an outcome.
func (b *breaker) release(p permit) {
	if !p.stray {
		b.do(func(now time.Time, m *breakerref.Machine) { m.Release(now) })
	}
}

// read returns the state and the metrics as of now.
func (b *breaker) read() (state breakerref.State, metrics breakerref.Metrics) {
	b.do(func(now time.Time, m *breakerref.Machine) {
		metrics = m.Metrics(now) // Lets time pass, which the state depends on.
		state = m.State()
	})
	return state, metrics
}

// do works on the machine and logs the transitions that came of it. The events are
// taken every time, because the machine keeps them until then.
func (b *breaker) do(work func(time.Time, *breakerref.Machine)) {
	b.mu.Lock()
	work(b.now(), b.machine)
	events := b.machine.Events()
	b.mu.Unlock()
	for _, e := range events {
		if e.Kind == breakerref.EventTransition {
			b.logger.Info("the circuit breaker changed its state",
				slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.Time("at", e.At))
		}
	}
}
