package experiments

import (
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// retryWindow is how long the window of a budget is that says nothing: as long as Finagle and
// Linkerd keep what was paid.
const retryWindow = 10 * time.Second

// retryRules are the rules about what a SUT sends again, and what it has under way for
// clients that have left.
func retryRules() []assert.Rule {
	return []assert.Rule{
		assert.RetryAttempts{},
		assert.RetryAmplification{},
		assert.RetrySpacing{},
		assert.RetryBudget{},
		assert.RetryForbidden{},
		assert.CancelPropagates{},
	}
}

// retryRule reads one of them; it is nil where kind is none.
func (a *assertion) retryRule(kind string, v yamldoc.Value) assert.Rule {
	switch kind {
	case assert.RetryAttempts{}.Kind():
		return a.retryAttempts(v)
	case assert.RetryAmplification{}.Kind():
		return a.amplification(v)
	case assert.RetrySpacing{}.Kind():
		return a.spacing(v)
	case assert.RetryBudget{}.Kind():
		return a.budget(v)
	case assert.RetryForbidden{}.Kind():
		return a.unrepeated(v)
	case assert.CancelPropagates{}.Kind():
		return a.cancels(v)
	}
	return nil
}

// at reads the injector whose attempts are looked at.
func (a *assertion) at(m *yamldoc.Map) string {
	v := m.Get("injector")
	name := a.injectors.referOr(v)
	a.refuseUnjoined(v, name, "what is sent again is not known")
	p, ok := a.plan.phase(a.in)
	if ok && name != "" && !a.noTargets && !a.passesTCP(name) && !a.reaches(p, name) {
		v.Problemf("no target of phase %s depends on injector %s", p.Name, name)
	}
	return name
}

// tempted notes a phase in which nothing fails, so that nothing is sent again.
func (a *assertion) tempted(v yamldoc.Value, injector string) {
	p, ok := a.plan.phase(a.in)
	if ok && injector != "" && !a.noPhases && !a.injectors.vague[injector] && a.reaches(p, injector) && len(p.Faults[injector]) == 0 {
		v.Problemf("phase %s has no fault at injector %s, so there is no reason to send anything again", p.Name, injector)
	}
}

// retryAttempts reads how often a request is sent.
func (a *assertion) retryAttempts(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, exactly: 3}")
	defer m.Done()
	rule := assert.RetryAttempts{Injector: a.at(m)}
	if targets := m.Get("targets"); targets.Exists() {
		rule.Targets = a.targetsAt(targets)
	}
	switch kind := m.Choice("exactly", "max"); kind {
	case "exactly":
		rule.Exactly = m.Get(kind).Count(0, 1)
	case "max":
		rule.Max = m.Get(kind).Count(0, 1)
	default:
		if m.Exists() {
			m.Lacks(m.Value, []string{"exactly", "max"}, "says neither exactly nor max, a number of attempts")
		}
		return rule
	}
	a.tempted(v, rule.Injector)
	return rule
}

// amplification reads by how much calls are multiplied.
func (a *assertion) amplification(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, max: 1.1}")
	defer m.Done()
	return assert.RetryAmplification{
		Injector: a.at(m), Max: decimal(m.Need("max")),
		Over: assert.Over(m.Get("over").OneOf(string(assert.OverCalls), string(assert.OverCalls), string(assert.OverAdmitted))),
	}
}

// spacing reads how long a SUT waits.
func (a *assertion) spacing(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, min: 50ms, growth: 2}")
	defer m.Done()
	least, most, growth, asked := m.Get("min"), m.Get("max"), m.Get("growth"), m.Get("retry_after")
	rule := assert.RetrySpacing{
		Injector: a.at(m), Min: least.Duration(0), Max: most.Duration(0),
		Jitter: positive(m.Get("jitter")), RetryAfter: asked.Bool(false),
	}
	if growth.Exists() {
		if rule.Growth = decimal(growth); rule.Growth > 0 && rule.Growth <= 1 {
			growth.Problemf("asks for no growth; write 2 if each wait is to be twice the one before")
		}
	}
	if rule.Min > rule.Max && rule.Max > 0 {
		most.Problemf("is below min, so no wait would do")
	}
	none := !least.Exists() && !most.Exists() && !growth.Exists() && !m.Get("jitter").Exists() && !rule.RetryAfter
	if m.Exists() && none && len(m.Unknown()) == 0 {
		m.Problemf("asks nothing; give it min, max, growth, jitter or retry_after: true")
	}
	a.tempted(v, rule.Injector)
	if rule.RetryAfter {
		a.asksToWait(asked, rule.Injector)
	}
	return rule
}

