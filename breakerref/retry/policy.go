package retry

import (
	"fmt"
	"time"
)

// Predicates say which outcomes are retried. Each may be nil. Errors that only wrap
// another one are the predicate's to unwrap. The names that Resilience4j gives stand in
// parentheses.
type Predicates struct {
	Retry  func(err error) bool // (retryExceptions or retryExceptionPredicate) nil: all errors
	Ignore func(err error) bool // (ignoreExceptions) takes away from those; nil: none
	Result func(value any) bool // (resultPredicate) asked about no value, nil, too; a nil predicate: no value
}

// Outcome is how an attempt ended: with an error or, if that is nil, with a value.
type Outcome struct {
	Value any
	Err   error
}

// Decision is what follows from an outcome.
type Decision struct {
	Again bool          // make one more attempt
	Wait  time.Duration // before it
	// Err is, if not Again, what the caller gets; nil: the value of the last attempt.
	Err    error
	Counts Counters // what the outcome adds to the counters
}

// Counters are the numbers that Resilience4j keeps of calls. The value of the label kind
// of resilience4j.retry.calls stands in parentheses.
type Counters struct {
	SucceededWithoutRetry int // (successful_without_retry)
	SucceededWithRetry    int // (successful_with_retry)
	FailedWithoutRetry    int // (failed_without_retry)
	FailedWithRetry       int // (failed_with_retry)
	Attempts              int // getNumberOfTotalCalls
}

// Add adds what a Decision counts.
func (c *Counters) Add(more Counters) {
	c.SucceededWithoutRetry += more.SucceededWithoutRetry
	c.SucceededWithRetry += more.SucceededWithRetry
	c.FailedWithoutRetry += more.FailedWithoutRetry
	c.FailedWithRetry += more.FailedWithRetry
	c.Attempts += more.Attempts
}

// MaxRetriesError is what the caller gets under FailAfterMaxAttempts instead of the last
// value (MaxRetriesExceededException).
type MaxRetriesError struct {
	Name        string // of the policy
	MaxAttempts int
}

// Error has the words of Resilience4j.
func (e MaxRetriesError) Error() string {
	return fmt.Sprintf("Retry '%s' has exhausted all attempts (%d)", e.Name, e.MaxAttempts)
}

// Policy decides whether a call is attempted again. It must be made by New.
type Policy struct {
	cfg Config
	ask Predicates
}

// New returns a policy. The error is that of Validate.
func New(cfg Config, p Predicates) (*Policy, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Policy{cfg: cfg, ask: p}, nil
}

// Config returns the configuration.
func (p *Policy) Config() Config { return p.cfg }

// Next says what follows when an attempt, from 1, of a call has ended. The number of the
// call does nothing but choose its random waits. Next is asked once for each attempt; it
// panics if attempt is below 1.
func (p *Policy) Next(call uint64, attempt int, o Outcome) Decision {
	if attempt < 1 {
		panic(fmt.Sprintf("retry: attempt is %d, they count from 1", attempt))
	}
	last := attempt >= p.cfg.MaxAttempts
	switch {
	case o.Err != nil && !p.retried(o.Err):
		return Decision{Err: o.Err, Counts: Counters{FailedWithoutRetry: 1, Attempts: 1}}
	case o.Err != nil && last:
		return Decision{Err: o.Err, Counts: Counters{FailedWithRetry: 1, Attempts: 1}}
	case o.Err == nil && !p.unwanted(o.Value):
		if attempt == 1 {
			return Decision{Counts: Counters{SucceededWithoutRetry: 1, Attempts: 1}}
		}
		return Decision{Counts: Counters{SucceededWithRetry: 1, Attempts: 1}}
	case o.Err == nil && last:
		return p.exhausted()
	}
	return Decision{Again: true, Wait: p.cfg.WaitAfter(call, attempt), Counts: Counters{Attempts: 1}}
}

// exhausted is the end by a value that is unwanted for the last time. The library counts
// it as an attempt, and again as the end of the call; and if it then throws, inside of
// what it catches the errors of the call with, that as an attempt too.
func (p *Policy) exhausted() Decision {
	d := Decision{Counts: Counters{FailedWithRetry: 1, Attempts: 2}}
	if !p.cfg.FailAfterMaxAttempts {
		return d
	}
	d.Err = MaxRetriesError{Name: p.cfg.Name, MaxAttempts: p.cfg.MaxAttempts}
	d.Counts.Attempts++
	if p.retried(d.Err) {
		d.Counts.FailedWithRetry++
	} else {
		d.Counts.FailedWithoutRetry++
	}
	return d
}

// retried says whether an error is worth one more attempt.
func (p *Policy) retried(err error) bool {
	return (p.ask.Retry == nil || p.ask.Retry(err)) && (p.ask.Ignore == nil || !p.ask.Ignore(err))
}

// unwanted says whether a value is.
func (p *Policy) unwanted(value any) bool { return p.ask.Result != nil && p.ask.Result(value) }
