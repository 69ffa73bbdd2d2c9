package proxy

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/target/match"
)

// breaker is a circuit breaker for many goroutines. The clock is read under the lock, so
// that the machine never sees time go back.
type breaker struct {
	name           string
	failure        match.Failure
	rejectionsFail bool
	cut            time.Duration // of what a model gives a call; 0: no limit
	now            func() time.Time
	logger         *slog.Logger

	mu      sync.Mutex
	cfg     breakerref.Config
	machine *breakerref.Machine // nil: a model decides
	other   *model.Machine      // nil: machine decides
	model   string              // its name
	decider mutant.Breaker
	journal *journal // nil: nobody asks for it
	defect  mutant.Mutant
	waiting map[model.Token]chan struct{} // closed when the call is over
}

// newBreaker returns a service's breaker. name is its own if the configuration has none.
func newBreaker(cfg Config, name string, s Service) (*breaker, error) {
	now := cfg.Now()
	b := &breaker{
		name: cmp.Or(s.Breaker.Name, name), failure: s.Failure, rejectionsFail: s.RejectionsFail,
		now: cfg.Now, logger: cfg.Logger, cfg: s.Breaker, defect: s.Defect.mutant(), waiting: map[model.Token]chan struct{}{},
	}
	made, err := b.defect.Build(s.Breaker, s.Model, now)
	if err != nil {
		return nil, err
	}
	b.machine, b.other, b.decider = made.Library, made.Other, made
	if s.Model != nil {
		b.model, b.cut = s.Model.Name, s.Model.Count.Timeout
	} else if cfg.Actuator {
		b.journal = newJournal(now)
	}
	return b, nil
}

// wrap asks the breaker, then the next step, and gives the breaker exactly one outcome or
// its permission back.
func (b *breaker) wrap(next step) step {
	return func(c *call) outcome {
		p := b.acquire(c)
		switch {
		case p.why != "":
			return outcome{cause: p.why}
		case !p.ok && b.defect.Around.SlowReject > 0 && !c.pause(b.defect.Around.SlowReject):
			return outcome{cause: c.ended()}
		case !p.ok:
			if b.defect.Around.FallbackCalls {
				next(c)
			}
			return outcome{cause: refused, state: p.State}
		case b.cut == 0:
			return b.conclude(p, next(c))
		}
		ctx, cancel := context.WithTimeout(c.ctx, b.cut)
		defer cancel()
		return b.conclude(p, next(c.within(ctx)))
	}
}

// permit is what the breaker said to a call.
type permit struct {
	mutant.Permit

	ok    bool
	start time.Time // when the breaker said it
	why   cause     // the call ended before it said anything
}

// acquire asks for a call, and waits if the breaker makes it wait for another one. If it
// is permitted, the caller owes one record, ignore or release.
func (b *breaker) acquire(c *call) permit {
	for {
		p, wait := b.ask()
		if wait == nil {
			return p
		}
		if !c.await(wait) {
			return permit{why: c.ended()}
		}
	}
}

// ask is acquire without the waiting: if wait is not nil, it has to be asked anew once
// that is closed.
func (b *breaker) ask() (p permit, wait <-chan struct{}) {
	b.do(note{}, func(now time.Time) {
		said, answer := b.decider.Acquire(now)
		p = permit{Permit: said, start: now, ok: answer == model.Admitted}
		if answer == model.Waits {
			if b.waiting[said.Token] == nil {
				b.waiting[said.Token] = make(chan struct{})
			}
			wait = b.waiting[said.Token]
		}
	})
	return p, wait
}

// conclude tells the breaker what came of a permitted call, and returns what its caller
// is told.
func (b *breaker) conclude(p permit, out outcome) outcome {
	took := b.now().Sub(p.start)
	n := note{took: took}
	switch {
	case out.cause.nothing():
		b.end(p, note{}, b.decider.Release)
		return out
	case out.cause.rejection() && !b.rejectionsFail:
		n.reason = string(out.cause)
		b.end(p, n, b.decider.Ignore)
		return out
	}
	failed := counts(b.failure, b.rejectionsFail, out, took)
	if failed {
		out.failed, n.reason = true, reason(b.failure, out, took)
	}
	if !failed && b.defect.Says != "" { // Should the breaker take it for a failure.
		n.reason = b.defect.Says
	}
	masked := false
	end := mutant.Outcome{Failed: failed, Took: took, Abandoned: out.cause == timeout || out.cause == late}
	b.end(p, n, func(now time.Time, p mutant.Permit) { masked = b.decider.Record(now, p, end) })
	if masked {
		return outcome{cause: refused, state: breakerref.Open}
	}
	return out
}

