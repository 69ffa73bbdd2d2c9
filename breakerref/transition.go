package breakerref

import (
	"fmt"
	"slices"
	"time"
)

// Transition moves the breaker by hand. It fails, and changes nothing, from
// CLOSED to HALF_OPEN and from METRICS_ONLY to OPEN or HALF_OPEN.
func (m *Machine) Transition(now time.Time, to State) error {
	m.Advance(now)
	if err := m.check(to); err != nil {
		return err
	}
	m.move(to)
	return nil
}

// OpenFor opens the breaker by hand for a wait of its own, in whole milliseconds.
// It does not count as one more opening in a row. It fails, and changes nothing,
// in METRICS_ONLY.
func (m *Machine) OpenFor(now time.Time, wait time.Duration) error {
	m.Advance(now)
	if err := m.check(Open); err != nil {
		return err
	}
	m.enter(m.openStay(m.cur.attempts, wait.Truncate(time.Millisecond)))
	return nil
}

// OpenTill is OpenFor with the last instant at which calls are refused. Its timer, with
// AutoHalfOpen, comes after whole milliseconds.
func (m *Machine) OpenTill(now, until time.Time) error {
	m.Advance(now)
	if err := m.check(Open); err != nil {
		return err
	}
	next := m.openStay(m.cur.attempts, wall(until).Sub(m.now).Truncate(time.Millisecond))
	next.until = wall(until)
	m.enter(next)
	return nil
}

// Reset closes the breaker by hand and empties its window. The timer of the state
// it leaves is not stopped.
func (m *Machine) Reset(now time.Time) {
	m.Advance(now)
	if m.cur.timer.set() {
		m.stale = append(m.stale, m.cur.timer)
	}
	m.move(Closed)
	m.emit(Event{Kind: EventReset})
}

// Advance lets time pass: every timer due up to and including now fires, in order
// and at its own instant. All other methods that take now do this first. With both
// AutoHalfOpen and HalfOpenMaxWait an idle breaker alternates for ever, and Advance
// takes every step of it.
func (m *Machine) Advance(now time.Time) {
	for m.cur.timer.set() || len(m.stale) > 0 {
		t, ok := m.takeTimer(now)
		if !ok {
			break
		}
		if t.due.After(m.now) { // A timer set for the past fires at once.
			m.now = t.due
		}
		if legal(m.cur.state, t.to) { // A stale timer may find a state it cannot leave.
			m.move(t.to)
		}
	}
	m.now = wall(now)
}

// NextTimer returns the instant of the earliest timer, if there is one: without a call
// in between, Advance changes nothing before it.
func (m *Machine) NextTimer() (due time.Time, ok bool) {
	t, _ := m.firstTimer()
	return t.due, t.set()
}

// takeTimer removes and returns the earliest timer due at now; of two at the same
// instant, the one that was set first.
func (m *Machine) takeTimer(now time.Time) (timer, bool) {
	first, at := m.firstTimer()
	switch {
	case !first.set() || first.due.After(now):
		return timer{}, false
	case at < 0:
		m.cur.timer = timer{}
	default:
		m.stale = slices.Delete(m.stale, at, at+1)
	}
	return first, true
}

// firstTimer returns the earliest timer and where it is among the stale ones, -1 for
// that of the current stay. It is not set if there is none.
func (m *Machine) firstTimer() (first timer, at int) {
	first, at = m.cur.timer, -1
	for i, t := range slices.Backward(m.stale) {
		if !first.set() || !t.due.After(first.due) {
			first, at = t, i
		}
	}
	return first, at
}

func (m *Machine) check(to State) error {
	if legal(m.cur.state, to) {
		return nil
	}
	return fmt.Errorf("circuit breaker %q: there is no transition from %v to %v", m.cfg.Name, m.cur.state, to)
}

// move goes to a state in the ordinary way: opening counts as one more attempt.
func (m *Machine) move(to State) {
	attempts := m.cur.attempts
	if to == Open || to == ForcedOpen {
		attempts++
	}
	m.enter(m.stay(to, attempts))
}

// enter replaces the current stay, and its timer with it.
func (m *Machine) enter(next stay) {
	from := m.cur.state
	m.cur = next
	if from != next.state {
		m.emit(Event{Kind: EventTransition, From: from, To: next.state})
	}
}

// stay returns a new stay in a state, beginning at the current instant.
func (m *Machine) stay(state State, attempts int) stay {
	s := stay{state: state}
	switch state {
	case Closed, MetricsOnly:
		s.tally = m.newTally()
	case Open:
		m.opened++
		return m.openStay(attempts, m.cfg.waitFor(attempts, m.opened))
	case HalfOpen:
		return m.halfOpenStay(attempts)
	case Disabled:
		s.tally = &tally{}
	case ForcedOpen:
		s.tally = &tally{}
		s.attempts = attempts
	}
	return s
}

func (m *Machine) openStay(attempts int, wait time.Duration) stay {
	s := stay{
		state:    Open,
		attempts: attempts,
		tally:    m.cur.tally,
		until:    m.now.Add(wait),
	}
	if m.cfg.AutoHalfOpen {
		s.timer = timer{due: s.until, to: HalfOpen}
	}
	return s
}

func (m *Machine) halfOpenStay(attempts int) stay {
	size := m.cfg.Permitted
	s := stay{
		state:    HalfOpen,
		attempts: attempts,
		tally:    &tally{window: m.newCallWindow(size), minimum: m.cfg.minimum(size)},
		permits:  size,
	}
	if wait := m.cfg.HalfOpenMaxWait.Truncate(time.Millisecond); wait > 0 {
		s.timer = timer{due: m.now.Add(wait), to: Open}
		if m.cfg.HalfOpenMaxWaitCloses {
			s.timer.to = Closed
		}
	}
	return s
}

// newTally returns the empty window of CLOSED and METRICS_ONLY.
func (m *Machine) newTally() *tally {
	size := m.cfg.Window
	switch {
	case m.cfg.WindowType == CountBased:
		return &tally{window: m.newCallWindow(size), minimum: m.cfg.minimum(size)}
	case m.cfg.LockFree:
		return &tally{window: newSliceWindow(size, m.now, m.fragile(size)), minimum: m.cfg.MinimumCalls}
	}
	return &tally{window: newTimeWindow(size, m.now), minimum: m.cfg.MinimumCalls}
}

func (m *Machine) newCallWindow(size int) *callWindow {
	return &callWindow{size: size, fragile: m.fragile(size)}
}

// fragile reports whether the library's window of a size breaks down in use.
func (m *Machine) fragile(size int) bool { return m.cfg.Strict && m.cfg.LockFree && size == 1 }
