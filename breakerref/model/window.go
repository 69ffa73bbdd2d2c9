package model

import (
	"slices"
	"time"
)

// A window adds up outcomes. Which moments make it forget differs: settle is
// called whenever time is known to have passed, touch when a call asks or an
// outcome comes.
type window interface {
	start(now time.Time) (bucket int64) // a call begins
	record(now time.Time, o Outcome, bucket int64)
	settle(now time.Time)
	touch(now time.Time) (ended bool) // ended: what was counted so far is gone
	counts() Counts                   // all that it holds
	judged() Counts                   // what the trip rule sees
	clear(now time.Time)
	clone() window
}

// newWindow returns the empty window of CLOSED.
func newWindow(cfg Config, now time.Time) window {
	w := cfg.Window
	var made window
	switch w.Kind {
	case CountSliding:
		return &ring{outcomes: make([]Outcome, 0, w.Size), size: w.Size}
	case TimeTumbling:
		made = &tumbling{total: total{atStart: cfg.Count.AtStart}, period: w.Period}
	case Gap:
		return &gap{period: w.Period}
	case TimeSliding:
		switch w.Align {
		case AlignWrite:
			return &written{period: w.Period, length: w.Period / time.Duration(w.Buckets)}
		case AlignOnePerWrite:
			made = &rotating{slots: make([]slot, w.Buckets), length: w.Period / time.Duration(w.Buckets)}
		case AlignStart, AlignWall:
			made = newBuckets(cfg)
		}
	case Cumulative, CountTumbling:
		return &total{atStart: cfg.Count.AtStart}
	}
	made.clear(now)
	return made
}

// newProbeWindow returns the empty window of HALF_OPEN.
func newProbeWindow(cfg Config) window {
	if n := cfg.HalfOpen.Results; n > 0 {
		return &ring{outcomes: make([]Outcome, 0, n), size: n}
	}
	return &total{atStart: cfg.Count.AtStart}
}

// total holds everything since it was cleared.
type total struct {
	Counts
	atStart bool
}

func (w *total) start(time.Time) int64 {
	if w.atStart {
		w.Calls++
	}
	return 0
}
func (w *total) record(_ time.Time, o Outcome, _ int64) { w.Counts.record(o, !w.atStart) }
func (w *total) settle(time.Time)                       {}
func (w *total) touch(time.Time) bool                   { return false }
func (w *total) counts() Counts                         { return w.Counts }
func (w *total) judged() Counts                         { return w.Counts }
func (w *total) clear(time.Time)                        { w.Counts = Counts{} }
func (w *total) clone() window                          { c := *w; return &c }

// tumbling is a total that the first touch after its period clears. The next
// period begins with that touch.
type tumbling struct {
	total
	period time.Duration
	begun  time.Time
}

func (w *tumbling) touch(now time.Time) bool {
	if now.Sub(w.begun) <= w.period {
		return false
	}
	w.clear(now)
	return true
}
func (w *tumbling) clear(now time.Time) { w.total.clear(now); w.begun = now }
func (w *tumbling) clone() window       { c := *w; return &c }

// ring holds the last outcomes that are not ignored.
type ring struct {
	Counts
	outcomes []Outcome
	size     int
	next     int // the oldest, once full
}

func (w *ring) start(time.Time) int64 { return 0 }

func (w *ring) record(_ time.Time, o Outcome, _ int64) {
	if o == Ignore {
		w.Ignored++
		return
	}
	if len(w.outcomes) < w.size {
		w.outcomes = append(w.outcomes, o)
	} else {
		var oldest Counts
		oldest.record(w.outcomes[w.next], true)
		w.Counts = w.minus(oldest)
		w.outcomes[w.next] = o
		w.next = (w.next + 1) % w.size
	}
	w.Counts.record(o, true)
}

func (w *ring) settle(time.Time)     {}
func (w *ring) touch(time.Time) bool { return false }
func (w *ring) counts() Counts       { return w.Counts }
func (w *ring) judged() Counts       { return w.Counts }
func (w *ring) clear(time.Time) {
	w.Counts, w.outcomes, w.next = Counts{}, w.outcomes[:0], 0
}

func (w *ring) clone() window {
	c := *w
	c.outcomes = append(make([]Outcome, 0, w.size), w.outcomes...)
	return &c
}

// gap is how nginx counts: nothing ages, but a success forgets all failures if a
// call that came long enough after the last failure has been let through since.
type gap struct {
	period          time.Duration
	fails           int
	failed, checked time.Time
}

func (w *gap) start(now time.Time) int64 {
	if now.Sub(w.checked) > w.period {
		w.checked = now
	}
	return 0
}

func (w *gap) record(now time.Time, o Outcome, _ int64) {
	switch o {
	case Failure:
		w.fails++
		w.failed, w.checked = now, now
	case Success:
		if w.failed.Before(w.checked) {
			w.fails = 0
		}
	case Ignore:
	}
}

func (w *gap) settle(time.Time)     {}
func (w *gap) touch(time.Time) bool { return false }
func (w *gap) counts() Counts       { return Counts{Calls: w.fails, Failures: w.fails} }
func (w *gap) judged() Counts       { return w.counts() }
func (w *gap) clear(time.Time)      { w.fails = 0 }
func (w *gap) clone() window        { c := *w; return &c }

// slot is a bucket that begins when it is first needed.
type slot struct {
	Counts
	begun time.Time
}

// written holds slots that begin with an outcome. Each is forgotten as a whole.
type written struct {
	slots          []slot // oldest first
	period, length time.Duration
}

func (w *written) start(time.Time) int64 { return 0 }

func (w *written) record(now time.Time, o Outcome, _ int64) {
	if n := len(w.slots); n == 0 || now.Sub(w.slots[n-1].begun) >= w.length {
		w.slots = append(w.slots, slot{begun: now})
	}
	for now.Sub(w.slots[0].begun) >= w.period {
		w.slots = slices.Delete(w.slots, 0, 1)
	}
	w.slots[len(w.slots)-1].record(o, true)
}

func (w *written) settle(time.Time)     {}
func (w *written) touch(time.Time) bool { return false }

func (w *written) counts() Counts {
	var sum Counts
	for _, s := range w.slots {
		sum = sum.plus(s.Counts)
	}
	return sum
}

func (w *written) judged() Counts  { return w.counts() }
func (w *written) clear(time.Time) { w.slots = w.slots[:0] }
func (w *written) clone() window {
	c := *w
	c.slots = slices.Clone(w.slots)
	return &c
}

// rotating has a fixed number of slots, of which an outcome begins at most one
// anew: after a long silence the others still hold what is long past.
type rotating struct {
	sum    Counts
	slots  []slot
	now    int
	length time.Duration
}

func (w *rotating) start(time.Time) int64 { return 0 }

func (w *rotating) record(now time.Time, o Outcome, _ int64) {
	if now.Sub(w.slots[w.now].begun) >= w.length {
		w.now = (w.now + 1) % len(w.slots)
		w.sum = w.sum.minus(w.slots[w.now].Counts)
		w.slots[w.now] = slot{begun: now}
	}
	w.sum.record(o, true)
	w.slots[w.now].record(o, true)
}

func (w *rotating) settle(time.Time)     {}
func (w *rotating) touch(time.Time) bool { return false }
func (w *rotating) counts() Counts       { return w.sum }
func (w *rotating) judged() Counts       { return w.sum }
func (w *rotating) clear(time.Time)      { w.sum = Counts{}; clear(w.slots) }
func (w *rotating) clone() window {
	c := *w
	c.slots = slices.Clone(w.slots)
	return &c
}
