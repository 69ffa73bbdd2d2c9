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
			rule(abort(503), m, 1, 1000, 7*time.Second), rule(pass, m, 1, 250, 7*time.Second), rule(abort(503), m, 199, 1000, 0))
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
	m := fault.Match{Path: "/pay*", HeaderRegex: map[string]string{"x-tenant": "^(?:a+)$"}}
	want := []fault.Rule{rule(fault.Rule{Action: fault.ActionPass}, m, 1, 10_000, 250*time.Millisecond)}
	if diff := cmp.Diff(want, got.Rules, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if len(got.Notes) != 2 || !strings.Contains(got.Notes[0].String(), "max_active_faults: has no equivalent") || !strings.Contains(got.Notes[1].String(), "a status of gRPC") {
		t.Errorf("noted is %v", got.Notes)
	}
	bare, err := imports.Mesh("f.yaml", []byte("'@type': a/envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: {http_status: 500}\n"))
	if err != nil || len(bare.Rules) != 0 {
		t.Errorf("without a percentage Envoy hits nobody: %v, %v", bare.Rules, err)
	}
}

// Nothing is dropped in silence.
func TestMeshRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1": "m.yaml: there is no fault in it",
		"a: [": "m.yaml:1:",
		"spec: {http: [{fault: {delay: {fixedDelay: soon}}}]}":                                                             `m.yaml:1:44: spec.http[0].fault.delay.fixedDelay: "soon" is no time of at least 1ms`,
		"spec: {http: [{fault: {abort: {httpStatus: 99}}}]}":                                                               `"99" is no status`,
		"spec: {http: [{fault: {abort: {httpStatus: 500, percentage: {value: 120}}}}]}":                                    `"120" is no percentage`,
		"spec: {http: [{match: [{port: 80}], fault: {abort: {httpStatus: 500}}}]}":                                         "spec.http[0].match[0].port: is no condition that can be kept; without it, other requests would be hit",
		"spec: {http: [{match: [{method: {prefix: P}}], fault: {abort: {httpStatus: 500}}}]}":                              "is no condition that can be kept",
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nheaders: [{name: a, present_match: true}]":             "headers[0].present_match: is no condition",
		"'@type': envoy.extensions.filters.http.fault.v3.HTTPFault\nabort: {http_status: 500, percentage: {numerator: x}}": "is no share",
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
