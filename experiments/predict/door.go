package predict

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// doorway is what a dependency does to those who connect.
type doorway struct {
	mode    fault.Action // empty: it serves them
	waiting []func()     // requests that nobody reads: what the opening does to them
	blind   []trace.Blind
}

// doorOf is what a phase does to those who connect.
func doorOf(p *fault.Phase) fault.Action {
	for _, r := range p.Rules() {
		if r.Action.Door() {
			return r.Action
		}
	}
	return ""
}

// door shuts or opens the door, and tells the trace, as an injector does: before it shuts, and
// after it is open.
func (d *dependency) door(next fault.Action) {
	was := d.doorway.mode
	d.doorway.mode = next
	switch {
	case was == "" && next != "":
		d.mark(trace.MarkDoorShut, d.in.Name, string(next))
		d.doorway.blind = append(d.doorway.blind, trace.Blind{From: d.now, To: trace.Forever})
	case was != "" && next == "":
		d.mark(trace.MarkDoorOpen, d.in.Name, "")
		d.doorway.blind[len(d.doorway.blind)-1].To = d.now
	}
	if next == fault.ActionDeaf {
		return
	}
	waiting := d.doorway.waiting
	d.doorway.waiting = nil
	for _, do := range waiting {
		d.after(hop, do)
	}
}

// meet lets a request come to a shut door, where it leaves no sign. A connection that is
// refused fails at once, as by a reset. One that is not answered is tried again by the
// caller's system, and one that nobody reads from is read when the door opens. When it is
// over is up to the caller's patience.
func (d *dependency) meet(r *request, over func(reply)) (leave func()) {
	gone, leaves := false, func() {}
	switch d.doorway.mode {
	case fault.ActionRefuse:
		d.after(hop, func() { over(reply{outcome: trace.OutcomeReset}) })
	case fault.ActionUnreachable:
		d.knock(time.Second, func() bool { return gone }, func() { leaves = d.arrive(r, over) })
	default:
		d.doorway.waiting = append(d.doorway.waiting, func() {
			if leaves = d.admit(r, over, true); gone {
				d.after(hop, leaves)
			}
		})
	}
	return func() {
		gone = true
		leaves()
	}
}

// knock tries to connect again and again, as operating systems do: after a second, then after
// twice as long each time.
func (d *dependency) knock(in time.Duration, gone func() bool, come func()) {
	d.after(in, func() {
		switch {
		case gone():
		case d.doorway.mode == fault.ActionUnreachable:
			d.knock(2*in, gone, come)
		default:
			come()
		}
	})
}

// hidFrom reports whether call n may have come to the shut door, so that nobody can tell
// whether it was rejected.
func (d *dependency) hidFrom(n int) bool {
	c := &d.trace.Calls[n]
	return !d.reached[n*len(d.deps)+d.number] && slices.ContainsFunc(d.doorway.blind, func(b trace.Blind) bool { return b.Touches(c.Send, c.End) })
}

// supposedOfDoors is what is taken for granted of what meets a shut door.
func supposedOfDoors(plan *experiments.Plan) []string {
	var out []string
	for _, of := range []struct {
		action fault.Action
		says   string
	}{
		{fault.ActionRefuse, "a refused connection counts as a reset"},
		{fault.ActionUnreachable, "it waits for a connection for as long as for an answer, as no key says how long"},
	} {
		if anyFault(plan, plan.Injectors, func(r fault.Rule) bool { return r.Action == of.action }) {
			out = append(out, of.says)
		}
	}
	return out
}
