package model_test

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/model"
)

// realKind is what a recording holds of a real proxy.
type realKind int

const (
	given  realKind = iota // a request went to the watched host
	missed                 // the watched host was passed over
	ended                  // the watched host answered a request
)

// realEvent is something that a real proxy did at an instant that is only known to
// lie between two others: those at which this test saw what came before and after.
type realEvent struct {
	kind    realKind
	call    int // of given and ended
	outcome model.Outcome
	lo, hi  time.Time
}

func (e realEvent) describe(begin time.Time) string {
	what := fmt.Sprintf("request %d went to the host", e.call)
	switch e.kind {
	case missed:
		what = "the host was passed over"
	case ended:
		what = fmt.Sprintf("request %d ended as %v", e.call, e.outcome)
	case given:
	}
	return fmt.Sprintf("%.4fs to %.4fs: %s", e.lo.Sub(begin).Seconds(), e.hi.Sub(begin).Seconds(), what)
}

// tolerance is what a real proxy does not say of itself.
type tolerance struct {
	margin time.Duration // by which its timers may be off
	stall  time.Duration // its timers are not seen each time: nothing counts after one that was off by more. 0: they are
	lax    bool          // its first tick in CLOSED after a return may do nothing
	loses  bool          // a check under way as the host goes out does nothing
}

// candidate is one way in which the machine may have gone through the recording so
// far, given that instants are not known exactly.
type candidate struct {
	machine  *model.Machine
	told     time.Time // up to when
	calls    map[int]model.Token
	returned bool // there was no tick since the host came back
}

// until lets time pass and returns what may become of the candidate.
func (c candidate) until(now time.Time, lax bool) []candidate {
	c = candidate{c.machine.Clone(), now, maps.Clone(c.calls), c.returned}
	for lax {
		due, ok := c.machine.NextTimer()
		if !ok || due.After(now) {
			break
		}
		if c.machine.OfNews() {
			c.machine.Advance(due)
			continue
		}
		out, maybe := c.machine.State() == breakerref.Open, c.returned
		c.returned = out
		if maybe && !out {
			skipped := candidate{c.machine.Clone(), now, maps.Clone(c.calls), false}
			skipped.machine.SkipTick(due)
			c.machine.Advance(due)
			return append(skipped.until(now, lax), c.until(now, lax)...)
		}
		c.machine.Advance(due)
	}
	c.machine.Advance(now)
	return []candidate{c}
}

// meet lets the machine have the event. It is not ok if it says otherwise.
func (c candidate) meet(e realEvent) (answer model.Answer, ok bool) {
	switch e.kind {
	case given:
		token, answer := c.machine.Acquire(c.told)
		c.calls[e.call] = token
		return answer, answer == model.Admitted
	case missed:
		_, answer := c.machine.Clone().Acquire(c.told)
		return answer, answer == model.Rejected
	default:
		c.machine.Record(c.told, c.calls[e.call], e.outcome, 0)
		delete(c.calls, e.call)
		return 0, true
	}
}

// losing returns the candidate whose next check began before the event, by which the
// host went out, and so does nothing. It is not ok if that cannot be.
func (c candidate) losing(e realEvent, tol tolerance) (lost candidate, ok bool) {
	if !tol.loses || e.kind != ended || c.machine.State() != breakerref.Open || c.machine.Counts().Calls > 0 {
		return candidate{}, false
	}
	due, ok := c.machine.NextTimer()
	if !ok || due.After(e.hi.Add(tol.margin)) {
		return candidate{}, false
	}
	lost = candidate{c.machine.Clone(), due, maps.Clone(c.calls), c.returned}
	lost.machine.SkipTick(due)
	return lost, true
}

// mostCandidates is far above what a recording needs whose instants are known well.
// With more, nothing that comes later is judged.
const mostCandidates = 500

// verdict is what came out of holding a model against a recording.
type verdict struct {
	in, out    int    // answers of the proxy that the model had foretold
	open       int    // those for which the model allowed both, being too near to a change
	difference string // where no way through the recording was left
}

// judge holds a machine against a recording. Every event may have been at its first
// or at its last instant, and the model's own clock may be off by the margin: the
// machine is followed through all of that. An answer of the proxy counts as judged
// if all ways foretell the same one. If none of them leads on, there is a
// difference, and the rest of the recording is not looked at.
func judge(m *model.Machine, begin time.Time, events []realEvent, tol tolerance) verdict {
	var v verdict
	ways := []candidate{{machine: m, told: begin, calls: map[int]model.Token{}}}
	for i, e := range events {
		next, answers := advance(ways, e, tol)
		switch {
		case len(next) == 0:
			v.difference = tell(ways, events[max(0, i-12):min(len(events), i+9)], min(i, 12), begin, tol)
			return v
		case len(next) > mostCandidates:
			return v
		case e.kind == ended:
		case len(answers) > 1:
			v.open++
		case e.kind == given:
			v.in++
		default:
			v.out++
		}
		ways = next
	}
	return v
}

// advance takes all ways through one event.
func advance(ways []candidate, e realEvent, tol tolerance) (next []candidate, answers map[model.Answer]bool) {
	answers = map[model.Answer]bool{}
	for _, c := range ways {
		lo, hi := later(c.told, e.lo.Add(-tol.margin)), later(c.told, e.hi.Add(tol.margin))
		for _, now := range []time.Time{lo, hi} {
			for _, n := range c.until(now, tol.lax) {
				answer, ok := n.meet(e)
				if e.kind != ended {
					answers[answer] = true
				}
				if !ok {
					continue
				}
				next = merge(next, n)
				if lost, ok := n.losing(e, tol); ok {
					next = merge(next, lost)
				}
			}
		}
	}
	return next, answers
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// merge adds a candidate, unless there is one like it: of these the one that has
// been told of less can still go all ways of the other.
func merge(to []candidate, c candidate) []candidate {
	for i, o := range to {
		if o.returned == c.returned && model.Alike(o.machine, c.machine) {
			if c.told.Before(o.told) {
				to[i] = c
			}
			return to
		}
	}
	return append(to, c)
}

// tell shows what happened around a difference, and what the model had to say.
func tell(ways []candidate, events []realEvent, at int, begin time.Time, tol tolerance) string {
	var b strings.Builder
	for i, e := range events {
		b.WriteString(e.describe(begin))
		if i == at {
			b.WriteString(" <- contradicts the model")
		}
		b.WriteString("\n")
	}
	for _, c := range ways {
		_, answers := advance([]candidate{c}, events[at], tol)
		timer, ok := c.machine.NextTimer()
		fmt.Fprintf(&b, "the model says %v, being %v, %+v, told up to %.4fs", answers, c.machine.State(), c.machine.Counts(), c.told.Sub(begin).Seconds())
		if ok {
			fmt.Fprintf(&b, ", next timer at %.4fs", timer.Sub(begin).Seconds())
		}
		b.WriteString("\n")
	}
	return b.String()
}
