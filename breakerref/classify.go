package breakerref

import "time"

// Predicates say what the end of a call means. Each may be nil. They are pure: they are
// asked once for a call and may be asked again after Clone. The name that Resilience4j
// gives a predicate stands in parentheses.
type Predicates struct {
	Ignore       func(err error) bool // (ignoreException) asked first: it does not count; nil: none
	Record       func(err error) bool // (recordException) it is a failure, and otherwise a success; nil: all are
	RecordResult func(value any) bool // (recordResult) it is a failure; nil: none is
	Transition   func(value any, err error) Verdict
}

// Verdict is what a call's end alone makes a closed breaker do (transitionOnResult).
// The zero value is nothing.
type Verdict struct {
	Open bool
	For  time.Duration // how long, in whole ms; 0 with a zero Till: as ever
	Till time.Time     // until when
}

// OnError ends a permitted call that has ended at now with an error after it had taken
// d. An ignored error gives the permission back; one that is not recorded counts as a
// success. Errors that only wrap another one are the caller's to unwrap.
func (m *Machine) OnError(now time.Time, err error, d time.Duration) {
	if m.judge.Ignore != nil && m.judge.Ignore(err) {
		m.Ignore(now)
		return
	}
	m.Record(now, m.judge.Record == nil || m.judge.Record(err), d)
	m.follow(now, nil, err)
}

// OnResult ends a permitted call that has ended at now with a value after it had taken
// d. No value, nil, is a success that nothing is asked about.
func (m *Machine) OnResult(now time.Time, value any, d time.Duration) {
	if value != nil && m.judge.RecordResult != nil && m.judge.RecordResult(value) {
		m.Record(now, true, d) // Then Transition is not asked either.
		return
	}
	m.Record(now, false, d)
	if value != nil {
		m.follow(now, value, nil)
	}
}

// follow does what Transition says, if the breaker is still closed. The opening does
// not count as one more in a row if it has a wait of its own.
func (m *Machine) follow(now time.Time, value any, err error) {
	if m.judge.Transition == nil || m.cur.state != Closed || m.cur.dead {
		return
	}
	v := m.judge.Transition(value, err)
	var failed error
	switch {
	case !v.Open:
	case !v.Till.IsZero():
		failed = m.OpenTill(now, v.Till)
	case v.For != 0:
		failed = m.OpenFor(now, v.For)
	default:
		if m.cfg.Strict {
			m.cur.dead = true
			m.crash("IllegalArgumentException")
		}
		m.move(Open)
	}
	if failed != nil {
		panic(failed) // There is no state that CLOSED could not go to OPEN from.
	}
}

// Crash is what a strict machine panics with where the library throws an exception that
// has nothing to do with the call. The machine can be used on as the library can.
type Crash struct {
	Exception string // the simple name of its class, such as ArithmeticException
}

// Error says what the library throws.
func (c Crash) Error() string { return "the library throws " + c.Exception + " here" }

// noHead is what a lock-free window of size 1 throws when it slides again.
const noHead = "NullPointerException"

// crash panics under Strict.
func (m *Machine) crash(exception string) {
	if m.cfg.Strict {
		panic(Crash{Exception: exception})
	}
}
