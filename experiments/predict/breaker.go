package predict

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/target/match"
)

// breaker is one breaker as it is declared, but for a defect.
type breaker struct {
	*playing
	name     string
	instance string
	declared breakerref.Config
	failure  match.Failure // what it counts
	made     mutant.Made
	defect   defect // the zero value where it is another breaker's
	state    breakerref.State
	seen     int // outcomes in the phase of defect.opensIn
	counted  int // outcomes since the phase's start or the last close
	during   int // the phase of counted
	skipped  int // outcomes that were to open it, in a row
	tally    tally
	cut      time.Duration            // of what the breaker gives a call; 0: no limit
	waiting  map[model.Token][]func() // who asks anew when that call is over
}

// tally is what a breaker has counted since its launch.
type tally struct{ rejected, admitted, failed int }

// change is a change of a breaker's state.
type change struct {
	breaker, instance string
	at                time.Duration
	to                breakerref.State
	outcomes          int // that were recorded since the phase's start or the last close
}

// permit is what a breaker said to a call.
type permit struct {
	mutant.Permit

	at time.Duration
}

func newBreaker(w *playing, b assert.Breaker, instance string) (*breaker, error) {
	out := &breaker{playing: w, name: b.Name, instance: instance, declared: b.Config, failure: b.Failure, waiting: map[model.Token][]func(){}}
	config := b.Config
	config.Seed = w.plan.Seed
	if w.defect.concernsBreaker(b.Name) {
		out.defect = w.defect
		if w.defect.config != nil {
			w.defect.config(&config)
		}
	}
	m := out.defect.mutant
	var other *model.Config
	if out.defect.leavesModel() {
		other = out.modelled(b)
	}
	made, err := m.Build(config, other, w.clock())
	if err != nil {
		return nil, fmt.Errorf("play breaker %s: %w", b.Name, err)
	}
	if m.Breaker.Failure != nil {
		m.Breaker.Failure(&out.failure)
	}
	if other != nil && !m.Around.NoTimeout {
		out.cut = other.Count.Timeout
	}
	out.made, out.state = made, made.State()
	return out, nil
}

// acquire asks for a call.
func (b *breaker) acquire() (permit, model.Answer) {
	said, answer := b.made.Acquire(b.clock())
	switch answer {
	case model.Admitted:
		b.tally.admitted++
	case model.Rejected:
		b.tally.rejected++
	case model.Waits:
	}
	b.note()
	return permit{said, b.now}, answer
}

// record takes the outcome of a call that was let through. masked tells that the call is
// answered with the breaker's own error although it was made.
func (b *breaker) record(p permit, o mutant.Outcome) (masked bool) {
	if p.Stray {
		return false
	}
	if b.during != b.phase {
		b.during, b.counted = b.phase, 0
	}
	b.counted++
	if o.Failed {
		b.tally.failed++
	}
	if b.tooLate(o) {
		return false
	}
	masked = b.made.Record(b.clock(), p.Permit, o)
	b.note()
	b.opens()
	return masked
}

// tooLate reports whether an outcome is overlooked that would open the breaker, which
// then opens so many outcomes later.
func (b *breaker) tooLate(o mutant.Outcome) bool {
	if b.defect.late == 0 || b.made.State() != breakerref.Closed {
		return false
	}
	right := b.made.Library.Clone()
	right.Record(b.clock(), o.Failed, o.Took)
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
	if b.seen == enough && b.made.State() == breakerref.Closed {
		_ = b.made.Library.Transition(b.clock(), breakerref.Open) // It may, from CLOSED.
		b.note()
	}
}

// ignore ends a call that was let through and was not made.
func (b *breaker) ignore(p permit) {
	if !p.Stray {
		b.made.Ignore(b.clock(), p.Permit)
		b.note()
	}
}

// note notes a change of state, and empties the machine's list of events.
func (b *breaker) note() {
	if b.made.Library != nil {
		b.made.Library.Events()
	}
	to := b.made.State()
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
