package attack

import (
	"context"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/faultline-go/faultline/target/trace"
)

// run is one phase under way.
type run struct {
	phase      Phase
	start      time.Time
	gate       gate
	workers    uint64
	maxWorkers uint64
	context    func() context.Context // of its calls
	done       chan struct{}          // closed when its last call has ended
}

// gate decides when a call leaves, and is told what became of it. Pace runs in
// vegeta's loop, begin, end and lost in vegeta's workers.
type gate interface {
	vegeta.Pacer
	// begin is asked right before call seq is sent. It says when the call was due,
	// or the zero time in calls mode; not ok means that it must not be sent.
	begin(seq uint64) (due time.Time, ok bool)
	// end tells that call seq, which was let through, has ended.
	end(seq uint64)
	// lost tells that a call which was released never came to begin.
	lost()
	// settled is closed when the phase is over and its counts are final.
	settled() <-chan struct{}
	// counts are final after settled.
	counts() counts
}

// counts is what became of the load of a phase.
type counts struct {
	planned, sent, dropped, saturated int
	ended                             time.Time
}

// waiting is how many workers a rate begins with. One that waits takes a call at once,
// while one that is started for it is waited for: of a burst, more leaves in time.
const waiting = 1000

// newRun prepares a phase that starts now; hire makes the users of its sessions.
func newRun(ctx context.Context, p Phase, hire func(n int) *user) *run {
	r := &run{
		phase:   p,
		start:   time.Now(),
		context: func() context.Context { return ctx },
		done:    make(chan struct{}),
	}
	switch {
	case p.Sessions != nil:
		r.gate = newSessions(p, r.start, ctx.Done(), hire)
		r.workers, r.maxWorkers = 1, uint64(p.Sessions.Users)
		return r
	case p.Clients > 0:
		r.gate = newClients(p, r.start, ctx.Done())
		r.workers, r.maxWorkers = 1, uint64(p.Clients)
		return r
	case p.Schedule == nil:
		r.gate = newLoop(p, ctx.Done())
		r.workers, r.maxWorkers = uint64(p.Concurrency), uint64(p.Concurrency)
		return r
	}
	r.gate = newSlots(p, r.start, ctx.Done())
	// The gate keeps the bound; vegeta starts more workers up to it as they are needed.
	r.workers, r.maxWorkers = min(waiting, uint64(p.MaxInFlight)), uint64(p.MaxInFlight)
	return r
}

// drain takes vegeta's results as fast as they come, for its workers wait to
// hand them over. The transport answers each call with an empty success, so an
// error is a call that did not get there; "no targets to attack" is vegeta's
// word for a worker without work and is no call at all.
func (r *run) drain(results <-chan *vegeta.Result) {
	for res := range results {
		if res.Error != "" && res.Error != vegeta.ErrNoTargets.Error() {
			r.gate.lost()
		}
	}
}

// outcome is what the trace says of the phase.
func (r *run) outcome(rec *trace.Recorder) trace.Phase {
	c := r.gate.counts()
	var rounds *trace.Rounds
	if s, ok := r.gate.(*sessions); ok {
		rounds = s.rounds()
	}
	return trace.Phase{
		Name:      r.phase.Name,
		From:      rec.Since(r.start),
		To:        rec.Since(c.ended),
		Measure:   r.phase.Measure,
		OpenLoop:  r.phase.Schedule != nil,
		Planned:   c.planned,
		Sent:      c.sent,
		Dropped:   c.dropped,
		Saturated: c.saturated,
		Rounds:    rounds,
	}
}

// sleepUntil waits for an instant and reports whether it came before stop.
func sleepUntil(stop <-chan struct{}, at time.Time) bool {
	var a alarm
	return a.until(stop, at)
}

// alarm is a timer that is set again and again, by one goroutine. Its zero value has
// not been set.
type alarm struct{ timer *time.Timer }

// until waits for an instant and reports whether it came before stop. An instant
// that has passed costs no timer: many slots may be due at once.
func (a *alarm) until(stop <-chan struct{}, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return !closed(stop)
	}
	if a.timer == nil {
		a.timer = time.NewTimer(wait)
	} else {
		a.timer.Reset(wait) // Since Go 1.23 no earlier tick can be left in it.
	}
	defer a.timer.Stop()
	select {
	case <-stop:
		return false
	case <-a.timer.C:
	}
	return !closed(stop)
}

// closed reports whether a channel that carries no values is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
