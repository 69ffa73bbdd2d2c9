package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// shutting is a fault of all who connect.
func shutting(a fault.Action) []fault.Rule {
	return []fault.Rule{{Select: fault.Select{Kind: fault.SelectAll}, Action: a}}
}

// doorway is what a dependency does to those who connect.
type doorway struct {
	mode   fault.Action // empty: it serves them
	parked []*parked
}

// parked is a request that nobody reads.
type parked struct {
	id    string
	over  func(failed bool)
	leave func() // once it is served
	gone  bool   // the caller left
}

// doorOf is the door of a phase.
func doorOf(rules []*fault.Rule) fault.Action {
	for _, r := range rules {
		if r.Action.Door() {
			return r.Action
		}
	}
	return ""
}

// door changes the door with the phase, as the injector does; enter is what else changes.
func (d *dependency) door(next fault.Action, enter func()) {
	was := d.doorway.mode
	if next != "" && was == "" {
		d.rec.Marks = append(d.rec.Marks, trace.Mark{At: d.now, Kind: trace.MarkDoorShut, Subject: d.name, Text: string(next)})
	}
	enter()
	d.doorway.mode = next
	if next != "" || was == "" {
		return
	}
	d.mark(trace.MarkDoorOpen, d.name)
	waiting := d.doorway.parked
	d.doorway.parked = nil
	for _, p := range waiting {
		d.at(d.now+d.draw(d.Net), func() { d.readAtLast(p) })
	}
}

// readAtLast serves a request that waited; its caller may have left.
func (d *dependency) readAtLast(p *parked) {
	i := len(d.rec.Attempts)
	p.leave = d.arrive(p.id, p.over)
	d.rec.Attempts[i].Late = true
	if p.gone {
		d.at(d.now+d.draw(d.Net), p.leave)
	}
}

// meet lets a request come to a shut door, where it leaves no sign.
func (d *dependency) meet(id string, over func(failed bool)) (leave func()) {
	switch d.doorway.mode {
	case fault.ActionRefuse:
		d.at(d.now+time.Microsecond, func() { over(true) })
	case fault.ActionDeaf:
		p := &parked{id: id, over: over, leave: func() {}}
		d.doorway.parked = append(d.doorway.parked, p)
		return func() {
			p.gone = true
			p.leave()
		}
	default: // Nobody answers.
	}
	return func() {}
}
