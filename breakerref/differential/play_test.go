package differential_test

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// breaker is what a case is played on: a breakerref.Machine, or one with a defect.
type breaker interface {
	Acquire(now time.Time) bool
	Record(now time.Time, failed bool, d time.Duration)
	OnError(now time.Time, err error, d time.Duration)
	OnResult(now time.Time, value any, d time.Duration)
	Release(now time.Time)
	Transition(now time.Time, to breakerref.State) error
	OpenFor(now time.Time, wait time.Duration) error
	OpenTill(now, until time.Time) error
	Reset(now time.Time)
	Advance(now time.Time)
	State() breakerref.State
	NextTimer() (due time.Time, ok bool)
	Metrics(now time.Time) breakerref.Metrics
	AppendEvents(to []breakerref.Event) []breakerref.Event
}

// maker makes a breaker, in strict compatibility with the library.
type maker func(cfg breakerref.Config, judge breakerref.Predicates, now time.Time) (breaker, error)

// machine makes the machine under test.
func machine(cfg breakerref.Config, judge breakerref.Predicates, now time.Time) (breaker, error) {
	return breakerref.NewWith(cfg, judge, now)
}

// player plays a case and answers in the words of the harness.
type player struct {
	b      breaker
	start  time.Time // of the operation
	now    time.Time
	thrown bool // the library threw what it should not
	events []breakerref.Event
	out    []byte
	seen   *coverage
}

// goesOn is what the library throws without harm to more than its state.
const goesOn = "IllegalArgumentException"

// play appends the answers to the operations of a case, a line each.
func play(out []byte, made maker, r run, seen *coverage) ([]byte, error) {
	p := &player{now: r.setting.begin(), out: out, seen: seen}
	cfg := r.setting.Config
	cfg.Strict = true
	b, err := made(cfg, p.judge(r.setting), p.now)
	if err != nil {
		return out, err
	}
	p.b = b
	seen.begin(r.setting)
	for _, o := range r.ops {
		if !p.answer(o) {
			break
		}
	}
	return p.out, nil
}

// callError is the error that a call ends in.
type callError struct {
	ending
	till time.Time
}

func (callError) Error() string { return "the call ends in an error" }

// value is what a call returns.
type value struct {
	ending
	till time.Time
}

// foreign is an error of the library's own. Nothing is configured for it.
type foreign struct{}

func (foreign) Error() string { return "the library throws" }

func (p *player) judge(s setting) breakerref.Predicates {
	var judge breakerref.Predicates
	of := func(class byte) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*callError](err)
			return ok && e.class == class
		}
	}
	if s.record != '-' {
		judge.Record = of('r')
	}
	if s.ignore != '-' {
		judge.Ignore = of('i')
	}
	if s.results {
		judge.RecordResult = func(v any) bool { return v.(*value).class == 'b' }
	}
	if s.verdicts {
		judge.Transition = verdict
	}
	return judge
}

func verdict(v any, err error) breakerref.Verdict {
	var e ending
	var till time.Time
	if v, ok := v.(*value); ok {
		e, till = v.ending, v.till
	}
	if err, ok := errors.AsType[*callError](err); ok {
		e, till = err.ending, err.till
	}
	switch e.verdict {
	case 'o':
		return breakerref.Verdict{Open: true}
	case 'f':
		return breakerref.Verdict{Open: true, For: e.wait}
	case 'u':
		return breakerref.Verdict{Open: true, Till: till}
	}
	return breakerref.Verdict{}
}

// answer does an operation and says what can be seen then. It returns false if
// nothing can follow.
func (p *player) answer(o op) (more bool) {
	p.start = p.now
	result, crash := p.attempt(o)
	more = crash == "" || crash == goesOn
	p.thrown = p.thrown || crash == goesOn
	p.b.Advance(p.now)
	state := p.b.State()
	p.thrown = p.thrown && state == breakerref.Closed // Another state does not have it.
	p.out = append(p.out, result...)
	p.out = append(p.out, ' ', state.String()[0], ' ')
	if more {
		more = p.metrics()
	} else {
		p.out = append(p.out, '-')
	}
	p.timer()
	p.tell(o)
	p.seen.answer(o, result, state)
	return more
}

// attempt does an operation and returns its result, or what the library throws.
func (p *player) attempt(o op) (result, crash string) {
	defer func() {
		if crash = crashed(recover()); crash != "" {
			result = "!" + crash
		}
	}()
	return p.step(o), ""
}

// crashed returns what a strict machine panicked with, and panics with all else.
func crashed(panicked any) string {
	switch c := panicked.(type) {
	case nil:
		return ""
	case breakerref.Crash:
		return c.Exception
	}
	panic(panicked)
}

