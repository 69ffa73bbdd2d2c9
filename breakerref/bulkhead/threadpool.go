package bulkhead

import (
	"slices"
	"time"
)

// ThreadPool runs calls on a bounded number of threads, as Resilience4j's
// FixedThreadPoolBulkhead does. It must be made by NewThreadPool.
type ThreadPool struct {
	cfg    ThreadPoolConfig
	size   int         // threads, busy and idle
	idle   []time.Time // since when, the longest first; empty while calls are queued
	queue  []Ticket
	issued Ticket
}

// NewThreadPool returns a pool without threads. The error is that of Validate.
func NewThreadPool(cfg ThreadPoolConfig) (*ThreadPool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.KeepAlive = cfg.KeepAlive.Truncate(time.Millisecond)
	return &ThreadPool{cfg: cfg}, nil
}

// Submission is what a ThreadPool says to a call.
type Submission struct {
	Verdict Verdict           // Waiting: it is queued
	Ticket  Ticket            // of Waiting
	Metrics ThreadPoolMetrics // with this call
}

// Submit hands a call to the pool at now. One that is Admitted runs from now on; one
// that is Waiting runs from the Finish that answers its ticket. When it is done it must
// be told to Finish.
func (p *ThreadPool) Submit(now time.Time) Submission {
	p.Advance(now)
	s := Submission{Verdict: Admitted}
	switch {
	case p.size < p.cfg.Core:
		p.size++
	case len(p.idle) > 0:
		p.rouse()
	case len(p.queue) < p.cfg.QueueCapacity:
		p.issued++
		p.queue = append(p.queue, p.issued)
		s.Verdict, s.Ticket = Waiting, p.issued
	case p.size < p.cfg.Max:
		p.size++
	default:
		s.Verdict = Rejected
	}
	s.Metrics = p.Metrics()
	return s
}

// rouse gives work to an idle thread: an ArrayBlockingQueue wakes the one that has been
// waiting for longest, a SynchronousQueue the last one.
func (p *ThreadPool) rouse() {
	i := 0
	if p.cfg.QueueCapacity == 0 {
		i = len(p.idle) - 1
	}
	p.idle = slices.Delete(p.idle, i, i+1)
}

// Finish ends a running call at now. If one is queued, its thread starts that one, whose
// ticket is the answer. It panics if no call is running.
func (p *ThreadPool) Finish(now time.Time) (started Ticket, ok bool) {
	p.Advance(now)
	if p.size == len(p.idle) {
		panic("bulkhead: Finish without a running call")
	}
	if len(p.queue) > 0 {
		started = p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		return started, true
	}
	p.idle = append(p.idle, now)
	p.Advance(now) // Without keep-alive it is over at once.
	return 0, false
}

// Advance lets the threads end that are too many at now.
func (p *ThreadPool) Advance(now time.Time) {
	for {
		due, ok := p.NextTimer()
		if !ok || due.After(now) {
			return
		}
		p.idle = slices.Delete(p.idle, 0, 1)
		p.size--
	}
}

// NextTimer returns when the next thread ends unless it gets work before, and whether
// there is one.
func (p *ThreadPool) NextTimer() (time.Time, bool) {
	if p.size <= p.cfg.Core || len(p.idle) == 0 {
		return time.Time{}, false
	}
	return p.idle[0].Add(p.cfg.KeepAlive), true
}

// ThreadPoolMetrics is what a ThreadPool shows. The names in parentheses follow
// resilience4j.bulkhead.
type ThreadPoolMetrics struct {
	QueueDepth     int // (queue.depth) calls that wait
	QueueCapacity  int // (queue.capacity)
	QueueRemaining int // room in the queue
	Size           int // (thread.pool.size) threads
	Core           int // (core.thread.pool.size)
	Max            int // (max.thread.pool.size)
	Active         int // (active.thread.count) threads that run a call
	Available      int // (available.thread.count) Max less Active
}

// Metrics returns the numbers as of the last instant the pool was told.
func (p *ThreadPool) Metrics() ThreadPoolMetrics {
	active := p.size - len(p.idle)
	return ThreadPoolMetrics{
		QueueDepth:     len(p.queue),
		QueueCapacity:  p.cfg.QueueCapacity,
		QueueRemaining: p.cfg.QueueCapacity - len(p.queue),
		Size:           p.size,
		Core:           p.cfg.Core,
		Max:            p.cfg.Max,
		Active:         active,
		Available:      p.cfg.Max - active,
	}
}

// Config returns the configuration.
func (p *ThreadPool) Config() ThreadPoolConfig { return p.cfg }
