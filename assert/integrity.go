package assert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// The names of integrity checks.
const (
	checkDropped  = "dropped"
	checkLateness = "lateness_p99"
	checkJoin     = "join"
	checkFired    = "fault_fired"
	checkCalled   = "dependency_called"
	checkShorts   = "short_before_fault"
	checkArrivals = "arrivals_late"
	checkLost     = "never_arrived"
	checkPressure = "cpu_pressure"
	checkDoor     = "door_shut"
)

// integrity says where the run was not what the plan wanted.
func (e *evidence) integrity() []Check {
	var cs []Check
	for _, p := range e.trace.Phases {
		if p.Measure && p.OpenLoop {
			cs = append(cs, e.dropped(p), e.lateness(p))
		}
		if p.Measure {
			cs = append(cs, e.pressure(p)...)
		}
	}
	for _, b := range e.spec.Breakers {
		if !e.aggregate {
			cs = append(cs, e.joined(b))
		}
		cs = append(cs, e.called(b), e.shorts(b))
		cs = append(cs, e.arrivals(b)...)
		cs = append(cs, e.lost(b)...)
	}
	for _, p := range e.spec.Phases {
		cs = append(cs, e.fired(p)...)
	}
	return append(cs, e.steady()...)
}

// dropped checks that the load of a phase was sent.
func (e *evidence) dropped(p trace.Phase) Check {
	share := 0.0
	if p.Planned > 0 {
		share = float64(p.Dropped) / float64(p.Planned)
	}
	return Check{
		share: share,
		Name:  checkDropped, Phase: p.Name, OK: share <= e.spec.Integrity.Dropped && (p.Sent > 0 || p.Planned == 0 || p.Saturated > 0),
		Expected: "<= " + percent(e.spec.Integrity.Dropped),
		Observed: fmt.Sprintf("%s (%d of %d slots were not sent in time)", percent(share), p.Dropped, p.Planned),
		Remedy:   "lower the rate, or run on a machine with more free CPU",
	}
}

// lateness checks that the load of a phase was sent when it was due.
func (e *evidence) lateness(p trace.Phase) Check {
	var late []time.Duration
	for i := range e.trace.Calls {
		if c := &e.trace.Calls[i]; c.Phase == p.Name {
			late = append(late, c.Send-c.Sched)
		}
	}
	got := time.Duration(0)
	if len(late) > 0 {
		got = quantile(late, 0.99)
	}
	return Check{
		late: got,
		Name: checkLateness, Phase: p.Name, OK: got <= e.spec.Integrity.Lateness,
		Expected: "<= " + short(e.spec.Integrity.Lateness), Observed: short(got),
		Remedy: "lower the rate, or run on a machine with more free CPU",
	}
}

// joined checks that attempts can be attributed to calls, also to those that ask another
// breaker at the same injector.
func (e *evidence) joined(b Breaker) Check {
	share := e.joinOf(b.Injector).Share()
	return Check{
		breaker: b.Name,
		Name:    checkJoin, OK: share >= e.spec.Integrity.Join,
		Expected: ">= " + percent(e.spec.Integrity.Join),
		Observed: fmt.Sprintf("%s of the attempts at %s joined a call", percent(share), b.Injector),
		Remedy:   "let the SUT pass traceparent (or a header named in correlate.order) on to the dependency",
	}
}

// called checks that the dependency was reached at all.
func (e *evidence) called(b Breaker) Check {
	n := 0
	for i := range e.trace.Attempts {
		if e.trace.Attempts[i].Injector == b.Injector {
			n++
		}
	}
	return Check{
		breaker: b.Name,
		Name:    checkCalled, OK: n > 0, Expected: "at least one attempt at " + b.Injector, Observed: fmt.Sprintf("%d attempts", n),
		Remedy: "point the SUT at injector " + b.Injector + " and check that its targets need it",
	}
}

// shorts checks that calls reach the dependency while nothing is wrong with it:
// a cache, a limiter or coalescing would look like an open breaker. Where it is known of
// a call that it was something else that answered it, it does not.
func (e *evidence) shorts(b Breaker) Check {
	firstFault := e.firstFault(b.Injector)
	all, shorts := 0, 0
	joined := e.views[b.Name][0].join.Calls
	told := e.toldApart(b.Name)
	for i := range joined {
		c := &joined[i]
		if c.Call.Send >= firstFault {
			break
		}
		// Without ids, all but those that surely did not reach it are unknown.
		if c.Call.End >= firstFault || c.Kind == trace.Unknown && !e.aggregate {
			continue
		}
		all++
		if c.Kind == trace.Short && !told[c.Call.ID] {
			shorts++
		}
	}
	share := 0.0
	if all > 0 {
		share = float64(shorts) / float64(all)
	}
	return Check{
		breaker: b.Name,
		Name:    checkShorts, OK: share <= 0.01 || shorts == 1 && all >= enough, Expected: "<= 1% (or a single call) answered without reaching " + b.Injector + " before any fault",
		Observed: fmt.Sprintf("%s (%d of %d calls)", percent(share), shorts, all),
		Remedy:   "send requests that no cache, limiter or validation answers, or leave such targets out of the breaker",
	}
}

// firstFault is when the first attempt arrived at an injector that a fault hit, or when its
// door was shut first.
func (e *evidence) firstFault(injector string) time.Duration {
	first := forever
	if blind := e.trace.Blind(injector); len(blind) > 0 {
		first = blind[0].From
	}
	for i := range e.trace.Attempts {
		if a := &e.trace.Attempts[i]; a.Injector == injector && a.Rule != "" {
			return min(first, a.Arr)
		}
	}
	return first
}

