package breakerref

import (
	"fmt"
	"time"
)

// EventKind says what happened. The zero value is no kind.
type EventKind int

// The events of a Resilience4j circuit breaker.
const (
	EventSuccess      EventKind = iota + 1 // a call's outcome was a success
	EventFailure                           // a call's outcome was a failure
	EventIgnored                           // a call ended in an error that does not count
	EventNotPermitted                      // a call was refused
	EventFailureRate                       // the failure rate reached its threshold in CLOSED or METRICS_ONLY
	EventSlowRate                          // the slow call rate did
	EventTransition                        // the breaker went from one state to another
	EventReset                             // Reset was called
)

// String returns the name that Resilience4j gives the event, such as
// NOT_PERMITTED.
func (k EventKind) String() string {
	switch k {
	case EventSuccess:
		return "SUCCESS"
	case EventFailure:
		return "ERROR"
	case EventIgnored:
		return "IGNORED_ERROR"
	case EventNotPermitted:
		return "NOT_PERMITTED"
	case EventFailureRate:
		return "FAILURE_RATE_EXCEEDED"
	case EventSlowRate:
		return "SLOW_CALL_RATE_EXCEEDED"
	case EventTransition:
		return "STATE_TRANSITION"
	case EventReset:
		return "RESET"
	}
	return fmt.Sprintf("EventKind(%d)", int(k))
}

// Event is something the breaker published. A call's outcome is published before
// what follows from it: ERROR, FAILURE_RATE_EXCEEDED, STATE_TRANSITION.
type Event struct {
	At       time.Time
	Kind     EventKind
	From, To State   // of EventTransition, never equal
	Rate     float32 // of EventFailureRate and EventSlowRate, in percent
}

// String returns the event's kind; for a state transition with its states, as in
// STATE_TRANSITION:CLOSED_TO_OPEN.
func (e Event) String() string {
	if e.Kind == EventTransition {
		return fmt.Sprintf("%v:%v_TO_%v", e.Kind, e.From, e.To)
	}
	return e.Kind.String()
}
