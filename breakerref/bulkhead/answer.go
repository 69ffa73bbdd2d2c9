package bulkhead

import (
	"fmt"
	"time"
)

// Verdict is what a bulkhead says to a call. The zero value is Rejected.
type Verdict int

// The verdicts.
const (
	Rejected Verdict = iota // it must not be done
	Admitted                // it may begin
	Waiting                 // it has a Ticket and will be told
)

// String returns the verdict in lower case, such as admitted.
func (v Verdict) String() string {
	switch v {
	case Rejected:
		return "rejected"
	case Admitted:
		return "admitted"
	case Waiting:
		return "waiting"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// Ticket names one who waits, by the order in which the bulkhead gave them out, from 1.
// Nobody has 0.
type Ticket uint64

// Answer is what a Semaphore says to one who asks.
type Answer struct {
	Verdict Verdict
	Ticket  Ticket    // of Waiting
	Until   time.Time // of Waiting: when it is rejected; zero: never
}

// Ending is how a wait ended. Every ticket has exactly one, sooner or later.
type Ending struct {
	Ticket  Ticket
	At      time.Time
	Verdict Verdict // Admitted or Rejected
}

// FullError is what a rejected caller sees (BulkheadFullException).
type FullError struct {
	Name string // of the bulkhead
}

// Error has the words of Resilience4j.
func (e FullError) Error() string {
	return fmt.Sprintf("Bulkhead '%s' is full and does not permit further calls", e.Name)
}
