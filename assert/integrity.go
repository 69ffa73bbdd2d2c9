package assert

import (
	"fmt"
	"path"
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
)

// integrity says where the run was not what the plan wanted.
func (e *evidence) integrity() []Check {
	var cs []Check
	for _, p := range e.trace.Phases {
		if p.Measure && p.OpenLoop {
			cs = append(cs, e.dropped(p), e.lateness(p))
		}
	}
	for _, b := range e.spec.Breakers {
		cs = append(cs, e.joined(b), e.called(b), e.shorts(b))
	}
	for _, p := range e.spec.Phases {
		cs = append(cs, e.fired(p)...)
	}
	return cs
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
	for _, c := range e.trace.Calls {
		if c.Phase == p.Name {
			late = append(late, c.Send-c.Sched)
		}
	}
	got := time.Duration(0)
	if len(late) > 0 {
		got = quantile(late, 0.99)
	}
	return Check{
		Name: checkLateness, Phase: p.Name, OK: got <= e.spec.Integrity.Lateness,
		Expected: "<= " + short(e.spec.Integrity.Lateness), Observed: short(got),
		Remedy: "lower the rate, or run on a machine with more free CPU",
	}
}

// joined checks that attempts can be attributed to calls.
func (e *evidence) joined(b Breaker) Check {
	share := e.views[b.Name][0].join.Share()
	return Check{
		Name: checkJoin, Phase: "", OK: share >= e.spec.Integrity.Join,
		Expected: ">= " + percent(e.spec.Integrity.Join),
		Observed: fmt.Sprintf("%s of the attempts at %s joined a call", percent(share), b.Injector),
		Remedy:   "let the SUT pass traceparent (or a header named in correlate.order) on to the dependency",
	}
}

// called checks that the dependency was reached at all.
func (e *evidence) called(b Breaker) Check {
	n := 0
	for _, a := range e.trace.Attempts {
		if a.Injector == b.Injector {
			n++
		}
	}
	return Check{
		Name: checkCalled, OK: n > 0, Expected: "at least one attempt at " + b.Injector, Observed: fmt.Sprintf("%d attempts", n),
		Remedy: "point the SUT at injector " + b.Injector + " and check that its targets need it",
	}
}

// shorts checks that calls reach the dependency while nothing is wrong with it:
// a cache, a limiter or coalescing would look like an open breaker.
func (e *evidence) shorts(b Breaker) Check {
	firstFault := forever
	for _, a := range e.trace.Attempts {
		if a.Injector == b.Injector && a.Rule != "" {
			firstFault = min(firstFault, a.Arr)
		}
	}
	all, shorts := 0, 0
	for _, c := range e.views[b.Name][0].join.Calls {
		if c.Call.End >= firstFault || c.Kind == trace.Unknown {
			continue
		}
		all++
		if c.Kind == trace.Short {
			shorts++
		}
	}
	share := 0.0
	if all > 0 {
		share = float64(shorts) / float64(all)
	}
	return Check{
		Name: checkShorts, OK: share <= 0.01, Expected: "<= 1% answered without reaching " + b.Injector + " before any fault",
		Observed: fmt.Sprintf("%s (%d of %d calls)", percent(share), shorts, all),
		Remedy:   "send requests that no cache, limiter or validation answers, or leave such targets out of the breaker",
	}
}

// fired checks that each fault of a phase hit somebody. A phase in which the
// breaker let nobody through cannot show it and needs no fault.
func (e *evidence) fired(p Phase) []Check {
	var cs []Check
	for _, inj := range sortedKeys(p.Faults) {
		for _, r := range p.Faults[inj] {
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
	for _, a := range e.trace.Attempts {
		if a.Injector != injector || a.Phase != phase {
			continue
		}
		seen++
		example = a.Method + " " + a.Path
		if a.Rule == r.ID {
			hit++
		}
	}
	return seen, hit, example
}

// undelivered is the share of dropped slots from which on a phase was not the
// experiment that was planned: nothing that is asserted of it counts.
const undelivered = 0.25

// harm is what a breached check does to a verdict.
type harm int

const (
	harmless  harm = iota
	voidsFail      // what is missing can have caused a failure, but not a pass
	voidsAll       // the verdict means nothing
)

// harmOf says what a breached check does to a rule. Rules that count decisions
// do not need the planned rate; a bound in time that was kept was kept, however
// few calls showed it, but one that was missed may have been missed for want of
// calls; and not opening under less than the planned load says nothing.
func harmOf(r Rule, c Check) harm {
	switch c.Name {
	case checkDropped, checkLateness:
		return harmOfLoad(r, c)
	case checkFired:
		if _, latency := r.(ShortLatency); latency {
			return harmless
		}
	}
	return voidsAll
}

// harmOfLoad is harmOf for load that was not sent, or late.
func harmOfLoad(r Rule, c Check) harm {
	if c.share > undelivered {
		return voidsAll
	}
	switch r := r.(type) {
	case StaysClosed:
		return voidsAll
	case ShortLatency, NeverStuck:
		return voidsFail
	case Opens:
		switch {
		case r.NotBefore > 0:
			return voidsAll
		case r.Within > 0:
			return voidsFail
		}
	case Closes:
		if r.Within > 0 {
			return voidsFail
		}
	}
	return harmless
}

// void weakens a verdict by what was breached in the run; the first breach that
// matters is its reason, and each of them is told what it affects.
func (e *evidence) void(a Assertion, v Verdict) Verdict {
	was := v.Result
	for i, c := range e.checks {
		if c.OK || was == Skipped || c.Phase != "" && c.Phase != a.Phase && a.Phase != "" {
			continue
		}
		if h := harmOf(a.Rule, c); h == harmless || h == voidsFail && was != Fail {
			continue
		}
		e.checks[i].Affects = append(e.checks[i].Affects, a.ID)
		if len(v.voided) > 0 {
			continue
		}
		v.voided = c.Name
		v.Result, v.Margin = Inconclusive, ""
		v.Reason = fmt.Sprintf("%s: %s, wanted %s", c.Name, c.Observed, c.Expected)
		v.Remedy = c.Remedy
	}
	return v
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

// matchesRule reports whether an attempt is one that a rule's match could see;
// headers are not recorded and count as matching.
func matchesRule(m fault.Match, a trace.Attempt) bool {
	if m.Method != "" && !strings.EqualFold(m.Method, a.Method) {
		return false
	}
	p, _, _ := strings.Cut(a.Path, "?")
	if prefix, ok := strings.CutSuffix(m.Path, "*"); ok {
		return strings.HasPrefix(p, prefix)
	}
	return m.Path == "" || path.Clean(m.Path) == path.Clean(p)
}
