package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/target/match"
)

// guard is what lets calls into a service, or does not: a bulkhead or a limiter. A call that it
// lets in leaves when the dependency has answered it.
type guard interface {
	enter(now time.Duration) bool
	leave()
	refusal() reply // an empty one is never sent
}

// enter asks the guard; what it returns answers a call that is not let in.
func (s *sut) enter() (refuse func(answer func(reply))) {
	if s.guard == nil || s.guard.enter(s.now) {
		return nil
	}
	return func(answer func(reply)) {
		if r := s.guard.refusal(); r.status != 0 {
			s.answer(r, answer)
		}
	}
}

// pass tells the guard that a call has left.
func (s *sut) pass() {
	if s.guard != nil {
		s.guard.leave()
	}
}

// clients sends for a time: each client waits for its answer and then thinks.
func (w *world) clients(i int) {
	p, from, sent := w.Phases[i], w.now, 0
	var next func()
	next = func() {
		if w.now >= from+p.Duration {
			return
		}
		n := sent
		sent++
		w.call(p.Name, n, w.now, func() { w.at(w.now+w.draw(p.Think), next) })
	}
	for range p.Clients {
		w.at(w.now+w.draw(span{0, p.Think.hi}), next)
	}
	w.at(from+p.Duration, func() { w.leave(i, from, sent) })
}

// turnedDown is how a right limiter refuses.
func turnedDown() reply { return reply{status: 429, class: match.ClassRejected, retryAfter: "1"} }

// full is how a bulkhead refuses.
func full() reply { return reply{status: 503, class: match.ClassRejected} }

// bulkhead lets so many in at a time; leak is how often a place is not given back, once in so
// many calls, 0: never.
type bulkhead struct{ places, leak, calls int }

func (b *bulkhead) enter(time.Duration) bool {
	if b.places == 0 {
		return false
	}
	b.places--
	return true
}

func (b *bulkhead) leave() {
	if b.calls++; b.leak == 0 || b.calls%b.leak != 0 {
		b.places++
	}
}
func (*bulkhead) refusal() reply { return full() }

// places is a setup with bulkheads.
func places(n, leak int) func(*setup) {
	return func(s *setup) { s.Guard = func() guard { return &bulkhead{places: n, leak: leak} } }
}

// shaper is a rate limiter.
type shaper struct {
	says   reply
	allows func(now time.Duration) bool
}

func (l *shaper) enter(now time.Duration) bool { return l.allows(now) }
func (*shaper) leave()                         {}
func (l *shaper) refusal() reply               { return l.says }

// shaped is a setup with a rate limiter in each instance.
func shaped(build func() func(now time.Duration) bool) func(*setup) {
	return saying(turnedDown(), build)
}

// saying is shaped with another refusal.
func saying(r reply, build func() func(now time.Duration) bool) func(*setup) {
	return func(s *setup) { s.Guard = func() guard { return &shaper{r, build()} } }
}

// bucket holds so many tokens and gets so many in a second.
func bucket(size, rate float64) func() func(time.Duration) bool {
	return func() func(time.Duration) bool {
		level, last := size, time.Duration(0)
		return func(now time.Duration) bool {
			level, last = min(size, level+rate*(now-last).Seconds()), now
			if level < 1 {
				return false
			}
			level--
			return true
		}
	}
}

// fixedWindow lets so many through in each window of the clock.
func fixedWindow(most int, window time.Duration) func() func(time.Duration) bool {
	return func() func(time.Duration) bool {
		n, in := 0, time.Duration(-1)
		return func(now time.Duration) bool {
			if now/window != in {
				n, in = 0, now/window
			}
			n++
			return n <= most
		}
	}
}

// slidingLog lets so many through in any window.
func slidingLog(most int, window time.Duration) func() func(time.Duration) bool {
	return func() func(time.Duration) bool {
		var log []time.Duration
		return func(now time.Duration) bool {
			for len(log) > 0 && now-log[0] >= window {
				log = log[1:]
			}
			if len(log) == most {
				return false
			}
			log = append(log, now)
			return true
		}
	}
}

// slidingCounter estimates by the window before, as much as is left of it, and this one.
func slidingCounter(most int, window time.Duration) func() func(time.Duration) bool {
	return func() func(time.Duration) bool {
		before, now, in := 0, 0, time.Duration(0)
		return func(at time.Duration) bool {
			switch at/window - in {
			case 0:
			case 1:
				before, now = now, 0
			default:
				before, now = 0, 0
			}
			in = at / window
			rest := 1 - float64(at%window)/float64(window)
			if float64(before)*rest+float64(now)+1 > float64(most) {
				return false
			}
			now++
			return true
		}
	}
}
