package simulate

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// stage is a part of a trial, by its outage.
type stage uint8

// The stages of a trial. Without an outage all of it is before.
const (
	before stage = iota
	during
	after
	stages
)

// Ends counts calls by what their callers got.
type Ends struct {
	Answered int64 `json:"answered"` // an answer of the dependency
	Failed   int64 `json:"failed"`   // no attempt was answered, the last one failed
	Rejected int64 `json:"rejected"` // the breaker let the last attempt not through: a fallback, if there is one
}

// Calls is how many there were.
func (e Ends) Calls() int64 { return e.Answered + e.Failed + e.Rejected }

func (e *Ends) add(o Ends) {
	e.Answered += o.Answered
	e.Failed += o.Failed
	e.Rejected += o.Rejected
}

// Opening is when a breaker first opened in the outage.
type Opening struct {
	After    time.Duration // the beginning of the outage
	Outcomes int64         // that it was told of from there on, the last of which opened it
}

// Watched is what one breaker did in a trial.
type Watched struct {
	ClosedBefore bool // it was closed when the outage began
	Opened       *Opening
	// Recovered is how long after the outage it was closed first, if it was not at its end.
	Recovered *time.Duration
	// Settled is how long after the outage it was closed for good, if it was at all and
	// had not been all the time.
	Settled   *time.Duration
	ShutAtEnd bool // it was not closed when the outage ended

	False  int64 // openings out of CLOSED before the outage; without an outage all
	Late   int64 // and after it
	States map[breakerref.State]time.Duration
}

// Trial is what one trial came to.
type Trial struct {
	Breakers []Watched
	Ends     [stages]Ends // by the stage in which the call came
	Attempts [stages]int64
	Comeback int64 // calls that were made again
	Pending  int64 // calls that had not ended when the trial did
	// PeakBefore and PeakAfter are the most attempts at the dependency within one second,
	// before the outage and from its end on.
	PeakBefore, PeakAfter int64
	Cut                   time.Duration // when the trial had more calls than it has room for; 0: never
}

// Calls is how many calls were made.
func (t *Trial) Calls() int64 {
	n := t.Pending
	for _, e := range t.Ends {
		n += e.Calls()
	}
	return n
}

// watch notes what one breaker does.
type watch struct {
	outage Span
	out    Watched
	state  breakerref.State
	since  int64
	base   int64 // outcomes recorded when the outage began
	trail  []turn
	keep   bool
}

// turn is a change of state.
type turn struct {
	at int64
	to breakerref.State
}

func newWatch(o Span, initial breakerref.State, keep bool) *watch {
	w := &watch{outage: o, state: initial, keep: keep}
	w.out.States = map[breakerref.State]time.Duration{}
	return w
}

// moved is told of a change of state and of how many outcomes the breaker has had.
func (w *watch) moved(at int64, from, to breakerref.State, recorded int64) {
	w.spend(at)
	w.state = to
	if w.keep {
		w.trail = append(w.trail, turn{at, to})
	}
	when := time.Duration(at)
	w.settle(when, to)
	switch {
	case from == breakerref.Closed && to == breakerref.Open:
		w.opened(when, recorded)
	case to == breakerref.Closed && w.out.ShutAtEnd && w.out.Recovered == nil:
		after := when - w.outage.To
		w.out.Recovered = &after
	}
}

// settle notes since when it has been closed for good, as far as is known.
func (w *watch) settle(when time.Duration, to breakerref.State) {
	w.out.Settled = nil
	if to == breakerref.Closed && !w.outage.none() && when >= w.outage.To {
		after := when - w.outage.To
		w.out.Settled = &after
	}
}

// Unsettled says that it had to close after the outage, and was not closed for good.
func (w Watched) Unsettled() bool { return w.Settled == nil && (w.ShutAtEnd || w.Late > 0) }

func (w *watch) opened(at time.Duration, recorded int64) {
	switch {
	case w.outage.none() || at < w.outage.From:
		w.out.False++
	case at >= w.outage.To:
		w.out.Late++
	case w.out.Opened == nil && w.out.ClosedBefore:
		w.out.Opened = &Opening{After: at - w.outage.From, Outcomes: recorded - w.base}
	}
}

// spend adds the time since the last change to the state that there was.
func (w *watch) spend(at int64) {
	w.out.States[w.state] += time.Duration(at - w.since)
	w.since = at
}

// enters is told that a stage begins.
func (w *watch) enters(s stage, recorded int64) {
	if s == during {
		w.out.ClosedBefore = w.state == breakerref.Closed
		w.base = recorded
	}
	if s == after {
		w.out.ShutAtEnd = w.state != breakerref.Closed
	}
}
