package experiments

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// rule reads the keys of one kind of rule.
func (a *assertion) rule(kind string) assert.Rule {
	v := a.Get(kind)
	switch kind {
	case assert.Opens{}.Kind():
		return a.opens(v)
	case assert.StaysClosed{}.Kind():
		return assert.StaysClosed{Breaker: a.breaker(v)}
	case assert.Leak{}.Kind():
		return assert.Leak{Breaker: a.declared(v, "wait"), Max: a.Get("max").Count(0, 0)}
	case assert.OpenDuration{}.Kind():
		return a.openDuration(v)
	case assert.HalfOpenProbes{}.Kind():
		return a.halfOpenProbes(v)
	case assert.ReopensOnFailedProbe{}.Kind():
		return assert.ReopensOnFailedProbe{Breaker: a.breaker(v)}
	case assert.Closes{}.Kind():
		return assert.Closes{
			Breaker:        a.breaker(v),
			Within:         a.Get("within").Duration(0),
			AfterSuccesses: a.Get("after_successes").Count(0, 1),
		}
	case assert.NeverStuck{}.Kind():
		return assert.NeverStuck{Breaker: a.declared(v, "wait"), Tolerance: a.Get("tolerance").Share(0.10)}
	case assert.ShortLatency{}.Kind():
		return assert.ShortLatency{Breaker: a.onlyBreaker(), Bounds: a.bounds(v)}
	case assert.FallbackShare{}.Kind():
		return a.fallbackShare(v)
	case assert.FallbackForbidden{}.Kind():
		return a.forbidden(v)
	case assert.FallbackContinuity{}.Kind():
		return a.continuity(v)
	case assert.RecoveryTime{}.Kind():
		return a.recoveryTime(v)
	case assert.AbandonedAfter{}.Kind():
		return a.abandonedAfter(v)
	case assert.DownstreamCalls{}.Kind():
		return a.downstreamCalls(v)
	case assert.ReportedStateAgrees{}.Kind():
		return a.reportedState(v)
	case assert.MetricAgrees{}.Kind():
		return a.metricAgrees(v)
	}
	return a.otherRule(kind, v)
}

// otherRule reads the keys of a rule that is not about a breaker with three states.
func (a *assertion) otherRule(kind string, v yamldoc.Value) assert.Rule {
	if rule := a.ejectionRule(kind, v); rule != nil {
		return rule
	}
	if isRateRule(kind) {
		return a.rateRule(kind, v)
	}
	return a.answerRule(kind)
}

func (a *assertion) opens(v yamldoc.Value) assert.Rule {
	atCall, withinCalls := a.Get("at_call"), a.Get("within_calls")
	within, notBefore := a.Get("within"), a.Get("not_before")
	rule := assert.Opens{
		Breaker:     a.breaker(v),
		AtCall:      atCall.Count(0, 1),
		WithinCalls: withinCalls.Count(0, 1),
		Within:      within.Duration(0),
		NotBefore:   notBefore.Duration(0),
	}
	if atCall.Exists() && withinCalls.Exists() {
		withinCalls.Problemf("adds nothing to at_call, which is exact; leave one of them out")
	}
	if rule.Within > 0 && rule.NotBefore > rule.Within {
		notBefore.Problemf("%s is after within %s, so no time would do",
			yamldoc.FormatDuration(rule.NotBefore), yamldoc.FormatDuration(rule.Within))
	}
	return rule
}

func (a *assertion) openDuration(v yamldoc.Value) assert.Rule {
	rule := assert.OpenDuration{Breaker: a.breaker(v), Tolerance: a.Get("tolerance").Share(0.05)}
	switch a.Choice("equals", "sequence") {
	case "equals":
		rule.Equals = a.Get("equals").Duration(0)
	case "sequence":
		rule.Sequence = durations(a.Get("sequence"))
	default:
		a.Lacks(a.Value, []string{"equals", "sequence"}, "says neither equals, for every open interval, nor sequence, for one after the other")
	}
	return rule
}

func (a *assertion) halfOpenProbes(v yamldoc.Value) assert.Rule {
	rule := assert.HalfOpenProbes{Breaker: a.declared(v, "permitted_calls")}
	switch a.Choice("exactly", "max") {
	case "exactly":
		rule.Exactly = a.Get("exactly").Count(0, 1)
	case "max":
		rule.Max = a.Get("max").Count(0, 1)
	default:
		a.Lacks(a.Value, []string{"exactly", "max"}, "says neither exactly nor max, a number of probes")
	}
	return rule
}

func (a *assertion) fallbackShare(v yamldoc.Value) assert.Rule {
	rule := assert.FallbackShare{Breaker: a.onlyBreaker(), Of: a.callSets()}
	rule.Min, rule.Max = shares(v)
	a.distinctFallback(v)
	return rule
}

// callSets reads whose share is taken.
func (a *assertion) callSets() []assert.CallSet {
	v := a.Get("of")
	if !v.Exists() {
		return []assert.CallSet{assert.SetAll}
	}
	seen := &names{kind: "set"}
	var sets []assert.CallSet
	for _, item := range v.Items() {
		word := item.OneOf("", string(assert.SetShort), string(assert.SetFailed), string(assert.SetOpen), string(assert.SetAll))
		seen.declare(item, word)
		sets = append(sets, assert.CallSet(word))
	}
	return sets
}

// durations are those of a list.
func durations(v yamldoc.Value) []time.Duration {
	var out []time.Duration
	for _, item := range v.Items() {
		out = append(out, item.Duration(0))
	}
	return out
}
