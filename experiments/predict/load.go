package predict

import (
	"math/bits"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
)

// load sends the load of a phase as the attack does.
func (w *playing) load(i int) {
	switch p := w.plan.Phases[i]; {
	case p.Calls != nil:
		w.callsMode(i)
	case p.Clients != nil:
		w.clients(i)
	default:
		w.openLoop(i)
	}
}

// send makes call seq of a phase.
func (w *playing) send(i int, seq uint64, due time.Duration, over func()) {
	p := w.plan.Phases[i]
	w.call(order{phase: p.Name, seq: seq, due: due, target: pick(w.targets(p), w.plan.Seed, seq)}, over)
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
		if sent == c.N || c.Until != "" && w.live.is(c.Breaker, c.Until) {
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
		first := w.now + time.Duration(below(mix(^w.plan.Seed, k), uint64(c.ThinkMax)+1))
		w.at(first, func() { w.after(0, next) })
	}
	w.at(until, func() { w.leave(i, from, sent, sent, 0) })
}

// drawn is a duration up to most, by (seed, seq).
func (w *playing) drawn(seq uint64, most time.Duration) time.Duration {
	return time.Duration(below(mix(w.plan.Seed, seq), uint64(most)+1))
}

// pick chooses the target of call seq by weight, by (seed, seq). It picks as the
// attack does, so that what is predicted is what will be sent; a test of this
// package holds the two together.
func pick(targets []match.Target, seed, seq uint64) match.Target {
	total := 0
	for _, t := range targets {
		total += t.Weight
	}
	if total == 0 {
		return targets[below(mix(seed, seq), uint64(len(targets)))]
	}
	at := below(mix(seed, seq), uint64(total))
	i := slices.IndexFunc(targets, func(t match.Target) bool {
		at -= t.Weight
		return at < 0
	})
	return targets[i]
}

// below scales 64 random bits to 0..n-1.
func below(x, n uint64) int {
	hi, _ := bits.Mul64(x, n)
	return int(hi)
}

// mix hashes two numbers to 64 bits by SplitMix64's output function.
func mix(a, b uint64) uint64 { return scramble(scramble(a) ^ b) }

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
