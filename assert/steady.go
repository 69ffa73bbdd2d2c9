package assert

import (
	"fmt"
	"slices"
	"strings"
)

// SteadyID and KindSteady name the verdict about the steady state in the last
// phase.
const (
	SteadyID   = "steady-state"
	KindSteady = "steady_state"
)

// CheckSteady names the check of the steady state before any fault. Where it does
// not hold the whole run decides nothing.
const CheckSteady = "steady_state"

// steadyState is the rule that the criteria of a healthy system hold again.
type steadyState struct{ criteria []Criterion }

// Kind implements [Rule].
func (steadyState) Kind() string { return KindSteady }

// expected says what the rule asks.
func (r steadyState) expected() string {
	parts := make([]string, 0, len(r.criteria))
	for _, c := range r.criteria {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, ", ")
}

// judge implements [Rule].
func (r steadyState) judge(e *evidence, a Assertion) Verdict {
	parts := make([]Verdict, 0, len(r.criteria))
	for _, c := range r.criteria {
		parts = append(parts, e.criterion(c, a))
	}
	out := merge(r.expected(), parts)
	if out.Result == Pass {
		var margins []string
		for _, p := range parts {
			margins = append(margins, p.Margin)
		}
		out.Margin = strings.Join(margins, ", ")
	}
	return out
}

// criterion judges one criterion for the calls of a phase; the share of rejected
// calls for each breaker.
func (e *evidence) criterion(c Criterion, a Assertion) Verdict {
	breakers := []string{""}
	if c.Subject == SubjectShort {
		breakers = breakers[:0]
		for _, b := range e.spec.Breakers {
			breakers = append(breakers, b.Name)
		}
	}
	parts := make([]Verdict, 0, len(breakers))
	for _, b := range breakers {
		parts = append(parts, c.rule(b).judge(e, a))
	}
	if len(parts) == 0 {
		return Verdict{Result: Inconclusive, Observed: "no breaker", Reason: "without a breaker no call can be told to be rejected", Remedy: "declare the breaker"}
	}
	out := byResult(parts)
	out.Observed = strings.TrimSuffix(fmt.Sprintf("%s %s", c.name(), out.Observed), " ")
	return out
}

// name is what a criterion bounds.
func (c Criterion) name() string {
	if c.Quantile == 0 {
		return c.Subject + ".share"
	}
	return Latency{Subject: c.Subject}.Kind()
}

// faulty reports whether a phase has any fault.
func (e *evidence) faulty(phase string) bool {
	for _, rules := range e.faults[phase] {
		if len(rules) > 0 {
			return true
		}
	}
	return false
}

// steady checks the steady state in every measured phase before any fault. What
// has too few calls to tell is no breach, and is said.
func (e *evidence) steady() []Check {
	var cs []Check
	for _, p := range e.trace.Phases {
		if e.faulty(p.Name) {
			break
		}
		if !p.Measure {
			continue
		}
		for _, c := range e.spec.SteadyState {
			v := e.criterion(c, Assertion{Phase: p.Name})
			check := Check{
				Name: CheckSteady, Phase: p.Name, OK: v.Result != Fail, Expected: c.String(), Observed: v.Observed,
				Remedy: "find out what is wrong with the system before anything is done to it, or correct steady_state",
			}
			if v.Result == Inconclusive {
				check.Observed += ": undecided, " + v.Reason
			}
			cs = append(cs, check)
		}
	}
	return cs
}

// steadyAgain is the assertion that the steady state holds in the last measured
// phase, if that has no fault and comes after one.
func (e *evidence) steadyAgain() (Assertion, bool) {
	if len(e.spec.SteadyState) == 0 {
		return Assertion{}, false
	}
	planned := e.spec.Phases
	last := len(planned) - 1
	for last >= 0 && !planned[last].Measure {
		last--
	}
	if last < 0 || e.faulty(planned[last].Name) || !slices.ContainsFunc(planned[:last], func(p Phase) bool { return e.faulty(p.Name) }) {
		return Assertion{}, false
	}
	return Assertion{ID: SteadyID, Phase: planned[last].Name, Rule: steadyState{e.spec.SteadyState}}, true
}
