package injector

import (
	"container/heap"
	"sync"
	"time"
)

// bell rings at an instant, once.
type bell struct {
	at    time.Time
	rung  chan struct{} // closed then, not earlier
	place int           // among the bells; below 0: it has rung, or nobody waits for it
}

// bells are those that have not rung, a heap by their instants.
type bells []*bell

// Len implements heap.Interface.
func (b bells) Len() int { return len(b) }

// Less implements heap.Interface.
func (b bells) Less(i, j int) bool { return b[i].at.Before(b[j].at) }

// Swap implements heap.Interface.
func (b bells) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}

// Push implements heap.Interface.
func (b *bells) Push(x any) {
	one := x.(*bell) //nolint:forcetypeassert // Nothing else is pushed.
	one.place = len(*b)
	*b = append(*b, one)
}

// Pop implements heap.Interface.
func (b *bells) Pop() any {
	last := len(*b) - 1
	one := (*b)[last]
	(*b)[last], *b = nil, (*b)[:last]
	one.place = -1
	return one
}

// alarm wakes who waits for an instant. The runtime's own timers wait in whole milliseconds
// for as long as nothing else happens, so that what they wake is half of one late; the clock
// behind an alarm is the kernel's.
type alarm struct {
	clock clock

	mu    sync.Mutex
	bells bells
	over  bool

	running sync.WaitGroup
}

// clock is one of the kernel that can be set to an instant.
type clock interface {
	set(in time.Duration)
	wait() bool // until it is there; false: it is closed
	close()
}

// newAlarm starts one, where there is a clock for it; else it returns nil. It ends by close.
func newAlarm() *alarm {
	c := newClock()
	if c == nil {
		return nil
	}
	a := &alarm{clock: c}
	a.running.Go(a.run)
	return a
}

// run rings.
func (a *alarm) run() {
	for a.clock.wait() {
		a.mu.Lock()
		for now := time.Now(); len(a.bells) > 0 && !a.bells[0].at.After(now); {
			close(heap.Pop(&a.bells).(*bell).rung) //nolint:forcetypeassert // Nothing else is pushed.
		}
		a.aim()
		a.mu.Unlock()
	}
}

// aim sets the clock to the next bell. mu is held.
func (a *alarm) aim() {
	if len(a.bells) > 0 && !a.over {
		a.clock.set(max(time.Until(a.bells[0].at), 1))
	}
}

// at returns a bell that rings at t, unless it is dropped before.
func (a *alarm) at(t time.Time) *bell {
	one := &bell{at: t, rung: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	heap.Push(&a.bells, one)
	if one.place == 0 {
		a.aim()
	}
	return one
}

// drop gives a bell up.
func (a *alarm) drop(one *bell) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one.place >= 0 {
		heap.Remove(&a.bells, one.place) // The clock may be set to it: then it wakes for nothing.
	}
}

// close ends it. Who still waits is not woken.
func (a *alarm) close() {
	a.mu.Lock()
	if !a.over {
		a.over = true
		a.clock.close()
	}
	a.mu.Unlock()
	a.running.Wait()
}
