package breakerref

import (
	"slices"
	"time"
)

// sliceWindow holds the outcomes of size slices of a second each, of which the first
// begins when the window is made: the lock-free window, which counts by a clock of its
// own that never steps back. One slice is the current one, so an outcome is gone size
// seconds after its slice began.
type sliceWindow struct {
	size    int
	head    time.Time // when the current slice began
	turn    int64     // how many slices have begun
	buckets []bucket  // those with outcomes, oldest first
	totals  counts
	fragile bool // it has lost its head once it slides
}

func newSliceWindow(size int, now time.Time, fragile bool) *sliceWindow {
	return &sliceWindow{size: size, head: now, fragile: fragile}
}

func (w *sliceWindow) record(now time.Time, o outcome) counts {
	w.slide(now)
	last := len(w.buckets) - 1
	if last < 0 || w.buckets[last].turn != w.turn {
		w.buckets = append(w.buckets, bucket{turn: w.turn})
		last++
	}
	w.buckets[last].add(o)
	w.totals.add(o)
	return w.totals
}

func (w *sliceWindow) read(now time.Time) counts {
	w.slide(now)
	return w.totals
}

// slide begins as many slices as seconds have passed since the current one began. After
// a gap that is longer than the window, the next one begins now.
func (w *sliceWindow) slide(now time.Time) {
	elapsed := now.Sub(w.head)
	if elapsed < time.Second {
		return
	}
	if w.fragile && w.turn > 0 {
		panic(Crash{Exception: noHead})
	}
	passed := min(int64(elapsed/time.Second), int64(w.size))
	rest := elapsed - time.Duration(passed)*time.Second
	if rest >= time.Second {
		rest = 0
	}
	w.head = now.Add(-rest)
	w.turn += passed
	gone := 0
	for gone < len(w.buckets) && w.buckets[gone].turn <= w.turn-int64(w.size) {
		w.totals.remove(w.buckets[gone].counts)
		gone++
	}
	w.buckets = w.buckets[gone:]
}

func (w *sliceWindow) clone() window {
	c := *w
	c.buckets = slices.Clone(w.buckets)
	return &c
}
