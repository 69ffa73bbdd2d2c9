package experiments

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// recoveryTime reads how soon after a fault all is well again.
func (a *assertion) recoveryTime(v yamldoc.Value) assert.Rule {
	rule := assert.RecoveryTime{Breaker: a.onlyBreaker()}
	m := v.Map(`{max: 8s, target: "primary.share >= 99%", for: 3s}`)
	defer m.Done()
	rule.Max = m.Need("max").Duration(0)
	rule.Target, _ = a.criterion(m.Need("target"))
	stretch := m.Need("for")
	rule.For = stretch.Duration(0)
	p, ok := a.plan.phase(a.in)
	if ok && p.Duration > 0 && p.Duration < rule.For {
		stretch.Problemf("phase %s lasts for %s, so nothing in it can hold for %s; make the phase longer, or this shorter",
			p.Name, yamldoc.FormatDuration(p.Duration), yamldoc.FormatDuration(rule.For))
	}
	if b, known := a.plan.breaker(rule.Breaker); ok && known && !a.noPhases {
		a.recovers(v, p, b.Injector)
	}
	return rule
}

// recovers notes a phase that has nothing to recover from, or still has the fault.
func (a *assertion) recovers(v yamldoc.Value, p Phase, injector string) {
	if injector == "" {
		return
	}
	if len(p.Faults[injector]) > 0 {
		v.Problemf("phase %s has a fault at injector %s itself; name a phase after it", p.Name, injector)
		return
	}
	for _, earlier := range a.plan.Phases {
		if earlier.Name == p.Name {
			break
		}
		if len(earlier.Faults[injector]) > 0 {
			return
		}
	}
	v.Problemf("no phase before %s has a fault at injector %s, so there is nothing to recover from", p.Name, injector)
}

// abandonedAfter reads how long the SUT waits for its dependency.
func (a *assertion) abandonedAfter(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, equals: 2s, tolerance: 10%}")
	defer m.Done()
	tolerance := m.Get("tolerance")
	rule := assert.AbandonedAfter{Injector: a.injectors.referOr(m.Get("injector"))}
	a.refuseUnjoined(m.Get("injector"), rule.Injector, "how long a request waited is not known")
	kind := m.Choice("equals", "max")
	switch kind {
	case "equals":
		rule.Equals, rule.Tolerance = m.Get(kind).Duration(0), tolerance.Share(0.10)
	case "max":
		rule.Max = m.Get(kind).Duration(0)
		if tolerance.Exists() {
			m.Lacks(tolerance, []string{"equals"}, "goes with equals, not with max")
		}
	default:
		if m.Exists() {
			m.Lacks(m.Value, []string{"equals", "max"}, "says neither equals nor max, a time after which an attempt is given up")
		}
		return rule
	}
	a.keptWaiting(m.Get(kind), rule.Injector, rule.Equals+rule.Max)
	return rule
}

// keptWaiting notes what keeps a phase from telling how long the SUT waits.
func (a *assertion) keptWaiting(v yamldoc.Value, injector string, wait time.Duration) {
	p, ok := a.plan.phase(a.in)
	if !ok || injector == "" || wait == 0 || a.noPhases || a.injectors.vague[injector] || a.passesTCP(injector) {
		return
	}
	most := a.longest(p, injector)
	text := yamldoc.FormatDuration(wait)
	switch {
	case !a.reaches(p, injector):
		v.Problemf("no target of phase %s depends on injector %s", p.Name, injector)
	case most <= wait:
		v.Problemf("injector %s keeps no request waiting for longer than %s in phase %s; give it a fault with hang or more latency", injector, text, p.Name)
	case a.plan.Timeout <= wait:
		v.Problemf("load.timeout is %s, so faultline's own client leaves before %s; raise it", yamldoc.FormatDuration(a.plan.Timeout), text)
	case p.Duration > 0 && p.Duration <= wait:
		v.Problemf("phase %s lasts for %s, and its end answers what still waits; make it longer than %s", p.Name, yamldoc.FormatDuration(p.Duration), text)
	}
}

// downstreamCalls reads how many attempts arrive at a dependency.
func (a *assertion) downstreamCalls(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, max: 40}")
	defer m.Done()
	at, least, most, when := m.Get("injector"), m.Get("min"), m.Get("max"), m.Get("when")
	each := m.Get("per_instance")
	rule := assert.DownstreamCalls{Injector: a.injectors.referOr(at)}
	a.refuseUnjoined(at, rule.Injector, "requests cannot be counted")
	rule.Min, rule.Max = optional(least, 1), optional(most, 0)
	if rule.PerInstance = each.Bool(false); rule.PerInstance && a.plan.SUT.Reference != nil {
		each.Problemf("says nothing of the reference service, which is one instance")
	}
	switch {
	case m.Exists() && !least.Exists() && !most.Exists() && len(m.Unknown()) == 0:
		m.Problemf("bounds nothing; give it min or max, a number of attempts")
	case rule.Min != nil && rule.Max != nil && *rule.Min > *rule.Max:
		most.Problemf("is below min, so no number would do")
	}
	p, ok := a.plan.phase(a.in)
	if ok && rule.Injector != "" && !a.reaches(p, rule.Injector) {
		at.Problemf("no target of phase %s depends on injector %s", p.Name, rule.Injector)
	}
	if when.Exists() {
		rule.When = breakerState(when)
		rule.Breaker = a.onlyBreaker()
	} else if breaker := a.Get("breaker"); breaker.Exists() {
		m.Lacks(breaker, []string{"when"}, "goes with when, whose state it is")
	}
	return rule
}

// optional reads a number that may be left out; it is nil then, or where it is wrong.
func optional(v yamldoc.Value, least int) *int {
	const none = -1
	n := v.Count(none, least)
	if n == none {
		return nil
	}
	return &n
}

// stateWords are the states of a breaker as an experiment names them.
func stateWords() map[string]assert.State {
	return map[string]assert.State{
		"open": assert.StateOpen, "closed": assert.StateClosed, "half_open": assert.StateHalfOpen,
	}
}

func breakerState(v yamldoc.Value) assert.State {
	return stateWords()[v.OneOf("", "open", "closed", "half_open")]
}
