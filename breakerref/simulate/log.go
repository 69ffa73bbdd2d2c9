package simulate

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// The columns of a log.
const (
	logAttempt = iota
	logAnswered
	logFailed
	logRejected
	logColumns
)

// Slot is a part of the time of a trial.
type Slot struct {
	Attempts int64            `json:"attempts"` // that reached the dependency
	Ends     Ends             `json:"calls"`    // that ended
	State    breakerref.State `json:"-"`        // of the first breaker, the one that lasted longest
	Word     string           `json:"state"`    // its name
}

// Course is what one trial was like in the course of time.
type Course struct {
	Trial uint64        `json:"trial"`
	Width time.Duration `json:"width_ns"` // of a slot
	Slots []Slot        `json:"slots"`
	Turns []Turn        `json:"transitions"` // of the first breaker
}

// Turn is a change of state.
type Turn struct {
	At time.Duration `json:"at_ns"`
	To string        `json:"to"`
}

// log counts what happens in each slot of time.
type log struct {
	width int64
	slots [][logColumns]int64
}

func newLog(duration time.Duration, slots int) *log {
	w := (int64(duration) + int64(slots) - 1) / int64(slots)
	return &log{width: w, slots: make([][logColumns]int64, slots)}
}

// count counts one; a log that is nil counts nothing.
func (l *log) count(at int64, column int) {
	if l != nil {
		l.slots[at/l.width][column]++
	}
}

// course plays a trial and keeps its course in so many slots.
func course(m *Model, seed, trial uint64, slots int) (*Course, error) {
	e, err := newEngine(m, seed, trial, false)
	if err != nil {
		return nil, err
	}
	e.log = newLog(m.Duration, slots)
	first := e.guards[0].seen
	first.keep, first.trail = true, []turn{{0, first.state}}
	e.play()
	c := &Course{Trial: trial, Width: time.Duration(e.log.width)}
	for _, s := range e.log.slots {
		c.Slots = append(c.Slots, Slot{Attempts: s[logAttempt], Ends: Ends{s[logAnswered], s[logFailed], s[logRejected]}})
	}
	for i, t := range first.trail {
		c.Turns = append(c.Turns, Turn{time.Duration(t.at), t.to.String()})
		until := e.end
		if i+1 < len(first.trail) {
			until = first.trail[i+1].at
		}
		c.fill(t.to, t.at, until)
	}
	for i := range c.Slots {
		c.Slots[i].Word = c.Slots[i].State.String()
	}
	return c, nil
}

// fill gives a state to all slots of which it has half or more. What is open for less
// is still seen: a slot in which nothing lasted has the last state but CLOSED.
func (c *Course) fill(s breakerref.State, from, to int64) {
	w := int64(c.Width)
	for i := from / w; i < int64(len(c.Slots)) && i*w < to; i++ {
		has := min(to, (i+1)*w) - max(from, i*w)
		if 2*has >= w || s != breakerref.Closed {
			c.Slots[i].State = s
		}
	}
}
