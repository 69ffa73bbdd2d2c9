package breakerref

import "fmt"

// State is a state of the breaker. The zero value is Closed.
type State int

// The states of a Resilience4j circuit breaker.
const (
	Closed      State = iota // calls pass and count
	Open                     // calls are refused until the wait is over
	HalfOpen                 // a few calls pass and decide what follows
	Disabled                 // calls pass, nothing counts
	MetricsOnly              // calls pass and count, nothing follows
	ForcedOpen               // calls are refused without end
)

// String returns the name that Resilience4j gives the state, such as HALF_OPEN.
func (s State) String() string {
	switch s {
	case Closed:
		return "CLOSED"
	case Open:
		return "OPEN"
	case HalfOpen:
		return "HALF_OPEN"
	case Disabled:
		return "DISABLED"
	case MetricsOnly:
		return "METRICS_ONLY"
	case ForcedOpen:
		return "FORCED_OPEN"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

func (s State) valid() bool { return s >= Closed && s <= ForcedOpen }

// legal says whether the breaker may go from one state to another. All pairs are
// legal but three, a state to itself included.
func legal(from, to State) bool {
	switch {
	case from == Closed && to == HalfOpen:
		return false
	case from == MetricsOnly && (to == Open || to == HalfOpen):
		return false
	}
	return to.valid()
}
