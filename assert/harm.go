package assert

import (
	"fmt"
	"slices"
)

// undelivered is the share of dropped slots from which on a phase was not the
// experiment that was planned: nothing that is asserted of it counts.
const undelivered = 0.25

// harm is what a breached check does to a verdict.
type harm int

const (
	harmless  harm = iota
	voidsPass      // what is missing can have caused a pass, but not a failure
	voidsFail      // the other way round
	voidsMiss      // it can have caused a failure by no more than its lateness
	voidsAll       // the verdict means nothing
)

// hits reports whether a verdict of this result falls to such harm.
func (h harm) hits(v Verdict, c Check) bool {
	switch h {
	case voidsPass:
		return v.Result == Pass
	case voidsFail:
		return v.Result == Fail && !v.certain
	case voidsMiss:
		return v.Result == Fail && v.miss > 0 && v.miss <= c.late
	case voidsAll:
		return true
	case harmless:
	}
	return false
}

// harmOf says what a breached check does to a rule. Rules that count decisions
// do not need the planned rate; a bound in time that was kept was kept, however
// few calls showed it, but one that was missed may have been missed for want of
// calls; and not opening under less than the planned load says nothing.
func harmOf(r Rule, c Check) harm {
	switch c.Name {
	case CheckSteady:
		return voidsAll
	case checkArrivals, checkPressure:
		return voidsMiss
	case checkLost:
		return harmless // it is told, and what it spoils says so itself
	case checkDropped:
		return harmOfDropped(r, c)
	case checkLateness:
		return harmOfLateness(r)
	case checkFired:
		return harmOfFault(r)
	case checkShorts:
		if _, ok := r.(retryRule); ok {
			return harmless // Attempts are counted, and who has none was not tried again.
		}
	case checkDoor:
		if clientSide(r) {
			return harmless
		}
		return voidsAll // What looks rejected may have come to the door.
	}
	return harmOfJoin(r, c)
}

// harmOfDropped is harmOf for load that was not sent: what was not asked for
// cannot have been answered slowly, have reached the dependency, or have tripped
// anything.
func harmOfDropped(r Rule, c Check) harm {
	forbidden := false
	switch r.(type) {
	case FallbackForbidden, FallbackStaleness:
		forbidden = true // What was answered was answered.
	}
	switch {
	case forbidden && c.share > undelivered:
		return voidsPass
	case forbidden:
		return harmless
	case c.share > undelivered:
		return voidsAll
	}
	switch r := r.(type) {
	case StaysClosed, Latency, DownstreamCalls, steadyState:
		return voidsAll
	case Isolation: // There was less trouble than was planned.
		return voidsPass
	case ShortLatency, NeverStuck, RecoveryTime:
		return voidsFail
	case Opens:
		return harmOfOpening(r)
	case Closes:
		if r.Within > 0 {
			return voidsFail
		}
	}
	return harmless
}

// harmOfLateness is harmOf for load that was sent late, from a machine that was
// too busy to send it, and to see answers, in time.
func harmOfLateness(r Rule) harm {
	switch r := r.(type) {
	case StaysClosed:
		return voidsAll
	case ShortLatency, NeverStuck, Latency, RecoveryTime, Isolation, steadyState:
		return voidsFail
	case AbandonedAfter, DownstreamConcurrency, DownstreamRate, RetrySpacing, CancelPropagates:
		return voidsMiss
	case Opens:
		return harmOfOpening(r)
	case Closes:
		if r.Within > 0 {
			return voidsFail
		}
	}
	return harmless
}

// harmOfOpening is what a rate that was not kept does to the time of an opening.
func harmOfOpening(r Opens) harm {
	switch {
	case r.NotBefore > 0:
		return voidsAll
	case r.Within > 0:
		return voidsFail
	}
	return harmless
}

