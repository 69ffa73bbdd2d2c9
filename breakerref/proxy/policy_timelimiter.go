package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// timeLimiting gives up what takes too long.
type timeLimiting struct {
	limiter timelimit.Limiter
	now     func() time.Time
}

func newTimeLimiting(p Policies, now func() time.Time) (*timeLimiting, error) {
	limiter, err := timelimit.New(*p.TimeLimiter)
	if err != nil {
		return nil, err
	}
	return &timeLimiting{limiter, now}, nil
}

func (l *timeLimiting) wrap(next step) step {
	return func(c *call) outcome {
		inner, cancel := l.inner(c)
		begun := make(chan struct{})
		inner.begun = sync.OnceFunc(func() { close(begun); c.begin() })
		done := make(chan outcome, 1) // So that work that nobody waits for can end.
		c.spawn(func() {
			defer cancel(nil)
			done <- next(inner)
		})
		// What blocks before there is a future is not limited.
		select {
		case out := <-done:
			return out
		case <-begun:
		}
		started := l.now()
		work := l.limiter.Start(started)
		timer := time.NewTimer(work.Deadline.Sub(started))
		defer timer.Stop()
		select {
		case out := <-done:
			return out
		case <-c.ctx.Done():
			return outcome{cause: c.ended()}
		case <-timer.C:
		}
		select { // Work that ends at the very deadline is in time.
		case out := <-done:
			return out
		default:
		}
		if work.Cancels {
			cancel(errLate)
		}
		return outcome{cause: late}
	}
}

// inner returns the call that the work is given. Work that cannot be cancelled does not
// hear either that a policy further out has given up.
func (l *timeLimiting) inner(c *call) (*call, context.CancelCauseFunc) {
	parent := c.base
	if l.limiter.Config().Cancels() {
		parent = c.ctx
	}
	ctx, cancel := context.WithCancelCause(parent)
	return c.within(ctx), cancel
}
