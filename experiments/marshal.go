package experiments

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// MarshalPlan writes a plan as an experiment with all defaults filled in. LoadPlan
// makes the same plan of it, but for File, Sets and the lines of assertions.
func MarshalPlan(p *Plan) ([]byte, error) {
	var o, meta, load yamldoc.Out
	o.Put("apiVersion", "faultline/v1")
	o.Put("kind", "Experiment")
	meta.Put("name", p.Name)
	meta.PutIf(p.Description != "", "description", p.Description)
	meta.PutIf(len(p.Tags) > 0, "tags", p.Tags)
	o.Put("metadata", &meta)
	o.Put("seed", p.Seed)
	o.Put("sut", sutOut(p.SUT))
	o.Put("injectors", injectorsOut(p.Injectors))
	var correlate yamldoc.Out
	correlate.Put("order", p.Correlate.Order)
	if p.Correlate.MinJoin > 0 {
		correlate.Put("min_join", yamldoc.FormatShare(p.Correlate.MinJoin))
	}
	o.Put("correlate", &correlate)
	load.Put("timeout", p.Timeout)
	load.Put("max_in_flight", p.MaxInFlight)
	load.Put("targets", each(p.Targets, targetOut))
	load.PutIf(len(p.Classes) > 0, "classify", classesOut(p.Classes))
	load.PutIf(len(p.Reasons) > 0, "reasons", classesOut(p.Reasons))
	o.Put("load", &load)
	o.PutIf(len(p.Breakers) > 0, "breakers", breakersOut(p))
	o.Put("phases", each(p.Phases, phaseOut))
	var integrity yamldoc.Out
	integrity.Put("dropped", "<= "+yamldoc.FormatShare(p.Integrity.Dropped))
	integrity.Put("lateness_p99", "<= "+yamldoc.FormatDuration(p.Integrity.Lateness))
	integrity.Put("join", ">= "+yamldoc.FormatShare(p.Integrity.Join))
	o.Put("integrity", &integrity)
	o.PutIf(len(p.SteadyState) > 0, "steady_state", criteriaOut(p.SteadyState))
	o.Put("assert", each(p.Assertions, assertionOut))
	return yamldoc.Marshal("The plan of "+filepath.ToSlash(p.File)+p.otherwise()+", with all defaults filled in. It can be run as it is.", &o)
}

func each[T any](items []T, out func(T) *yamldoc.Out) []*yamldoc.Out {
	outs := make([]*yamldoc.Out, len(items))
	for i, item := range items {
		outs[i] = out(item)
	}
	return outs
}

func respondOut(r fault.Respond) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("status", r.Status)
	o.PutIf(len(r.Headers) > 0, "headers", r.Headers)
	o.PutIf(r.Body != "", "body", r.Body)
	o.PutIf(r.Fill > 0, "fill", yamldoc.FormatSize(r.Fill))
	o.PutIf(r.HeaderFill > 0, "header_fill", yamldoc.FormatSize(r.HeaderFill))
	if a := r.RetryAfter; a != nil && a.Date {
		date := &yamldoc.Out{}
		date.Put("date", a.In)
		o.Put("retry_after", date)
	} else if a != nil {
		o.Put("retry_after", a.In)
	}
	return o
}

func injectorsOut(injectors []Injector) *yamldoc.Out {
	o := &yamldoc.Out{}
	for _, in := range injectors {
		one := &yamldoc.Out{}
		one.Put("listen", in.Listen)
		one.PutIf(in.Upstream != "", "upstream", in.Upstream)
		if in.Stub != nil {
			stub := stubOut(in.Stub.Respond)
			stub.PutIf(in.Stub.Latency > 0, "latency", in.Stub.Latency)
			putWebSocketStub(stub, in.Stub.WebSocket)
			one.Put("stub", stub)
		}
		if in.TCP != nil {
			one.Put("tcp", tcpOut(*in.TCP))
		}
		if in.TLS != nil {
			one.Put("tls", tlsOut(*in.TLS))
		}
		one.PutIf(in.EnvoyHeaders, "envoy_headers", true)
		o.Put(in.Name, one)
	}
	return o
}

func targetOut(t match.Target) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("name", t.Name)
	o.Put("method", t.Method)
	o.Put("path", t.Path)
	o.PutIf(len(t.Headers) > 0, "headers", t.Headers)
	o.PutIf(t.Body != "", "body", t.Body)
	o.Put("weight", t.Weight)
	o.Put("depends_on", t.DependsOn)
	return o
}

func classesOut(classes match.Classes) *yamldoc.Out {
	o := &yamldoc.Out{}
	for _, c := range classes {
		one := &yamldoc.Out{}
		one.PutIf(len(c.Status) > 0, "status", c.Status)
		one.PutIf(len(c.Header) > 0, "header", c.Header)
		one.PutIf(len(c.Contains) > 0, "contains", c.Contains)
		one.PutIf(len(c.Regex) > 0, "regex", c.Regex)
		one.PutIf(len(c.JSONPath) > 0, "jsonpath", c.JSONPath)
		o.Put(c.Name, one)
	}
	return o
}

func breakersOut(p *Plan) *yamldoc.Out {
	o := &yamldoc.Out{}
	for _, b := range p.Breakers {
		one := &yamldoc.Out{}
		one.Put("injector", b.Injector)
		one.Put("targets", b.Targets)
		one.PutIf(b.Unit != assert.UnitUnknown, "unit", string(b.Unit))
		one.PutIf(b.Shared, "shared", true)
		if b.Ejection != nil {
			ejection := &yamldoc.Out{}
			ejection.Put("after", b.Ejection.After)
			one.Put("ejection", ejection)
		}
		one.PutIf(b.LateDropped, "late_outcomes", lateDropped)
		if b.Declared {
			putConfig(one, b.Config)
		}
		one.Put("failure", b.Failure.Words())
		if probe, ok := p.Probe(b.Name); ok {
			one.Put("state_probe", probeOut(probe))
		}
		o.Put(b.Name, one)
	}
	return o
}

// putConfig writes the numbers that an experiment can give.
func putConfig(o *yamldoc.Out, c breakerref.Config) {
	if c.WindowType == breakerref.TimeBased {
		o.Put("window", strconv.Itoa(c.Window)+"s")
	} else {
		o.Put("window", c.Window)
	}
	o.Put("minimum_calls", c.MinimumCalls)
	o.Put("failure_rate", percentText(c.FailureRate))
	o.Put("wait", waitOut(c.Wait, c.WaitMax, c.WaitMultiplier, c.WaitRandom))
	o.Put("permitted_calls", c.Permitted)
	slow := &yamldoc.Out{}
	slow.Put("rate", percentText(c.SlowRate))
	slow.Put("over", c.SlowDuration)
	o.Put("slow_calls", slow)
}

func percentText(p float32) string {
	return strconv.FormatFloat(float64(p), 'f', -1, 32) + "%"
}

// otherwise says what was set, as on a command line, in one line.
func (p *Plan) otherwise() string {
	var b strings.Builder
	for _, set := range p.Sets {
		b.WriteString(" --set " + strconv.Quote(set))
	}
	return b.String()
}

// MarshalFaults writes rules as the faults of a phase, after a comment. It returns an error
// only if they are no valid rules.
func MarshalFaults(comment string, rules []fault.Rule) ([]byte, error) {
	o := &yamldoc.Out{}
	faults := make([]*yamldoc.Out, 0, len(rules))
	for _, r := range rules {
		one := &yamldoc.Out{}
		putFault(one, r)
		faults = append(faults, one)
	}
	o.Put("faults", faults)
	return yamldoc.Marshal(comment, o)
}
