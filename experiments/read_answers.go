package experiments

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// answerKinds are the rules about what clients get, whose keys begin with the name
// of a class. Where the classes could not be read, any name is taken for one.
func (a *assertion) answerKinds() []string {
	var kinds []string
	add := func(subject, end string) {
		kind := subject + end
		if kind == (assert.FallbackShare{}).Kind() || kind == (assert.ShortLatency{}).Kind() || slices.Contains(kinds, kind) {
			return // They have rules of their own.
		}
		kinds = append(kinds, kind)
		if subject != assert.SubjectShort && subject != assert.SubjectError {
			a.Named(kind, "*"+end)
		}
	}
	subjects := a.classes()
	if a.noClasses {
		for _, key := range a.Unknown() {
			if subject, _, ok := cutAnswer(key); ok {
				subjects = append(subjects, subject)
			}
		}
	}
	for _, s := range subjects {
		add(s, ofShare)
		add(s, ofLatency)
	}
	add(assert.SubjectShort, ofShare)
	add(assert.SubjectError, ofShare)
	return append(kinds, assert.Latency{Subject: assert.SubjectAll}.Kind())
}

// cutAnswer takes the key of such a rule apart.
func cutAnswer(key string) (subject, end string, ok bool) {
	for _, end := range []string{ofShare, ofLatency} {
		if subject, ok := strings.CutSuffix(key, end); ok && subject != "" {
			return subject, end, true
		}
	}
	return "", "", false
}

// answerRule reads a share or a latency of what clients get.
func (a *assertion) answerRule(kind string) assert.Rule {
	v := a.Get(kind)
	if rule := a.retryRule(kind, v); rule != nil {
		return rule
	}
	if kind == (assert.Latency{Subject: assert.SubjectAll}).Kind() {
		return assert.Latency{Subject: assert.SubjectAll, Bounds: a.bounds(v), Targets: a.sentTo()}
	}
	subject, end, _ := cutAnswer(kind)
	if end == ofLatency {
		return assert.Latency{Subject: subject, Bounds: a.bounds(v), Targets: a.sentTo()}
	}
	rule := assert.Share{Subject: subject}
	rule.Min, rule.Max = shares(v)
	if subject == assert.SubjectShort {
		rule.Breaker = a.onlyBreaker()
	}
	rule.Targets = a.sentTo()
	return rule
}

// sentTo reads the targets whose calls a rule is about.
func (a *assertion) sentTo() []string {
	v := a.Get("targets")
	if !v.Exists() {
		return nil
	}
	return a.targetsAt(v)
}

// targetsAt reads targets to which the phase sends calls.
func (a *assertion) targetsAt(v yamldoc.Value) []string {
	items := v.Items()
	for _, item := range items {
		p, ok := a.plan.phase(a.in)
		name := item.Text("")
		known := slices.Contains(a.targets.known, name)
		if ok && known && len(p.Targets) > 0 && !slices.Contains(p.Targets, name) {
			item.Problemf("phase %s sends no calls to target %s", p.Name, name)
		}
	}
	return a.targets.referAll(items)
}

// shares reads bounds of a share. At least one is given.
func shares(v yamldoc.Value) (least, most *float64) {
	m := v.Map("{min: 99%}")
	defer m.Done()
	lo, hi := m.Get("min"), m.Get("max")
	least, most = bound(lo), bound(hi)
	switch {
	case m.Exists() && !lo.Exists() && !hi.Exists() && len(m.Unknown()) == 0:
		m.Problemf("bounds nothing; give it min or max, as {min: 99%%}")
	case least != nil && most != nil && *least > *most:
		hi.Problemf("is below min, so no share would do")
	}
	return least, most
}

func bound(v yamldoc.Value) *float64 {
	s, ok := v.ExactShare()
	if !ok {
		return nil
	}
	f := s.Float()
	return &f
}

// bounds reads greatest latencies by quantile.
func (a *assertion) bounds(v yamldoc.Value) []assert.QuantileBound {
	m := v.Map("{p99: 50ms}")
	defer m.DoneListing()
	var list []assert.QuantileBound
	for _, q := range quantiles() {
		if bound := m.Get(q.key); bound.Exists() {
			list = append(list, assert.QuantileBound{Quantile: q.value, Max: bound.Duration(0)})
		}
	}
	if m.Exists() && len(list) == 0 && len(m.Unknown()) == 0 {
		m.Problemf("bounds nothing; give it p50, p90, p95, p99 or max, as {p99: 50ms}")
	}
	return list
}

// quantile is a quantile by its key in an experiment.
type quantile struct {
	key   string
	value float64
}

func quantiles() []quantile {
	return []quantile{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}}
}

// forbidden reads which calls have no fallback.
func (a *assertion) forbidden(v yamldoc.Value) assert.Rule {
	m := v.Map("{routes: [/pay*], methods: [POST]}")
	defer m.Done()
	var rule assert.FallbackForbidden
	flawed := a.flawed()
	for _, item := range m.Get("routes").Items() {
		rule.Routes = append(rule.Routes, pathPattern(item))
	}
	for _, item := range m.Get("methods").Items() {
		rule.Methods = append(rule.Methods, method(item, ""))
	}
	p, ok := a.plan.phase(a.in)
	sent := slices.ContainsFunc(a.plan.Sends(p), func(t match.Target) bool {
		path, _, _ := strings.Cut(t.Path, "?")
		return (len(rule.Methods) == 0 || slices.Contains(rule.Methods, t.Method)) &&
			(len(rule.Routes) == 0 || slices.ContainsFunc(rule.Routes, func(route string) bool { return covers(route, path) }))
	})
	if ok && !sent && !flawed() && !a.noTargets && !a.targets.blind && len(m.Unknown()) == 0 {
		v.Problemf("no target of phase %s is such a call", p.Name)
	}
	a.distinctFallback(v)
	return rule
}
