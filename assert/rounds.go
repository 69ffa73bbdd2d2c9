package assert

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// side is which source has answered a page.
type side int

const (
	sideUnknown side = iota
	sideFirst        // the dependency: the call arrived there and did not fail
	sideSecond       // something else: the call was rejected or failed, or says that it is a fallback
)

// page is an answer of a session that lists items.
type page struct {
	call  *trace.Call
	items []string
	side  side
	told  bool // the user was told, here or since the page before, that the source has switched
	again bool // told is by its class alone, and so was the page before
}

// round is one round of a user, as far as it lists items.
type round struct {
	phase string
	user  int
	n     int // of the user, from 1
	pages []page
	end   trace.SessionEnd
	over  time.Duration // when its last answer had come

	// As of the last call that was added.
	told   bool // the user was told since the last page
	lap    int
	source string // the last one that a page named
}

// rounds are the rounds of all sessions in which items were listed, in the order of
// their first calls.
func (r FallbackContinuity) rounds(e *evidence) []*round {
	type key struct {
		phase   string
		user, n int
	}
	byKey := map[key]*round{}
	var all []*round
	sides := r.sides(e)
	for i := range e.trace.Calls {
		c := &e.trace.Calls[i]
		if c.Session == nil {
			continue
		}
		k := key{c.Phase, c.Session.User, c.Session.Round}
		w := byKey[k]
		if w == nil {
			w = &round{phase: c.Phase, user: k.user, n: k.n}
			byKey[k], all = w, append(all, w)
		}
		r.add(w, c, sides[c.ID])
	}
	return slices.DeleteFunc(all, func(w *round) bool { return len(w.pages) == 0 })
}

// add adds the next call of a round.
func (r FallbackContinuity) add(w *round, c *trace.Call, by side) {
	w.over, w.end = max(w.over, c.End), c.Session.End
	w.told = w.told || c.Answered() && slices.Contains(r.Told, c.Class) || c.Session.Lap > w.lap
	w.lap = c.Session.Lap
	items, lists := c.Session.Values[r.Items]
	if !lists || c.Status >= 400 {
		return
	}
	if v := c.Session.Values[r.Source]; r.Source != "" && len(v) > 0 {
		w.told = w.told || w.source != "" && w.source != v[0]
		w.source = v[0]
	}
	n := len(w.pages)
	again := n > 0 && slices.Contains(r.Told, c.Class) && slices.Contains(r.Told, w.pages[n-1].call.Class)
	w.pages = append(w.pages, page{c, items, by, w.told, again})
	w.told = false
}

// sides are which source has answered each call, by its id.
func (r FallbackContinuity) sides(e *evidence) map[string]side {
	out := map[string]side{}
	if vs := e.views[r.Breaker]; len(vs) > 0 && !e.aggregate {
		for i := range vs[0].join.Calls {
			c := &vs[0].join.Calls[i]
			switch {
			case c.Kind == trace.Short, vs[0].callFailed(c):
				out[c.Call.ID] = sideSecond
			case c.Kind == trace.Admitted:
				out[c.Call.ID] = sideFirst
			}
		}
	}
	for i := range e.trace.Calls {
		switch c := &e.trace.Calls[i]; {
		case !c.Answered():
		case c.Class == match.ClassFallback:
			out[c.ID] = sideSecond
		case e.aggregate && c.Class == match.ClassPrimary:
			out[c.ID] = sideFirst
		}
	}
	return out
}

// spans reports whether the source has switched within a round, as far as is known.
func (w *round) spans() bool {
	return w.has(sideFirst) && w.has(sideSecond) || slices.ContainsFunc(w.pages, func(p page) bool { return p.told })
}

func (w *round) has(s side) bool {
	return slices.ContainsFunc(w.pages, func(p page) bool { return p.side == s })
}

// undisturbed reports whether a round came to its end at the first source alone.
func (w *round) undisturbed() bool {
	return w.end == trace.SessionDone && !slices.ContainsFunc(w.pages, func(p page) bool { return p.told || p.side != sideFirst })
}

// once is the round if its answers say which source answers, where they may also say
// that it has just switched: only the first in a row tells. It is nil if that is the
// same.
func (w *round) once() *round {
	if !slices.ContainsFunc(w.pages, func(p page) bool { return p.again }) {
		return nil
	}
	other := *w
	other.pages = slices.Clone(w.pages)
	for i := range other.pages {
		other.pages[i].told = other.pages[i].told && !other.pages[i].again
	}
	return &other
}

// items are all that a round has listed.
func (w *round) items() []string {
	var all []string
	for _, p := range w.pages {
		all = append(all, p.items...)
	}
	return all
}

// firstHarm is when the first fault hit anything; forever if none did.
func (e *evidence) firstHarm() time.Duration {
	at := forever
	for i := range e.trace.Attempts {
		if a := &e.trace.Attempts[i]; a.Rule != "" {
			at = min(at, a.Arr)
		}
	}
	for _, m := range e.trace.Marks {
		if m.Kind == trace.MarkDoorShut {
			at = min(at, m.At)
		}
	}
	return at
}
