package experiments

import (
	"net/http"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// rateRules are the rules about what a service lets through, and what others get meanwhile.
func rateRules() []assert.Rule {
	return []assert.Rule{
		assert.DownstreamConcurrency{}, assert.DownstreamRate{}, assert.Isolation{}, assert.HerdPeak{}, assert.HerdSync{}, assert.SLO{},
	}
}

// isRateRule reports whether a kind is one of them.
func isRateRule(kind string) bool {
	return slices.ContainsFunc(rateRules(), func(r assert.Rule) bool { return r.Kind() == kind })
}

// rateRule reads such a rule.
func (a *assertion) rateRule(kind string, v yamldoc.Value) assert.Rule {
	switch kind {
	case assert.DownstreamConcurrency{}.Kind():
		return a.concurrency(v)
	case assert.DownstreamRate{}.Kind():
		return a.downstreamRate(v)
	case assert.Isolation{}.Kind():
		return a.isolation(v)
	case assert.HerdPeak{}.Kind():
		return a.herdPeak(v)
	case assert.HerdSync{}.Kind():
		return a.herdSync(v)
	}
	return a.slo(v)
}

// atInjector reads at which injector something is counted.
func (a *assertion) atInjector(at yamldoc.Value) string {
	name := a.injectors.referOr(at)
	a.refuseUnjoined(at, name, "requests cannot be counted")
	if p, ok := a.plan.phase(a.in); ok && name != "" && !a.reaches(p, name) {
		at.Problemf("no target of phase %s depends on injector %s", p.Name, name)
	}
	return name
}

// concurrency reads how many attempts may be under way.
func (a *assertion) concurrency(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, max: 20}")
	defer m.Done()
	return assert.DownstreamConcurrency{Injector: a.atInjector(m.Get("injector")), Max: m.Need("max").Count(0, 1), Reaches: m.Get("reaches").Bool(false)}
}

// downstreamRate reads how many a limiter lets through.
func (a *assertion) downstreamRate(v yamldoc.Value) assert.Rule {
	m := v.Map("{injector: payments, window: 1s, max: 100}")
	defer m.Done()
	rule := assert.DownstreamRate{Of: assert.RateOf(m.Get("of").OneOf(string(assert.RateArrivals), string(assert.RateArrivals), string(assert.RateAnswers)))}
	at, least, by, rejected := m.Get("injector"), m.Get("min"), m.Get("by"), m.Get("rejected")
	rule.Window = m.Need("window").Duration(0)
	rule.Max, rule.Burst = m.Need("max").Count(0, 1), m.Get("burst").Count(0, 1)
	if rule.Min = least.Count(0, 1); rule.Max > 0 && rule.Min > rule.Max+rule.Burst && !m.Misspelt("burst") {
		least.Problemf("%d is more than the %d that may pass", rule.Min, rule.Max+rule.Burst)
	}
	a.limited(&rule, m, at)
	if by.Exists() {
		rule.By = a.keyHeader(by, rule)
	}
	if rejected.Exists() {
		rule.Rejected = rejection(rejected)
	}
	return rule
}

// limited reads whose calls a limiter lets through.
func (a *assertion) limited(rule *assert.DownstreamRate, m *yamldoc.Map, at yamldoc.Value) {
	targets := a.Get("targets")
	switch {
	case m.Misspelt("of"): // Then it is not known what is counted.
	case rule.Of == assert.RateArrivals:
		rule.Injector = a.atInjector(at)
		if targets.Exists() {
			targets.Problemf("goes with of: answers, whose calls they are")
		}
	case at.Exists():
		at.Problemf("goes with of: arrivals; answers are those of the service itself")
	default:
		rule.Targets = a.sentTo()
	}
}

// rejection reads what becomes of calls that a limiter does not let through.
func rejection(v yamldoc.Value) *assert.Rejection {
	m := v.Map("{status: 429, retry_after: true}")
	defer m.Done()
	status := m.Get("status")
	x := &assert.Rejection{
		Status: status.Count(http.StatusTooManyRequests, http.StatusBadRequest), RetryAfter: m.Get("retry_after").Bool(false), KeepsConnection: m.Get("keeps_connection").Bool(false),
	}
	const most = 599
	if x.Status > most {
		status.Problemf("%d is not the status of an error; it is from 400 to 599", x.Status)
	}
	return x
}

