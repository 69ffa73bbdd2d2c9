package timelimit

import (
	"fmt"
	"time"
)

// Limiter limits how long callers wait. It must be made by New.
type Limiter struct{ cfg Config }

// New returns a limiter. The error is that of Validate.
func New(cfg Config) (Limiter, error) {
	if err := cfg.Validate(); err != nil {
		return Limiter{}, err
	}
	return Limiter{cfg: cfg}, nil
}

// Config returns the configuration.
func (l Limiter) Config() Config { return l.cfg }

// Start begins to wait for work whose future the method returned at now.
func (l Limiter) Start(now time.Time) Call {
	return Call{
		Started:  now,
		Deadline: now.Add(l.cfg.Timeout.Truncate(time.Millisecond)),
		Cancels:  l.cfg.Cancels(),
	}
}

// Call is one caller that waits.
type Call struct {
	Started  time.Time
	Deadline time.Time // when the caller gives up; an outcome at that instant is in time
	Cancels  bool      // at the deadline, the work is told to stop
}

// Late says whether the caller gives up at now if the work has not ended by then: it does
// from the deadline on.
func (c Call) Late(now time.Time) bool { return !now.Before(c.Deadline) }

// End is how the work ends when it is left alone.
type End int

// The ends.
const (
	Never      End = iota // it hangs
	Success               // with a value
	Failure               // with an error
	OwnTimeout            // with a TimeoutException of its own
)

// Answer is what the caller gets.
type Answer int

// The answers.
const (
	Value   Answer = iota // the work's value
	Error                 // the work's error
	Timeout               // TimeoutError; or the work's own TimeoutException, if it has Ended
)

// String returns what resilience4j.timelimiter.calls calls it.
func (a Answer) String() string {
	switch a {
	case Value:
		return "successful"
	case Error:
		return "failed"
	case Timeout:
		return "timeout"
	}
	return fmt.Sprintf("Answer(%d)", int(a))
}

// Fate is what becomes of the work.
type Fate int

// The fates.
const (
	Ended     Fate = iota // the caller has its outcome
	Cancelled             // it was told to stop when the caller gave up
	GoesOn                // nobody told it; its outcome is dropped
)

// String returns the fate in lower case, such as goes on.
func (f Fate) String() string {
	switch f {
	case Ended:
		return "ended"
	case Cancelled:
		return "cancelled"
	case GoesOn:
		return "goes on"
	}
	return fmt.Sprintf("Fate(%d)", int(f))
}

// Outcome is what a call comes to.
type Outcome struct {
	Answer    Answer
	At        time.Time // when the caller has it
	Work      Fate
	WorkUntil time.Time // when the work stops; zero: never
}

// Outcome says what the call comes to if its work, left alone, ends at the given instant
// (of no account for Never).
func (c Call) Outcome(at time.Time, end End) Outcome {
	if end != Never && !at.After(c.Deadline) {
		o := Outcome{Answer: answer(end), At: at, Work: Ended, WorkUntil: at}
		if o.At.Before(c.Started) { // It was done when its future came.
			o.At = c.Started
		}
		return o
	}
	o := Outcome{Answer: Timeout, At: c.Deadline, Work: GoesOn, WorkUntil: at}
	switch {
	case c.Cancels:
		o.Work, o.WorkUntil = Cancelled, c.Deadline
	case end == Never:
		o.WorkUntil = time.Time{}
	}
	return o
}

func answer(end End) Answer {
	switch end {
	case Success:
		return Value
	case OwnTimeout:
		return Timeout
	default:
		return Error
	}
}

// TimeoutError is what a caller that gave up gets (TimeoutException).
type TimeoutError struct {
	Name string // of the limiter
}

// Error has the words of Resilience4j.
func (e TimeoutError) Error() string {
	return fmt.Sprintf("TimeLimiter '%s' recorded a timeout exception.", e.Name)
}

// Timeout says that this is a timeout, as the errors of package net do.
func (e TimeoutError) Timeout() bool { return true }
