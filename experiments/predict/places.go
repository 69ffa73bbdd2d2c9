package predict

import (
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

// places let so many calls through at a time.
type places struct {
	in      *instance
	free    *bulkhead.Semaphore
	waiting map[bulkhead.Ticket]func(admitted bool)
}

func newPlaces(w *way) (*places, error) {
	free, err := bulkhead.NewSemaphore(*w.service.Bulkhead)
	return &places{in: w.in, free: free, waiting: map[bulkhead.Ticket]func(bool){}}, err
}

func (l *places) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		admitted := func() {
			next(c, func(o outcome) {
				l.do(l.free.Release)
				done(o)
			})
		}
		switch a := l.free.Acquire(l.in.clock()); a.Verdict {
		case bulkhead.Admitted:
			admitted()
		case bulkhead.Waiting:
			l.wait(c, a, admitted, done)
		default:
			done(outcome{why: full})
		}
	}
}

// wait waits for a place.
func (l *places) wait(c *asked, a bulkhead.Answer, admitted func(), done func(outcome)) {
	why := full
	l.waiting[a.Ticket] = func(ok bool) {
		if ok {
			admitted()
			return
		}
		done(outcome{why: why})
	}
	if !a.Until.IsZero() {
		l.in.exactly(a.Until.Sub(l.in.clock()), func() { l.do(l.free.Advance) })
	}
	c.scope.onEnd(func() {
		why = gaveUp
		l.do(func(now time.Time) { l.free.Cancel(now, a.Ticket) })
	})
}

// do works on the places, and tells those who wait what came of it.
func (l *places) do(work func(time.Time)) {
	work(l.in.clock())
	for _, e := range l.free.Endings() {
		tell := l.waiting[e.Ticket]
		delete(l.waiting, e.Ticket)
		tell(e.Verdict == bulkhead.Admitted)
	}
}

// threads run calls, and queue further ones.
type threads struct {
	in      *instance
	pool    *bulkhead.ThreadPool
	waiting map[bulkhead.Ticket]func()
}

func newThreads(w *way) (*threads, error) {
	pool, err := bulkhead.NewThreadPool(*w.service.ThreadPool)
	return &threads{in: w.in, pool: pool, waiting: map[bulkhead.Ticket]func(){}}, err
}

func (l *threads) wrap(next step) step {
	return func(c *asked, done func(outcome)) {
		run := func() {
			next(c, func(o outcome) {
				l.finish()
				done(o)
			})
		}
		switch s := l.pool.Submit(l.in.clock()); s.Verdict {
		case bulkhead.Admitted:
			c.begin() // Its caller holds a future.
			run()
		case bulkhead.Waiting:
			c.begin()
			l.waiting[s.Ticket] = run // Nothing takes it out of the queue.
		default:
			done(outcome{why: full})
		}
	}
}

// finish ends a call; its thread takes the next one.
func (l *threads) finish() {
	if ticket, ok := l.pool.Finish(l.in.clock()); ok {
		run := l.waiting[ticket]
		delete(l.waiting, ticket)
		run()
	}
}
