package experiments

import (
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// ruleKinds are the keys of the rules, one of which an assertion has, but for those
// that begin with the name of a class.
func ruleKinds() []string {
	rules := []assert.Rule{
		assert.Opens{},
		assert.StaysClosed{},
		assert.Leak{},
		assert.OpenDuration{},
		assert.HalfOpenProbes{},
		assert.ReopensOnFailedProbe{},
		assert.Closes{},
		assert.NeverStuck{},
		assert.EjectionOpens{},
		assert.EjectionDuration{},
		assert.EjectionReturns{},
		assert.ShortLatency{},
		assert.FallbackShare{},
		assert.FallbackForbidden{},
		assert.FallbackStaleness{},
		assert.FallbackContinuity{},
		assert.RecoveryTime{},
		assert.AbandonedAfter{},
		assert.DownstreamCalls{},
		assert.ReportedStateAgrees{},
		assert.MetricAgrees{},
	}
	rules = append(rules, retryRules()...)
	rules = append(rules, rateRules()...)
	kinds := make([]string, len(rules))
	for i, rule := range rules {
		kinds[i] = rule.Kind()
	}
	return kinds
}

// assertions reads what the experiment is judged by.
func (r *reader) assertions(v yamldoc.Value) {
	for _, item := range v.Items() {
		m := item.Map("{id: opens, breaker.opens: NAME, phase: outage}")
		a := assertion{reader: r, Map: m}
		id := m.Need("id")
		pa := PlanAssertion{ID: a.id(id), Line: item.Line()}
		r.ids.declare(id, pa.ID)
		kinds := append(ruleKinds(), a.answerKinds()...)
		pa.Kind = m.Choice(kinds...)
		a.in = a.phase(m.Need("phase"))
		pa.Phase = a.in
		if pa.Kind == "" {
			a.noRule(kinds)
			continue // Not Done: keys of the rule that was meant are not unknown.
		}
		pa.Rule = a.rule(pa.Kind)
		a.refuseStates(pa.Rule)
		a.reach(pa.Phase)
		m.Done()
		r.plan.Assertions = append(r.plan.Assertions, pa)
	}
}

// assertion reads one assertion.
type assertion struct {
	*reader
	*yamldoc.Map
	in    string        // the phase, if it is known and has calls
	asked yamldoc.Value // where the rule's breaker stands, or should
	about string        // the rule's breaker, if it is known
}

// id reads a name that goes into reports and test names.
func (a *assertion) id(v yamldoc.Value) string {
	s := v.NonEmpty()
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		v.Problemf("%q is not an id; it has a to z, 0 to 9 and -", s)
		return ""
	}
	return s
}

// noRule notes that there is no rule. What else is unknown is likely to belong to
// the one that was meant, so only a misspelt rule is told.
func (a *assertion) noRule(kinds []string) {
	for _, key := range a.Unknown() {
		if a.misspelt(key, kinds) {
			return
		}
	}
	if a.Exists() {
		a.Problemf("has no rule; give it one of %s, or CLASS.share or CLASS.latency of a class in load.classify", strings.Join(kinds, ", "))
	}
}

// misspelt notes which rule a key was meant to be, if that can be told.
func (a *assertion) misspelt(key string, kinds []string) bool {
	if subject, end, ok := cutAnswer(key); ok {
		var subjects []string
		for _, kind := range kinds {
			if s, ok := strings.CutSuffix(kind, end); ok && s != "" {
				subjects = append(subjects, s)
			}
		}
		a.Key(key).Problemf("there is no class %q in load.classify%s", subject, yamldoc.Hint(subject, subjects))
		return true
	}
	near := yamldoc.Nearest(key, kinds)
	if near != "" {
		a.Key(key).Problemf("unknown key; did you mean %q?", near)
	}
	return near != ""
}

// phase reads the phase that is judged.
func (a *assertion) phase(v yamldoc.Value) string {
	name := a.phases.refer(v)
	p, ok := a.plan.phase(name)
	switch {
	case ok && !p.Measure:
		v.Problemf("phase %s is not measured (measure: false), so nothing in it is judged", name)
	case ok && p.pause():
		v.Problemf("phase %s sends no calls (0/s), so there is nothing to judge", name)
	default:
		return name
	}
	return ""
}

// reach notes a rule that its phase cannot decide, because no call asks the
// breaker.
func (a *assertion) reach(phase string) {
	p, ok := a.plan.phase(phase)
	if ok && a.about != "" && !a.asks(p, a.about) {
		a.asked.Problemf("no target of phase %s asks breaker %s", phase, a.about)
	}
}

// breaker reads the breaker that stands at v.
func (a *assertion) breaker(v yamldoc.Value) string {
	a.asked, a.about = v, a.breakers.refer(v)
	return a.about
}

// onlyBreaker reads the key breaker, which may be left out if there is only one.
func (a *assertion) onlyBreaker() string {
	v := a.Get("breaker")
	a.asked, a.about = v, a.breakers.referOr(v)
	return a.about
}

// declared reads a breaker whose rule needs one of its numbers.
func (a *assertion) declared(v yamldoc.Value, number string) string {
	name := a.breaker(v)
	if b, ok := a.plan.breaker(name); ok && !b.Declared && b.Ejection == nil && !a.breakers.vague[name] {
		v.Problemf("needs to know %s of breaker %s, none of whose numbers is declared", number, name)
	}
	return name
}

// distinctFallback notes that answers of the fallback could not be told apart.
func (a *assertion) distinctFallback(v yamldoc.Value) {
	c, ok := a.plan.Classes.Find(match.ClassFallback)
	switch {
	case a.noClasses:
	case !ok:
		v.Problemf("needs a class %s in load.classify, that tells an answer of the fallback from others", match.ClassFallback)
	case c.StatusOnly():
		v.Problemf("class %s has a status only, which any other answer may have too; give it header, contains, regex or jsonpath", match.ClassFallback)
	}
}
