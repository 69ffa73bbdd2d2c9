package experiments

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// StateProbe is where the SUT says in which state one of its breakers is. One of Actuator,
// Prometheus and Envoy is set. A page that is a path is the SUT's own, of each replica.
type StateProbe struct {
	Breaker    string        `json:"breaker" yaml:"breaker"`
	Actuator   string        `json:"actuator,omitempty" yaml:"actuator,omitempty"`     // page: a path or an address
	Prometheus string        `json:"prometheus,omitempty" yaml:"prometheus,omitempty"` // page: a path or an address
	Envoy      string        `json:"envoy,omitempty" yaml:"envoy,omitempty"`           // address of the admin interface
	Name       string        `json:"name" yaml:"name"`                                 // of the breaker, or the cluster, on the page
	Host       string        `json:"host,omitempty" yaml:"host,omitempty"`             // of the cluster
	Every      time.Duration `json:"every" yaml:"every"`
}

// ProbeEvery is how often a page is asked for when nothing is said, and probeOftenest how
// often at most, so that nobody makes a load of it.
const (
	ProbeEvery    = 200 * time.Millisecond
	probeOftenest = 50 * time.Millisecond
)

// The pages of a state probe.
const (
	probeActuator   = "actuator"
	probePrometheus = "prometheus"
	probeEnvoy      = "envoy"
)

// stateProbe reads where a breaker's state is reported.
func (r *reader) stateProbe(breaker string, v yamldoc.Value) {
	if !v.Exists() {
		return
	}
	m := v.Map("{prometheus: /actuator/prometheus, name: payments}")
	defer m.Done()
	p := StateProbe{Breaker: breaker, Every: ProbeEvery}
	every := m.Get("every")
	if p.Every = every.Duration(ProbeEvery); p.Every < probeOftenest {
		every.Problemf("is too often: the SUT would be busy with it; %s at least", yamldoc.FormatDuration(probeOftenest))
	}
	kind := m.Choice(probeActuator, probePrometheus, probeEnvoy)
	switch kind {
	case probeActuator:
		p.Actuator = r.page(m.Get(kind))
	case probePrometheus:
		p.Prometheus = r.page(m.Get(kind))
	case probeEnvoy:
		p.Envoy = httpURL(m.Get(kind), "")
	default:
		m.Lacks(m.Value, []string{probeActuator, probePrometheus, probeEnvoy}, "says none of actuator, prometheus and envoy: where the state is reported")
	}
	name, cluster, host := m.Get("name"), m.Get("cluster"), m.Get("host")
	if kind == probeEnvoy {
		p.Name, p.Host = m.Need("cluster").NonEmpty(), host.Text("")
		if name.Exists() {
			m.Lacks(name, []string{probeActuator, probePrometheus}, "goes with actuator or prometheus; Envoy has a cluster")
		}
	} else {
		p.Name = name.Text(breaker)
		for _, other := range []yamldoc.Value{cluster, host} {
			if other.Exists() {
				m.Lacks(other, []string{probeEnvoy}, "goes with envoy")
			}
		}
	}
	r.plan.Probes = append(r.plan.Probes, p)
}

// page reads a page of the SUT, by its path, or of somebody else, by its address.
func (r *reader) page(v yamldoc.Value) string {
	text := v.Text("")
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		return httpURL(v, "")
	}
	path := urlPath(v, nil)
	for _, t := range r.plan.Targets {
		if t.Path == path && t.Method == http.MethodGet && len(t.DependsOn) > 0 {
			v.Problemf("%s is target %s: asking for it would ask its breaker", path, t.Name)
		}
	}
	return path
}

// Probe finds where the state of a breaker is reported.
func (p *Plan) Probe(breaker string) (StateProbe, bool) {
	i := slices.IndexFunc(p.Probes, func(s StateProbe) bool { return s.Breaker == breaker })
	if i < 0 {
		return StateProbe{}, false
	}
	return p.Probes[i], true
}

// reportedState reads whether a breaker's reported state agrees with its calls.
func (a *assertion) reportedState(v yamldoc.Value) assert.Rule {
	rule := assert.ReportedStateAgrees{Breaker: a.breaker(v)}
	lag := a.Get("max_lag")
	rule.OnCall = a.Get("half_open").OneOf("", halfOpenOnCall, halfOpenEither) == halfOpenOnCall
	b, known := a.plan.breaker(rule.Breaker)
	rule.MaxLag = lag.Duration(usualLag(b))
	if !known || a.breakers.vague[rule.Breaker] {
		return rule
	}
	if _, ok := a.plan.Probe(rule.Breaker); !ok {
		v.Problemf("breaker %s has no state_probe, so nobody asks what it reports", rule.Breaker)
	}
	if b.Declared && 2*rule.MaxLag >= b.Config.Wait {
		lag.Problemf("%s is not below half of the wait of breaker %s, %s: a change would be over before it has to show",
			yamldoc.FormatDuration(rule.MaxLag), b.Name, yamldoc.FormatDuration(b.Config.Wait))
	}
	return rule
}

// How a breaker becomes half-open.
const (
	halfOpenOnCall = "on_call"
	halfOpenEither = "either"
)

// usualLag is how late a state may be reported when nothing is said: half a second, but at
// most a quarter of the declared wait.
func usualLag(b assert.Breaker) time.Duration {
	const most = 500 * time.Millisecond
	if b.Declared {
		return min(most, b.Config.Wait/4)
	}
	return most
}

