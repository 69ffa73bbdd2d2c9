package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// eventKind says what was seen.
type eventKind int

const (
	admitted eventKind = iota // an attempt came to the dependency
	ended                     // it was over
	refused                   // a call was answered without one
	gaveUp                    // a call whose last attempt failed was answered
)

// event is something that was seen. The instant at which the service decided lies
// between lo and hi.
type event struct {
	kind   eventKind
	lo, hi time.Duration
	key    time.Duration // by which events are ordered

	call, phase string
	attempt     int // of the call, from 1
	failed      bool
	final       bool // of ended: the call made no other attempt after it

	gap time.Duration // of admitted, from the second attempt on: by how much it came later than the wait

	tookLo, tookHi   time.Duration // of ended: how long the attempt took
	wholeLo, wholeHi time.Duration // and the call up to its end
}

// observed is what was seen in a run.
type observed struct {
	epoch  time.Time
	fresh  bool // the service was started for it
	events []event
	calls  int
}

// dependency is the name of the only injector of a plan.
const dependency = "dependency"

// observe reads a trace. The error says why it cannot be told what happened.
func observe(t *trace.Trace, fails match.Failure) (observed, error) {
	seen := observed{epoch: t.Header.Epoch}
	for _, m := range t.Marks {
		seen.fresh = seen.fresh || m.Kind == trace.MarkLaunch
	}
	join := t.Join(dependency, func(string) bool { return true })
	if n := len(join.NoID) + len(join.Orphans); n > 0 {
		return seen, fmt.Errorf("%d requests came to the dependency that belong to no call: something else asks it too", n)
	}
	for _, c := range join.Calls {
		seen.calls++
		switch c.Kind {
		case trace.Short:
			seen.events = append(seen.events, event{
				kind: refused, lo: c.Call.Send, hi: c.Call.End, key: c.Call.End, call: c.Call.ID, phase: c.Call.Phase,
			})
		case trace.Admitted:
			seen.attempts(c, fails)
		default:
			return seen, fmt.Errorf("call %s is %s: what the breaker did with it cannot be told; give the calls more time (--timeout), or look at why they are lost", c.Call.ID, c.Kind)
		}
	}
	seen.order()
	return seen, nil
}

// attempts are the events of a call that was let through.
func (o *observed) attempts(c trace.Joined, fails match.Failure) {
	since, last := c.Call.Send, len(c.Attempts)-1
	first := c.Attempts[0].Arr
	for i, a := range c.Attempts {
		until := c.Call.End
		if i < last {
			until = c.Attempts[i+1].Arr
		}
		done := a.Done()
		if done == trace.None {
			done = until // It was over when the next thing happened.
		}
		until = max(until, done)
		e := event{call: c.Call.ID, phase: c.Call.Phase, attempt: i + 1}
		in := e
		in.kind, in.lo, in.hi, in.key = admitted, since, a.Arr, since
		if i > 0 {
			in.key++ // After the end of the attempt before.
		}
		out := e
		out.kind, out.lo, out.hi, out.key = ended, done, until, done
		out.failed, out.final = failedBy(a, fails), i == last
		out.tookLo, out.tookHi = done-a.Arr, until-since
		out.wholeLo, out.wholeHi = done-first, until-c.Call.Send
		o.events = append(o.events, in, out)
		if i == last && out.failed {
			up := e
			up.kind, up.lo, up.hi, up.key, up.attempt = gaveUp, done, until, until, i+1
			o.events = append(o.events, up)
		}
		since = done
	}
}

// failedBy reports whether an attempt failed.
func failedBy(a trace.Attempt, fails match.Failure) bool {
	if a.Abandon != trace.None {
		return fails.Abandon
	}
	switch a.Outcome {
	case trace.OutcomeReset:
		return fails.Reset
	case trace.OutcomeFIN, trace.OutcomeHang:
		return fails.EOF
	default:
		is, _ := fails.Answer(a.Status, a.GRPC)
		return is
	}
}

// order puts the events one after another, and leaves out what proves nothing: a refusal
// that may have come before or after a call was let through.
func (o *observed) order() {
	var in []event
	for _, e := range o.events {
		if e.kind == admitted {
			in = append(in, e)
		}
	}
	slices.SortFunc(in, func(a, b event) int { return int(a.lo - b.lo) })
	o.events = slices.DeleteFunc(o.events, func(e event) bool {
		return (e.kind == refused || e.kind == gaveUp) && overlaps(in, e)
	})
	slices.SortStableFunc(o.events, func(a, b event) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return int(a.kind) - int(b.kind)
	})
}

// overlaps reports whether another call was let through at an instant that may be that of
// a refusal.
func overlaps(in []event, e event) bool {
	for _, a := range in {
		if a.lo > e.hi {
			break
		}
		if a.call != e.call && a.hi >= e.lo {
			return true
		}
	}
	return false
}
