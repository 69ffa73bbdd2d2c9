package mesh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/mesh"
	"github.com/faultline-go/faultline/breakerref/model"
)

const rules = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: reviews}
spec:
  host: reviews.prod
  trafficPolicy:
    connectionPool: {tcp: {maxConnections: 100}, http: {http2MaxRequests: 1000, maxRequestsPerConnection: 10}}
    outlierDetection: {consecutive5xxErrors: 7, interval: 5m, baseEjectionTime: 15m, maxEjectionPercent: 50}
    portLevelSettings:
      - {port: {number: 80}, outlierDetection: {consecutive5xxErrors: 0, consecutiveGatewayErrors: 3}}
  subsets:
    - {name: v2, labels: {v: "2"}, trafficPolicy: {connectionPool: {http: {maxRetries: 1}}}}
---
static_resources:
  clusters:
    - name: pay
      outlier_detection: {consecutive_5xx: 2, base_ejection_time: 1s, max_ejection_time: 4s, max_ejection_percent: 100, enforcing_success_rate: 0}
      circuit_breakers: {thresholds: [{priority: DEFAULT, max_connections: 10}]}
    - {name: all, outlier_detection: {consecutive_gateway_failure: 3}}
    - {name: none, connect_timeout: 1s}
`

func TestRead(t *testing.T) {
	policies, err := mesh.Read("mesh.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range policies {
		detector, n := p.Counts()
		got = append(got, fmt.Sprintf("%s: %q %d, istio %v, settings %d, unmodelled %v", p.Name, detector, n, p.Istio, len(p.Settings), p.Unmodelled()))
	}
	want := []string{
		`reviews.prod: "5xx" 7, istio true, settings 7, unmodelled []`,
		`reviews.prod port 80: "gateway" 3, istio true, settings 2, unmodelled []`,
		`reviews.prod subset v2: "" 0, istio true, settings 1, unmodelled []`,
		`pay: "5xx" 2, istio false, settings 7, unmodelled [{outlier_detection.enforcing_success_rate 0 {17 145}}]`,
		`all: "5xx" 5, istio false, settings 1, unmodelled []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
	if s, ok := policies[0].Get("interval"); !ok || s.Value != "5m" || s.Pos.Line != 8 {
		t.Errorf("interval is %+v", s)
	}
}

func TestConfig(t *testing.T) {
	policies, err := mesh.Read("mesh.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	reviews, err := policies[0].Config(4)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := model.Preset("envoy")
	want.Name, want.Trip.Failures = "reviews.prod", 7
	want.Open.Interval, want.Open.Wait, want.Open.MaxWait = 5*time.Minute, 15*time.Minute, 15*time.Minute
	want.Hosts.Count, want.Hosts.MaxEjected, want.Hosts.Panic = 4, 50, 0
	if diff := cmp.Diff(want, reviews); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
	// Without a setting, it is the preset.
	all, err := policies[4].Config(10)
	if err != nil {
		t.Fatal(err)
	}
	want, _ = model.Preset("envoy")
	want.Name = "all"
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
	if _, err := policies[2].Config(4); err == nil || !strings.Contains(err.Error(), "ejects no host") {
		t.Errorf("a policy without detection: %v", err)
	}
}

func TestProblems(t *testing.T) {
	for src, want := range map[string]string{
		"clusters: [{name: a, outlier_detection: {consecutive_5x: 3}}]":                                `m.yaml:1:58: a: outlier_detection.consecutive_5x is not known; did you mean "outlier_detection.consecutive_5xx"?`,
		"clusters: [{name: a, outlier_detection: {max_ejection_percent: 101}}]":                        "m.yaml:1:64: a: outlier_detection.max_ejection_percent is \"101\", must be a whole number from 0 to 100",
		"kind: DestinationRule\nspec: {host: h, trafficPolicy: {outlierDetection: {interval: 10}}}":    `m.yaml:2:62: h: outlierDetection.interval is "10", must be a duration`,
		"kind: DestinationRule\nspec: {host: h, trafficPolicy: {connectionPool: {maxConnections: 5}}}": "connectionPool.maxConnections is not known",
		"clusters: [{name: a, outlierDetection: {consecutive5xx: 3}}]":                                 "m.yaml:1:57: outlierDetection is not read in a cluster of Envoy; write outlier_detection",
		"a: [": "this is not YAML",
	} {
		if _, err := mesh.Read("m.yaml", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\nerror %v\nwant  %s", src, err, want)
		}
	}
}

// Envoy counts gateway errors always, but ejects for them only where it is told to.
func TestEnforced(t *testing.T) {
	for keys, want := range map[string]string{
		"consecutive_gateway_failure: 3, enforcing_consecutive_5xx: 0":                                             " 0",
		"consecutive_gateway_failure: 3, enforcing_consecutive_5xx: 0, enforcing_consecutive_gateway_failure: 100": "gateway 3",
		"enforcing_consecutive_gateway_failure: 100":                                                               "5xx 5",
		"consecutive_5xx: 0": " 0",
	} {
		policies, err := mesh.Read("m.yaml", []byte("clusters: [{name: a, outlier_detection: {"+keys+"}}]"))
		if err != nil {
			t.Fatal(err)
		}
		detector, n := policies[0].Counts()
		if got := fmt.Sprint(string(detector), " ", n); got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}
