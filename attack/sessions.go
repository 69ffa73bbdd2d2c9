package attack

import (
	"container/heap"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Sessions are the load of a phase in which virtual users follow a script. Each waits
// for its answer, thinks, and makes the next step; the phase ends when all of them
// have made their rounds.
type Sessions struct {
	Users    int
	Rounds   int // of each user
	ThinkMin time.Duration
	ThinkMax time.Duration
	Script   match.Script
}

// sessions is the gate of a phase of sessions: a closed loop of users. Unlike clients
// they are not alike, so a call is made for the user whose turn it is.
type sessions struct {
	phase Phase
	stop  <-chan struct{}
	turn  chan *user // users whose call was released and has not begun
	freed chan *user // users whose call has ended; there is room for all
	idle  users      // those that think; only Pace uses it
	left  int        // users that have rounds to make; only Pace uses it
	last  time.Time  // when the latest call was released; only Pace uses it
	under map[uint64]*user
	ends  trace.Rounds
	ledger
}

func newSessions(p Phase, start time.Time, stop <-chan struct{}, hire func(n int) *user) *sessions {
	n := p.Sessions.Users
	s := &sessions{
		phase: p, stop: stop, left: n,
		turn: make(chan *user, n), freed: make(chan *user, n), under: map[uint64]*user{},
		ledger: ledger{over: make(chan struct{})},
	}
	// As of clients: each is met somewhere in a thought.
	for i := range n {
		u := hire(i + 1)
		u.at = start.Add(pace.Between(pace.Draw(^p.Seed, uint64(i)), 0, p.Sessions.ThinkMax))
		s.idle = append(s.idle, u)
	}
	heap.Init(&s.idle)
	return s
}

// Rate is not asked for by an attack; it is part of vegeta's interface.
func (s *sessions) Rate(time.Duration) float64 { return 0 }

// Pace returns when a user makes its next step, or with true when all have made
// their rounds.
func (s *sessions) Pace(time.Duration, uint64) (wait time.Duration, stop bool) {
	for s.left > 0 {
		u, ok := s.ready()
		if !ok {
			break
		}
		if u == nil {
			continue
		}
		s.last = time.Now()
		s.turn <- u
		s.release()
		return 0, false
	}
	s.finish(time.Now())
	return 0, true
}

// ready waits for the first user that has thought; none means that one was freed
// meanwhile, and not ok that the load was stopped. Two calls never leave at one
// instant, as in loop.
func (s *sessions) ready() (u *user, ok bool) {
	var due <-chan time.Time
	if len(s.idle) > 0 {
		timer := time.NewTimer(time.Until(later(s.idle[0].at, s.last.Add(1))))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case u := <-s.freed:
		if u.over() {
			s.left--
		} else {
			heap.Push(&s.idle, u)
		}
		return nil, true
	case <-s.stop:
		return nil, false
	case <-due:
		return heap.Pop(&s.idle).(*user), !closed(s.stop)
	}
}

func (s *sessions) begin(seq uint64) (due time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := <-s.turn // One is there: it was put there before the call was released.
	ok = !closed(s.stop)
	if ok {
		s.under[seq] = u
		s.total.sent++
		s.total.planned++ // A closed loop plans what it comes to.
	}
	s.decide()
	return time.Time{}, ok
}

// user is whose call this is, between begin and end.
func (s *sessions) user(seq uint64) *user {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under[seq]
}

// end frees the user of a call, which thinks from now on.
func (s *sessions) end(seq uint64) {
	p := s.phase.Sessions
	now := time.Now()
	s.mu.Lock()
	u := s.under[seq]
	delete(s.under, seq)
	s.ends.Count(u.ended)
	s.total.ended = now
	s.mu.Unlock()
	u.at = now.Add(pace.Between(pace.Draw(s.phase.Seed, seq), p.ThinkMin, p.ThinkMax))
	s.freed <- u
}

// lost gives the user whose call was lost another turn.
func (s *sessions) lost() {
	s.mu.Lock()
	u := <-s.turn
	s.decide()
	s.mu.Unlock()
	u.at = time.Now()
	s.freed <- u
}

// rounds are what became of the rounds so far.
func (s *sessions) rounds() *trace.Rounds {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := s.ends
	return &ends
}

// users is a heap of users that think, the one that has thought first in front.
type users []*user

func (us users) Len() int { return len(us) }
func (us users) Less(i, j int) bool {
	if us[i].at.Equal(us[j].at) {
		return us[i].n < us[j].n
	}
	return us[i].at.Before(us[j].at)
}
func (us users) Swap(i, j int) { us[i], us[j] = us[j], us[i] }
func (us *users) Push(x any)   { *us = append(*us, x.(*user)) }
func (us *users) Pop() any {
	last := (*us)[len(*us)-1]
	*us = (*us)[:len(*us)-1]
	return last
}
