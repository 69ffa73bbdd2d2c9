package experiments

import (
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// The words for when the latency of a request passes, and for what it does to its time.
const (
	lateAt    = "at"
	lateMode  = "mode"
	atRequest = "request"
	modeAdd   = "add"
)

// ofRequest reads the latency of a request, which has a place.
func (r *reader) ofRequest(v yamldoc.Value) fault.Latency {
	m := v.Map("{fixed: 5ms}")
	defer m.Done()
	at, mode := m.Get(lateAt), m.Get(lateMode)
	word := at.OneOf(atRequest, atRequest, string(fault.LatencyAtResponse))
	does := mode.OneOf(modeAdd, modeAdd, string(fault.LatencyFloor))
	l := r.lawIn(m)
	if l.Longest() == 0 {
		return l
	}
	if word == string(fault.LatencyAtResponse) {
		l.At = fault.LatencyAtResponse
	}
	if does == string(fault.LatencyFloor) {
		l.Mode = fault.LatencyFloor
		if at.Exists() && word == atRequest {
			at.Problemf("before the request has an answer nobody knows how long it takes, which mode: floor counts; leave one of them out")
		}
	}
	return l
}

// late refuses a latency of an answer where there is none.
func late(rule *fault.Rule, m *yamldoc.Map) {
	what := rule.Workless()
	if !rule.Latency.Late() || what == "" || rule.Action == fault.ActionHang { // Before a hang no latency can be seen.
		return
	}
	l := m.Get("latency").Map("")
	for _, key := range []string{lateAt, lateMode} {
		if v := l.Get(key); v.Exists() {
			v.Problemf("is of the answer of a stub or an upstream that has done its work, and %s leaves none; leave it out", what)
		}
	}
	rule.Latency.At, rule.Latency.Mode = fault.LatencyAtRequest, fault.LatencyAdd
}

// putLate writes the place of a latency.
func putLate(o *yamldoc.Out, l fault.Latency) {
	o.PutIf(l.At != fault.LatencyAtRequest, lateAt, string(l.At))
	o.PutIf(l.Mode != fault.LatencyAdd, lateMode, string(l.Mode))
}

// requestLatencySchema is the latency of a request.
func requestLatencySchema() schema {
	ramp, together := rampSchema("latency", ref(durationDef))
	place := keys{lateAt: oneOf(atRequest, string(fault.LatencyAtResponse)), lateMode: oneOf(modeAdd, string(fault.LatencyFloor))}
	return object(plus(plus(ramp, lawSchemas()), place)).with("oneOf", anyKey(laws()...)).with("dependentRequired", together).with("not", schema{
		"required": []string{lateAt, lateMode}, "properties": map[string]any{lateAt: schema{"const": atRequest}, lateMode: schema{"const": string(fault.LatencyFloor)}},
	})
}

// lateSchema is where a latency has no answer to be of.
func lateSchema() schema {
	word := func(key, value string) schema {
		return schema{"required": []string{key}, "properties": map[string]any{key: schema{"const": value}}}
	}
	return schema{
		"if": schema{"required": []string{"latency"}, "properties": map[string]any{"latency": schema{"anyOf": []schema{
			word(lateAt, string(fault.LatencyAtResponse)), word(lateMode, string(fault.LatencyFloor)),
		}}}},
		"then": schema{"not": schema{"anyOf": anyKey("respond", "reset", "close", "garbage", "grpc", "tls")}},
	}
}
