package model

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// judge asks the trip rule after an outcome in CLOSED.
func (m *Machine) judge(o Outcome) {
	switch m.cfg.Trip.Judged {
	case OnAcquire, OnTick:
		return
	case OnFailure:
		if o != Failure {
			return
		}
	case OnRecord:
	}
	tripped := m.trips()
	if m.cfg.Window.Kind == CountTumbling && m.shown.counts().Calls >= m.cfg.Window.Size {
		m.shown.clear(m.now)
	}
	if tripped {
		m.trip()
	}
}

// trips says whether the trip rule holds.
func (m *Machine) trips() bool {
	c, t := m.shown.judged(), m.cfg.Trip
	if m.cfg.Window.Kind == CountTumbling && c.Calls < m.cfg.Window.Size {
		return false
	}
	switch t.Rule {
	case Consecutive:
		return c.ConsecutiveFailures >= t.Failures
	case Failures:
		return c.Calls >= t.Min && c.Failures >= t.Failures
	case Rate:
		return c.Calls >= t.Min && t.reached(c)
	}
	return false
}

// reached compares the failure rate with its threshold, in the order of floating
// point operations that the library has.
func (t Trip) reached(c Counts) bool {
	if c.Calls == 0 && c.Failures == 0 {
		return false // But a failure whose call has left the window is infinitely many percent.
	}
	f, n, limit := float64(c.Failures), float64(c.Calls), t.Rate
	switch t.Arithmetic {
	case Quotient:
		f /= n
	case Rounded:
		f = twoDecimals(f / n)
	case Product:
		limit *= n
	case Percent:
		f = f / n * 100
	}
	if t.Over {
		return f > limit
	}
	return f >= limit
}

func twoDecimals(v float64) float64 { return math.Round(v*100) / 100 }

// trip opens the breaker, unless its pool forbids that. The failures that led to it
// are forgotten all the same.
func (m *Machine) trip() {
	if !m.mayEject() {
		m.shown.clear(m.now)
		return
	}
	m.open()
}

// mayEject says whether the pool can do without the watched host.
func (m *Machine) mayEject() bool {
	h := m.cfg.Hosts
	switch {
	case h.Count == 0:
		return true
	case m.cfg.Window.Kind == Gap:
		return h.Count > 1 // A lone server is never disabled.
	}
	return h.AlwaysOne || 100/float64(h.Count) <= float64(h.MaxEjected)
}

// panics says whether so little of the pool is left that its state is ignored.
func (m *Machine) panics() bool {
	h := m.cfg.Hosts
	return h.Panic > 0 && 100*float64(h.Count-1)/float64(h.Count) < float64(h.Panic)
}

// recordProbe takes an outcome in HALF_OPEN.
func (m *Machine) recordProbe(t Token, o Outcome) {
	m.probes.record(m.now, o, 0)
	closes, reopens := m.cfg.HalfOpen.decide(m.probes.counts())
	if closes && m.clearsFirst() {
		m.shown.clear(m.now)
	}
	if m.shown != m.probes {
		m.shown.record(m.now, o, t.bucket)
	}
	switch {
	case closes:
		m.closeAfter()
	case reopens:
		m.open()
	case m.cfg.HalfOpen.Admit == Concurrent:
		m.permits++
	}
}

// decide says what follows from the outcomes of HALF_OPEN.
func (h HalfOpen) decide(c Counts) (closes, reopens bool) {
	if h.Rate == 0 {
		return c.Successes >= h.Successes, c.Failures >= h.Failures
	}
	if c.Calls < h.Min {
		return false, false
	}
	n := float64(c.Calls)
	return twoDecimals(float64(c.Successes)/n) > 1-h.Rate, twoDecimals(float64(c.Failures)/n) >= h.Rate
}

// recordOpen takes an outcome in OPEN, of a call that was admitted before it or
// singly in it.
func (m *Machine) recordOpen(t Token, o Outcome) {
	if m.cfg.Window.Scope == PerState && m.cfg.Clear.OnTrip {
		return
	}
	if m.cfg.HalfOpen.Admit == OnePerWait {
		m.recordSingle(t, o)
		return
	}
	m.shown.record(m.now, o, t.bucket)
	if m.cfg.Open.Exit == ExitChecks && o == Failure && m.trips() {
		m.checks = 0 // Marked down once more.
		m.shown.clear(m.now)
	}
}

// recordSingle takes an outcome in the OPEN that lets single calls pass.
func (m *Machine) recordSingle(t Token, o Outcome) {
	if w, ok := m.shown.(*gap); ok {
		w.record(m.now, o, 0)
		if w.fails == 0 {
			m.close(false)
		}
		return
	}
	if o == Success {
		if m.clearsFirst() {
			m.shown.clear(m.now)
		}
		m.shown.record(m.now, o, t.bucket)
		m.closeAfter()
		return
	}
	m.shown.record(m.now, o, t.bucket)
}

