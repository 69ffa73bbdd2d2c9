package proxy

import (
	"errors"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
)

// What a retry policy is told of an attempt that did not end well.
var (
	errFailed  = errors.New("the call failed")
	errRefused = errors.New("the circuit breaker refused the call")
)

// retrying attempts a call more than once.
type retrying struct {
	policy *retry.Policy
	now    func() time.Time

	mu     sync.Mutex
	budget *retry.Budget // nil: none
}

// newRetrying returns the policy at work. A refusal of the breaker is what it ignores.
func newRetrying(p Policies, now func() time.Time) (*retrying, error) {
	policy, err := retry.New(*p.Retry, retry.Predicates{
		Ignore: func(err error) bool { return errors.Is(err, errRefused) },
	})
	if err != nil {
		return nil, err
	}
	l := &retrying{policy: policy, now: now}
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
			d := l.policy.Next(c.number, n, retry.Outcome{Err: out.err()})
			if !d.Again || !l.withdraw() || !c.pause(d.Wait) {
				return out
			}
		}
	}
}

// err is what a caller in Go would have of the outcome.
func (o outcome) err() error {
	switch {
	case o.good():
		return nil
	case o.cause == refused:
		return errRefused
	}
	return errFailed
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
