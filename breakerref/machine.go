package breakerref

import (
	"fmt"
	"slices"
	"time"
)

// Machine is a circuit breaker. It is not safe for concurrent use. Make one with
// New.
type Machine struct {
	cfg    Config
	judge  Predicates
	now    time.Time // the instant being handled
	cur    stay
	opened uint64  // how often a wait was drawn
	stale  []timer // of stays that Reset left, in the order they were set
	events []Event
}

// A stay is one visit to a state. Every transition begins a new one, also that of
// a state to itself.
type stay struct {
	state    State
	attempts int       // openings in a row, this one included
	tally    *tally    // of OPEN: that of the stay before it
	until    time.Time // OPEN: calls are refused up to and including this instant
	permits  int       // HALF_OPEN: probes that may still begin
	timer    timer     // ends the stay

	dead bool // CLOSED under Strict: it can neither be left by an outcome nor permits calls

	// METRICS_ONLY tells of each rate once.
	toldFailure, toldSlow bool
}

// A timer moves the breaker to a state at an instant. The zero value never fires.
type timer struct {
	due time.Time
	to  State
}

func (t timer) set() bool { return !t.due.IsZero() }

// New returns a breaker in its initial state at now. It fails if the
// configuration is not valid, with all that is wrong with it.
func New(cfg Config, now time.Time) (*Machine, error) {
	return NewWith(cfg, Predicates{}, now)
}

// NewWith is New with predicates, which OnError and OnResult ask.
func NewWith(cfg Config, judge Predicates, now time.Time) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("circuit breaker %q is misconfigured:\n%w", cfg.Name, err)
	}
	m := &Machine{cfg: cfg, judge: judge, now: wall(now)}
	m.cur = m.stay(Closed, 0)
	if cfg.Initial != Closed {
		m.cur = m.stay(cfg.Initial, 1)
	}
	return m, nil
}

// Acquire says whether a call may start at now. If it may, the caller owes the
// machine one Record, Ignore, Release, OnError or OnResult.
func (m *Machine) Acquire(now time.Time) bool {
	if m.cur.state == Closed && !m.cur.dead && len(m.stale) == 0 {
		return true // Most calls by far; nothing that time does could matter to them.
	}
	m.Advance(now)
	if m.cur.state == Open && m.now.After(m.cur.until) {
		m.move(HalfOpen)
	}
	if m.permit() {
		return true
	}
	if m.cur.state != Closed { // One that is dead does not count.
		m.cur.tally.notPermitted++
	}
	m.emit(Event{Kind: EventNotPermitted})
	return false
}

// permit asks the current state and takes one of HALF_OPEN's permits.
func (m *Machine) permit() bool {
	switch m.cur.state {
	case Closed:
		return !m.cur.dead
	case Disabled, MetricsOnly:
		return true
	case HalfOpen:
		if m.cur.permits > 0 {
			m.cur.permits--
			return true
		}
	case Open, ForcedOpen:
	}
	return false
}

// Record takes the outcome of a permitted call that ended at now after it had
// taken d, and does what follows from it. It counts for the current state, also
// if another one admitted the call.
func (m *Machine) Record(now time.Time, failed bool, d time.Duration) {
	m.Advance(now)
	if !m.cfg.TransitionsOnly {
		kind := EventSuccess
		if failed {
			kind = EventFailure
		}
		m.emit(Event{Kind: kind})
	}
	if m.cur.state == Open && m.cur.tally.window == nil {
		m.crash("ArithmeticException")
	}
	c, rated := m.cur.tally.record(m.now, outcome{failed: failed, slow: d > m.cfg.SlowDuration})
	if rated {
		m.decide(rate(c.failed, c.calls) >= m.cfg.FailureRate, rate(c.slow, c.calls) >= m.cfg.SlowRate)
	}
}

// decide acts on the rates after an outcome, given which ones reach their
// threshold.
func (m *Machine) decide(failure, slow bool) {
	switch m.cur.state {
	case Closed:
		if !m.cur.dead && (failure || slow) {
			m.tell(failure, slow)
			m.move(Open)
		}
	case HalfOpen:
		if failure || slow {
			m.move(Open)
		} else {
			m.move(Closed)
		}
	case MetricsOnly:
		m.tell(failure && !m.cur.toldFailure, slow && !m.cur.toldSlow)
		m.cur.toldFailure = m.cur.toldFailure || failure
		m.cur.toldSlow = m.cur.toldSlow || slow
	case Open, Disabled, ForcedOpen:
		// OPEN records late outcomes but has decided already.
	}
}

// tell publishes that rates have reached their threshold. Each rate is read anew,
// as the library does: under a clock that has stepped back, reading slides the
// window.
func (m *Machine) tell(failure, slow bool) {
	if failure {
		m.emit(Event{Kind: EventFailureRate, Rate: m.cur.tally.read(m.now).FailureRate})
	}
	if slow {
		m.emit(Event{Kind: EventSlowRate, Rate: m.cur.tally.read(m.now).SlowRate})
	}
}

// Release gives a permission back without an outcome, as for a call that was
// cancelled. In HALF_OPEN another call may then start.
func (m *Machine) Release(now time.Time) {
	m.Advance(now)
	m.release()
}

// Ignore ends a permitted call with an error that does not count. It is a Release
// that publishes IGNORED_ERROR.
func (m *Machine) Ignore(now time.Time) {
	m.Advance(now)
	m.release()
	m.emit(Event{Kind: EventIgnored})
}

// release has no upper bound, because the library has none: a call admitted in
// CLOSED that is released in HALF_OPEN makes room for one probe more.
func (m *Machine) release() {
	if m.cur.state == HalfOpen {
		m.cur.permits++
	}
}

// State returns the state as of the last instant the machine was told of. Only
// with AutoHalfOpen or HalfOpenMaxWait does time alone change it: call Advance
// first.
func (m *Machine) State() State { return m.cur.state }

// OpenUntil returns until when calls are refused, that instant included: a call
// after it turns the breaker half-open. It is zero unless the breaker is OPEN.
func (m *Machine) OpenUntil() time.Time { return m.cur.until }

// Metrics returns what the breaker shows at now. Reading lets a time based window
// slide.
func (m *Machine) Metrics(now time.Time) Metrics {
	m.Advance(now)
	return m.cur.tally.read(m.now)
}

// Events returns what was published since the last call of Events, oldest first.
// DISABLED and FORCED_OPEN publish nothing but transitions and resets. The slice
// belongs to the caller.
func (m *Machine) Events() []Event {
	events := m.events
	m.events = nil
	return events
}

// AppendEvents is Events without memory of its own: it appends to a slice of the
// caller's and returns it.
func (m *Machine) AppendEvents(to []Event) []Event {
	to = append(to, m.events...)
	m.events = m.events[:0]
	return to
}

// Clone returns a copy that shares nothing with the machine; it has the events
// that were not taken yet.
func (m *Machine) Clone() *Machine {
	c := *m
	c.cur.tally = m.cur.tally.clone()
	c.stale = slices.Clone(m.stale)
	c.events = slices.Clone(m.events)
	return &c
}

// emit publishes an event at the current instant, if the current state does.
func (m *Machine) emit(e Event) {
	silent := m.cfg.TransitionsOnly || m.cur.state == Disabled || m.cur.state == ForcedOpen
	if silent && e.Kind != EventTransition && e.Kind != EventReset {
		return
	}
	e.At = m.now
	m.events = append(m.events, e)
}

// wall drops a monotonic reading: the library compares instants of the wall
// clock, and a mixture would wait by one clock and slide by another.
func wall(t time.Time) time.Time { return t.Round(0) }