func (p *player) step(o op) string {
	switch o.kind {
	case tryAcquire, acquire:
		return permitted(p.b.Acquire(p.now))
	case success:
		p.b.Record(p.now, false, o.end.took)
	case failed, returned:
		p.end(o)
	case calls, callFails:
		return p.call(o)
	case release:
		p.b.Release(p.now)
	case advance:
		p.now = p.now.Add(o.wait)
		p.b.Advance(p.now)
	case transition:
		return illegal(p.b.Transition(p.now, o.to))
	case openFor:
		return illegal(p.b.OpenFor(p.now, o.wait))
	case openTill:
		return illegal(p.b.OpenTill(p.now, p.now.Add(o.wait)))
	case reset:
		p.b.Reset(p.now)
	}
	return "-"
}

// end ends a call.
func (p *player) end(o op) {
	till := p.now.Add(o.end.wait)
	switch {
	case o.kind == failed || o.kind == callFails:
		var err error
		if o.end.class != 'n' {
			err = &callError{ending: o.end, till: till}
		}
		p.b.OnError(p.now, err, o.end.took)
	case o.end.class == 'n':
		p.b.OnResult(p.now, nil, o.end.took)
	default:
		p.b.OnResult(p.now, &value{ending: o.end, till: till}, o.end.took)
	}
}

// call is a call in the library's hands. After the state in which the permission that
// throws differs from the other, it only asks for the latter.
func (p *player) call(o op) string {
	allowed := p.b.Acquire(p.now)
	if !allowed || p.thrown {
		return permitted(allowed)
	}
	p.now = p.now.Add(o.end.took)
	defer func() {
		// The library takes what it throws itself when it is given a value for what the
		// call has thrown.
		if c := recover(); c != nil {
			if _, ok := c.(breakerref.Crash); ok && o.kind == calls {
				p.b.OnError(p.now, foreign{}, o.end.took)
			}
			panic(c)
		}
	}()
	p.end(o)
	return "t"
}

func permitted(ok bool) string {
	if ok {
		return "t"
	}
	return "f"
}

func illegal(err error) string {
	if err != nil {
		return "!IllegalStateTransitionException"
	}
	return "-"
}

// metrics appends the numbers, each read on its own, because reading may let the
// window slide. It returns false if reading crashes.
func (p *player) metrics() (ok bool) {
	from := len(p.out)
	defer func() {
		if crash := crashed(recover()); crash != "" {
			p.out = append(append(p.out[:from], '!'), crash...)
			ok = false
		}
	}()
	p.out = bits(p.out, p.b.Metrics(p.now).FailureRate)
	p.out = bits(append(p.out, ' '), p.b.Metrics(p.now).SlowRate)
	p.out = number(p.out, int64(p.b.Metrics(p.now).Buffered), int64(p.b.Metrics(p.now).Failed))
	p.out = number(p.out, int64(p.b.Metrics(p.now).Slow))
	last := p.b.Metrics(p.now)
	p.out = number(p.out, int64(last.SlowFailed), int64(last.NotPermitted))
	return true
}

func bits(out []byte, f float32) []byte {
	return strconv.AppendUint(out, uint64(math.Float32bits(f)), 16)
}

// timer appends the distance of the next timer.
func (p *player) timer() {
	const far = 36_500 * 24 * time.Hour
	due, ok := p.b.NextTimer()
	switch {
	case !ok:
		p.out = append(p.out, " -"...)
	case due.Sub(p.now) > far:
		p.out = append(p.out, " far"...)
	default:
		p.out = number(p.out, int64(due.Sub(p.now)))
	}
}

// tell appends the events.
func (p *player) tell(o op) {
	p.out = append(p.out, ' ')
	p.events = p.b.AppendEvents(p.events[:0])
	for i, e := range p.events {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, letter(e.Kind))
		switch e.Kind {
		case breakerref.EventTransition:
			p.out = append(p.out, e.From.String()[0], e.To.String()[0])
		case breakerref.EventFailureRate, breakerref.EventSlowRate:
			p.out = bits(p.out, e.Rate)
		default:
		}
		if away := e.At.Sub(p.start); away != 0 {
			p.out = strconv.AppendInt(append(p.out, '@'), int64(away), 10)
		}
		p.seen.event(o, e)
	}
	p.out = append(p.out, '\n')
}

// letter is the first one of an event's name, but for SLOW_CALL_RATE_EXCEEDED and
// STATE_TRANSITION.
func letter(k breakerref.EventKind) byte {
	switch k {
	case breakerref.EventSlowRate:
		return 'L'
	case breakerref.EventTransition:
		return 'T'
	default:
		return k.String()[0]
	}
}
