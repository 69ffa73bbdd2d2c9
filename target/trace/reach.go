package trace

import (
	"sort"
	"time"
)

// source is what came to one injector.
type source struct {
	injector string
	seq      int // the number of the last arrival
	streams  lines

	// What follows is of the attempts that are indexed.
	arrivals  map[string]int      // how many there are with an id
	anonymous pile[time.Duration] // when those without an id came, sorted
}

// source is what came to an injector up to now. mu is held.
func (r *Recorder) source(injector string) *source {
	if r.last == nil || r.last.injector != injector {
		if r.sources[injector] == nil {
			r.sources[injector] = &source{injector: injector, arrivals: map[string]int{}}
		}
		r.last = r.sources[injector]
	}
	return r.last
}

// index takes the attempts in that came since it was asked last. Whoever sends calls asks all the
// time, so that there are few of them; where nobody does, as many come as want to, and nobody
// wants to know. mu is held.
func (r *Recorder) index() {
	for ; r.indexed < r.attempts.n; r.indexed++ {
		injector, id, arr := r.attempts.key(r.indexed)
		if from := r.source(injector); id != "" {
			from.arrivals[id]++
		} else {
			from.came(time.Duration(arr))
		}
	}
}

// came puts an instant in its place among sorted ones, mostly at their end.
func (s *source) came(t time.Duration) {
	for i := s.anonymous.add(t); i > 0 && *s.anonymous.at(i - 1) > t; i-- {
		*s.anonymous.at(i), *s.anonymous.at(i - 1) = *s.anonymous.at(i - 1), t
	}
}

// arrivalsOf is what came to an injector, and how many of it have an id. mu is held.
func (r *Recorder) arrivalsOf(injector, id string) (from *source, n int) {
	r.index()
	from = r.source(injector)
	return from, from.arrivals[id]
}

// Arrivals returns how many attempts with the id of a call have reached the
// injector.
func (r *Recorder) Arrivals(injector, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, n := r.arrivalsOf(injector, id)
	return n
}

// Reached reports whether an ended call may have reached the injector, by what was
// recorded up to now: an attempt has its id, or one without an id arrived while it
// was under way, or a stream was open, or the injector was blind. It is the opposite of
// what [Trace.Join] calls short or lost.
func (r *Recorder) Reached(injector string, c Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, n := r.arrivalsOf(injector, c.ID)
	if n > 0 || blindDuring(r.blind[injector], c.Send, c.End) {
		return true
	}
	came := &from.anonymous
	i := sort.Search(came.n, func(i int) bool { return *came.at(i) >= c.Send })
	return i < came.n && *came.at(i) <= c.End || from.streams.spanned(c.Send, c.End)
}

// Hidden reports whether an ended call met a door of the injector that was shut, and no
// attempt has its id: then nothing shows whether it came there.
func (r *Recorder) Hidden(injector string, c Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, n := r.arrivalsOf(injector, c.ID)
	return n == 0 && blindDuring(r.blind[injector], c.Send, c.End)
}