// metricLag is how late a counter may be when nothing is said.
const metricLag = 200 * time.Millisecond

// metricAgrees reads which counter counts what is seen.
func (a *assertion) metricAgrees(v yamldoc.Value) assert.Rule {
	rule := assert.MetricAgrees{Breaker: a.onlyBreaker(), MaxLag: metricLag}
	m := v.Map("{prometheus: /actuator/prometheus, name: calls_total, equals: calls}")
	defer m.Done()
	rule.Prometheus = a.page(m.Need("prometheus"))
	name := m.Need("name")
	if rule.Name = name.NonEmpty(); rule.Name != "" && !isMetric(rule.Name, ":") {
		name.Problemf("%q is not the name of a metric; its labels stand in labels", rule.Name)
	}
	labels := m.Get("labels").Map("{name: payments}")
	for _, e := range labels.Entries() {
		if !isMetric(e.Name, "") {
			e.Key.Problemf("%q is not the name of a label", e.Name)
		}
		if rule.Labels == nil {
			rule.Labels = map[string]string{}
		}
		rule.Labels[e.Name] = e.Value.Text("")
	}
	rule.Equals = assert.Seen(m.Need("equals").OneOf("", seenWords()...))
	rule.Tolerance = m.Get("tolerance").Share(0)
	rule.MaxLag = m.Get("max_lag").Duration(metricLag)
	return rule
}

func seenWords() []string {
	return []string{string(assert.SeenCalls), string(assert.SeenShort), string(assert.SeenAdmitted), string(assert.SeenFailed)}
}

// isMetric reports whether Prometheus' text format can have this name.
func isMetric(s, more string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlnum(r) && r != '_' && !strings.ContainsRune(more, r)
	})
}

// probeSchema is where a breaker's state is reported.
func probeSchema() schema {
	page := pageSchema()
	return object(keys{
		probeActuator: page, probePrometheus: page, probeEnvoy: ref(urlDef), "name": ref(textDef), "cluster": ref(textDef), "host": ref(textDef), "every": ref(durationDef),
	}).with("oneOf", []schema{
		only([]string{probeActuator}, []string{probePrometheus, probeEnvoy, "cluster", "host"}),
		only([]string{probePrometheus}, []string{probeActuator, probeEnvoy, "cluster", "host"}),
		only([]string{probeEnvoy, "cluster"}, []string{probeActuator, probePrometheus, "name"}),
	})
}

// pageSchema is a path of the SUT or an address.
func pageSchema() schema { return schema{"anyOf": []schema{ref(pathDef), ref(urlDef)}} }

// reportSchemas are the rules about what the SUT says of itself.
func reportSchemas() map[string]ruleSchema {
	metric := `^[A-Za-z_:][A-Za-z0-9_:]*$`
	return map[string]ruleSchema{
		assert.ReportedStateAgrees{}.Kind(): {value: ref(nameDef), beside: keys{
			"max_lag": ref(durationDef), "half_open": oneOf(halfOpenOnCall, halfOpenEither),
		}},
		assert.MetricAgrees{}.Kind(): {value: object(keys{
			"prometheus": pageSchema(), "name": {"type": "string", "pattern": metric}, "labels": named(ref(textDef)),
			"equals": oneOf(seenWords()...), "tolerance": ref(shareDef), "max_lag": ref(durationDef),
		}, "prometheus", "name", "equals"), beside: keys{"breaker": ref(nameDef)}},
	}
}

// probeOut writes where a breaker's state is reported.
func probeOut(p StateProbe) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.PutIf(p.Actuator != "", probeActuator, p.Actuator)
	o.PutIf(p.Prometheus != "", probePrometheus, p.Prometheus)
	o.PutIf(p.Envoy != "", probeEnvoy, p.Envoy)
	key := "name"
	if p.Envoy != "" {
		key = "cluster"
	}
	o.Put(key, p.Name)
	o.PutIf(p.Host != "", "host", p.Host)
	o.Put("every", p.Every)
	return o
}

// putReport writes a rule about what the SUT says of itself.
func putReport(o *yamldoc.Out, rule assert.Rule) {
	switch r := rule.(type) {
	case assert.ReportedStateAgrees:
		putReported(o, r)
	case assert.MetricAgrees:
		putMetric(o, r)
	case assert.FallbackStaleness:
		putStaleness(o, r)
	default:
		putEjection(o, rule)
		putRateRule(o, rule)
		putRetry(o, rule)
	}
}

// putReported writes what is asked of a reported state.
func putReported(o *yamldoc.Out, r assert.ReportedStateAgrees) {
	o.Put(r.Kind(), r.Breaker)
	o.Put("max_lag", r.MaxLag)
	o.PutIf(r.OnCall, "half_open", halfOpenOnCall)
}

// putMetric writes what is asked of a counter.
func putMetric(o *yamldoc.Out, r assert.MetricAgrees) {
	m := &yamldoc.Out{}
	m.Put("prometheus", r.Prometheus)
	m.Put("name", r.Name)
	m.PutIf(len(r.Labels) > 0, "labels", r.Labels)
	m.Put("equals", string(r.Equals))
	m.Put("tolerance", yamldoc.FormatShare(r.Tolerance))
	m.Put("max_lag", r.MaxLag)
	o.Put(r.Kind(), m)
	o.Put("breaker", r.Breaker)
}
