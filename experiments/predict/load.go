package predict

import (
	"time"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/match"
)

// load sends the load of a phase as the attack does.
func (w *playing) load(i int) {
	switch p := w.plan.Phases[i]; {
	case p.Calls != nil:
		w.callsMode(i)
	case p.Clients != nil:
		w.clients(i)
	case p.Sessions != nil:
		w.sessions(i)
	default:
		w.openLoop(i)
	}
}

// send makes call seq of a phase.
func (w *playing) send(i int, seq uint64, due time.Duration, over func()) {
	p := w.plan.Phases[i]
	w.call(order{phase: p.Name, seq: seq, due: due, target: match.Pick(w.plan.Sends(p), pace.Draw(w.plan.Seed, seq))}, over)
}

// openLoop sends by the clock. What the SUT leaves no room for is not sent.
func (w *playing) openLoop(i int) {
	p, from := w.plan.Phases[i], w.now
	schedule := p.Schedule(w.plan.Seed)
	planned := schedule.Count(p.Duration)
	sent, saturated, inFlight := 0, 0, 0
	var slot func(k int)
	slot = func(k int) {
		if k+1 < planned {
			due := from + schedule.Due(k+1)
			w.at(due, func() { slot(k + 1) })
		}
		if inFlight == w.plan.MaxInFlight {
			saturated++
			return
		}
		inFlight++
		due, seq := from+schedule.Due(k), uint64(sent)
		sent++
		w.after(0, func() { w.send(i, seq, due, func() { inFlight-- }) })
	}
	if planned > 0 {
		w.at(from+schedule.Due(0), func() { slot(0) })
	}
	w.at(from+p.Duration, func() { w.leave(i, from, planned, sent, saturated) })
}

// callsMode sends a number of calls: each worker waits for its answer and then for
// the gap.
func (w *playing) callsMode(i int) {
	c, from := w.plan.Phases[i].Calls, w.now
	sent, busy := 0, c.Concurrency
	var next func()
	next = func() {
		if sent == c.N || c.Until != "" && w.live.is(c.Breaker, c.Until) || c.UntilArrivals > 0 && w.came(i) >= c.UntilArrivals {
			if busy--; busy == 0 {
				w.leave(i, from, c.N, sent, 0)
			}
			return
		}
		seq := uint64(sent)
		sent++
		w.send(i, seq, w.now, func() { w.after(0, func() { w.at(w.now+c.Gap, next) }) })
	}
	for range c.Concurrency {
		w.after(0, next)
	}
}

// came is how many attempts have arrived in a phase.
func (w *playing) came(i int) int {
	n := 0
	for _, at := range w.played[i].arrivals {
		n += at
	}
	return n
}

// clients sends for a time: each waits for its answer and then thinks.
func (w *playing) clients(i int) {
	p, from := w.plan.Phases[i], w.now
	c, sent := p.Clients, 0
	until := from + p.Duration
	var next func()
	next = func() {
		if w.now >= until {
			return
		}
		seq := uint64(sent)
		sent++
		w.send(i, seq, w.now, func() {
			w.after(0, func() { w.at(w.now+c.ThinkMin+w.drawn(seq, c.ThinkMax-c.ThinkMin), next) })
		})
	}
	for k := range uint64(c.N) {
		first := w.now + pace.Between(pace.Draw(^w.plan.Seed, k), 0, c.ThinkMax)
		w.at(first, func() { w.after(0, next) })
	}
	w.at(until, func() { w.leave(i, from, sent, sent, 0) })
}

// drawn is a duration up to most, by (seed, seq).
func (w *playing) drawn(seq uint64, most time.Duration) time.Duration {
	return pace.Between(pace.Draw(w.plan.Seed, seq), 0, most)
}
