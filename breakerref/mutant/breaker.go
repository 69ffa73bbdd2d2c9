package mutant

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// Breaker is what decides, right or wrong: Resilience4j's machine, or a model of another
// breaker. It is not safe for concurrent use: wrap it in a lock.
type Breaker interface {
	// Acquire asks for a call. Who is admitted owes one Record, Ignore or Release. Who has
	// to wait asks anew once the call of the permit's token is over.
	Acquire(now time.Time) (Permit, model.Answer)
	// Record, Ignore and Release end an admitted call. masked says that the breaker answers
	// the call with its own refusal although it was made.
	Record(now time.Time, p Permit, o Outcome) (masked bool)
	Ignore(now time.Time, p Permit)
	Release(now time.Time, p Permit)
	// Close has it close, and forget.
	Close(now time.Time)
	// State is the one as of the last instant that it was told of.
	State() breakerref.State
	// Told is what it says that its state is, which a defect may make a lie.
	Told() breakerref.State
	// Advance lets time pass.
	Advance(now time.Time)
}

// Permit is what a breaker said to a call.
type Permit struct {
	Token model.Token      // of the call, or of the one to wait for; zero for Resilience4j, which does not tell calls apart
	State breakerref.State // that decided
	Stray bool             // let through by a defect: the machine does not know of the call
	twin  int              // which of several breakers decided
}

// Outcome is how an admitted call ended.
type Outcome struct {
	Failed    bool
	Took      time.Duration
	Abandoned bool // the caller gave up
}

// Made is a breaker with the machine in it, for those who read its numbers: one of the two is
// nil. Of twins it is the first one's.
type Made struct {
	Breaker

	Library *breakerref.Machine
	Other   *model.Machine
}

// Build makes a breaker with the defect; the zero Mutant makes a right one. It is
// Resilience4j's with a configuration, or, where other is not nil, that model. The error says
// what is wrong with the numbers.
func (m Mutant) Build(cfg breakerref.Config, other *model.Config, now time.Time) (Made, error) {
	if m.Breaker.Twins == 0 {
		return m.single(cfg, other, now)
	}
	var all twins
	var first Made
	for i := range m.Breaker.Twins {
		made, err := m.single(cfg, other, now)
		if err != nil {
			return Made{}, err
		}
		if i == 0 {
			first = made
		}
		all.breakers = append(all.breakers, made.Breaker)
	}
	first.Breaker = &all
	return first, nil
}

// single is Build for one breaker.
func (m Mutant) single(cfg breakerref.Config, other *model.Config, now time.Time) (Made, error) {
	var made Made
	declared := cfg
	if other != nil {
		changed := *other
		if m.Breaker.Model != nil {
			m.Breaker.Model(&changed)
		}
		machine, err := model.New(changed, now)
		if err != nil {
			return Made{}, fmt.Errorf("build the breaker of %s: %w", m.who(), err)
		}
		made.Other, made.Breaker = machine, &another{Machine: machine, cfg: changed}
	} else {
		if m.Breaker.Config != nil {
			m.Breaker.Config(&cfg)
		}
		machine, err := breakerref.New(cfg, now)
		if err != nil {
			return Made{}, fmt.Errorf("build the breaker of %s: %w", m.who(), err)
		}
		made.Library, made.Breaker = machine, library{machine}
	}
	if m.Breaker.wrong != nil {
		w := &wrong{Breaker: made.Breaker, library: made.Library, cfg: declared, state: made.State()}
		m.Breaker.wrong(w)
		made.Breaker = w
	}
	return made, nil
}

// who names the mutant in an error.
func (m Mutant) who() string {
	if m.Name == "" {
		return "the right service"
	}
	return "the mutant " + m.Name
}

// library is Resilience4j's.
type library struct{ *breakerref.Machine }

// Acquire implements [Breaker].
func (l library) Acquire(now time.Time) (Permit, model.Answer) {
	answer := model.Rejected
	if l.Machine.Acquire(now) {
		answer = model.Admitted
	}
	return Permit{State: l.State()}, answer
}

// Record implements [Breaker].
func (l library) Record(now time.Time, _ Permit, o Outcome) bool {
	l.Machine.Record(now, o.Failed, o.Took)
	return false
}

// Ignore implements [Breaker].
func (l library) Ignore(now time.Time, _ Permit) { l.Machine.Ignore(now) }

// Release implements [Breaker].
func (l library) Release(now time.Time, _ Permit) { l.Machine.Release(now) }

// Close implements [Breaker].
func (l library) Close(now time.Time) { l.Reset(now) }

// Told implements [Breaker].
func (l library) Told() breakerref.State { return l.State() }

// another is a model of another breaker.
type another struct {
	*model.Machine
	cfg model.Config
}

// Acquire implements [Breaker].
func (a *another) Acquire(now time.Time) (Permit, model.Answer) {
	token, answer := a.Machine.Acquire(now)
	return Permit{Token: token, State: a.State()}, answer
}

// Record implements [Breaker].
func (a *another) Record(now time.Time, p Permit, o Outcome) bool {
	outcome := model.Success
	if o.Failed {
		outcome = model.Failure
	}
	return a.Machine.Record(now, p.Token, outcome, o.Took)
}

// Ignore implements [Breaker].
func (a *another) Ignore(now time.Time, p Permit) { a.Machine.Record(now, p.Token, model.Ignore, 0) }

// Release implements [Breaker].
func (a *another) Release(now time.Time, p Permit) { a.Ignore(now, p) }

// Told implements [Breaker].
func (a *another) Told() breakerref.State { return a.State() }

// Close begins with a new machine: the models know no hand that closes them. Whoever holds
// the machine has the new one, too.
func (a *another) Close(now time.Time) {
	if fresh, err := model.New(a.cfg, now); err == nil { // It was valid the first time.
		*a.Machine = *fresh
	}
}

// twins are several breakers that are asked in turn, where there is said to be one.
type twins struct {
	breakers []Breaker
	next     int
}

// Acquire implements [Breaker].
func (t *twins) Acquire(now time.Time) (Permit, model.Answer) {
	i := t.next
	t.next = (t.next + 1) % len(t.breakers)
	p, answer := t.breakers[i].Acquire(now)
	p.twin = i
	return p, answer
}

// Record implements [Breaker].
func (t *twins) Record(now time.Time, p Permit, o Outcome) bool {
	return t.breakers[p.twin].Record(now, p, o)
}

// Ignore implements [Breaker].
func (t *twins) Ignore(now time.Time, p Permit) { t.breakers[p.twin].Ignore(now, p) }

// Release implements [Breaker].
func (t *twins) Release(now time.Time, p Permit) { t.breakers[p.twin].Release(now, p) }

// Close implements [Breaker].
func (t *twins) Close(now time.Time) {
	for _, b := range t.breakers {
		b.Close(now)
	}
}

// State implements [Breaker].
func (t *twins) State() breakerref.State { return t.breakers[0].State() }

// Told implements [Breaker].
func (t *twins) Told() breakerref.State { return t.breakers[0].Told() }

// Advance implements [Breaker].
func (t *twins) Advance(now time.Time) {
	for _, b := range t.breakers {
		b.Advance(now)
	}
}
