package proxy

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/target/match"
)

// Retried says what is tried again.
type Retried struct {
	// Failure is what is tried again of what the dependency did; what it does not list is
	// not, failed or not. Slow has no part in it. nil: what counts as a failure is.
	Failure *match.Failure

	Refusals bool // what the breaker refused
	Full     bool // what the bulkhead refused
	Limited  bool // what the rate limiter refused

	Methods   []string // of what is tried again; nil: of all
	HeedAfter bool     // the wait is as long as a Retry-After of the dependency's answer asks, at least
}

// What a retry policy is told of an attempt that did not end well.
var (
	errFailed = errors.New("the call failed")
	errFinal  = errors.New("the call failed in a way that is not tried again")
)

// retrying attempts a call more than once.
type retrying struct {
	policy *retry.Policy
	only   *Retried
	now    func() time.Time

	mu     sync.Mutex
	budget *retry.Budget // nil: none
}

// newRetrying returns the policy at work.
func newRetrying(p Policies, now func() time.Time) (*retrying, error) {
	policy, err := retry.New(*p.Retry, retry.Predicates{
		Ignore: func(err error) bool { return errors.Is(err, errFinal) },
	})
	if err != nil {
		return nil, err
	}
	l := &retrying{policy: policy, only: p.Retried, now: now}
	if p.RetryBudget != nil {
		if l.budget, err = retry.NewBudget(*p.RetryBudget, now()); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *retrying) wrap(next step) step {
	return func(c *call) outcome {
		l.deposit()
		for n := 1; ; n++ {
			out := next(c)
			d := l.policy.Next(c.number, n, retry.Outcome{Err: l.err(c, out)})
			if !d.Again || !l.withdraw() || !c.pause(max(d.Wait, l.asked(out))) {
				return out
			}
		}
	}
}

// err is what a caller in Go would have of the outcome.
func (l *retrying) err(c *call, out outcome) error {
	switch {
	case l.again(c, out):
		return errFailed
	case out.good():
		return nil
	}
	return errFinal
}

// again reports whether an outcome is one that is tried again.
func (l *retrying) again(c *call, out outcome) bool {
	only := l.only
	switch {
	case only == nil:
		return !out.good() && out.cause != refused && out.cause != left
	case len(only.Methods) > 0 && !slices.Contains(only.Methods, c.method):
		return false
	}
	switch out.cause {
	case refused:
		return only.Refusals
	case full:
		return only.Full
	case limited, crowded:
		return only.Limited
	case stopping, left:
		return false
	default:
	}
	if only.Failure == nil {
		return !out.good()
	}
	return counts(match.Failure{
		Classes: only.Failure.Classes, Statuses: only.Failure.Statuses,
		Reset: only.Failure.Reset, EOF: only.Failure.EOF, Abandon: only.Failure.Abandon,
	}, false, out, 0)
}

// asked is how long the dependency asks to be left alone.
func (l *retrying) asked(out outcome) time.Duration {
	if l.only == nil || !l.only.HeedAfter || out.answer == nil {
		return 0
	}
	text := out.answer.header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(l.now()))
	}
	return 0
}

// deposit tells the budget of a call.
func (l *retrying) deposit() {
	if l.budget != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.budget.Deposit(l.now())
	}
}

// withdraw asks the budget for a retry.
func (l *retrying) withdraw() bool {
	if l.budget == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget.TryWithdraw(l.now())
}
