package assert_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// openLoop sends at a rate.
func (w *world) openLoop(i int) {
	p, from := w.Phases[i], w.now
	step := time.Duration(float64(time.Second) / p.Rate)
	n := int(p.Duration / step)
	for k := range n {
		due := from + time.Duration(k)*step
		if p.Bunch > 0 {
			due = from + time.Duration(k/p.Bunch*p.Bunch)*step
		}
		at := due
		if p.Jitter > 0 {
			at += time.Duration(w.rng.Int64N(int64(p.Jitter)))
		}
		w.at(at, func() { w.call(p.Name, k, due, func() {}) })
	}
	w.at(from+p.Duration, func() { w.leave(i, from, n) })
}

// closedLoop sends a number of calls, each worker one after the other.
func (w *world) closedLoop(i int) {
	p, from := w.Phases[i], w.now
	sent, busy := 0, p.Workers
	var next func()
	next = func() {
		if sent == p.Calls || p.Until && w.live.open {
			if busy--; busy == 0 {
				w.leave(i, from, sent)
			}
			return
		}
		n := sent
		sent++
		w.call(p.Name, n, w.now, func() { w.at(w.now+p.Gap+time.Duration(w.rng.Int64N(1000)), next) })
	}
	for range p.Workers {
		w.at(w.now+time.Duration(w.rng.Int64N(1000)), next)
	}
}

// call sends one request and tells when it is over.
func (w *world) call(phase string, n int, due time.Duration, over func()) {
	c := &trace.Call{
		ID: fmt.Sprintf("%s/%d", phase, n), Phase: phase, Target: "checkout",
		Sched: due, Send: w.now, First: trace.None, Class: match.Unclassified,
	}
	if w.Pay > 0 && n%w.Pay == 0 {
		c.Target = "pay"
		w.paying[c.ID] = true
	}
	serving := w.suts
	if w.Starved {
		serving = serving[:len(serving)-1]
	}
	s := serving[w.turn%len(serving)]
	if w.Replicas {
		c.Instance = fmt.Sprintf("i%d", s.number)
	}
	w.turn++
	ended := false
	end := func(a reply) {
		if ended {
			return
		}
		ended = true
		c.End, c.Status, c.Err, c.Class, c.RetryAfter = w.now, a.status, a.err, a.class, a.retryAfter
		if a.says != "" || a.ages != nil {
			c.Told = &trace.Told{Reason: a.says, By: a.saysBy, Ages: a.ages}
		}
		if a.status != 0 {
			c.First = w.now
			if w.Instances > 0 {
				c.Instance = fmt.Sprintf("i%d", s.number)
			}
		} else {
			w.failed++
		}
		w.rec.Calls = append(w.rec.Calls, *c)
		w.noticed(*c)
		over()
	}
	w.at(w.now+w.draw(w.Net), func() { s.serve(c.ID, func(a reply) { w.at(w.now+w.draw(w.Net), func() { end(a) }) }) })
	if w.ClientTimeout > 0 {
		w.at(w.now+w.ClientTimeout, func() {
			w.memory.left[c.ID] = !ended && w.Propagates
			end(reply{err: trace.ErrTimeout, class: match.Unclassified})
			if leave := w.leaving[c.ID]; leave != nil && w.Propagates {
				w.at(w.now+w.draw(w.Net), leave)
			}
		})
	}
}

// noticed is the live guess of the runner: it feeds holds and `until`.
func (w *world) noticed(c trace.Call) {
	switch {
	case !c.Answered():
	case w.arrived["payments "+c.ID] > 0:
		w.live.rejected = 0
	default:
		w.live.rejected++
		w.live.open = w.live.open || w.live.rejected >= 3
		w.primary.rejected(c.Send)
	}
}