// harmOfFault is harmOf for a fault that did not hit anybody.
func harmOfFault(r Rule) harm {
	switch r.(type) {
	case ShortLatency:
		return harmless
	case FallbackForbidden, FallbackStaleness, RetryAttempts, RetryAmplification, RetryBudget, RetryForbidden, CancelPropagates:
		return voidsPass // a fallback, or a retry, where it must not be needs no fault to be wrong
	}
	return voidsAll
}

// harmOfJoin is harmOf for attempts that joined no call, a dependency that was not
// called, and calls that something else than a breaker answered. What clients got
// is known all the same.
func harmOfJoin(r Rule, c Check) harm {
	if c.Name == checkCalled {
		return voidsAll // whatever clients got, the dependency had no part in it
	}
	switch r := r.(type) {
	case Latency, FallbackForbidden, FallbackStaleness, steadyState, AbandonedAfter, DownstreamConcurrency, Isolation, SLO:
		return harmless
	case DownstreamRate: // What a limiter rejects looks like short circuits.
		if c.Name != checkJoin || r.Of == RateAnswers || r.By == "" && r.Rejected == nil {
			return harmless
		}
	case FallbackShare: // Of all calls, it is a share of answers.
		if !slices.ContainsFunc(r.Of, func(s CallSet) bool { return s != SetAll }) {
			return harmless
		}
	case Share:
		if r.Subject != SubjectShort {
			return harmless
		}
	case RecoveryTime:
		if r.Target.Subject != SubjectShort {
			return harmless
		}
	case DownstreamCalls:
		if r.When == "" {
			return harmless
		}
	}
	return voidsAll
}

// concerns reports whether a check is about what a rule speaks of.
func (e *evidence) concerns(a Assertion, c Check) bool {
	if c.Phase != "" && c.Phase != a.Phase && a.Phase != "" && c.Name != CheckSteady {
		return false
	}
	if c.breaker == "" {
		return true
	}
	of := a.Rule.About()
	vs := e.views[c.breaker]
	switch {
	case of.Breaker != "":
		return of.Breaker == c.breaker
	case of.Injector != "":
		return len(vs) > 0 && vs[0].breaker.Injector == of.Injector
	case len(of.Targets) > 0:
		return len(vs) > 0 && slices.ContainsFunc(of.Targets, func(t string) bool { return e.depends(t, vs[0].breaker.Injector) })
	}
	return true
}

// void weakens a verdict by what was breached in the run; the first breach that
// matters is its reason, and each of them is told what it affects. Late arrivals
// and a machine without free CPU are no breach but where a verdict hangs on them.
func (e *evidence) void(a Assertion, v Verdict) Verdict {
	was := v
	for i, c := range e.checks {
		if c.OK && c.Name != checkArrivals && c.Name != checkPressure || was.Result == Skipped || !e.concerns(a, c) || !harmOf(a.Rule, c).hits(was, c) {
			continue
		}
		e.checks[i].OK = false
		e.checks[i].Affects = append(e.checks[i].Affects, a.ID)
		if len(v.voided) > 0 {
			continue
		}
		v.voided = c.Name
		v.Result, v.Margin = Inconclusive, ""
		v.Reason = why(c)
		v.Remedy = c.Remedy
	}
	return v
}

// why is a breached check as the reason of a verdict that it voids.
func why(c Check) string {
	switch c.Name {
	case CheckSteady:
		return fmt.Sprintf("precondition: the steady state did not hold in phase %s, before any fault: %s, wanted %s", c.Phase, c.Observed, c.Expected)
	case checkArrivals:
		return fmt.Sprintf("%s: the bound was missed by less than arrivals wait anyway: %s", c.Name, c.Observed)
	case checkPressure:
		return fmt.Sprintf("%s: %s, which may have kept the SUT waiting as long as the bound was missed by", c.Name, c.Observed)
	}
	return fmt.Sprintf("%s: %s, wanted %s", c.Name, c.Observed, c.Expected)
}
