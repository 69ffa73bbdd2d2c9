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

	mu      sync.Mutex
	machine *breakerref.Machine
}

// acquire asks for a call. If it is permitted, the caller owes one record or
// release, and start is when it was. The state is the one that decided.
func (b *breaker) acquire() (start time.Time, state breakerref.State, ok bool) {
	b.do(func(now time.Time, m *breakerref.Machine) {
		start, ok, state = now, m.Acquire(now), m.State()
	})
	return start, state, ok
}

// record ends a permitted call with its outcome.
func (b *breaker) record(failed bool, took time.Duration) {
	b.do(func(now time.Time, m *breakerref.Machine) { m.Record(now, failed, took) })
}

// release ends a permitted call without an outcome.
func (b *breaker) release() {
	b.do(func(now time.Time, m *breakerref.Machine) { m.Release(now) })
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