// arrivals says how much later than the fastest the first attempts arrived while
// nothing was wrong: the generator, the machine and the SUT's own queues made
// them wait, and cannot be told apart. So it breaches nothing by itself. It is
// found wanting by a verdict that fails by no more than that.
func (e *evidence) arrivals(b Breaker) []Check {
	firstFault := e.firstFault(b.Injector)
	var took []time.Duration
	joined := e.views[b.Name][0].join.Calls
	for i := range joined {
		c := &joined[i]
		if c.Call.Send >= firstFault {
			break
		}
		if len(c.Attempts) > 0 && c.Call.Phase != "" && c.Attempts[0].Arr <= firstFault {
			took = append(took, c.Attempts[0].Arr-c.Call.Sched)
		}
	}
	if len(took) < enough {
		return nil
	}
	late := quantile(took, 0.99)
	fastest := took[0] // quantile has sorted them
	return []Check{{
		late: late - fastest, breaker: b.Name,
		Name: checkArrivals, OK: true, Expected: "a miss of a bound in time is greater than what arrivals wait",
		Observed: fmt.Sprintf("p99 of the arrivals at %s before any fault was %s later than the fastest, which took %s since due", b.Injector, short(late-fastest), short(fastest)),
		Remedy:   "run on a machine with more free CPU, lower the rate, or give the SUT more threads and connections; then allow for what is left",
	}}
}

// lost reports calls that had no answer and did not reach the dependency while
// the breaker was closed and nothing was wrong with it: they prove nothing about
// the breaker, but something else is broken.
func (e *evidence) lost(b Breaker) []Check {
	all, lost := 0, 0
	for _, v := range e.views[b.Name] {
		for _, s := range v.segs {
			if s.state == StateClosed {
				n, gone := v.lostIn(Interval{s.from.Hi, s.to.Lo}, e.faults)
				all, lost = all+n, lost+gone
			}
		}
	}
	if lost == 0 {
		return nil
	}
	share := float64(lost) / float64(all)
	return []Check{{
		breaker: b.Name,
		Name:    checkLost, OK: share <= e.spec.Integrity.Dropped, Expected: "<= " + percent(e.spec.Integrity.Dropped) + " lost while closed and without a fault at " + b.Injector,
		Observed: fmt.Sprintf("%s (%d of %d calls had neither an answer nor an attempt)", percent(share), lost, all),
		Remedy:   "look into the SUT's log: it refuses, drops or breaks off requests by itself",
	}}
}

// lostIn counts the calls that were sent and over in an interval, without a fault
// in their phase, and those of them that were lost.
func (v *view) lostIn(in Interval, faults map[string]map[string][]fault.Rule) (all, lost int) {
	first, _ := slices.BinarySearchFunc(v.calls, in.Lo, func(c *trace.Joined, t time.Duration) int { return cmp.Compare(c.Call.Send, t) })
	for _, c := range v.calls[first:] {
		if c.Call.Send > in.Hi {
			break
		}
		if c.Call.End > in.Hi || c.Call.Err == trace.ErrCanceled || len(faults[c.Call.Phase][v.breaker.Injector]) > 0 {
			continue
		}
		all++
		lost += one(c.Kind == trace.Lost)
	}
	return all, lost
}

// fired checks that each fault of a phase hit somebody. A phase in which the
// breaker let nobody through cannot show it and needs no fault.
func (e *evidence) fired(p Phase) []Check {
	var cs []Check
	for _, inj := range sortedKeys(p.Faults) {
		for _, r := range p.Faults[inj] {
			if r.Action.Door() {
				cs = append(cs, e.wasShut(p, inj, r)...)
				continue
			}
			if r.Action.Layer() != fault.LayerRequest {
				continue // Whether it hit connections is not in the trace: the run asks the injector.
			}
			seen, hit, example := e.hits(p.Name, inj, r)
			if seen == 0 {
				continue
			}
			cs = append(cs, Check{
				Name: checkFired, Phase: p.Name, OK: hit > 0, Expected: "fault " + r.ID + " hits at least one request",
				Observed: fmt.Sprintf("%d of %d requests that arrived at %s were hit (last: %s)", hit, seen, inj, example),
				Remedy:   "make the fault's match fit what the SUT sends",
			})
		}
	}
	return cs
}

// hits counts the arrivals at an injector in a phase and those that a rule hit.
func (e *evidence) hits(phase, injector string, r fault.Rule) (seen, hit int, example string) {
	var last *trace.Attempt
	for i := range e.trace.Attempts {
		a := &e.trace.Attempts[i]
		if a.Injector != injector || a.Phase != phase {
			continue
		}
		seen++
		last = a
		if a.Rule == r.ID {
			hit++
		}
	}
	if last != nil {
		example = last.Method + " " + last.Path
	}
	return seen, hit, example
}

// percent prints a share.
func percent(share float64) string {
	s := fmt.Sprintf("%.2f", share*100)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "%"
}

// sortedKeys is the keys of a map in order.
func sortedKeys[T any](m map[string]T) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return ks
}

// matchesRule reports whether an attempt is one that a rule's match could see; what
// is not recorded, such as headers, counts as matching.
func matchesRule(m fault.Match, a *trace.Attempt) bool {
	p, _, _ := strings.Cut(a.Path, "?")
	return m.MayMatch(a.Method, p)
}
