package injector

import (
	"sync/atomic"
	"time"
)

// First is the first request, or connection that is no request, that reaches any of
// the injectors that have it. Their first phase begins with it: its ramps do, and what
// comes later than that by so much finds them so far. Until then the phase waits.
type First struct {
	at   atomic.Pointer[time.Time]
	done chan struct{}
}

// NewFirst returns one that has not come.
func NewFirst() *First { return &First{done: make(chan struct{})} }

// Came is closed when it has come.
func (f *First) Came() <-chan struct{} { return f.done }

// At is when it came; only after Came.
func (f *First) At() time.Time { return *f.at.Load() }

// came tells that something arrived at this instant, and returns when the first did.
func (f *First) came(at time.Time) time.Time {
	if f.at.Load() == nil && f.at.CompareAndSwap(nil, &at) {
		close(f.done)
	}
	return *f.at.Load()
}

// since is how long the phase has lasted at the instant of an arrival; nothing for one
// that came an instant before it began.
func (ph *phase) since(at time.Time) time.Duration {
	began := ph.began
	if ph.first != nil {
		began = ph.first.came(at)
	}
	return max(0, at.Sub(began))
}