// keyHeader reads by which header calls are told apart, one that the load itself sends.
func (a *assertion) keyHeader(v yamldoc.Value, rule assert.DownstreamRate) string {
	name := v.NonEmpty()
	if name == "" {
		return ""
	}
	if !isToken(name) {
		v.Problemf("%q is not the name of a header", name)
		return ""
	}
	p, ok := a.plan.phase(a.in)
	has := slices.ContainsFunc(a.plan.Sends(p), func(t match.Target) bool {
		asks := rule.Of == assert.RateArrivals && (rule.Injector == "" || a.mayReach(t, rule.Injector)) ||
			rule.Of == assert.RateAnswers && (len(rule.Targets) == 0 || slices.Contains(rule.Targets, t.Name))
		return asks && hasHeader(t, name)
	})
	switch {
	case !ok || a.targets.blind || a.noTargets:
	case p.Sessions != nil:
		v.Problemf("phase %s sends sessions, whose steps may have other headers than their targets", p.Name)
	case !has:
		v.Problemf("no target of phase %s sends a header %s", p.Name, name)
	}
	return name
}

// hasHeader reports whether the calls to a target have a header.
func hasHeader(t match.Target, name string) bool {
	for h := range t.Headers {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// baselineOf reads with which phase something is compared.
func (a *assertion) baselineOf(v yamldoc.Value) string {
	name := a.phase(v)
	if name != "" && name == a.in {
		v.Problemf("is the phase that is judged itself; name one in which all is well")
		return ""
	}
	return name
}

// isolation reads how well others are to be served.
func (a *assertion) isolation(v yamldoc.Value) assert.Rule {
	m := v.Map("{targets: [browse], baseline: baseline, share: 1%}")
	defer m.Done()
	targets, share, latency := m.Need("targets"), m.Get("share"), m.Get("latency")
	rule := assert.Isolation{Baseline: a.baselineOf(m.Need("baseline")), Share: bound(share)}
	if targets.Exists() {
		rule.Targets = a.targets.referAll(targets.Items())
	}
	for _, in := range []string{a.in, rule.Baseline} {
		p, ok := a.plan.phase(in)
		for _, name := range rule.Targets {
			if ok && len(p.Targets) > 0 && !slices.Contains(p.Targets, name) {
				targets.Problemf("phase %s sends no calls to target %s", p.Name, name)
			}
		}
	}
	if latency.Exists() {
		rule.Latency = a.bounds(latency)
	}
	if m.Exists() && !share.Exists() && !latency.Exists() {
		m.Lacks(m.Value, []string{"share", "latency"}, "bounds nothing; give it share, by how much fewer answers may be good, or latency, by how much longer they may take")
	}
	return rule
}

// herdPeak reads how many may come back at once.
func (a *assertion) herdPeak(v yamldoc.Value) assert.Rule {
	m := v.Map("{max: 3, window: 100ms, baseline: baseline}")
	defer m.Done()
	rule := assert.HerdPeak{Breaker: a.onlyBreaker(), Max: m.Need("max").Count(0, 1), Window: m.Need("window").Duration(0), Baseline: a.baselineOf(m.Need("baseline"))}
	now, ok := a.plan.phase(a.in)
	then, known := a.plan.phase(rule.Baseline)
	switch {
	case !ok || !known || a.noPhases:
	case !thinks(now) || !thinks(then):
		v.Problemf("needs clients with a think time in phases %s and %s: what sends at a rate, or without a pause, does not come back all at once", now.Name, then.Name)
	case *now.Clients != *then.Clients:
		v.Problemf("phases %s and %s have other clients, so their arrivals cannot be compared", now.Name, then.Name)
	}
	return rule
}

// thinks reports whether a phase has clients that think between their calls.
func thinks(p Phase) bool { return p.Clients != nil && p.Clients.ThinkMax > 0 }

// herdSync reads how many instances may become half-open together.
func (a *assertion) herdSync(v yamldoc.Value) assert.Rule {
	m := v.Map("{max: 1, within: 100ms}")
	defer m.Done()
	most := m.Need("max")
	rule := assert.HerdSync{Breaker: a.onlyBreaker(), Max: most.Count(0, 1), Within: m.Need("within").Duration(0)}
	switch n := len(a.plan.SUT.Replicas); {
	case n > 0 && rule.Max >= n:
		most.Problemf("%d is all of the %d replicas, so no number would be too many", rule.Max, n)
	case n == 0 && a.plan.SUT.InstanceHeader == "" && !a.noSUT:
		v.Problemf("needs instances that can be told apart: give sut replicas, or instance_header")
	}
	return rule
}

// slo reads how many calls have to be good.
func (a *assertion) slo(v yamldoc.Value) assert.Rule {
	m := v.Map("{objective: 99.5%}")
	defer m.Done()
	rule := assert.SLO{Targets: a.sentTo()}
	objective, good, phases := m.Need("objective"), m.Get("good"), m.Get("phases")
	if least := bound(objective); least != nil {
		if rule.Objective = *least; rule.Objective >= 1 {
			objective.Problemf("of 100%% leaves no budget for errors; ask for error.share: {max: 0%%}")
		}
	}
	if good.Exists() {
		rule.Good = a.goodClasses(good.Items())
	}
	if phases.Exists() {
		for _, item := range phases.Items() {
			switch name := a.phase(item); {
			case name == "":
			case name == a.in, slices.Contains(rule.Phases, name):
				item.Problemf("phase %q counts already", name)
			default:
				rule.Phases = append(rule.Phases, name)
			}
		}
	}
	for _, item := range m.Get("burn").List() {
		rule.Burn = append(rule.Burn, a.burn(item, rule.Phases))
	}
	return rule
}

// goodClasses reads of which classes a good answer is.
func (a *assertion) goodClasses(items []yamldoc.Value) []string {
	var list []string
	for _, item := range items {
		class := item.Text("")
		if !a.noClasses {
			class = item.OneOf("", a.classes()...)
		}
		switch {
		case class == "":
		case slices.Contains(list, class):
			item.Problemf("class %q is named twice", class)
		default:
			list = append(list, class)
		}
	}
	return list
}

// burn reads how fast the budget for errors may be burnt.
func (a *assertion) burn(v yamldoc.Value, more []string) assert.Burn {
	m := v.Map("{long: 10s, short: 1s, max: 14.4}")
	defer m.Done()
	long, brief := m.Need("long"), m.Get("short")
	b := assert.Burn{Long: long.Duration(0), Short: brief.Duration(0), Max: decimal(m.Need("max"))}
	if b.Short >= b.Long && b.Long > 0 {
		brief.Problemf("%s is not shorter than long", yamldoc.FormatDuration(b.Short))
	}
	if p, ok := a.plan.phase(a.in); ok && len(more) == 0 && p.Duration > 0 && p.Duration < b.Long {
		long.Problemf("phase %s lasts for %s, so no stretch of %s lies in it; make the phase longer, or this shorter", p.Name, yamldoc.FormatDuration(p.Duration), yamldoc.FormatDuration(b.Long))
	}
	return b
}

// rateSchemas are the forms of these rules.
func rateSchemas() map[string]ruleSchema {
	name, duration, share := ref(nameDef), ref(durationDef), ref(shareDef)
	times := keys{}
	for _, q := range quantiles() {
		times[q.key] = duration
	}
	yes, targets := schema{"type": "boolean"}, keys{"targets": some(name)}
	rejected := object(keys{"status": count(http.StatusBadRequest), "retry_after": yes, "keeps_connection": yes})
	burn := object(keys{"long": duration, "short": duration, "max": {"type": "number"}}, "long", "max")
	return map[string]ruleSchema{
		assert.DownstreamConcurrency{}.Kind(): {value: object(keys{"injector": name, "max": count(1), "reaches": yes}, "max")},
		assert.DownstreamRate{}.Kind(): {value: object(keys{
			"injector": name, "of": oneOf(string(assert.RateArrivals), string(assert.RateAnswers)), "window": duration,
			"max": count(1), "burst": count(1), "min": count(1), "by": ref(textDef), "rejected": rejected,
		}, "window", "max"), beside: targets},
		assert.Isolation{}.Kind(): {value: object(keys{
			"targets": some(name), "baseline": name, "share": share, "latency": object(times).with("minProperties", 1),
		}, "targets", "baseline").with("anyOf", anyKey("share", "latency"))},
		assert.HerdPeak{}.Kind(): {value: object(keys{"max": count(1), "window": duration, "baseline": name}, "max", "window", "baseline"), beside: keys{"breaker": name}},
		assert.HerdSync{}.Kind(): {value: object(keys{"max": count(1), "within": duration}, "max", "within"), beside: keys{"breaker": name}},
		assert.SLO{}.Kind(): {value: object(keys{
			"objective": share, "good": some(name), "phases": some(name), "burn": {"type": "array", "items": burn},
		}, "objective"), beside: targets},
	}
}

// putRateRule writes such a rule.
func putRateRule(o *yamldoc.Out, rule assert.Rule) {
	m := &yamldoc.Out{}
	switch r := rule.(type) {
	case assert.DownstreamConcurrency:
		m.Put("injector", r.Injector)
		m.Put("max", r.Max)
		m.PutIf(r.Reaches, "reaches", true)
		o.Put(r.Kind(), m)
	case assert.DownstreamRate:
		putRate(m, r)
		o.Put(r.Kind(), m)
		o.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	case assert.Isolation:
		m.Put("targets", r.Targets)
		m.Put("baseline", r.Baseline)
		if r.Share != nil {
			m.Put("share", yamldoc.FormatShare(*r.Share))
		}
		m.PutIf(len(r.Latency) > 0, "latency", boundsOut(r.Latency))
		o.Put(r.Kind(), m)
	case assert.HerdPeak:
		m.Put("max", r.Max)
		m.Put("window", r.Window)
		m.Put("baseline", r.Baseline)
		o.Put(r.Kind(), m)
		o.Put("breaker", r.Breaker)
	case assert.HerdSync:
		m.Put("max", r.Max)
		m.Put("within", r.Within)
		o.Put(r.Kind(), m)
		o.Put("breaker", r.Breaker)
	case assert.SLO:
		putSLO(m, r)
		o.Put(r.Kind(), m)
		o.PutIf(len(r.Targets) > 0, "targets", r.Targets)
	}
}

func putRate(m *yamldoc.Out, r assert.DownstreamRate) {
	m.PutIf(r.Injector != "", "injector", r.Injector)
	m.PutIf(r.Of == assert.RateAnswers, "of", string(r.Of))
	m.Put("window", r.Window)
	m.Put("max", r.Max)
	m.PutIf(r.Burst > 0, "burst", r.Burst)
	m.PutIf(r.Min > 0, "min", r.Min)
	m.PutIf(r.By != "", "by", r.By)
	if x := r.Rejected; x != nil {
		below := &yamldoc.Out{}
		below.Put("status", x.Status)
		below.PutIf(x.RetryAfter, "retry_after", true)
		below.PutIf(x.KeepsConnection, "keeps_connection", true)
		m.Put("rejected", below)
	}
}

func putSLO(m *yamldoc.Out, r assert.SLO) {
	m.Put("objective", yamldoc.FormatShare(r.Objective))
	m.PutIf(len(r.Good) > 0, "good", r.Good)
	m.PutIf(len(r.Phases) > 0, "phases", r.Phases)
	var burns []*yamldoc.Out
	for _, b := range r.Burn {
		one := &yamldoc.Out{}
		one.Put("long", b.Long)
		one.PutIf(b.Short > 0, "short", b.Short)
		one.Put("max", b.Max)
		burns = append(burns, one)
	}
	m.PutIf(len(burns) > 0, "burn", burns)
}
