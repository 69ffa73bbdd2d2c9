package breakerref

import (
	"slices"
	"time"
)

// outcome is how a permitted call ended.
type outcome struct{ failed, slow bool }

// counts sums up outcomes.
type counts struct{ calls, failed, slow, slowFailed int }

func (c *counts) add(o outcome) {
	c.calls++
	if o.failed {
		c.failed++
	}
	if o.slow {
		c.slow++
	}
	if o.failed && o.slow {
		c.slowFailed++
	}
}

func (c *counts) remove(d counts) {
	c.calls -= d.calls
	c.failed -= d.failed
	c.slow -= d.slow
	c.slowFailed -= d.slowFailed
}

// window remembers the latest outcomes. Reading may forget some, too: a time
// window slides whenever it is touched.
type window interface {
	record(now time.Time, o outcome) counts
	read(now time.Time) counts
	clone() window
}

// callWindow holds the last size outcomes. It grows as outcomes come, so that a
// huge window costs nothing before it is filled.
type callWindow struct {
	size    int
	ring    []outcome // the oldest is at next once the ring is full
	next    int
	totals  counts
	fragile bool // it has lost its head once it slides
}

func (w *callWindow) record(_ time.Time, o outcome) counts {
	if w.fragile && len(w.ring) == w.size {
		panic(Crash{Exception: noHead})
	}
	if len(w.ring) < w.size {
		w.ring = append(w.ring, o)
		w.totals.add(o)
		return w.totals
	}
	if last := w.ring[w.next]; last != o { // Else one goes as another of its kind comes.
		var gone counts
		gone.add(last)
		w.totals.remove(gone)
		w.totals.add(o)
		w.ring[w.next] = o
	}
	if w.next++; w.next == w.size {
		w.next = 0
	}
	return w.totals
}

func (w *callWindow) read(time.Time) counts { return w.totals }

func (w *callWindow) clone() window {
	c := *w
	c.ring = slices.Clone(w.ring)
	return &c
}

// timeWindow holds the outcomes of size buckets, one a second, on the seconds of
// the wall clock.
type timeWindow struct {
	turns
	head int64 // the second of the current bucket
}

func newTimeWindow(size int, now time.Time) *timeWindow {
	return &timeWindow{turns: turns{size: size}, head: now.Unix()}
}

func (w *timeWindow) record(now time.Time, o outcome) counts {
	w.slide(now)
	return w.add(o)
}

func (w *timeWindow) read(now time.Time) counts {
	w.slide(now)
	return w.totals
}

// slide advances to the second of now. If the clock has stepped back, it advances
// by one bucket all the same and into the second after the current one: so does
// the library, and so its window runs ahead of such a clock.
func (w *timeWindow) slide(now time.Time) {
	switch ahead := now.Unix() - w.head; {
	case ahead == 0:
	case ahead > 0:
		w.head += ahead
		w.advance(min(ahead, int64(w.size)))
	default:
		w.head++
		w.advance(1)
	}
}

func (w *timeWindow) clone() window { return &timeWindow{turns: w.turns.clone(), head: w.head} }