// positive reads a share above zero.
func positive(v yamldoc.Value) float64 {
	s := v.Share(0)
	if v.Exists() && s == 0 {
		if _, ok := v.ExactShare(); ok {
			v.Problemf("must be above zero")
		}
	}
	return s
}

// asksToWait notes a phase in which no fault says when to come again.
func (a *assertion) asksToWait(v yamldoc.Value, injector string) {
	p, ok := a.plan.phase(a.in)
	if !ok || injector == "" || a.noPhases || a.injectors.vague[injector] || len(p.Faults[injector]) == 0 {
		return
	}
	if !slices.ContainsFunc(p.Faults[injector], saysWhen) {
		v.Problemf("no fault at injector %s in phase %s asks to wait; give one respond: {status: 503, retry_after: 1s}", injector, p.Name)
	}
}

// saysWhen reports whether a fault says when to come again.
func saysWhen(r fault.Rule) bool {
	for key := range r.Respond.Headers {
		if strings.EqualFold(key, "Retry-After") {
			return true
		}
	}
	return r.Respond.RetryAfter != nil
}

// budget reads how many retries there may be for so many requests.
func (a *assertion) budget(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, ratio: 20%, burst: 10}")
	defer m.Done()
	ratio, rate, burst := m.Get("ratio"), m.Get("per_second"), m.Get("burst")
	rule := assert.RetryBudget{
		Injector: a.at(m), Ratio: ratio.Share(0), PerSecond: rate.Count(0, 0), Burst: burst.Count(0, 0), Window: m.Get("window").Duration(retryWindow),
	}
	if m.Exists() && !ratio.Exists() && !rate.Exists() && !burst.Exists() && len(m.Unknown()) == 0 {
		m.Problemf("allows nothing; give it ratio, per_second or burst, or ask for retry.max_attempts: {max: 1}")
	}
	a.tempted(v, rule.Injector)
	return rule
}

// unrepeated reads what is never sent again.
func (a *assertion) unrepeated(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, methods: [POST]}")
	defer m.Done()
	rule := assert.RetryForbidden{Injector: a.at(m)}
	for _, item := range m.Get("methods").Items() {
		rule.Methods = append(rule.Methods, method(item, ""))
	}
	for _, item := range m.Get("paths").Items() {
		rule.Paths = append(rule.Paths, pathPattern(item))
	}
	if targets := m.Get("targets"); targets.Exists() {
		rule.Targets = a.targetsAt(targets)
	}
	a.tempted(v, rule.Injector)
	return rule
}

// cancels reads how soon nothing is under way any more for a client that has left.
func (a *assertion) cancels(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, within: 200ms}")
	defer m.Done()
	rule := assert.CancelPropagates{Injector: a.at(m), Within: m.Need("within").Duration(0)}
	p, ok := a.plan.phase(a.in)
	if !ok || rule.Injector == "" || rule.Within == 0 || a.noPhases || a.noTimeout || a.injectors.vague[rule.Injector] || a.passesTCP(rule.Injector) {
		return rule
	}
	timeout := yamldoc.FormatDuration(a.plan.Timeout)
	whole := a.plan.Timeout + rule.Within
	switch keeps := a.longest(p, rule.Injector); {
	case keeps <= whole:
		v.Problemf("injector %s keeps no request waiting for longer than load.timeout (%s) and %s in phase %s; give it a fault with hang, or lower load.timeout",
			rule.Injector, timeout, yamldoc.FormatDuration(rule.Within), p.Name)
	case p.Duration > 0 && p.Duration <= whole:
		v.Problemf("phase %s lasts for %s, and its end answers what still waits; make it longer than load.timeout (%s) and %s together",
			p.Name, yamldoc.FormatDuration(p.Duration), timeout, yamldoc.FormatDuration(rule.Within))
	}
	for _, s := range a.plan.SUT.services() {
		if s.Injector == rule.Injector && s.Timeout > 0 && s.Timeout <= whole {
			v.Problemf("the reference service gives %s up after %s by itself, which is not later than load.timeout (%s) and %s; lower load.timeout",
				rule.Injector, yamldoc.FormatDuration(s.Timeout), timeout, yamldoc.FormatDuration(rule.Within))
			break
		}
	}
	return rule
}

