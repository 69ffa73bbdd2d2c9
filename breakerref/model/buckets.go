package model

import (
	"slices"
	"time"
)

// buckets is a window over time whose buckets begin at fixed instants.
type buckets struct {
	sum      Counts
	slots    []Counts
	length   time.Duration
	anchor   time.Time // of AlignStart: when bucket 0 began
	head     int64     // the bucket being filled
	wall     bool
	atStart  bool
	byStart  bool
	complete bool
}

func newBuckets(cfg Config) *buckets {
	w := cfg.Window
	n := w.Buckets
	if w.Complete {
		n++ // The one being filled is not among those that count.
	}
	return &buckets{
		slots: make([]Counts, n), length: w.Period / time.Duration(w.Buckets),
		wall: w.Align == AlignWall, atStart: cfg.Count.AtStart, byStart: w.ByStart, complete: w.Complete,
	}
}

// index returns the number of the bucket that holds an instant.
func (w *buckets) index(now time.Time) int64 {
	if w.wall {
		return now.UnixNano() / int64(w.length)
	}
	return int64(now.Sub(w.anchor) / w.length)
}

func (w *buckets) slot(i int64) *Counts { return &w.slots[i%int64(len(w.slots))] }

// age forgets the buckets that the instant has left behind.
func (w *buckets) age(now time.Time) {
	to := w.index(now)
	if to <= w.head { // A clock that stepped back fills the bucket that it has.
		return
	}
	if to-w.head >= int64(len(w.slots)) {
		w.sum = Counts{}
		clear(w.slots)
		w.head = to
		return
	}
	for w.head < to {
		w.head++
		w.drop(w.slot(w.head))
	}
}

// drop forgets one bucket. A run of like outcomes loses what it has in that bucket
// only if it is seen to reach back there: if it is as long as all the like outcomes
// of the buckets since, and the bucket's own last run.
func (w *buckets) drop(b *Counts) {
	successes, failures := b.ConsecutiveSuccesses, b.ConsecutiveFailures
	for i := range w.slots {
		if other := &w.slots[i]; other != b {
			successes += other.Successes
			failures += other.Failures
		}
	}
	if w.sum.ConsecutiveSuccesses == successes {
		w.sum.ConsecutiveSuccesses -= b.ConsecutiveSuccesses
	}
	if w.sum.ConsecutiveFailures == failures {
		w.sum.ConsecutiveFailures -= b.ConsecutiveFailures
	}
	w.sum = w.sum.minus(*b)
	*b = Counts{}
}

func (w *buckets) start(now time.Time) int64 {
	if w.atStart {
		w.age(now)
		w.sum.Calls++
		w.slot(w.head).Calls++
	}
	return w.head
}

func (w *buckets) record(now time.Time, o Outcome, bucket int64) {
	w.age(now)
	if !w.byStart {
		bucket = w.head
	}
	if w.head-bucket >= int64(len(w.slots)) {
		return
	}
	w.sum.record(o, !w.atStart)
	w.slot(bucket).record(o, !w.atStart)
}

func (w *buckets) settle(now time.Time) {
	if !w.wall && !w.byStart { // Those have a timer that turns the buckets.
		w.age(now)
	}
}

func (w *buckets) touch(now time.Time) bool {
	if w.byStart {
		w.age(now)
	}
	return false
}

func (w *buckets) counts() Counts { return w.sum }

func (w *buckets) judged() Counts {
	if w.complete {
		return w.sum.minus(*w.slot(w.head))
	}
	return w.sum
}

func (w *buckets) clear(now time.Time) {
	w.sum = Counts{}
	clear(w.slots)
	w.anchor = now
	w.head = 0
	if w.wall {
		w.head = w.index(now)
	}
}

// cut completes the bucket being filled and begins another. Of AlignStart.
func (w *buckets) cut(now time.Time) {
	w.head++
	w.drop(w.slot(w.head))
	w.anchor = now.Add(-time.Duration(w.head) * w.length)
}

// edge returns when the bucket being filled is complete. It is not ok if the
// window is empty, because then nothing can follow.
func (w *buckets) edge() (time.Time, bool) {
	return w.anchor.Add(time.Duration(w.head+1) * w.length), w.sum.Calls > 0
}

func (w *buckets) clone() window {
	c := *w
	c.slots = slices.Clone(w.slots)
	return &c
}
