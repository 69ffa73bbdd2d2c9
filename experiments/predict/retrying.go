package predict

import (
	"errors"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/experiments"
)

// What a retry policy is told of an attempt that did not end well.
var (
	errFailed = errors.New("the call failed")
	errFinal  = errors.New("the call failed in a way that is not tried again")
)

// retrying attempts a call more than once.
type retrying struct {
	in     *instance
	at     string // the dependency
	said   experiments.Retry
	policy *retry.Policy
	budget *retry.Budget // nil: none
}

func newRetrying(w *way) (*retrying, error) {
	l := &retrying{in: w.in, at: w.dep.in.Name, said: *w.service.Retry}
	var wrong, none error
	l.policy, wrong = retry.New(l.said.Config(w.in.plan.Seed), retry.Predicates{
		Ignore: func(err error) bool { return errors.Is(err, errFinal) },
	})
	if l.said.Budget != nil {
		l.budget, none = retry.NewBudget(*l.said.Budget, w.in.clock())
	}
	return l, errors.Join(wrong, none)
}

func (l *retrying) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		if l.budget != nil {
			l.budget.Deposit(l.in.clock())
		}
		var try func(n int)
		try = func(n int) {
			next(c, func(o outcome) {
				d := l.policy.Next(c.number, n, retry.Outcome{Err: l.err(c, o)})
				if !d.Again || l.budget != nil && !l.budget.TryWithdraw(l.in.clock()) {
					done(o)
					return
				}
				l.in.pause(c, max(d.Wait, l.asked(o)), func(ok bool) {
					if !ok {
						done(o)
						return
					}
					try(n + 1)
				})
			})
		}
		try(1)
	}
}

// err is what a caller in Go would have of the outcome.
func (l *retrying) err(c *asked, o outcome) error {
	switch {
	case l.again(c, o):
		return errFailed
	case o.good():
		return nil
	}
	return errFinal
}

// again reports whether an outcome is one that is tried again.
func (l *retrying) again(c *asked, o outcome) bool {
	if l.in.spares(c, l.at) || len(l.said.Methods) > 0 && !slices.Contains(l.said.Methods, c.r.target.Method) {
		return false
	}
	on := l.said.On
	switch {
	case o.why == gaveUp && c.scope.ended() && c.r.waits.ended():
		return false // Its client has left.
	case on == nil:
		return !o.good() && o.why != refused
	case o.why == refused:
		return on.Open
	case o.why == full:
		return on.Full
	case o.why == limited, o.why == crowded:
		return on.Limited
	}
	return counts(on.Failure, false, o, 0)
}

// asked is how long the dependency asks to be left alone.
func (l *retrying) asked(o outcome) time.Duration {
	if !l.said.RetryAfter || o.why != replied {
		return 0
	}
	return asksFor(o.reply.answer, l.in.clock())
}
