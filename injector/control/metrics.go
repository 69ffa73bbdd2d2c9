package control

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector"
)

// metricsType is the text format of Prometheus, version 0.0.4.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// exposition writes metrics, one family after the other.
type exposition struct{ bytes.Buffer }

func (e *exposition) family(name, kind, help string) {
	e.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one value; labels are names and values in turn.
func (e *exposition) sample(name string, value float64, labels ...string) {
	e.WriteString(name)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for k := 0; k < len(labels); k += 2 {
		open := ","
		if k == 0 {
			open = "{"
		}
		e.WriteString(open + labels[k] + `="` + escape.Replace(labels[k+1]) + `"`)
	}
	if len(labels) > 0 {
		e.WriteByte('}')
	}
	e.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// gauged is an injector at the time of a scrape.
type gauged struct {
	injector.State
	injector.Meters
}

func (s *Server) getMetrics(http.ResponseWriter, *http.Request) (*result, *problem) {
	var all []gauged
	for _, i := range s.cfg.Injectors {
		all = append(all, gauged{i.State(), i.Meters()})
	}
	var e exposition
	e.totals(all)
	e.rules(all)
	e.delays(all)
	e.family("faultline_streams", "gauge", "Readers of the stream of changes.")
	e.sample("faultline_streams", float64(s.streams.Load()))
	e.family("faultline_streams_dropped_total", "counter", "Readers of the stream of changes who took nothing, and were dropped.")
	e.sample("faultline_streams_dropped_total", float64(s.dropped.Load()))
	return &result{status: http.StatusOK, text: e.Bytes(), kind: metricsType}, nil
}

// totals are the numbers of whole injectors.
func (e *exposition) totals(all []gauged) {
	e.family("faultline_requests_total", "counter", "Requests that reached the injector.")
	for _, g := range all {
		e.sample("faultline_requests_total", float64(g.Requests), "injector", g.Injector)
	}
	e.family("faultline_faults_total", "counter", "Requests that a fault hit, by what it does.")
	for _, g := range all {
		for _, action := range slices.Sorted(maps.Keys(g.Faults)) {
			e.sample("faultline_faults_total", float64(g.Faults[action]), "injector", g.Injector, "action", string(action))
		}
	}
	e.family("faultline_overflow_total", "counter", "Requests and connections that passed because of a limit.")
	for _, g := range all {
		for _, limit := range injector.AllLimits() {
			e.sample("faultline_overflow_total", float64(g.Overflow[limit]), "injector", g.Injector, "limit", string(limit))
		}
	}
	e.gauge("faultline_active_faults", "Requests that a fault hit and that have no end yet.", all, func(g gauged) float64 { return float64(g.Active) })
	e.gauge("faultline_held", "Requests that are held or hang, and connections that nobody reads from.", all, func(g gauged) float64 { return float64(g.Held) })
	e.gauge("faultline_plan", "The number of the plan in force.", all, func(g gauged) float64 { return float64(g.Plan) })
	e.gauge("faultline_lease_lapsed", "1 while faults are off because nobody renewed the lease.", all, func(g gauged) float64 {
		if g.Lease != nil && g.Lease.Lapsed {
			return 1
		}
		return 0
	})
}

// gauge writes a family with one value of each injector.
func (e *exposition) gauge(name, help string, all []gauged, value func(gauged) float64) {
	e.family(name, "gauge", help)
	for _, g := range all {
		e.sample(name, value(g), "injector", g.Injector)
	}
}

// rules are the numbers of the rules that are on.
func (e *exposition) rules(all []gauged) {
	for _, f := range []struct {
		name, help string
		value      func(injector.RuleState) (float64, bool)
	}{
		{"faultline_rule_seen", "Requests that the rule saw since its phase began.", func(r injector.RuleState) (float64, bool) { return float64(r.Seen), true }},
		{"faultline_rule_hit", "Requests that the rule hit since its phase began.", func(r injector.RuleState) (float64, bool) { return float64(r.Hit), true }},
		{"faultline_rule_configured_ratio", "The share of what it sees that the rule is to hit; of one that changes, its mean over what it has seen.", func(r injector.RuleState) (float64, bool) {
			if r.Configured == nil {
				return 0, false
			}
			return *r.Configured, true
		}},
		{"faultline_rule_delivered_ratio", "The share of what it saw that the rule hit since its phase began.", func(r injector.RuleState) (float64, bool) {
			return float64(r.Hit) / float64(max(r.Seen, 1)), r.Seen > 0
		}},
	} {
		e.family(f.name, "gauge", f.help)
		for _, g := range all {
			for _, r := range g.Rules {
				if v, ok := f.value(r); ok {
					e.sample(f.name, v, "injector", g.Injector, "phase", g.Phase, "rule", r.ID, "action", string(r.Action))
				}
			}
		}
	}
}

// delays are how exact latencies were.
func (e *exposition) delays(all []gauged) {
	const name = "faultline_delay_error_seconds"
	e.family(name, "histogram", "By how much latencies were longer than asked for.")
	for _, g := range all {
		sum := uint64(0)
		for n, bound := range injector.DelayBounds() {
			sum += g.Delays[n]
			e.sample(name+"_bucket", float64(sum), "injector", g.Injector, "le", strconv.FormatFloat(bound.Seconds(), 'g', -1, 64))
		}
		sum += g.Delays[len(g.Delays)-1]
		e.sample(name+"_bucket", float64(sum), "injector", g.Injector, "le", "+Inf")
		e.sample(name+"_sum", g.DelayOver.Seconds(), "injector", g.Injector)
		e.sample(name+"_count", float64(sum), "injector", g.Injector)
	}
}
