package proxy

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// decider is the machine that decides, Resilience4j's or a model of another breaker.
type decider interface {
	// acquire asks for a call. A permitted one has a token of its own, one that has to
	// wait the token of the call to wait for.
	acquire(now time.Time) (model.Token, model.Answer)
	// record, ignore and release end a permitted call. masked says that the breaker
	// answers the call with its own refusal although it was made.
	record(now time.Time, t model.Token, failed bool, took time.Duration) (masked bool)
	ignore(now time.Time, t model.Token)
	release(now time.Time, t model.Token)
	// closes has it close, and forget.
	closes(now time.Time)
	// state is the one as of the last instant that it was told of.
	state() breakerref.State
	// pass lets time pass.
	pass(now time.Time)
}

// library is Resilience4j's.
type library struct{ *breakerref.Machine }

func (l library) acquire(now time.Time) (model.Token, model.Answer) {
	if l.Acquire(now) {
		return model.Token{}, model.Admitted
	}
	return model.Token{}, model.Rejected
}

func (l library) record(now time.Time, _ model.Token, failed bool, took time.Duration) bool {
	l.Record(now, failed, took)
	return false
}

func (l library) ignore(now time.Time, _ model.Token)  { l.Ignore(now) }
func (l library) release(now time.Time, _ model.Token) { l.Release(now) }
func (l library) closes(now time.Time)                 { l.Reset(now) }
func (l library) state() breakerref.State              { return l.State() }
func (l library) pass(now time.Time)                   { l.Advance(now) }

// other is a model of another breaker.
type other struct {
	*model.Machine
	cfg model.Config
}

func (o *other) acquire(now time.Time) (model.Token, model.Answer) { return o.Acquire(now) }

func (o *other) record(now time.Time, t model.Token, failed bool, took time.Duration) bool {
	outcome := model.Success
	if failed {
		outcome = model.Failure
	}
	return o.Record(now, t, outcome, took)
}

func (o *other) ignore(now time.Time, t model.Token)  { o.Record(now, t, model.Ignore, 0) }
func (o *other) release(now time.Time, t model.Token) { o.Record(now, t, model.Ignore, 0) }
func (o *other) state() breakerref.State              { return o.State() }
func (o *other) pass(now time.Time)                   { o.Advance(now) }

// closes begins with a new machine: the models know no hand that closes them.
func (o *other) closes(now time.Time) {
	if fresh, err := model.New(o.cfg, now); err == nil { // It was valid the first time.
		o.Machine = fresh
	}
}
