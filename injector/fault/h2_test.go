package fault_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/fault"
)

// One problem each, and what is sound.
func TestHTTP2AndGRPC(t *testing.T) {
	pass := func(h fault.H2) fault.Rule { return fault.Rule{Action: fault.ActionPass, H2: &h} }
	settings := func(s *fault.H2Settings) fault.Rule {
		return fault.Rule{Action: fault.ActionSettings, Settings: s}
	}
	grpc := func(g fault.GRPC) fault.Rule {
		return fault.Rule{Action: fault.ActionRespond, Respond: fault.Respond{GRPC: &g}}
	}
	reset := fault.StreamReset{Code: "CANCEL", At: fault.CutStart}
	with := func(r fault.Rule, change func(r *fault.Rule)) fault.Rule { change(&r); return r }
	for name, c := range map[string]struct {
		rule fault.Rule
		want string // empty: sound
	}{
		"a reset":              {pass(fault.H2{Reset: &reset}), ""},
		"bytes at start":       {pass(fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutStart, Bytes: 1}}), "h2.reset.bytes: has no meaning at start"},
		"negative bytes":       {pass(fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutBody, Bytes: -1}}), "h2.reset.bytes: -1 is negative"},
		"no such code":         {pass(fault.H2{Reset: &fault.StreamReset{Code: "OOPS", At: fault.CutBody}}), `h2.reset.code: "OOPS" is none of NO_ERROR`},
		"in the line":          {pass(fault.H2{Reset: &fault.StreamReset{Code: "CANCEL", At: fault.CutLine}}), `h2.reset.at: "line" is none`},
		"nothing":              {pass(fault.H2{}), "h2: has 0 of reset"},
		"two":                  {pass(fault.H2{Reset: &reset, Abort: true}), "h2: has 2 of reset"},
		"a goaway":             {pass(fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR", Last: fault.LastThis}}), ""},
		"which last":           {pass(fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR"}}), `h2.goaway.last: ""`},
		"with an action":       {fault.Rule{Action: fault.ActionHang, H2: &fault.H2{Abort: true}}, "h2: has no meaning with action hang"},
		"with a cut":           {with(pass(fault.H2{Reset: &reset}), func(r *fault.Rule) { r.Form.Cut = &fault.Cut{At: fault.CutStart, By: fault.ActionHang} }), "h2: form already ends"},
		"with a drip":          {with(pass(fault.H2{Reset: &reset}), func(r *fault.Rule) { r.Form.Drip = &fault.Drip{Chunks: 1, Over: 1} }), "form: has no meaning with h2"},
		"settings":             {settings(&fault.H2Settings{NoUpdates: true}), ""},
		"empty settings":       {settings(&fault.H2Settings{}), "settings: says nothing"},
		"no settings":          {settings(nil), "settings: belongs to action settings"},
		"window":               {settings(&fault.H2Settings{InitialWindow: 1 << 31}), "settings.initial_window_size: is 2147483648"},
		"negative delay":       {settings(&fault.H2Settings{AckDelay: -1}), "settings.settings_ack_delay: -1ns is negative"},
		"settings of a path":   {with(settings(&fault.H2Settings{NoUpdates: true}), func(r *fault.Rule) { r.Match.Path = "/a" }), "match: has no meaning with action settings"},
		"other settings":       {with(pass(fault.H2{Reset: &reset}), func(r *fault.Rule) { r.Settings = &fault.H2Settings{NoUpdates: true} }), "settings: belongs to action settings"},
		"late settings":        {with(settings(&fault.H2Settings{NoUpdates: true}), func(r *fault.Rule) { r.Latency.Min, r.Latency.Max = 1, 1 }), "latency: has no meaning with action settings"},
		"settings of a peer":   {with(settings(&fault.H2Settings{NoUpdates: true}), func(r *fault.Rule) { r.Match.Peer = "127.0.0.1" }), ""},
		"of websockets":        {with(pass(fault.H2{Reset: &reset}), func(r *fault.Rule) { r.Match.WebSocket = true }), "h2: has no meaning with a match of websocket"},
		"grpc":                 {grpc(fault.GRPC{Status: "NOT_FOUND", Message: "é", Details: "CA4=", Messages: []string{"aGk="}}), ""},
		"no such status":       {grpc(fault.GRPC{Status: "GONE"}), `respond.grpc.status: "GONE" is none of OK`},
		"details":              {grpc(fault.GRPC{Details: "%"}), "respond.grpc.details: is no base64"},
		"messages":             {grpc(fault.GRPC{Messages: []string{"", "?"}}), "respond.grpc.messages: message 2 is no base64"},
		"status and end":       {grpc(fault.GRPC{Status: "OK", End: fault.GRPCNoTrailers}), "respond.grpc.end: no_trailers sends no status"},
		"reset without code":   {grpc(fault.GRPC{End: fault.GRPCReset}), `respond.grpc.code: "" is none`},
		"code without reset":   {grpc(fault.GRPC{Code: "CANCEL"}), "respond.grpc.code: has no meaning"},
		"no such end":          {grpc(fault.GRPC{End: "now"}), `respond.grpc.end: "now" is none`},
		"frame of no message":  {grpc(fault.GRPC{Frame: fault.GRPCHuge}), "respond.grpc.frame: spoils the last message"},
		"no such frame":        {grpc(fault.GRPC{Frame: "bent"}), `respond.grpc.frame: "bent" is none`},
		"grpc with a status":   {with(grpc(fault.GRPC{}), func(r *fault.Rule) { r.Respond.Status = 503 }), "respond.status: 503 has no meaning with grpc"},
		"grpc with a body":     {with(grpc(fault.GRPC{}), func(r *fault.Rule) { r.Respond.Body = "x" }), "respond.body: has no meaning with grpc"},
		"grpc, action":         {with(grpc(fault.GRPC{}), func(r *fault.Rule) { r.Action = fault.ActionReset }), "respond: has no meaning with action reset"},
		"stealth and settings": {with(settings(&fault.H2Settings{NoUpdates: true}), func(r *fault.Rule) { r.Stealth = true }), "stealth: has no meaning"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rule.Select.Kind = fault.SelectAll
			ps := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {c.rule}}})
			switch {
			case c.want == "" && len(ps) > 0:
				t.Error(ps)
			case c.want != "" && (len(ps) != 1 || !strings.Contains(ps[0].Error(), c.want)):
				t.Errorf("%v, want one: %s", ps, c.want)
			}
		})
	}
}

// A rule of connections takes no request, and shadows no rule of requests.
func TestSettingsLeaveRequestsAlone(t *testing.T) {
	ph := play(t, 1,
		fault.Rule{Action: fault.ActionSettings, Select: fault.Select{Kind: fault.SelectScript, Pattern: ".X"}, Settings: &fault.H2Settings{MaxStreams: 1}},
		reset(fault.Select{Kind: fault.SelectAll}))
	if diff := cmp.Diff([]string{"p/2"}, ids(ph, fault.Request{})); diff != "" {
		t.Error("rules (-want +got):\n" + diff)
	}
	for i, want := range []bool{false, true, false} {
		if got := ph.Decide(fault.Request{Layer: fault.LayerH2}).Rule; (got != nil) != want {
			t.Errorf("connection %d: %+v", i+1, got)
		}
	}
	want := []fault.Count{{Rule: "p/1", Seen: 3, Hit: 1}, {Rule: "p/2", Seen: 1, Hit: 1}}
	if diff := cmp.Diff(want, ph.Counts()); diff != "" {
		t.Error("counts (-want +got):\n" + diff)
	}
}
