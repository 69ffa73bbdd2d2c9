package injector

import (
	"context"
	"sync"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// lot is where the requests wait that one rule holds: a fault.Gate with a clock
// and a channel for each request. Its lock is held for bookkeeping only; the
// waiting is done on channels.
type lot struct {
	mu     sync.Mutex
	gate   *fault.Gate
	parked map[int]chan struct{}
}

// newLot returns an empty lot.
func newLot(h fault.Hold) *lot {
	return &lot{gate: fault.NewGate(h), parked: map[int]chan struct{}{}}
}

// spot is a request's place in a lot.
type spot struct {
	lot    *lot
	number int
	free   <-chan struct{} // closed on release
}

// park takes in a request that arrived at this instant.
func (l *lot) park(at time.Duration) *spot {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := make(chan struct{})
	number := l.gate.Park(at)
	l.parked[number] = free
	return &spot{lot: l, number: number, free: free}
}

// reject tells the gate of a rejection.
func (l *lot) reject(sent, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(l.gate.Reject(sent, now))
}

// release wakes those whom the gate let go. The lock is held.
func (l *lot) release(numbers []int) {
	for _, n := range numbers {
		close(l.parked[n])
		delete(l.parked, n)
	}
}

// due lets go whoever has waited long enough, and says until when this request
// has to wait, or that it need not wait any more.
func (s *spot) due(now time.Duration) (at time.Duration, parked bool) {
	s.lot.mu.Lock()
	defer s.lot.mu.Unlock()
	s.lot.release(s.lot.gate.Expire(now))
	return s.lot.gate.Due(s.number)
}

// leave takes the request out unreleased.
func (s *spot) leave() {
	s.lot.mu.Lock()
	defer s.lot.mu.Unlock()
	s.lot.gate.Leave(s.number)
	delete(s.lot.parked, s.number)
}

// answered tells that the request came to its end.
func (s *spot) answered(at time.Duration) {
	s.lot.mu.Lock()
	defer s.lot.mu.Unlock()
	s.lot.gate.Answered(s.number, at)
}

// wait returns nil when the request may go on, as it was released or its phase
// ended, and ctx's error when that ended first.
func (s *spot) wait(ctx context.Context, ended <-chan struct{}, offset func(time.Time) time.Duration) error {
	for {
		now := offset(time.Now())
		due, parked := s.due(now)
		if !parked {
			return nil
		}
		timer := time.NewTimer(due - now)
		select {
		case <-s.free:
		case <-timer.C:
		case <-ended:
			timer.Stop()
			s.leave()
			return nil
		case <-ctx.Done():
			timer.Stop()
			s.leave()
			return ctx.Err()
		}
		timer.Stop()
	}
}
