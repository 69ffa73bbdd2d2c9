package trace

import (
	"math"
	"slices"
	"time"
)

// streams are the connections at an injector on which any call may be talked about, in the
// order of arrival.
type streams struct {
	arr []time.Duration
	end []time.Duration // of that one or of an earlier one, whichever is later
}

// forever is the end of what was open when the trace was taken.
const forever time.Duration = math.MaxInt64

// streams collects those at an injector.
func (t *Trace) streams(injector string) streams {
	var s streams
	latest := None
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Injector != injector || !a.Stream {
			continue
		}
		latest = max(latest, a.over())
		s.arr, s.end = append(s.arr, a.Arr), append(s.end, latest)
	}
	return s
}

// over is when a stream was over.
func (a *Attempt) over() time.Duration {
	if a.Closed == 0 {
		return forever
	}
	return a.Closed
}

// open reports whether one was open at some time in [from, to].
func (s streams) open(from, to time.Duration) bool {
	i, _ := slices.BinarySearch(s.arr, to+1) // The number of those that had arrived.
	if to == forever {
		i = len(s.arr)
	}
	return i > 0 && s.end[i-1] >= from
}

// lines are the streams at an injector while they are recorded.
type lines struct {
	open   map[int]time.Duration // arrivals, by handle
	closed []span                // in the order of their ends
}

type span struct{ from, to time.Duration }

// begin takes in a stream.
func (l *lines) begin(handle int, a Attempt) {
	if l.open == nil {
		l.open = map[int]time.Duration{}
	}
	l.open[handle] = a.Arr
}

// end takes in that one ended, or turned out to be none.
func (l *lines) end(handle int, a *Attempt) {
	if a.Stream && a.Closed == 0 {
		return
	}
	delete(l.open, handle)
	if !a.Stream {
		return
	}
	i := len(l.closed)
	for i > 0 && l.closed[i-1].to > a.Closed {
		i--
	}
	l.closed = slices.Insert(l.closed, i, span{a.Arr, a.Closed})
}

// spanned reports whether one was open at some time in [from, to].
func (l *lines) spanned(from, to time.Duration) bool {
	for _, arr := range l.open {
		if arr <= to {
			return true
		}
	}
	for i := len(l.closed) - 1; i >= 0 && l.closed[i].to >= from; i-- {
		if l.closed[i].from <= to {
			return true
		}
	}
	return false
}