// end ends a permitted call, unless the machine does not know of it, and has those go on
// who wait for it.
func (b *breaker) end(p permit, n note, how func(time.Time, mutant.Permit)) {
	if p.Stray {
		return
	}
	b.do(n, func(now time.Time) {
		how(now, p.Permit)
		if wait, ok := b.waiting[p.Token]; ok {
			close(wait)
			delete(b.waiting, p.Token)
		}
	})
}

// move does what an operator does. The breaker must be Resilience4j's.
func (b *breaker) move(to breakerref.State) (state breakerref.State, err error) {
	b.do(note{}, func(now time.Time) {
		err = b.machine.Transition(now, to)
		state = b.machine.State()
	})
	return state, err
}

// current returns the state as of now.
func (b *breaker) current() (state breakerref.State) {
	b.do(note{}, func(now time.Time) {
		b.decider.Advance(now)
		state = b.decider.State()
	})
	return state
}

// look is all that there is to see of a breaker, of one instant.
type look struct {
	name    string
	cfg     breakerref.Config
	at      time.Time
	state   breakerref.State
	metrics breakerref.Metrics // of Resilience4j's
	counts  model.Counts       // of another
	journal journal            // a copy; empty if there is none
	hides   bool               // it shows half of what it refused: a defect
}

// refused is how many calls it shows that it has refused.
func (l look) refused() int {
	if l.hides {
		return l.journal.refused / 2
	}
	return l.journal.refused
}

func (b *breaker) look() look {
	b.mu.Lock()
	before, now := b.decider.State(), b.now()
	b.decider.Advance(now)
	moves := b.settle(note{}, now, before)
	l := look{name: b.name, cfg: b.cfg, at: now, state: b.decider.Told(), hides: b.defect.Around.HidesRejected}
	if b.machine == nil {
		l.counts = b.other.Counts()
	} else {
		l.metrics = b.machine.Metrics(now)
	}
	if b.journal != nil {
		l.journal = *b.journal
		l.journal.events = slices.Clone(b.journal.events)
	}
	b.mu.Unlock()
	b.log(moves)
	return l
}

// do works on the machine; n is of the call that the work ends, if it ends one.
func (b *breaker) do(n note, work func(time.Time)) {
	b.mu.Lock()
	before, now := b.decider.State(), b.now()
	work(now)
	moves := b.settle(n, now, before)
	b.mu.Unlock()
	b.log(moves)
}

// settle takes the machine's events, every time, because the machine keeps them until
// then, and returns the transitions. The caller holds the lock.
func (b *breaker) settle(n note, now time.Time, before breakerref.State) (moves []breakerref.Event) {
	if b.machine == nil { // A model has no events.
		if after := b.decider.State(); after != before {
			moves = append(moves, breakerref.Event{At: now, Kind: breakerref.EventTransition, From: before, To: after})
		}
		return moves
	}
	events := b.machine.Events()
	if b.journal != nil {
		b.journal.add(events, n)
	}
	return slices.DeleteFunc(events, func(e breakerref.Event) bool { return e.Kind != breakerref.EventTransition })
}

// log tells of transitions.
func (b *breaker) log(moves []breakerref.Event) {
	for _, e := range moves {
		b.logger.Info("the circuit breaker changed its state",
			slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.Time("at", e.At))
	}
}

// counts reports whether an outcome counts as a failure.
func counts(f match.Failure, rejectionsFail bool, out outcome, took time.Duration) bool {
	switch out.cause {
	case full, limited, crowded:
		return rejectionsFail
	case refused, stopping, left:
		return false
	default:
	}
	if f.Slow > 0 && took > f.Slow {
		return true
	}
	switch out.cause {
	case timeout, late:
		return f.Abandon
	case reset, nobody, unreachable:
		return f.Reset
	case eof:
		return f.EOF
	default:
		return f.Status(out.answer.status)
	}
}

// reason says why an outcome counts as a failure.
func reason(f match.Failure, out outcome, took time.Duration) string {
	switch {
	case out.cause.rejection():
		return string(out.cause)
	case out.answer == nil:
		return "the dependency did not answer: " + string(out.cause)
	case f.Status(out.answer.status):
		return fmt.Sprintf("the dependency answered %d", out.answer.status)
	default:
		return fmt.Sprintf("the dependency took %v, more than %v", took, f.Slow)
	}
}
