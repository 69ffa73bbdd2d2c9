package assert_test

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// policy is what a SUT's retries are like beside their number and first wait.
type policy struct {
	Growth   float64       // of the wait, from one attempt to the next; 0: it stays
	Most     time.Duration // of the wait; 0: no limit
	Honours  bool          // a Retry-After
	Stops    bool          // nothing is tried again for a client that has left
	Reads    bool          // requests that do not pay are GET
	Spares   bool          // POST is not tried again
	Library  bool          // what breaks off without an answer is sent again once, at once, by the HTTP library
	Ratio    float64       // of a budget: retries for each first attempt
	Capacity float64       // of a budget; 0: there is none
}

// memory is what the SUT knows of its calls.
type memory struct {
	until  map[string]time.Duration // a Retry-After asks it to wait
	left   map[string]bool          // its client left
	broken map[string]bool          // the last attempt ended without an answer
	resent map[string]bool
	budget float64
	paid   map[string]bool
}

func newMemory() memory {
	return memory{
		until: map[string]time.Duration{}, left: map[string]bool{}, broken: map[string]bool{}, resent: map[string]bool{},
		budget: math.NaN(), paid: map[string]bool{},
	}
}

// methodOf is what a call asks the dependency by.
func (w *world) methodOf(id string) string {
	if w.Retry.Reads && !w.paying[id] {
		return "GET"
	}
	return "POST"
}

// remember takes in what an answer asks for.
func (w *world) remember(id string, r *fault.Rule, left bool) {
	delete(w.memory.until, id)
	if r == nil || left || r.Respond.RetryAfter == nil {
		return
	}
	until := w.now + r.Respond.RetryAfter.In
	if r.Respond.RetryAfter.Date {
		until = w.epoch.Add(until).Truncate(time.Second).Sub(w.epoch)
	}
	w.memory.until[id] = until
}

// mayRepeat reports whether a failed call may be tried again.
func (s *sut) mayRepeat(id string) bool {
	p := s.Retry.policy
	if p.Stops && s.memory.left[id] || p.Spares && s.methodOf(id) == "POST" {
		return false
	}
	return s.draws()
}

// pay puts into the budget what a call is worth.
func (s *sut) pay(id string) {
	m := &s.memory
	if math.IsNaN(m.budget) {
		m.budget = s.Retry.Capacity
	}
	if !m.paid[id] {
		m.paid[id], m.budget = true, min(m.budget+s.Retry.Ratio, s.Retry.Capacity)
	}
}

// draws takes a retry from the budget.
func (s *sut) draws() bool {
	if s.Retry.Capacity == 0 {
		return true
	}
	if s.memory.budget < 1 {
		return false
	}
	s.memory.budget--
	return true
}

// pause is how long the SUT waits after the n-th attempt.
func (s *sut) pause(id string, n int) time.Duration {
	p := s.Retry.policy
	d := s.draw(s.Retry.Backoff)
	if p.Growth > 0 {
		d = time.Duration(float64(d) * math.Pow(p.Growth, float64(n-1)))
	}
	if p.Most > 0 {
		d = min(d, p.Most)
	}
	if p.Honours {
		d = max(d, s.memory.until[id]-s.now)
	}
	return d
}

// resends reports whether the HTTP library sends a request again that its SUT sent once.
func (s *sut) resends(id string) bool {
	if !s.Retry.Library || !s.memory.broken[id] || s.memory.resent[id] {
		return false
	}
	s.memory.resent[id] = true
	return true
}
