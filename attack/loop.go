package attack

import "time"

// loop is the gate of calls mode: a closed loop of as many workers as tokens. A
// worker's next call waits for the end of its last one and then for the gap;
// with one worker that is strictly one call after the other.
type loop struct {
	calls  int
	gap    time.Duration
	until  func() bool // or nil
	stop   <-chan struct{}
	tokens chan time.Time // when the call of a worker ended; zero for its first
	last   time.Time      // when the latest call was released; only Pace uses it
	ledger
}

func newLoop(p Phase, stop <-chan struct{}) *loop {
	l := &loop{
		calls:  p.Calls,
		gap:    p.Gap,
		until:  p.Until,
		stop:   stop,
		tokens: make(chan time.Time, p.Concurrency),
		ledger: ledger{over: make(chan struct{}), total: counts{planned: p.Calls}},
	}
	for range p.Concurrency {
		l.tokens <- time.Time{}
	}
	return l
}

// Rate is not asked for by an attack; it is part of vegeta's interface.
func (l *loop) Rate(time.Duration) float64 { return 0 }

// Pace returns when a worker may make its next call, or with true when there
// are no more.
func (l *loop) Pace(time.Duration, uint64) (wait time.Duration, stop bool) {
	if l.released < l.calls && l.ready() && (l.until == nil || !l.until()) {
		l.last = time.Now()
		l.release()
		return 0, false
	}
	l.finish(time.Now())
	return 0, true
}

// ready waits for a worker and its gap, and reports whether the load goes on.
// Two calls never leave at one instant: on a bubble's clock, which stands still
// while anything runs, their order at the network would be up to the scheduler.
func (l *loop) ready() bool {
	select {
	case ended := <-l.tokens:
		at := l.last.Add(1)
		if next := ended.Add(l.gap); next.After(at) {
			at = next
		}
		return sleepUntil(l.stop, at)
	case <-l.stop:
		return false
	}
}

func (l *loop) begin(uint64) (due time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok = !closed(l.stop)
	if ok {
		l.total.sent++
	}
	l.decide()
	return time.Time{}, ok
}

func (l *loop) end(uint64) {
	now := time.Now()
	l.mu.Lock()
	l.total.ended = now
	l.mu.Unlock()
	l.tokens <- now // There is room: each call holds one token.
}

func (l *loop) lost() {
	l.mu.Lock()
	l.decide()
	l.mu.Unlock()
	l.tokens <- time.Now()
}
