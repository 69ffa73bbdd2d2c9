package fault_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/fault"
)

// A latency of the answer goes with what has an answer of a stub or an upstream, and nothing else.
func TestLateIsOfAnAnswer(t *testing.T) {
	const none = ": no stub and no upstream works before it; leave it out"
	rule := func(f func(r *fault.Rule)) fault.Rule {
		r := fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Latency: fault.Latency{Min: 5, Max: 5, At: fault.LatencyAtResponse}}
		f(&r)
		return r
	}
	h2 := func(h fault.H2) fault.Rule { return rule(func(r *fault.Rule) { r.H2 = &h }) }
	stream := &fault.Stream{Latency: fault.Latency{Min: 5, Max: 5, Mode: fault.LatencyFloor}}
	for _, c := range []struct {
		rule fault.Rule
		want string
	}{
		{rule(func(*fault.Rule) {}), ""},
		{rule(func(r *fault.Rule) { r.Latency.At, r.Latency.Mode = "", fault.LatencyFloor }), ""},
		{rule(func(r *fault.Rule) { r.Form.Cut = &fault.Cut{At: fault.CutStart, By: fault.ActionReset} }), ""},
		{h2(fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR", Last: fault.LastThis}}), ""},
		{h2(fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutBody}}), ""},
		{h2(fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutStart}}), "has no meaning with this h2" + none},
		{h2(fault.H2{Abort: true}), "has no meaning with this h2" + none},
		{rule(func(r *fault.Rule) { r.Action = fault.ActionReset }), "has no meaning with reset" + none},
		{rule(func(r *fault.Rule) { r.Action, r.Latency.Mode = fault.ActionHang, fault.LatencyFloor }), "has no meaning with hang" + none},
		{rule(func(r *fault.Rule) { r.Action, r.Respond.Status = fault.ActionRespond, 503 }), "has no meaning with respond" + none},
		{rule(func(r *fault.Rule) { r.Action, r.TLS = fault.ActionTLS, &fault.TLS{Do: fault.TLSSlow} }), "has no meaning with tls" + none},
		{rule(func(r *fault.Rule) { r.Latency.Min, r.Latency.Max = 0, 0 }), "says when it passes, and not how long it is"},
		{rule(func(r *fault.Rule) { r.Latency.At = "answer" }), `"answer" is not response; leave it out for a latency before the action`},
		{rule(func(r *fault.Rule) { r.Latency.Mode = "ceiling" }), `"ceiling" is not floor; leave it out for a latency that is added`},
		{
			fault.Rule{Action: fault.ActionTCP, Select: fault.Select{Kind: fault.SelectAll}, TCP: &fault.TCP{Up: stream}},
			"at and mode are of requests, and this is a latency of bytes; leave them out",
		},
		{
			fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Match: fault.Match{WebSocket: true}, WebSocket: &fault.WebSocket{
				Messages: []fault.WSMessage{{To: fault.ToClient, Select: fault.Select{Kind: fault.SelectAll}, Do: fault.WSDelay, Delay: stream.Latency}},
			}},
			"at and mode are of requests, and this is a latency of a message; leave them out",
		},
	} {
		var got []string
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {c.rule}}}) {
			got = append(got, p.Text)
		}
		if text := strings.Join(got, "\n"); c.want == "" && text != "" || c.want != "" && !strings.Contains(text, c.want) {
			t.Errorf("%+v: %q, want %q", c.rule, text, c.want)
		}
	}
}

// It is said in words, and in JSON as in experiments; it draws the same times as at its usual place.
func TestLateInWords(t *testing.T) {
	ramp := &fault.LatencyRamp{Points: []fault.LatencyPoint{{At: 0, Latency: 1}, {At: time.Second, Latency: 5}}}
	for _, c := range []struct {
		l    fault.Latency
		want string
	}{
		{fault.Latency{Min: 5, Max: 5, At: fault.LatencyAtResponse}, "5ns, after the work"},
		{fault.Latency{Min: 1, Max: 5, Mode: fault.LatencyFloor}, "at least 1ns to 5ns, the work included"},
		{fault.Latency{Ramp: ramp, At: fault.LatencyAtResponse, Mode: fault.LatencyFloor}, "at least 1ns to 5ns over 1s, the work included"},
		{fault.Latency{Trace: []time.Duration{5}, At: fault.LatencyAtResponse}, "trace (p50 5ns, p90 5ns, p99 5ns, mean 5ns), after the work"},
	} {
		if got := c.l.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	var r fault.Rule
	if err := json.Unmarshal([]byte(`{"latency": {"min": 5, "max": 5, "at": "response", "mode": "floor"}}`), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fault.Latency{Min: 5, Max: 5, At: fault.LatencyAtResponse, Mode: fault.LatencyFloor}, r.Latency); diff != "" {
		t.Error(diff)
	}
}
