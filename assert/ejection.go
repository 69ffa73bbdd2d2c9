package assert

import (
	"slices"
	"time"
)

// StateEjected is the state of a host that a proxy has taken out of its cluster.
const StateEjected State = "EJECTED"

// Ejection says that a breaker is one of a proxy that takes a failing host out of its cluster
// for a time and then gives it all its traffic again (Envoy's outlier detection, HAProxy's
// observe layer7 with on-error mark-down, nginx's max_fails): it has the states CLOSED and
// EJECTED, and nothing between them.
type Ejection struct {
	After int `json:"after" yaml:"after"` // failures in a row that eject the host
}

// ejects reports whether the breaker of a view is such a one.
func (v *view) ejects() bool { return v.breaker.Ejection != nil }

// inferEjections finds the stretches of a host that is ejected and comes back. EJECTED is what
// OPEN is, three rejections with no admission wholly between them, but the first admission that
// was sent when it was certain ends it: there are no probes, whatever comes of it. Those that
// were sent before may have been let through before, by another worker of the proxy say, which
// had not heard of the ejection yet.
func (v *view) inferEjections() {
	since, first := v.start(), true
	for {
		out, ok := v.nextOpen(since, first)
		if !ok {
			rest := v.newTrip(since, first, v.ending())
			v.segs = append(v.segs, segment{state: StateClosed, from: since, to: v.ending(), last: true, stay: rest})
			return
		}
		v.segs = append(v.segs, segment{state: StateClosed, from: since, to: out.from, stay: out.trip})
		back, ok := v.back(out)
		if !ok {
			out.to, out.last = v.ending(), true
			v.segs = append(v.segs, out)
			return
		}
		out.to = back
		v.segs = append(v.segs, out)
		since, first = back, false
	}
}

// back is when an ejected host came back: between the last rejection before, and the arrival
// of, the first admission that was sent when it was ejected for certain.
func (v *view) back(out segment) (Interval, bool) {
	first := v.index.minHi[v.sentAfter(out.from.Hi)]
	if first == forever {
		return Interval{}, false
	}
	lo := max(out.from.Lo, v.index.rejLo[v.rejectedFrom(first)])
	return Interval{min(lo, first), first}, true
}

// row bounds how many failures in a row a host had when it was ejected, the one that ejected
// it included.
func (v *view) row(s *segment) numbers {
	n := numbers{Lo: 1}
	sure, may := true, true // still in the row, going back in time
	for _, a := range slices.Backward(s.trip.outcomes) {
		if may = may && (v.bad(a) || a.early > s.from.Lo); !may {
			break
		}
		n.Hi += one(v.bad(a))
		switch {
		case !a.recordedBefore(s.from):
		case !a.failed || s.trip.doubtful(a):
			sure = false
		case sure:
			n.Lo++
		}
	}
	n.Hi = max(n.Hi, n.Lo)
	return n
}

// ejections are the stretches of EJECTED of a view that begin in a window.
func (v *view) ejections(w Interval) []*segment {
	var out []*segment
	for i := range v.segs {
		if s := &v.segs[i]; s.state == StateOpen && w.in(s.from.Hi) {
			out = append(out, s)
		}
	}
	return out
}

// sinceBack returns what came after a host was back and before it was ejected again, or the
// end: the calls that were let through, and the first rejection.
func (v *view) sinceBack(at Interval, until time.Duration) (through []*admission, rejected *rejection) {
	rejected = v.nextRejected(at.Hi)
	if rejected != nil && rejected.lo >= until {
		rejected = nil
	}
	for i := v.arrivedFrom(at.Hi); i < len(v.byHi); i++ {
		a := v.byHi[i]
		if a.hi >= until || rejected != nil && a.hi > rejected.hi {
			break
		}
		if !a.ghost {
			through = append(through, a)
		}
	}
	return through, rejected
}

// forced reports whether a rule asks for states that a breaker that ejects does not have.
func (e *evidence) forced(r Rule) bool {
	vs := e.views[breakerOf(r)]
	if o, ok := r.(Opens); ok && (o.AtCall > 0 || o.WithinCalls > 0) {
		vs = e.views[o.Breaker]
	}
	if len(vs) == 0 || !vs[0].ejects() {
		return false
	}
	switch r.(type) {
	case Opens, Leak, OpenDuration, HalfOpenProbes, ReopensOnFailedProbe, Closes, NeverStuck:
		return true
	}
	return false
}
