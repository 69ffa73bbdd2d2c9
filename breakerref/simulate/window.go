package simulate

import "github.com/faultline-go/faultline/breakerref"

// The windows below are those of a closed breaker, as breakerref has them, in the form
// that is fastest here. TestFastIsTheMachine holds them against the machine.

// sums counts outcomes.
type sums struct{ calls, failed, slow int32 }

// limits say when a closed breaker opens.
type limits struct {
	failure, slow float32
	minimum       int32
}

// reached says whether a rate has reached its threshold.
func (l *limits) reached(s *sums) bool {
	if s.calls < l.minimum || s.failed|s.slow == 0 {
		return false
	}
	return float32(s.failed)*100/float32(s.calls) >= l.failure || float32(s.slow)*100/float32(s.calls) >= l.slow
}

// The bits of an outcome.
const (
	isFailed = 1
	isSlow   = 2
)

// window counts the outcomes that a closed breaker remembers.
type window struct {
	limits limits
	totals sums
	size   int

	// Of a window of calls.
	ring []uint8
	next int

	// Of a window of seconds.
	timed   bool
	buckets []sums // one for each of the size latest seconds, that of the current one at next
	until   int64  // when the current second ends
}

// maxSeconds is the longest window of seconds that has room here.
const maxSeconds = 1 << 17

// fast says whether a breaker's window can be counted here.
func fast(c breakerref.Config) bool {
	return c.WindowType == breakerref.CountBased || !c.LockFree && c.Window <= maxSeconds
}

func newWindow(c breakerref.Config) window {
	w := window{size: c.Window, limits: limits{failure: c.FailureRate, slow: c.SlowRate, minimum: int32(c.MinimumCalls)}}
	if c.WindowType == breakerref.TimeBased {
		w.timed = true
		w.buckets = make([]sums, c.Window)
		return w
	}
	w.limits.minimum = int32(min(c.MinimumCalls, c.Window))
	return w
}

// reset empties the window at an instant; second is when the current second of the
// wall clock ends.
func (w *window) reset(second int64) {
	w.totals, w.next, w.until = sums{}, 0, second
	if w.timed {
		clear(w.buckets)
	} else {
		w.ring = w.ring[:0]
	}
}

// record counts an outcome and says whether the breaker opens.
func (w *window) record(at int64, o uint8) bool {
	if w.timed {
		if at >= w.until {
			w.slide(at)
		}
		b := &w.buckets[w.next]
		b.add(o, 1)
		w.totals.add(o, 1)
		return w.limits.reached(&w.totals)
	}
	if len(w.ring) < w.size {
		w.ring = append(w.ring, o)
		w.totals.add(o, 1)
		return w.limits.reached(&w.totals)
	}
	if last := w.ring[w.next]; last != o {
		w.totals.add(last, -1)
		w.totals.add(o, 1)
		w.ring[w.next] = o
	}
	if w.next++; w.next == w.size {
		w.next = 0
	}
	return w.limits.reached(&w.totals)
}

// slide goes on to the second of an instant.
func (w *window) slide(at int64) {
	n := (at-w.until)/second + 1
	w.until += n * second
	for range min(n, int64(w.size)) {
		if w.next++; w.next == w.size {
			w.next = 0
		}
		b := &w.buckets[w.next]
		w.totals.calls -= b.calls
		w.totals.failed -= b.failed
		w.totals.slow -= b.slow
		*b = sums{}
	}
}

const second = int64(1e9)

func (s *sums) add(o uint8, n int32) {
	s.calls += n
	s.failed += n * int32(o&isFailed)
	s.slow += n * int32(o>>1)
}
