package mutant

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// wrong is a breaker with a defect: a right one, and what is done otherwise. Each function
// may be nil.
type wrong struct {
	Breaker

	library *breakerref.Machine // nil: a model
	cfg     breakerref.Config   // as declared
	state   breakerref.State    // as of the last call

	bypassed bool // it is never asked
	// refused reports whether a call goes through that was to be rejected.
	refused func(now time.Time, state breakerref.State) bool
	// admitted may change what an admitted call is told; it reports whether that goes on.
	admitted func(now time.Time, p *Permit) bool
	// outcome may change what a call has ended in; it reports whether that is recorded.
	outcome func(now time.Time, p Permit, o *Outcome) bool
	// moved is told of a change of state.
	moved func(now time.Time, from, to breakerref.State)
	// told is what is said of a state.
	told func(breakerref.State) breakerref.State
}

// note sees whether the state has changed.
func (w *wrong) note(now time.Time) {
	from, to := w.state, w.State()
	w.state = to
	if from != to && w.moved != nil {
		w.moved(now, from, to)
		w.state = w.State()
	}
}

// Acquire implements [Breaker].
func (w *wrong) Acquire(now time.Time) (Permit, model.Answer) {
	if w.bypassed {
		return Permit{State: breakerref.Closed, Stray: true}, model.Admitted
	}
	p, answer := w.Breaker.Acquire(now)
	w.note(now)
	switch {
	case answer == model.Admitted && w.admitted != nil && !w.admitted(now, &p):
		answer = model.Rejected
	case answer == model.Rejected && w.refused != nil && w.refused(now, p.State):
		p.Stray, answer = true, model.Admitted
	}
	w.note(now)
	return p, answer
}

// Record implements [Breaker].
func (w *wrong) Record(now time.Time, p Permit, o Outcome) (masked bool) {
	if p.Stray {
		return false
	}
	w.Breaker.Advance(now)
	w.note(now)
	if w.outcome == nil || w.outcome(now, p, &o) {
		masked = w.Breaker.Record(now, p, o)
	}
	w.note(now)
	return masked
}

// Ignore implements [Breaker].
func (w *wrong) Ignore(now time.Time, p Permit) {
	if !p.Stray {
		w.Breaker.Ignore(now, p)
		w.note(now)
	}
}

// Release implements [Breaker].
func (w *wrong) Release(now time.Time, p Permit) {
	if !p.Stray {
		w.Breaker.Release(now, p)
		w.note(now)
	}
}

// Close implements [Breaker].
func (w *wrong) Close(now time.Time) {
	w.Breaker.Close(now)
	w.note(now)
}

// Advance implements [Breaker].
func (w *wrong) Advance(now time.Time) {
	w.Breaker.Advance(now)
	w.note(now)
}

// Told implements [Breaker].
func (w *wrong) Told() breakerref.State {
	state := w.Breaker.Told()
	if w.told != nil {
		return w.told(state)
	}
	return state
}

// wouldOpen reports whether an outcome opens the closed breaker.
func (w *wrong) wouldOpen(now time.Time, o Outcome) bool {
	if w.library.State() != breakerref.Closed {
		return false
	}
	next := w.library.Clone()
	next.Record(now, o.Failed, o.Took)
	return next.State() == breakerref.Open
}