// longest is for how long an injector keeps a request waiting at most in a phase.
func (a *assertion) longest(p Phase, injector string) time.Duration {
	most := time.Duration(0)
	for _, in := range a.plan.Injectors {
		if in.Name == injector && in.Stub != nil {
			most = in.Stub.Latency
		}
	}
	for _, rule := range p.Faults[injector] {
		most = max(most, rule.Latency.Longest())
		if rule.Action == fault.ActionHang {
			return fault.Never
		}
	}
	return most
}

// retrySchemas are the forms of these rules.
func retrySchemas() map[string]ruleSchema {
	name, duration, share := ref(nameDef), ref(durationDef), ref(shareDef)
	number := schema{"type": "number", "minimum": 0.01, "maximum": 100}
	form := func(k keys, required ...string) schema {
		k["injector"] = name
		return object(k, required...)
	}
	return map[string]ruleSchema{
		assert.RetryAttempts{}.Kind(): {value: form(keys{"exactly": count(1), "max": count(1), "targets": some(name)}).
			with("oneOf", []schema{only([]string{"exactly"}, []string{"max"}), only([]string{"max"}, []string{"exactly"})})},
		assert.RetryAmplification{}.Kind(): {value: form(keys{"max": number, "over": oneOf(string(assert.OverCalls), string(assert.OverAdmitted))}, "max")},
		assert.RetrySpacing{}.Kind(): {value: form(keys{"min": duration, "max": duration, "growth": number, "jitter": share, "retry_after": boolean()}).
			with("anyOf", anyKey("min", "max", "growth", "jitter", "retry_after"))},
		assert.RetryBudget{}.Kind(): {value: form(keys{"ratio": share, "per_second": count(0), "burst": count(0), "window": duration}).
			with("anyOf", anyKey("ratio", "per_second", "burst"))},
		assert.RetryForbidden{}.Kind():   {value: form(keys{"methods": some(methodSchema()), "paths": some(ref(pathDef)), "targets": some(name)})},
		assert.CancelPropagates{}.Kind(): {value: form(keys{"within": duration}, "within")},
	}
}

// putRetry writes one of these rules.
func putRetry(o *yamldoc.Out, rule assert.Rule) {
	m := &yamldoc.Out{}
	switch r := rule.(type) {
	case assert.RetryAttempts:
		m.Put("injector", r.Injector)
		m.PutIf(r.Exactly > 0, "exactly", r.Exactly)
		m.PutIf(r.Max > 0, "max", r.Max)
		m.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	case assert.RetryAmplification:
		m.Put("injector", r.Injector)
		m.Put("max", r.Max)
		m.Put("over", string(r.Over))
	case assert.RetrySpacing:
		m.Put("injector", r.Injector)
		m.PutIf(r.Min > 0, "min", r.Min)
		m.PutIf(r.Max > 0, "max", r.Max)
		m.PutIf(r.Growth > 0, "growth", r.Growth)
		m.PutIf(r.Jitter > 0, "jitter", yamldoc.FormatShare(r.Jitter))
		m.PutIf(r.RetryAfter, "retry_after", true)
	case assert.RetryBudget:
		m.Put("injector", r.Injector)
		m.Put("ratio", yamldoc.FormatShare(r.Ratio))
		m.PutIf(r.PerSecond > 0, "per_second", r.PerSecond)
		m.PutIf(r.Burst > 0, "burst", r.Burst)
		m.Put("window", r.Window)
	case assert.RetryForbidden:
		m.Put("injector", r.Injector)
		m.PutIf(len(r.Methods) > 0, "methods", r.Methods)
		m.PutIf(len(r.Paths) > 0, "paths", r.Paths)
		m.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	case assert.CancelPropagates:
		m.Put("injector", r.Injector)
		m.Put("within", r.Within)
	default:
		return
	}
	o.Put(rule.Kind(), m)
}
