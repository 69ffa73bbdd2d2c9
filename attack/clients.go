package attack

import (
	"container/heap"
	"time"

	"github.com/faultline-go/faultline/attack/pace"
)

// clients is the gate of a closed loop for a time: each client waits for its answer
// and then thinks before its next call. Clients are alike, so a call that has ended
// frees one of them, whichever worker of vegeta's made it.
type clients struct {
	phase Phase
	until time.Time
	stop  <-chan struct{}
	freed chan time.Time // when a client will have thought; there is room for all
	idle  instants       // of the clients that think; only Pace uses it
	last  time.Time      // when the latest call was released; only Pace uses it
	ledger
}

func newClients(p Phase, start time.Time, stop <-chan struct{}) *clients {
	c := &clients{
		phase:  p,
		until:  start.Add(p.Duration),
		stop:   stop,
		freed:  make(chan time.Time, p.Clients),
		ledger: ledger{over: make(chan struct{})},
	}
	// People do not all come at once: each is met somewhere in a thought.
	for i := range uint64(p.Clients) {
		c.idle = append(c.idle, start.Add(pace.Between(pace.Draw(^p.Seed, i), 0, p.ThinkMax)))
	}
	heap.Init(&c.idle)
	return c
}

// Rate is not asked for by an attack; it is part of vegeta's interface.
func (c *clients) Rate(time.Duration) float64 { return 0 }

// Pace returns when a client makes its next call, or with true when the time is
// over.
func (c *clients) Pace(time.Duration, uint64) (wait time.Duration, stop bool) {
	if c.ready() {
		c.last = time.Now()
		c.release()
		return 0, false
	}
	c.finish(time.Now())
	return 0, true
}

// ready waits for the first client that has thought, and reports whether the load
// goes on. Two calls never leave at one instant, as in loop.
func (c *clients) ready() bool {
	for {
		at := c.until
		if len(c.idle) > 0 {
			if next := later(c.idle[0], c.last.Add(1)); next.Before(at) {
				at = next
			}
		}
		timer := time.NewTimer(time.Until(at))
		select {
		case freed := <-c.freed:
			timer.Stop()
			heap.Push(&c.idle, freed)
		case <-c.stop:
			timer.Stop()
			return false
		case <-timer.C:
			if closed(c.stop) || !at.Before(c.until) {
				return false
			}
			heap.Pop(&c.idle)
			return true
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *clients) begin(uint64) (due time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok = !closed(c.stop)
	if ok {
		c.total.sent++
		c.total.planned++ // A closed loop plans what it comes to.
	}
	c.decide()
	return time.Time{}, ok
}

// end frees a client, which thinks from now on.
func (c *clients) end(seq uint64) {
	p := c.phase
	think := pace.Between(pace.Draw(p.Seed, seq), p.ThinkMin, p.ThinkMax)
	c.freed <- time.Now().Add(think)
}

func (c *clients) lost() {
	c.mu.Lock()
	c.decide()
	c.mu.Unlock()
	c.freed <- time.Now()
}

// instants is a heap of instants, the earliest first.
type instants []time.Time

func (in instants) Len() int           { return len(in) }
func (in instants) Less(i, j int) bool { return in[i].Before(in[j]) }
func (in instants) Swap(i, j int)      { in[i], in[j] = in[j], in[i] }
func (in *instants) Push(x any)        { *in = append(*in, x.(time.Time)) }
func (in *instants) Pop() any {
	last := (*in)[len(*in)-1]
	*in = (*in)[:len(*in)-1]
	return last
}
