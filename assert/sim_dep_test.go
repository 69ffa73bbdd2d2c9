package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// dependency is an injector as injector/doc.go describes it.
type dependency struct {
	*world
	name    string
	player  *fault.Player
	phase   *fault.Phase
	during  string
	gates   map[*fault.Rule]*lot // of the phase
	doorway doorway
	held    map[int]func() // what the end of the phase does to waiting requests, by attempt
}

// lot is a gate with the requests that it parks.
type lot struct {
	gate *fault.Gate
	free map[int]func()
}

func newDependency(w *world, name string, s fault.Script) *dependency {
	p, err := fault.NewPlayer(s, w.Seed)
	if err != nil {
		panic(err)
	}
	d := &dependency{world: w, name: name, player: p}
	d.enter("")
	return d
}

// named returns the rules of a phase as the trace names them.
func (d *dependency) named(phase string) []fault.Rule {
	var rs []fault.Rule
	for _, r := range d.player.Phase(phase).Rules() {
		rs = append(rs, *r)
	}
	return rs
}

// enter changes the phase: whoever hangs or is parked goes on.
func (d *dependency) enter(phase string) {
	d.door(doorOf(d.player.Phase(phase).Rules()), func() { d.change(phase) })
}

func (d *dependency) change(phase string) {
	waiting := d.held
	d.phase, d.during, d.gates, d.held = d.player.Phase(phase), phase, map[*fault.Rule]*lot{}, map[int]func(){}
	for i := range d.rec.Attempts { // in a fixed order
		if do, ok := waiting[i]; ok {
			do()
		}
	}
}

// rejected tells the gates of the phase that a call was rejected.
func (d *dependency) rejected(sent time.Duration) {
	for _, r := range d.phase.Rules() {
		if l := d.gates[r]; l != nil {
			l.release(l.gate.Reject(sent, d.now))
		}
	}
}

func (l *lot) release(numbers []int) {
	for _, n := range numbers {
		do := l.free[n]
		delete(l.free, n)
		do()
	}
}

// arrive takes a request in. over is told when the last byte leaves; the
// returned function is called when the caller leaves.
func (d *dependency) arrive(id string, over func(failed bool)) (leave func()) {
	if d.doorway.mode != "" {
		return d.meet(id, over)
	}
	i := len(d.rec.Attempts)
	method := d.methodOf(id)
	v := d.phase.Decide(fault.Request{Method: method, Path: "/charges"})
	a := trace.Attempt{
		Seq: i, Injector: d.name, ID: id, By: "traceparent", Phase: d.during, Peer: d.peer, Method: method, Path: "/charges",
		Arr: d.now, Dep: trace.None, Abandon: trace.None,
	}
	if v.Rule != nil {
		a.Rule = v.Rule.ID
	}
	d.rec.Attempts = append(d.rec.Attempts, a)
	d.arrived[d.name+" "+id]++
	ended := false
	var unpark func()
	end := func(o trace.Outcome, status int, left bool) {
		if ended {
			return
		}
		ended = true
		delete(d.held, i)
		at := &d.rec.Attempts[i]
		at.Outcome, at.Status = o, status
		d.memory.broken[id] = !left && o != trace.OutcomeAnswered
		d.remember(id, v.Rule, left)
		if left {
			at.Abandon = d.now
		} else {
			at.Dep = d.now
			over(o != trace.OutcomeAnswered || d.Failure.Status(status))
		}
		if unpark != nil {
			unpark()
		}
	}
	act := func() { d.act(i, v, end) }
	if v.Rule != nil && v.Rule.Hold != nil {
		unpark = d.park(i, v.Rule, act)
	} else {
		act()
	}
	return func() { end(trace.OutcomeHang, 0, true) }
}

// act carries a verdict out.
func (d *dependency) act(i int, v fault.Verdict, end func(o trace.Outcome, status int, left bool)) {
	base := d.Base
	if d.name == "backup" {
		base = d.SecondTook
	}
	r := v.Rule
	if r == nil || r.Action == fault.ActionPass {
		d.at(d.now+v.Latency+d.draw(base), func() { end(trace.OutcomeAnswered, 200, false) })
		return
	}
	switch r.Action {
	case fault.ActionRespond:
		d.at(d.now+v.Latency, func() { end(trace.OutcomeAnswered, r.Respond.Status, false) })
	case fault.ActionReset:
		d.at(d.now+v.Latency, func() { end(trace.OutcomeReset, 0, false) })
	case fault.ActionClose, fault.ActionGarbage:
		d.at(d.now+v.Latency, func() { end(trace.OutcomeFIN, 0, false) })
	case fault.ActionHang:
		d.held[i] = func() { end(trace.OutcomeHang, 0, false) }
	case fault.ActionPass, fault.ActionRefuse, fault.ActionUnreachable, fault.ActionDeaf, fault.ActionTLS, fault.ActionTCP, fault.ActionSettings:
	}
}

// park holds a request at its rule's gate; the returned function tells the gate
// that the request has come to its end.
func (d *dependency) park(i int, r *fault.Rule, act func()) (unpark func()) {
	l := d.gates[r]
	if l == nil {
		l = &lot{gate: fault.NewGate(*r.Hold), free: map[int]func(){}}
		d.gates[r] = l
	}
	n := l.gate.Park(d.now)
	l.free[n] = func() {
		delete(d.held, i)
		act()
	}
	d.held[i] = func() {
		l.gate.Leave(n)
		l.release([]int{n})
	}
	var watch func()
	watch = func() {
		l.release(l.gate.Expire(d.now))
		if due, parked := l.gate.Due(n); parked {
			d.at(due, watch)
		}
	}
	watch()
	return func() {
		l.gate.Leave(n)
		delete(l.free, n)
		l.gate.Answered(n, d.now)
	}
}
