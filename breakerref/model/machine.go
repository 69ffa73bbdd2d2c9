package model

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Outcome is how a call ended.
type Outcome int

// The outcomes of a call.
const (
	Success Outcome = iota + 1
	Failure
	Ignore // an error that does not count, or a call that was cancelled
)

// Answer is what a call is told. The zero value is Rejected.
type Answer int

// The answers to a call.
const (
	Rejected Answer = iota
	Admitted        // the caller owes the machine one Record
	Waits           // ask again once the call of the returned token has been recorded
)

// Token is an admitted call. It is a value: two tokens of one machine are equal if
// they are the same call. The zero value is no call.
type Token struct {
	id     uint64
	stay   uint64 // the stay that admitted the call
	state  breakerref.State
	bucket int64
}

// Machine is a circuit breaker. It is not safe for concurrent use: wrap it in a
// lock. Make one with New.
type Machine struct {
	cfg    Config
	anchor time.Time // when ticks began to be counted
	now    time.Time // the instant being handled

	state breakerref.State
	stay  uint64 // grows when late outcomes are to be told from others
	calls uint64 // admitted so far

	// shown is the window of the current state. In HALF_OPEN probes is the window
	// that decides, and the same one unless the scope is Shared.
	shown, probes window
	permits       int   // HALF_OPEN: probes that may still begin
	running       Token // the call that others wait for

	since    time.Time // OPEN: from when the wait is measured
	attempts int       // openings that the wait remembers
	checks   int       // OPEN: active checks that have succeeded

	news news // of Hosts.Merge
}

// New returns a closed breaker at now. It fails if the configuration is not valid,
// with all that is wrong with it.
func New(cfg Config, now time.Time) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("circuit breaker %q is misconfigured:\n%w", cfg.Name, err)
	}
	m := &Machine{cfg: cfg, state: breakerref.Closed, stay: 1}
	m.now = m.clock(now)
	m.anchor = m.now
	m.shown = newWindow(cfg, m.now)
	return m, nil
}

// clock drops a monotonic reading, so that all instants are compared by one clock,
// and what is finer than the modelled clock.
func (m *Machine) clock(t time.Time) time.Time {
	t = t.Round(0)
	if m.cfg.Clock > 0 {
		return t.Truncate(m.cfg.Clock)
	}
	return t
}

// Acquire says whether a call may start at now. The token is that of the call if
// it is admitted, and that of the call to wait for if it has to wait; a caller who
// waits has left nothing behind and asks anew.
func (m *Machine) Acquire(now time.Time) (Token, Answer) {
	m.Advance(now)
	if m.cfg.Serial && m.running != (Token{}) {
		return m.running, Waits
	}
	m.lapse()
	m.touch()
	if m.cfg.Trip.Judged == OnAcquire {
		m.asked()
	}
	switch m.permit() {
	case Waits:
		return m.running, Waits
	case Admitted:
		return m.admit(), Admitted
	case Rejected:
	}
	if m.cfg.Count.Rejected {
		m.shown.start(m.now)
	}
	return Token{}, Rejected
}

// asked asks the trip rule, not because of an outcome.
func (m *Machine) asked() {
	if m.state == breakerref.Closed && m.trips() {
		m.trip()
	}
}

// permit asks the current state and takes what it gives.
func (m *Machine) permit() Answer {
	if m.cfg.Hosts.Merge > 0 {
		return m.permitByNews()
	}
	switch m.state {
	case breakerref.Closed:
		return Admitted
	case breakerref.HalfOpen:
		return m.permitProbe()
	default: // OPEN.
	}
	if m.cfg.HalfOpen.Admit == OnePerWait && m.waited() {
		m.since = m.now
		return Admitted
	}
	if m.panics() {
		return Admitted
	}
	return Rejected
}

func (m *Machine) permitProbe() Answer {
	switch m.cfg.HalfOpen.Admit {
	case Unlimited:
		return Admitted
	case WaitForProbe:
		if m.running != (Token{}) {
			return Waits
		}
		return Admitted
	default: // Total and Concurrent.
	}
	if m.permits > 0 {
		m.permits--
		return Admitted
	}
	return Rejected
}

// admit makes the token of a call that starts.
func (m *Machine) admit() Token {
	m.calls++
	t := Token{id: m.calls, stay: m.stay, state: m.state, bucket: m.shown.start(m.now)}
	if m.cfg.Serial || (m.state == breakerref.HalfOpen && m.cfg.HalfOpen.Admit == WaitForProbe) {
		m.running = t
	}
	return t
}

// Record takes the outcome of an admitted call that ended at now after it had
// taken d, and does what follows from it. It has to be called once for each token:
// a second time counts twice, and never may block the breaker for good, as it does
// in the libraries. masked tells that the call is answered with the breaker's own
// error although it was made.
func (m *Machine) Record(now time.Time, t Token, o Outcome, d time.Duration) (masked bool) {
	m.Advance(now)
	m.touch()
	if m.running == t {
		m.running = Token{}
	}
	o = m.classify(o, d)
	before := m.state
	switch {
	case m.cfg.Late == LateDropped && t.stay != m.stay:
	case m.cfg.Late == LateByOrigin:
		m.recordByOrigin(t, o)
	case o == Ignore:
		m.recordIgnored(t)
	case m.state == breakerref.HalfOpen:
		m.recordProbe(t, o)
	case m.state == breakerref.Open:
		m.recordOpen(t, o)
	default:
		m.shown.record(m.now, o, t.bucket)
		m.judge(o)
	}
	return m.cfg.Trip.Masked && before != breakerref.Open && m.state == breakerref.Open
}

// classify says what an outcome counts as.
func (m *Machine) classify(o Outcome, d time.Duration) Outcome {
	switch {
	case m.cfg.Count.Timeout > 0 && d >= m.cfg.Count.Timeout:
		return Failure
	case o == Ignore && m.cfg.Count.Ignored == IgnoredSuccess:
		return Success
	}
	return o
}

// State returns the state as of the last instant that the machine was told of. A
// breaker that lets single calls pass after each wait (OnePerWait) is OPEN until
// one of them succeeds; one of hosts is OPEN while its host is out.
func (m *Machine) State() breakerref.State { return m.state }

// Look returns the state at now as the library itself tells it: with Open.OnLook
// looking ends a wait that is over, with Trip.OnLook it trips a breaker whose rule
// holds.
func (m *Machine) Look(now time.Time) breakerref.State {
	m.Advance(now)
	if m.cfg.Open.OnLook {
		m.lapse()
		m.touch()
	}
	if m.cfg.Trip.OnLook {
		m.asked()
	}
	return m.state
}

// Counts returns what the window of the current state holds, as of the last
// instant that the machine was told of. That of OPEN is what was left there, unless
// Clear.OnTrip is set.
func (m *Machine) Counts() Counts { return m.shown.counts() }

// Clone returns a copy that shares nothing with the machine. Tokens of one serve
// the other.
func (m *Machine) Clone() *Machine {
	c := *m
	c.shown = m.shown.clone()
	switch {
	case m.probes == m.shown:
		c.probes = c.shown
	case m.probes != nil:
		c.probes = m.probes.clone()
	}
	return &c
}
