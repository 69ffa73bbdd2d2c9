package predict

import "github.com/faultline-go/faultline/breakerref/timelimit"

// timeLimiting gives up what takes too long.
type timeLimiting struct {
	in      *instance
	limiter timelimit.Limiter
}

func newTimeLimiting(w *way) (*timeLimiting, error) {
	limiter, err := timelimit.New(*w.service.TimeLimiter)
	return &timeLimiting{w.in, limiter}, err
}

func (l *timeLimiting) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		t := &timeLimit{over: done}
		if l.limiter.Config().Cancels() {
			t.work = c.scope.inside()
		}
		inner := c.within(t.work)
		inner.begun = func() {
			if t.begun {
				return
			}
			t.begun = true
			c.begin()
			call := l.limiter.Start(l.in.clock())
			l.in.agenda.queue(l.in.now, call.Deadline.Sub(call.Started), t.late)
		}
		c.scope.onEnd(func() { t.end(outcome{why: gaveUp}) })
		next(inner, t.end)
	}
}

// timeLimit is that of one call.
type timeLimit struct {
	work         *scope // told when the time is up; nil: it goes on
	begun, ended bool
	over         func(outcome)
}

func (t *timeLimit) end(o outcome) {
	if !t.ended {
		t.ended = true
		t.over(o)
	}
}

// late gives the call up, and has its work told.
func (t *timeLimit) late() {
	if t.ended {
		return
	}
	t.end(outcome{why: gaveUp})
	if t.work != nil {
		t.work.end()
	}
}
