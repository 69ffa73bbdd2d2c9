package imports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
)

const virtualService = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: ratings }
spec:
  hosts: [ ratings ]
  http:
  - match: [ { uri: { exact: /health } } ]
    route: [ { destination: { host: ratings } } ]
  - match:
    - headers: { end-user: { exact: jason } }
      uri: { prefix: /ratings }
    - method: { exact: POST }
    fault:
      delay: { percentage: { value: 0.5 }, fixedDelay: 7s }
      abort: { percentage: { value: 20.0 }, httpStatus: 503 }
    route: [ { destination: { host: ratings } } ]
  - fault: { abort: { httpStatus: 500 } }
  - route: [ { destination: { host: ratings } } ]
`

func abort(status int) fault.Rule {
	return fault.Rule{Action: fault.ActionRespond, Respond: fault.Respond{
		Status: status, Body: "fault filter abort", Headers: map[string]string{"Content-Type": "text/plain"},
	}}
}

// rule is r with whom it hits and how late.
func rule(r fault.Rule, m fault.Match, num, den uint64, late time.Duration) fault.Rule {
	r.Match, r.Select = m, fault.Select{Kind: fault.SelectRatio, Num: num, Den: den}
	if num == den {
		r.Select = fault.Select{Kind: fault.SelectAll}
	}
	r.Latency = fault.Latency{Min: late, Max: late}
	return r
}

func TestVirtualService(t *testing.T) {
	pass := fault.Rule{Action: fault.ActionPass}
	jason := fault.Match{Path: "/ratings*", Header: map[string]string{"end-user": "jason"}}
	post := fault.Match{Method: "POST"}
	want := []fault.Rule{rule(pass, fault.Match{Path: "/health"}, 1, 1, 0)}
	for _, m := range []fault.Match{jason, post} {
		want = append(want,
			rule(abort(503), m, 1, 1000, 7*time.Second), rule(pass, m, 1, 250, 7*time.Second), rule(abort(503), m, 199, 1000, 0),
			rule(pass, m, 1, 1, 0)) // Or what is not hit would go on to later routes.
	}
	want = append(want, rule(abort(500), fault.Match{}, 1, 1, 0))
	got, err := imports.Mesh("vs.yaml", []byte(virtualService))
	if diff := cmp.Diff(want, got.Rules, cmpopts.EquateEmpty()); diff != "" || err != nil || len(got.Notes) != 0 {
		t.Errorf("%v, %v (-want +got):\n%s", err, got.Notes, diff)
	}
	if problems := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": got.Rules}}); len(problems) > 0 {
		t.Errorf("the faults are no script: %v", problems)
	}
}

func TestEnvoyFilter(t *testing.T) {
	const filter = `{"http_filters": [{"name": "envoy.filters.http.fault", "typed_config": {
		"@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault",
		"max_active_faults": 5,
		"headers": [{"name": "x-tenant", "string_match": {"safe_regex": {"regex": "a+"}}}, {"name": ":path", "prefix_match": "/pay"}],
		"delay": {"fixed_delay": "0.25s", "percentage": {"numerator": 1, "denominator": "TEN_THOUSAND"}},
		"abort": {"grpc_status": 14, "percentage": {"numerator": 5}}
	}}]}`
	got, err := imports.Mesh("envoy.json", []byte(filter))
	if err != nil {
		t.Fatal(err)
	}
	pass := fault.Rule{Action: fault.ActionPass}
	grpc := fault.Rule{Action: fault.ActionRespond, Respond: fault.Respond{GRPC: &fault.GRPC{Status: "UNAVAILABLE", Message: "fault filter abort"}}}
	m := fault.Match{Path: "/pay*", HeaderRegex: map[string]string{"x-tenant": "^(?:a+)$"}}
	of := fault.Match{Path: "/pay*", HeaderRegex: map[string]string{"x-tenant": "^(?:a+)$", "content-type": `^application/grpc(\+.*)?$`}}
	want := []fault.Rule{
		rule(grpc, of, 1, 200_000, 250*ms), rule(pass, of, 19, 200_000, 250*ms), rule(grpc, of, 9999, 200_000, 0), rule(pass, of, 1, 1, 0),
		rule(pass, m, 1, 10_000, 250*ms),
	}
	if diff := cmp.Diff(want, got.Rules, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if len(got.Notes) != 2 || !strings.Contains(got.Notes[0].String(), "--max-active 5") || !strings.Contains(got.Notes[1].String(), "to callers of gRPC alone") {
		t.Errorf("noted is %v", got.Notes)
	}
	bare, err := imports.Mesh("f.yaml", []byte("'@type': a/envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: {http_status: 500}\n"))
	if err != nil || len(bare.Rules) != 0 {
		t.Errorf("without a percentage Envoy hits nobody: %v, %v", bare.Rules, err)
	}
}

// A rate limit is drawn by itself, too, and what is aborted is not slowed.
func TestEnvoyRateLimit(t *testing.T) {
	const filter = "'@type': a/envoy.extensions.filters.http.fault.v3.HTTPFault\n" +
		"response_rate_limit: {fixed_limit: {limit_kbps: 3}, percentage: {numerator: 50}}\n" +
		"abort: {http_status: 500, percentage: {numerator: 20}}\n" +
		"---\n'@type': a/envoy.extensions.filters.http.fault.v3.HTTPFault\ndelay: {header_delay: {}, percentage: {numerator: 10}}\n"
	got, err := imports.Mesh("envoy.yaml", []byte(filter))
	slow := fault.Rule{Action: fault.ActionPass, Form: fault.Form{Bandwidth: 3072}}
	want := []fault.Rule{rule(abort(500), fault.Match{}, 1, 5, 0), rule(slow, fault.Match{}, 2, 5, 0)}
	if diff := cmp.Diff(want, got.Rules, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for n, want := range []string{"each filter by itself", "6:9: header_delay: is no fault of an experiment"} {
		if n >= len(got.Notes) || !strings.Contains(got.Notes[n].String(), want) {
			t.Errorf("noted is %v, want %s", got.Notes, want)
		}
	}
}

// A request that an earlier route takes meets no fault of a later one, and no fault twice.
func TestRoutesTakeTheirRequests(t *testing.T) {
	const routes = `spec: {http: [
		{match: [{uri: {prefix: /a}}, {method: {exact: POST}}], fault: {abort: {grpcStatus: UNAVAILABLE, percentage: {value: 50}}, delay: {fixedDelay: 1s, percentage: {value: 10}}}},
		{match: [{uri: {exact: /a/b}}], fault: {abort: {httpStatus: 500}}},
		{fault: {abort: {httpStatus: 418, http2Error: X}}}]}`
	got, err := imports.Mesh("vs.yaml", []byte(strings.ReplaceAll(routes, "\t", "  ")))
	if err != nil {
		t.Fatal(err)
	}
	player, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{"p": got.Rules}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	phase := player.Phase("p")
	for range 1000 {
		for _, kind := range []string{"application/grpc", "text/plain"} {
			v := phase.Decide(fault.Request{Method: "POST", Path: "/a", Header: func(string) string { return kind }})
			switch {
			case v.Rule == nil:
				t.Fatal("a route took no request")
			case v.Rule.Action == fault.ActionRespond:
				counts[kind+" aborted"]++
			}
			if v.Latency > 0 {
				counts[kind+" late"]++
			}
		}
	}
	want := map[string]int{"application/grpc aborted": 500, "application/grpc late": 100, "text/plain late": 100}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("of 1000 each (-want +got):\n%s", diff)
	}
	if v := phase.Decide(fault.Request{Method: "GET", Path: "/z"}); v.Rule == nil || v.Rule.Respond.Status != 418 {
		t.Errorf("the last route does %+v", v.Rule)
	}
	var notes []string
	for _, n := range got.Notes {
		notes = append(notes, n.Text)
	}
	for _, want := range []string{"is never reached", "to callers of gRPC alone", "Istio itself refuses it"} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("noted is %q, want %s", notes, want)
		}
	}
}

// Nothing is dropped in silence.
func TestMeshRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1": "m.yaml: there is no fault in it",
		"a: [": "m.yaml:1:",
		"spec: {http: [{fault: {delay: {fixedDelay: soon}}}]}": `m.yaml:1:44: spec.http[0].fault.delay.fixedDelay: "soon" is no time of at least 1ms`,
		"spec: {http: [{fault: {abort: {grpcStatus: BUSY}}}]}": `"BUSY" is no status of gRPC`,
		"spec: {http: [{fault: {delay: {fixedDelay: 1s, percentage: {value: 0.000001}}, abort: {httpStatus: 500, percentage: {value: 0.000003}}}}]}": "denominators of at most",
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: {grpc_status: 17, percentage: {numerator: 1}}":                            `"17" is no status of gRPC`,
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nresponse_rate_limit: {fixed_limit: {limit_kbps: 0}}":                             `"0" is no number of KiB`,
		"spec: {http: [{fault: {abort: {httpStatus: 99}}}]}":                                                                                         `"99" is no status`,
		"spec: {http: [{fault: {abort: {httpStatus: 500, percentage: {value: 120}}}}]}":                                                              `"120" is no percentage`,
		"spec: {http: [{match: [{port: 80}], fault: {abort: {httpStatus: 500}}}]}":                                                                   "spec.http[0].match[0].port: is no condition that can be kept; without it, other requests would be hit",
		"spec: {http: [{match: [{method: {prefix: P}}], fault: {abort: {httpStatus: 500}}}]}":                                                        "is no condition that can be kept",
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nheaders: [{name: a, present_match: true}]":                                       "headers[0].present_match: is no condition",
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: {http_status: 500, percentage: {numerator: x}}":                           "is no share",
	} {
		if _, err := imports.Mesh("m.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %q", text, err, want)
		}
	}
}

func FuzzMesh(f *testing.F) {
	f.Add(virtualService)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := imports.Mesh("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, r := range got.Rules {
			if r.Select.Kind == fault.SelectRatio && (r.Select.Num == 0 || r.Select.Num >= r.Select.Den) {
				t.Errorf("%+v is no share", r.Select)
			}
		}
	})
}
