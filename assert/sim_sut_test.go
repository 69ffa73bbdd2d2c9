package assert_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// breaker is the SUT's circuit breaker: the reference, or one with a defect.
type breaker interface {
	Acquire(now time.Time) bool
	Record(now time.Time, failed bool, took time.Duration)
	State() breakerref.State
}

// reply is what the SUT answers.
type reply struct {
	status int
	err    trace.ErrKind
	class  string
	says   string
	saysBy string
	ages   map[string]string

	retryAfter string
}

// sut is one instance of the system under test.
type sut struct {
	*world
	number  int
	breaker breaker
	free    int // connections
	last    happened
	queue   []func()
	besides besides
	guard   guard
}

func newSUT(w *world, number int) *sut {
	s := &sut{world: w, number: number, free: w.Pool}
	if w.Guard != nil {
		s.guard = w.Guard()
	}
	if w.Make != nil {
		s.breaker = w.Make(w.Breaker, w.clock())
	} else {
		s.breaker = reference(w.Breaker, w.clock())
	}
	for i, failed := range w.Running {
		if s.breaker.Acquire(w.clock()) {
			s.breaker.Record(w.clock().Add(time.Duration(i)), failed, ms)
		}
	}
	return s
}

// reference is the breaker as declared.
func reference(c breakerref.Config, now time.Time) *breakerref.Machine {
	m, err := breakerref.New(c, now)
	if err != nil {
		panic(err)
	}
	return m
}

// ask asks the breaker and notes a change of state.
func (s *sut) ask() bool {
	before := s.breaker.State()
	ok := s.breaker.Acquire(s.clock())
	s.note(before)
	return ok
}

// tell records an outcome and notes a change of state.
func (s *sut) tell(failed bool, took time.Duration) {
	before := s.breaker.State()
	s.breaker.Record(s.clock(), failed, took)
	s.last.recorded++
	if failed {
		s.last.failed++
	}
	s.note(before)
}

func (s *sut) note(before breakerref.State) {
	if after := s.breaker.State(); after != before {
		s.truth = append(s.truth, happened{s.number, s.now, before, after, s.last.recorded, s.last.failed})
		s.last = happened{}
	}
}

// serve is one call at the SUT; answer may be called once, at any later time.
func (s *sut) serve(id string, answer func(reply)) {
	s.pay(id)
	s.inSUT(s.now+s.draw(s.Own), func() { s.meet(id, answer) })
}

// try makes the n-th attempt; since is when the breaker let the call in.
func (s *sut) try(id string, n int, since time.Duration, answer func(reply)) {
	if refused := s.enter(); refused != nil {
		refused(answer)
		return
	}
	if n == 1 || !s.Retry.Inside {
		if !s.ask() {
			s.pass()
			if s.Retry.Rejections && n < s.Retry.Attempts {
				s.again(id, n, since, answer)
				return
			}
			s.fallback(id, reply{status: 503, class: match.ClassRejected}, answer)
			return
		}
		since = s.now
	}
	if s.squeezed(id, since, answer) {
		return
	}
	s.connect(func() {
		s.exchange(id, func(failed bool) {
			s.disconnect()
			s.besides.under -= one(s.Aside.Inside)
			s.pass()
			s.inSUT(s.now+s.draw(s.Post), func() { s.outcome(id, n, since, failed, answer) })
		})
	})
}

// again makes the next attempt after the backoff.
func (s *sut) again(id string, n int, since time.Duration, answer func(reply)) {
	s.inSUT(s.now+s.pause(id, n), func() {
		if s.Retry.Stops && s.memory.left[id] {
			return
		}
		s.try(id, n+1, since, answer)
	})
}

// outcome records how an attempt ended and goes on.
func (s *sut) outcome(id string, n int, since time.Duration, failed bool, answer func(reply)) {
	took := s.now - since
	if s.Failure.Slow > 0 && took > s.Failure.Slow {
		failed = true
	}
	more := failed && n < s.Retry.Attempts && s.mayRepeat(id)
	if !more || !s.Retry.Inside {
		s.tell(failed, took)
	}
	switch {
	case more:
		s.again(id, n, since, answer)
	case failed:
		s.fallback(id, reply{status: 502, class: match.Unclassified}, answer)
	default:
		s.answer(reply{status: 200, class: match.ClassPrimary}, answer)
	}
}

// answer sends a reply after the SUT's own time.
func (s *sut) answer(r reply, answer func(reply)) {
	s.inSUT(s.now+s.draw(s.Post), func() { answer(r) })
}

// fallback answers from elsewhere, or with the bare error.
func (s *sut) fallback(id string, bare reply, answer func(reply)) {
	good := reply{status: 200, class: match.ClassFallback}
	switch {
	case s.Aside.Keep > 0:
		s.answer(s.kept(bare), answer)
	case s.NoFallback, s.paying[id] && !s.FallsBack:
		s.answer(bare, answer)
	case s.Second:
		s.at(s.now+s.draw(s.Net), func() {
			s.second.arrive(id, func(bool) { s.inSUT(s.now+s.draw(s.Net), func() { s.answer(good, answer) }) })
		})
	default:
		s.inSUT(s.now+s.draw(s.Fallback), func() { s.answer(good, answer) })
	}
}

// connect calls do once a connection is free.
func (s *sut) connect(do func()) {
	switch {
	case s.Pool == 0:
		do()
	case s.free > 0:
		s.free--
		do()
	default:
		s.queue = append(s.queue, do)
	}
}

// disconnect gives a connection back.
func (s *sut) disconnect() {
	switch {
	case s.Pool == 0:
	case len(s.queue) > 0:
		do := s.queue[0]
		s.queue = s.queue[1:]
		do()
	default:
		s.free++
	}
}

// exchange sends a request to the dependency and tells how it ended: by its
// answer, or by the SUT's patience.
func (s *sut) exchange(id string, over func(failed bool)) {
	ended := false
	end := func(failed bool) {
		if ended {
			return
		}
		if ended = true; failed && s.resends(id) {
			s.exchange(id, over)
			return
		}
		over(failed)
	}
	leave := func() {}
	s.leaving[id] = func() {
		end(s.Failure.Abandon)
		leave()
	}
	s.at(s.now+s.draw(s.Net), func() {
		switch {
		case s.Connections:
			s.peer = fmt.Sprintf("127.0.0.1:%d", 40000+s.number)
		case s.OwnPeers:
			s.peer = fmt.Sprintf("10.0.0.%d:%d", s.number+1, 40000+s.now%1000)
		}
		leave = s.primary.arrive(id, func(failed bool) { s.inSUT(s.now+s.draw(s.Net), func() { end(failed) }) })
	})
	if s.SUTTimeout > 0 {
		s.inSUT(s.now+s.SUTTimeout, func() {
			if ended {
				return
			}
			end(s.Failure.Abandon)
			s.at(s.now+s.draw(s.Net), func() { leave() })
		})
	}
}
