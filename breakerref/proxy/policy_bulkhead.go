package proxy

import (
	"sync"
	"time"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

// semaphore lets so many calls through at a time.
type semaphore struct {
	now   func() time.Time
	leaks bool // a place is lost with each call that fails: a defect

	mu      sync.Mutex
	last    time.Time // that the places were told of
	places  *bulkhead.Semaphore
	waiting map[bulkhead.Ticket]chan bool // told whether the call is admitted
}

func newSemaphore(p Policies, now func() time.Time) (*semaphore, error) {
	places, err := bulkhead.NewSemaphore(*p.Bulkhead)
	if err != nil {
		return nil, err
	}
	return &semaphore{now: now, places: places, waiting: map[bulkhead.Ticket]chan bool{}}, nil
}

func (l *semaphore) wrap(next step) step {
	return func(c *call) outcome {
		if why := l.enter(c); why != "" {
			return outcome{cause: why}
		}
		leaves := true
		defer func() { // Also where the call panics.
			if leaves {
				l.do(time.Time{}, func(now time.Time) { l.places.Release(now) })
			}
		}()
		out := next(c)
		leaves = out.good() || !l.leaks
		return out
	}
}

// do works on the places, and tells those who wait what came of it. The clock is read
// under the lock, so that the bulkhead never sees time go back. The end of a wait is told
// by a timer, whose clock need not be the bulkhead's: earliest is what the clock says then
// at least.
func (l *semaphore) do(earliest time.Time, work func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range []time.Time{earliest, l.now()} {
		if t.After(l.last) {
			l.last = t
		}
	}
	work(l.last)
	for _, e := range l.places.Endings() {
		l.waiting[e.Ticket] <- e.Verdict == bulkhead.Admitted
		delete(l.waiting, e.Ticket)
	}
}

// enter takes a place, or says why the call has none.
func (l *semaphore) enter(c *call) cause {
	var a bulkhead.Answer
	var told chan bool
	var asked time.Time
	l.do(time.Time{}, func(now time.Time) {
		a, asked = l.places.Acquire(now), now
		if a.Verdict == bulkhead.Waiting {
			told = make(chan bool, 1)
			l.waiting[a.Ticket] = told
		}
	})
	switch a.Verdict {
	case bulkhead.Admitted:
		return ""
	case bulkhead.Rejected:
		return full
	case bulkhead.Waiting:
	}
	return l.wait(c, a, asked, told)
}

// wait waits for what comes of a wait.
func (l *semaphore) wait(c *call, a bulkhead.Answer, asked time.Time, told chan bool) cause {
	over := make(<-chan time.Time) // Never, unless the wait has an end.
	if !a.Until.IsZero() {
		timer := time.NewTimer(a.Until.Sub(asked))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case admitted := <-told:
			if !admitted {
				return full
			}
			return ""
		case <-over:
			l.do(a.Until, l.places.Advance)
		case <-c.ctx.Done():
			l.do(time.Time{}, func(now time.Time) { l.places.Cancel(now, a.Ticket) })
			if <-told { // It was let in just before.
				l.do(time.Time{}, func(now time.Time) { l.places.Release(now) })
			}
			return c.ended()
		}
	}
}

// threads runs calls on so many threads, and queues further ones.
type threads struct {
	now func() time.Time

	mu      sync.Mutex
	pool    *bulkhead.ThreadPool
	waiting map[bulkhead.Ticket]chan struct{} // closed when the call may run
}

func newThreads(p Policies, now func() time.Time) (*threads, error) {
	pool, err := bulkhead.NewThreadPool(*p.ThreadPool)
	if err != nil {
		return nil, err
	}
	return &threads{now: now, pool: pool, waiting: map[bulkhead.Ticket]chan struct{}{}}, nil
}

func (l *threads) wrap(next step) step {
	return func(c *call) outcome {
		turn, ok := l.submit()
		if !ok {
			return outcome{cause: full}
		}
		c.begin() // Its caller holds a future, whether the call runs or is queued.
		if turn != nil {
			<-turn // Nothing takes a call out of the queue, whoever has given up.
		}
		defer l.finish()
		return next(c)
	}
}

// submit hands a call in, and reports false if there is no room for it. The call may run
// at once if turn is nil, and when turn is closed otherwise.
func (l *threads) submit() (turn chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.pool.Submit(l.now())
	if s.Verdict == bulkhead.Waiting {
		turn = make(chan struct{})
		l.waiting[s.Ticket] = turn
	}
	return turn, s.Verdict != bulkhead.Rejected
}

// finish ends a call; its thread takes the next one.
func (l *threads) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ticket, ok := l.pool.Finish(l.now()); ok {
		close(l.waiting[ticket])
		delete(l.waiting, ticket)
	}
}
