package attack

import (
	"sync"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
)

// MaxLate is how much later than due a slot may leave. Waking up takes a
// millisecond or so on a busy machine; a slot that is later than this is
// dropped and counted, because a crowd of late calls is a load that nobody
// asked for and may itself trip a breaker.
const MaxLate = 10 * time.Millisecond

// slots is the gate of a rate: open loop, no catching up. It waits for a slot
// itself, so that it is asked for the next one only when that is handed over,
// and finds out from the clock which slots were missed meanwhile.
type slots struct {
	schedule pace.Schedule
	start    time.Time
	until    time.Time
	planned  int
	max      int
	stop     <-chan struct{}
	over     chan struct{}
	next     int   // the slot that Pace is at; only Pace uses it
	asleep   alarm // of Pace

	mu        sync.Mutex
	due       map[uint64]time.Time // of the calls on their way to begin, by seq
	released  int                  // calls so far, whose seqs are below it
	decided   int                  // released calls that came to begin, or are lost
	inFlight  int                  // released calls that have not ended
	fullSince time.Time            // when inFlight last came to max
	refused   int                  // slots without room while a call was on its way
	paced     bool                 // Pace has said the last word
	total     counts
}

func newSlots(p Phase, start time.Time, stop <-chan struct{}) *slots {
	return &slots{
		schedule: p.Schedule,
		start:    start,
		until:    start.Add(p.Duration),
		planned:  p.Schedule.Count(p.Duration),
		max:      p.MaxInFlight,
		stop:     stop,
		over:     make(chan struct{}),
		due:      map[uint64]time.Time{},
	}
}

// Rate is not asked for by an attack; it is part of vegeta's interface.
func (s *slots) Rate(time.Duration) float64 { return 0 }

// Pace returns when a call is to be sent now, or with true when the phase is
// over. Slots that cannot be sent are counted on the way.
func (s *slots) Pace(time.Duration, uint64) (wait time.Duration, stop bool) {
	for s.next < s.planned {
		due := s.start.Add(s.schedule.Due(s.next))
		if !s.asleep.until(s.stop, due) {
			break
		}
		s.next++
		if s.release(due, time.Now()) {
			return 0, false
		}
	}
	if s.next == s.planned {
		s.asleep.until(s.stop, s.until)
	}
	s.finish(time.Now())
	return 0, true
}

// release decides about the slot that was due, and reports whether it goes.
func (s *slots) release(due, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := now.Sub(due) > MaxLate
	switch full := s.inFlight == s.max; {
	case full && (!late || !s.fullSince.After(due)):
		s.refuse() // It was full when the slot was due, or is now.
		return false
	case late:
		s.total.dropped++
		return false
	}
	s.due[uint64(s.released)] = due
	s.released++
	s.inFlight++
	if s.inFlight == s.max {
		s.fullSince = now
	}
	return true
}

// refuse counts a slot that found no room. Only calls that were sent are held by the
// SUT: while one of those that take the room is still on its way, it is open whose
// fault that is. The lock is held.
func (s *slots) refuse() {
	if s.decided == s.released {
		s.total.saturated++
		return
	}
	s.refused++
}

// begin looks at the clock once more: vegeta's handing over may have taken
// time as well.
func (s *slots) begin(seq uint64) (due time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due = s.due[seq]
	delete(s.due, seq)
	switch {
	case closed(s.stop):
		s.inFlight--
		s.total.planned-- // The load was stopped before this slot could be used.
	case time.Since(due) > MaxLate:
		s.drop()
	default:
		s.total.sent++
		ok = true
	}
	s.decide()
	return due, ok
}

func (s *slots) end(uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

func (s *slots) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.decide()
}

// drop counts a released call that is not sent. It took room that the SUT did not,
// so slots that were refused meanwhile are this process's loss too. The lock is
// held.
func (s *slots) drop() {
	s.inFlight--
	s.total.dropped += 1 + s.refused
	s.refused = 0
}

// decide counts a released call whose fate is known. When no other is on its way,
// the SUT holds all calls there are. The lock is held.
func (s *slots) decide() {
	s.decided++
	if s.decided == s.released {
		s.total.saturated += s.refused
		s.refused = 0
	}
	s.settle()
}

// finish is Pace's last word. Slots that were not reached, because the load was
// stopped, were not due.
func (s *slots) finish(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paced = true
	s.total.planned += s.next
	s.total.ended = now
	s.settle()
}

// settle closes over when nothing can change the counts any more. The lock is
// held.
func (s *slots) settle() {
	if s.paced && s.decided == s.released {
		close(s.over)
	}
}

func (s *slots) settled() <-chan struct{} { return s.over }

func (s *slots) counts() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
