package model

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Advance lets time pass: every timer due up to and including now fires, in order
// and at its own instant. All other methods that take now do this first.
func (m *Machine) Advance(now time.Time) {
	now = m.clock(now)
	for {
		due, ofNews, ok := m.next()
		if !ok || due.After(now) {
			break
		}
		if due.After(m.now) { // A timer set for the past fires at once.
			m.now = due
		}
		if ofNews {
			m.heed()
		} else {
			m.fire()
		}
	}
	m.now = now
	m.shown.settle(now)
}

// NextTimer returns when time alone will next change the machine. It is not ok if
// that will not happen before another call or outcome.
func (m *Machine) NextTimer() (time.Time, bool) {
	due, _, ok := m.next()
	return due, ok
}

// next returns the next timer, and whether it is that of the balancer.
func (m *Machine) next() (due time.Time, ofNews, ok bool) {
	due, ok = m.stateTimer()
	if at := m.news.due; !at.IsZero() && (!ok || at.Before(due)) {
		return at, true, true
	}
	return due, false, ok
}

// stateTimer returns when time alone will next change the breaker itself.
func (m *Machine) stateTimer() (time.Time, bool) {
	switch m.state {
	case breakerref.Closed:
		if w, ok := m.shown.(*buckets); ok && m.cfg.Trip.Judged == OnTick {
			return w.edge()
		}
		if m.cfg.Open.Decay && m.attempts > 0 || m.cfg.Clear.OnCheck && m.shown.counts() != (Counts{}) {
			return m.tickAfter(m.now), true
		}
	case breakerref.Open:
		switch m.cfg.Open.Exit {
		case ExitTimer:
			return m.since.Add(m.wait()), true
		case ExitTick:
			return m.tickAfter(m.since.Add(m.wait() - 1)), true
		case ExitChecks:
			return m.tickAfter(m.now), true
		case ExitCall:
		}
	default: // HALF_OPEN has no timer.
	}
	return time.Time{}, false
}

// tickAfter returns the first tick after an instant.
func (m *Machine) tickAfter(t time.Time) time.Time {
	n := t.Sub(m.anchor) / m.cfg.Open.Interval
	return m.anchor.Add((n + 1) * m.cfg.Open.Interval)
}

// fire does what the timer that is due does.
func (m *Machine) fire() {
	m.shown.settle(m.now)
	switch {
	case m.state == breakerref.Closed && m.cfg.Trip.Judged == OnTick:
		m.asked()
	case m.cfg.Open.Exit == ExitChecks:
		m.check()
	case m.state == breakerref.Closed:
		m.attempts-- // A tick in CLOSED.
	default:
		m.end()
	}
}

// check does what an active check does that succeeds.
func (m *Machine) check() {
	if m.cfg.Clear.OnCheck {
		m.shown.clear(m.now)
	}
	if m.state == breakerref.Open {
		if m.checks++; m.checks >= m.cfg.Open.Rise {
			m.end()
		}
	}
}

// lapse ends OPEN if a call, or what else does so, comes after the wait.
func (m *Machine) lapse() {
	if m.state == breakerref.Open && m.cfg.Open.Exit == ExitCall &&
		m.cfg.HalfOpen.Admit != OnePerWait && m.waited() {
		m.end()
	}
}

// end leaves OPEN, the wait being over.
func (m *Machine) end() {
	if m.cfg.HalfOpen.Admit == AdmitAll {
		m.close(m.cfg.Clear.OnClose != Keep)
		return
	}
	m.halfOpen()
}

// waited says whether the wait is over.
func (m *Machine) waited() bool {
	since := m.since
	if w, ok := m.shown.(*gap); ok {
		since = w.checked
	}
	elapsed := m.now.Sub(since)
	if m.cfg.Open.After {
		return elapsed > m.wait()
	}
	return elapsed >= m.wait()
}

// touch tells the window of CLOSED that a call asks or an outcome comes. What was
// admitted before a period ended is late after it.
func (m *Machine) touch() {
	if m.state == breakerref.Closed && m.shown.touch(m.now) {
		m.stay++
	}
}
