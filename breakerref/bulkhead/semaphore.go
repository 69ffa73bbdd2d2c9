package bulkhead

import (
	"slices"
	"time"
)

// Semaphore limits how many calls are under way, as Resilience4j's SemaphoreBulkhead
// does. It must be made by NewSemaphore.
type Semaphore struct {
	cfg     SemaphoreConfig
	fair    bool
	free    int // places; more than the limit after one Release too many
	queue   []waiter
	changes []change // the first one waits in queue, the others for it to end
	issued  Ticket
	endings []Ending
}

// waiter is a caller, or the change of a configuration, that waits for places.
type waiter struct {
	ticket Ticket
	needs  int
	until  time.Time // when it gives up; zero for a change, which never does
}

// change is a configuration that is not yet in force.
type change struct {
	ticket Ticket
	cfg    SemaphoreConfig
}

// NewSemaphore returns a bulkhead without calls. The error is that of Validate.
func NewSemaphore(cfg SemaphoreConfig) (*Semaphore, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Semaphore{cfg: cfg, fair: cfg.FairCallHandling, free: cfg.MaxConcurrentCalls}, nil
}

// Acquire asks for leave to make a call at now. Whoever is Admitted, now or by an
// Ending, must Release.
func (s *Semaphore) Acquire(now time.Time) Answer {
	s.Advance(now)
	if s.take(1) {
		return Answer{Verdict: Admitted}
	}
	wait := s.cfg.MaxWait.Truncate(time.Millisecond)
	if wait <= 0 {
		return Answer{Verdict: Rejected}
	}
	w := waiter{ticket: s.ticket(), needs: 1, until: now.Add(wait)}
	s.queue = append(s.queue, w)
	return Answer{Verdict: Waiting, Ticket: w.ticket, Until: w.until}
}

// Release ends a call at now. It does not check that there was one.
func (s *Semaphore) Release(now time.Time) {
	s.Advance(now)
	s.free++
	s.serve(now)
}

// Cancel ends the wait of a caller that has gone away at now, by an Ending with Rejected
// (a thread that is interrupted). It answers false, and does nothing, if that wait has
// ended already or is that of a Change, which nothing interrupts.
func (s *Semaphore) Cancel(now time.Time, t Ticket) bool {
	s.Advance(now)
	i := slices.IndexFunc(s.queue, func(w waiter) bool { return w.ticket == t })
	if i < 0 || s.queue[i].until.IsZero() {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.end(now, t, Rejected)
	s.serve(now)
	return true
}

// Change puts another configuration in force, at now or, if the new limit is lower and
// the places are taken, when they are free: then the answer is Waiting, without an
// Until, and an Ending follows. FairCallHandling stays as it was made. The error is that
// of Validate, and then nothing has changed.
func (s *Semaphore) Change(now time.Time, cfg SemaphoreConfig) (Answer, error) {
	if err := cfg.Validate(); err != nil {
		return Answer{}, err
	}
	s.Advance(now)
	if len(s.changes) == 0 && s.apply(now, cfg) {
		return Answer{Verdict: Admitted}, nil
	}
	c := change{ticket: s.ticket(), cfg: cfg}
	s.changes = append(s.changes, c)
	if len(s.changes) == 1 {
		s.line(c)
	}
	return Answer{Verdict: Waiting, Ticket: c.ticket}, nil
}

// Advance lets the waits end that are over at now, in the order in which they do.
func (s *Semaphore) Advance(now time.Time) {
	for {
		i := s.next()
		if i < 0 || s.queue[i].until.After(now) {
			return
		}
		w := s.queue[i]
		s.queue = slices.Delete(s.queue, i, i+1)
		s.end(w.until, w.ticket, Rejected)
		s.serve(w.until)
	}
}

// NextTimer returns when the next wait is over, and whether there is one.
func (s *Semaphore) NextTimer() (time.Time, bool) {
	if i := s.next(); i >= 0 {
		return s.queue[i].until, true
	}
	return time.Time{}, false
}

// Endings returns how waits ended since it was last asked, in order.
func (s *Semaphore) Endings() []Ending {
	e := s.endings
	s.endings = nil
	return e
}

// SemaphoreMetrics is what a Semaphore shows.
type SemaphoreMetrics struct {
	Available int // (resilience4j.bulkhead.available.concurrent.calls) free places
	Max       int // (resilience4j.bulkhead.max.allowed.concurrent.calls) the limit in force
	Waiting   int // callers that wait
}

// Metrics returns the numbers as of the last instant the bulkhead was told.
func (s *Semaphore) Metrics() SemaphoreMetrics {
	m := SemaphoreMetrics{Available: s.free, Max: s.cfg.MaxConcurrentCalls, Waiting: len(s.queue)}
	if len(s.changes) > 0 {
		m.Waiting-- // The first change.
	}
	return m
}

// Config returns the configuration in force.
func (s *Semaphore) Config() SemaphoreConfig { return s.cfg }

// take takes places if that is possible at once.
func (s *Semaphore) take(n int) bool {
	if s.free < n || s.fair && len(s.queue) > 0 {
		return false
	}
	s.free -= n
	return true
}

// serve hands free places to those who wait, in order. One who needs several holds up
// those behind him.
func (s *Semaphore) serve(now time.Time) {
	for len(s.queue) > 0 && s.queue[0].needs <= s.free {
		w := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.free -= w.needs
		s.end(now, w.ticket, Admitted)
		if len(s.changes) > 0 && s.changes[0].ticket == w.ticket {
			s.cfg = s.changes[0].cfg
			s.changes = s.changes[1:]
			s.resume(now)
		}
	}
}

// resume begins with the changes that waited for another one.
func (s *Semaphore) resume(now time.Time) {
	for len(s.changes) > 0 {
		c := s.changes[0]
		if !s.apply(now, c.cfg) {
			s.line(c)
			return
		}
		s.end(now, c.ticket, Admitted)
		s.changes = s.changes[1:]
	}
}

// apply puts a configuration in force if that is possible at once.
func (s *Semaphore) apply(now time.Time, cfg SemaphoreConfig) bool {
	more := cfg.MaxConcurrentCalls - s.cfg.MaxConcurrentCalls
	if more < 0 && !s.take(-more) {
		return false
	}
	s.cfg = cfg
	if more > 0 {
		s.free += more
		s.serve(now)
	}
	return true
}

// line makes a change wait for the places that it takes away.
func (s *Semaphore) line(c change) {
	s.queue = append(s.queue, waiter{ticket: c.ticket, needs: s.cfg.MaxConcurrentCalls - c.cfg.MaxConcurrentCalls})
}

// next returns which waiter gives up first, of several the one that came first, or -1.
func (s *Semaphore) next() int {
	first := -1
	for i, w := range s.queue {
		if !w.until.IsZero() && (first < 0 || w.until.Before(s.queue[first].until)) {
			first = i
		}
	}
	return first
}

func (s *Semaphore) ticket() Ticket {
	s.issued++
	return s.issued
}

func (s *Semaphore) end(at time.Time, t Ticket, v Verdict) {
	s.endings = append(s.endings, Ending{Ticket: t, At: at, Verdict: v})
}