// recordIgnored takes an outcome that counts as nothing.
func (m *Machine) recordIgnored(t Token) {
	m.shown.record(m.now, Ignore, t.bucket)
	if m.state != breakerref.HalfOpen {
		return
	}
	switch m.cfg.HalfOpen.Ignored {
	case ProbeReleased:
		m.permits++
	case ProbeCloses:
		m.close(false)
	case ProbeReopens:
		m.open()
	case ProbeHangs:
	}
}

// recordByOrigin takes an outcome for the state that admitted its call, and does
// what follows from it to whatever state there is.
func (m *Machine) recordByOrigin(t Token, o Outcome) {
	switch probe := t.state == breakerref.HalfOpen; o {
	case Success:
		m.recordSuccessByOrigin(t, probe)
	case Failure:
		m.shown.record(m.now, o, t.bucket)
		if probe || m.trips() {
			m.openAnew()
		}
	default:
		if probe {
			m.ignoreByOrigin()
		}
	}
}

func (m *Machine) recordSuccessByOrigin(t Token, probe bool) {
	if probe && m.clearsFirst() {
		m.shown.clear(m.now)
	}
	m.shown.record(m.now, Success, t.bucket)
	if probe && m.state == breakerref.HalfOpen {
		m.closeAfter()
	}
}

func (m *Machine) ignoreByOrigin() {
	switch m.cfg.HalfOpen.Ignored {
	case ProbeReopens:
		m.openAnew()
	case ProbeCloses:
		if m.state == breakerref.HalfOpen {
			m.close(false)
		}
	case ProbeHangs, ProbeReleased:
	}
}

// openAnew opens, unless the breaker is open already.
func (m *Machine) openAnew() {
	if m.state != breakerref.Open {
		m.open()
	}
}

// open enters OPEN.
func (m *Machine) open() {
	m.state = breakerref.Open
	m.stay++
	m.since = m.now
	m.checks = 0
	m.remember()
	m.tell()
	if m.cfg.Clear.OnTrip {
		m.shown.clear(m.now)
	}
}

// remember counts one more opening. One that forgets only step by step stops where
// the wait cannot grow any more.
func (m *Machine) remember() {
	o := m.cfg.Open
	if o.Decay && o.MaxWait > 0 && !m.grows() {
		return
	}
	if m.attempts < math.MaxInt32 {
		m.attempts++
	}
}

// grows says whether the wait that is remembered lies below the limit plus one
// step.
func (m *Machine) grows() bool {
	o := m.cfg.Open
	return times(o.Wait, m.attempts) < plus(o.MaxWait, o.Wait)
}

// halfOpen enters HALF_OPEN.
func (m *Machine) halfOpen() {
	m.state = breakerref.HalfOpen
	m.stay++
	m.permits = m.cfg.HalfOpen.Permits
	m.running = Token{}
	m.probes = newProbeWindow(m.cfg)
	if m.cfg.Window.Scope == PerState {
		m.shown = m.probes
	}
}

// clearsFirst says whether the success that closes finds the window empty.
func (m *Machine) clearsFirst() bool {
	return m.cfg.Clear.OnClose == ClearBefore || m.cfg.Clear.OnClose == ClearApart
}

// closeAfter enters CLOSED after a success that has been recorded.
func (m *Machine) closeAfter() {
	m.close(m.cfg.Clear.OnClose == ClearAfter)
	w, ok := m.shown.(*buckets)
	if !ok || m.cfg.Clear.OnClose != ClearApart {
		return
	}
	w.cut(m.now)
	if m.cfg.Trip.Judged == OnTick {
		m.asked()
	}
}

// close enters CLOSED, with the shared window emptied or as it is.
func (m *Machine) close(emptied bool) {
	m.state = breakerref.Closed
	m.stay++
	m.probes = nil
	m.tell()
	if !m.cfg.Open.Decay {
		m.attempts = 0
	}
	switch {
	case m.cfg.Window.Scope == PerState:
		m.shown = newWindow(m.cfg, m.now)
	case emptied:
		m.shown.clear(m.now)
	}
}

// wait returns how long the current stay in OPEN lasts at least.
func (m *Machine) wait() time.Duration {
	o := m.cfg.Open
	d := o.Wait
	switch o.Growth {
	case Linear:
		d = times(d, m.attempts)
	case Exponential:
		d = scale(d, math.Pow(o.Factor, float64(m.attempts-1)))
	case Constant:
	}
	if o.MaxWait > 0 {
		d = min(d, o.MaxWait)
	}
	return d
}

// times, scale and plus stop at the longest time.Duration.
func times(d time.Duration, n int) time.Duration { return scale(d, float64(n)) }

func scale(d time.Duration, by float64) time.Duration {
	if f := float64(d) * by; f < math.MaxInt64 {
		return time.Duration(f)
	}
	return math.MaxInt64
}

func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
