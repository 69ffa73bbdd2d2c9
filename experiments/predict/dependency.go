package predict

import (
	"net/http"
	"slices"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// dependency is an injector.
type dependency struct {
	*playing
	in     *experiments.Injector
	grpc   bool // its callers speak gRPC
	number int  // among the dependencies
	player *fault.Player
	faults *fault.Phase // of the phase
	during string
	since  time.Duration        // when that began
	lots   map[*fault.Rule]*lot // of the phase
	stays  []*visit             // that hang or are parked in the phase, in the order of arrival
	seen   []time.Duration      // arrivals, in order
	asks   map[string]fault.Request

	doorway doorway
}

// lot is a gate with the requests that it parks.
type lot struct {
	gate *fault.Gate
	free map[int]func()
}

// reply is how the dependency ended a request, as the SUT sees it.
type reply struct {
	outcome trace.Outcome
	answer  *fault.Respond // of a complete answer; nil: one of a dependency that faultline does not play
	status  int
	grpc    string // as a trace records it
}

// visit is one request at the dependency.
type visit struct {
	dep     *dependency
	attempt int // its index in the trace
	verdict fault.Verdict
	over    func(reply) // told when the last byte leaves
	ended   bool
	waiting func() // what the end of the phase does to it, while it hangs or is parked
	lot     *lot
	spot    int
}

func newDependency(w *playing, number int) (*dependency, error) {
	in := &w.plan.Injectors[number]
	p, err := fault.NewPlayer(in.Script, w.plan.Seed)
	if err != nil {
		return nil, err
	}
	d := &dependency{playing: w, in: in, grpc: speaksGRPC(w.plan, *in), number: number, player: p}
	d.enter(probePhase)
	return d, nil
}

// enter changes the phase: who hangs or is parked goes on.
func (d *dependency) enter(phase string) {
	stays := d.stays
	d.since = d.now
	d.faults, d.during, d.lots, d.stays = d.player.Phase(phase), phase, map[*fault.Rule]*lot{}, nil
	d.asks = map[string]fault.Request{}
	d.door(doorOf(d.faults))
	for _, v := range stays {
		if do := v.waiting; do != nil {
			v.waiting = nil
			do()
		}
	}
}

// rejected tells the gates that the SUT rejected a call.
func (d *dependency) rejected(sent time.Duration) {
	for _, r := range d.faults.Rules() {
		if l := d.lots[r]; l != nil {
			l.release(l.gate.Reject(sent, d.now))
		}
	}
}

func (l *lot) release(numbers []int) {
	for _, n := range numbers {
		if do := l.free[n]; do != nil {
			delete(l.free, n)
			do()
		}
	}
}

// arrive takes a request in. The function that it returns is called when the
// caller leaves.
func (d *dependency) arrive(r *request, over func(reply)) (leave func()) {
	if d.doorway.mode != "" {
		return d.meet(r, over)
	}
	return d.admit(r, over, false)
}

// admit serves a request, which may have waited for the door to open.
func (d *dependency) admit(r *request, over func(reply), late bool) (leave func()) {
	q := d.asked(r)
	q.At = d.now - d.since
	v := &visit{dep: d, verdict: d.faults.Decide(q), over: over}
	d.seen = append(d.seen, d.now)
	a := trace.Attempt{
		Seq: len(d.seen), Injector: d.in.Name, Phase: d.during, Method: q.Method, Path: q.Path,
		Arr: d.now, Dep: trace.None, Abandon: trace.None, Late: late,
	}
	if d.rung() != rungAggregate {
		a.ID, a.By = r.id, d.rung()
		d.reached[r.call*len(d.deps)+d.number] = true
	}
	if v.verdict.Rule != nil {
		a.Rule = v.verdict.Rule.ID
	}
	if i := d.phase; i >= 0 && i < len(d.played) {
		d.played[i].arrivals[d.in.Name]++
	}
	v.attempt = len(d.trace.Attempts)
	d.trace.Attempts = append(d.trace.Attempts, a)
	if v.verdict.Rule != nil && v.verdict.Rule.Hold != nil {
		v.park()
	} else {
		v.act()
	}
	return func() { v.end(reply{outcome: trace.OutcomeHang}, true) }
}

// reachedBy reports whether call n may have reached the dependency: an attempt of
// its own arrived, or, where none has an id, any while it was under way.
func (d *dependency) reachedBy(n int) bool {
	if d.rung() != rungAggregate {
		return d.reached[n*len(d.deps)+d.number]
	}
	c := &d.trace.Calls[n]
	i, _ := slices.BinarySearch(d.seen, c.Send)
	return i < len(d.seen) && d.seen[i] <= c.End
}

// asked is the request that a call makes here: the client's own where faultline's
// service passes it on, or one that a fault of the phase matches.
func (d *dependency) asked(r *request) fault.Request {
	q, ok := d.asks[r.target.Name]
	if !ok {
		q = d.asking(r.target)
		d.asks[r.target.Name] = q
	}
	return q
}

// asking is that of a target's calls.
func (d *dependency) asking(t match.Target) fault.Request {
	q := sentBy(t)
	rules := d.faults.Rules()
	fits := func(r *fault.Rule) bool { return r.Match.Matches(q) }
	if passesOn(d.plan) || len(rules) == 0 || slices.ContainsFunc(rules, fits) {
		return q
	}
	return suited(rules[0].Match, q)
}

// act carries the verdict out.
func (v *visit) act() {
	d, rule := v.dep, v.verdict.Rule
	if rule == nil {
		rule = &fault.Rule{Action: fault.ActionPass}
	}
	if end, over := unanswered(rule.H2); over {
		if end == trace.OutcomeHang {
			v.hang()
			return
		}
		d.after(v.verdict.Latency, func() { v.end(reply{outcome: end}, false) })
		return
	}
	switch rule.Action {
	case fault.ActionPass, fault.ActionTCP: // What TCP does to a call is not foreseen, see streams.go.
		took := upstreamTook
		good := reply{outcome: trace.OutcomeAnswered, status: http.StatusOK}
		if d.in.Stub != nil {
			took = d.in.Stub.Latency
			good.answer = &d.in.Stub.Respond
			if s := d.in.Stub.Status; s != 0 {
				good.status = s
			}
			good.grpc = grpcOf(d.grpc, d.in.Stub.Respond, rule.Form)
		}
		v.answer(good, took, rule)
	case fault.ActionHang:
		v.hang()
	case fault.ActionReset:
		d.after(v.verdict.Latency, func() { v.end(reply{outcome: trace.OutcomeReset}, false) })
	case fault.ActionClose, fault.ActionGarbage:
		d.after(v.verdict.Latency, func() { v.end(reply{outcome: trace.OutcomeFIN}, false) })
	default:
		status := rule.Respond.Status
		if rule.Respond.GRPC != nil {
			status = http.StatusOK
		}
		v.answer(reply{outcome: trace.OutcomeAnswered, answer: &rule.Respond, status: status, grpc: grpcOf(d.grpc, rule.Respond, rule.Form)}, 0, rule)
	}
}

// hang says nothing until the caller leaves.
func (v *visit) hang() {
	v.waiting = func() { v.end(reply{outcome: trace.OutcomeHang}, false) }
	v.dep.stays = append(v.dep.stays, v)
}

// answer sends an answer in the form that the rule gives it.
func (v *visit) answer(a reply, took time.Duration, rule *fault.Rule) {
	body := sizeOf(a.answer)
	switch endOf(rule, a.answer) {
	case fault.ActionHang:
		v.hang()
		return
	case fault.ActionReset:
		a = reply{outcome: trace.OutcomeReset}
	case fault.ActionClose:
		a = reply{outcome: trace.OutcomeFIN}
	default:
	}
	v.dep.after(v.verdict.Latency+took+rule.Form.Takes(body), func() { v.end(a, false) })
}

// park holds the request at its rule's gate.
func (v *visit) park() {
	d, rule := v.dep, v.verdict.Rule
	if d.lots[rule] == nil {
		d.lots[rule] = &lot{gate: fault.NewGate(*rule.Hold), free: map[int]func(){}}
	}
	l := d.lots[rule]
	v.lot, v.spot = l, l.gate.Park(d.now)
	l.free[v.spot] = func() {
		v.waiting = nil
		if !v.ended {
			v.act()
		}
	}
	v.waiting = func() {
		l.gate.Leave(v.spot)
		l.release([]int{v.spot})
	}
	d.stays = append(d.stays, v)
	var watch func()
	watch = func() {
		l.release(l.gate.Expire(d.now))
		if due, parked := l.gate.Due(v.spot); parked {
			d.at(due, watch)
		}
	}
	watch()
}

// end ends the request, by an answer or by its caller's leaving.
func (v *visit) end(r reply, left bool) {
	if v.ended {
		return
	}
	v.ended, v.waiting = true, nil
	d := v.dep
	a := &d.trace.Attempts[v.attempt]
	a.Outcome, a.Status, a.GRPC = r.outcome, r.status, r.grpc
	if left {
		a.Abandon = d.now
	} else {
		a.Dep = d.now
		v.over(r)
	}
	if v.lot != nil {
		v.lot.gate.Leave(v.spot)
		delete(v.lot.free, v.spot)
		v.lot.gate.Answered(v.spot, d.now)
	}
}

// failed reports whether a breaker is said to count a reply as a failure.
func failed(f match.Failure, r reply) bool {
	switch r.outcome {
	case trace.OutcomeReset:
		return f.Reset
	case trace.OutcomeFIN, trace.OutcomeHang:
		return f.EOF
	default:
		is, _ := f.Answer(r.status, r.grpc)
		return is
	}
}
