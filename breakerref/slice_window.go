package breakerref

import "time"

// sliceWindow holds the outcomes of size slices of a second each, of which the first
// begins when the window is made: the lock-free window, which counts by a clock of its
// own that never steps back. One slice is the current one, so an outcome is gone size
// seconds after its slice began.
type sliceWindow struct {
	turns
	head    time.Time // when the current slice began
	fragile bool      // it has lost its head once it slides
}

func newSliceWindow(size int, now time.Time, fragile bool) *sliceWindow {
	return &sliceWindow{turns: turns{size: size}, head: now, fragile: fragile}
}

func (w *sliceWindow) record(now time.Time, o outcome) counts {
	w.slide(now)
	return w.add(o)
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
	w.advance(passed)
}

func (w *sliceWindow) clone() window {
	return &sliceWindow{turns: w.turns.clone(), head: w.head, fragile: w.fragile}
}
