package simulate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref/simulate"
)

const document = `apiVersion: faultline/v1
kind: Simulation
seed: 7
trials: 30
duration: 5m
breaker:
  slidingWindowType: TIME_BASED
  slidingWindowSize: 20
  minimumNumberOfCalls: 10
  failureRateThreshold: 33.3
  waitDurationInOpenState: 10s
traffic:
  rate: 30/m
  replicas: 2
  latency: 20ms..200ms
  timeout: 1s
  retry: {maxAttempts: 3, waitDuration: 100ms, sparesRejected: true}
  phases:
    - {from: 1m, to: 2m, failures: 5%..60%}
    - {from: 2m, to: 150s, failures: 100%, latency: 3s}
vary:
  minimumNumberOfCalls: [5, 10]
  replicas: [1, 2]
`

func TestRead(t *testing.T) {
	d, err := simulate.Read("sim.yaml", []byte(document), simulate.Default())
	if err != nil {
		t.Fatal(err)
	}
	m := d.Model
	if *d.Seed != 7 || d.Trials != 30 || m.Duration != 5*time.Minute || m.Traffic.Rate != 0.5 || m.Breaker.Wait != 10*time.Second || !m.Traffic.SparesRejected {
		t.Errorf("%+v", d)
	}
	want := []simulate.Phase{
		{Span: simulate.Span{From: time.Minute, To: 2 * time.Minute}, Failures: [2]float64{0.05, 0.6}},
		{Span: simulate.Span{From: 2 * time.Minute, To: 150 * time.Second}, Failures: [2]float64{1, 1}, Latency: &simulate.Latency{Median: 3 * time.Second}},
	}
	if diff := cmp.Diff(want, m.Traffic.Phases); diff != "" {
		t.Error(diff)
	}
	rows, err := simulate.Rows(m, d.Vary)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	if diff := cmp.Diff([]string{"minimumNumberOfCalls=10", "replicas=1"}, rows[2].Changed); diff != "" || rows[2].Model.Traffic.Replicas != 1 {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "apiVersion: faultline/v1\nkind: Simulation\n"
	for src, want := range map[string]string{
		"kind: Simulation\n":                                                         "apiVersion: is missing",
		"apiVersion: faultline/v1\nkind: Simulatoin\n":                               `did you mean "Simulation"?`,
		head + "breaker: {slidingWindowSise: 10}\n":                                  `3:11: breaker.slidingWindowSise: unknown key; did you mean "slidingWindowSize"?`,
		head + "breaker: {slidingWindowSize: 0}\n":                                   `3:30: breaker.slidingWindowSize: "0" must be a whole number of at least 1`,
		head + "traffic: {rate: 5}\n":                                                "5 has no unit; write 5/s or 5/m",
		head + "traffic: {rate: 5/s, clients: 4}\n":                                  "rate and clients exclude each other",
		head + "traffic: {outage: {from: 1m}}\n":                                     "to: is missing",
		head + "traffic: {outage: {from: 1m, to: 30s}}\n":                            "ends before it begins",
		head + "traffic: {outage: {from: 1m, to: 2m, failures: 120%}}\n":             "120% is more than 100%",
		head + "traffic: {phases: [], outage: none}\n":                               "exclude each other",
		head + "vary: {minimumNumberOfCall: [1]}\n":                                  `did you mean "minimumNumberOfCalls"?`,
		"resilience4j.circuitbreaker.instances.a.slidingWindowSize: 4\nspring: {}\n": "give it as --config sim.yaml",
	} {
		_, err := simulate.Read("sim.yaml", []byte(src), simulate.Default())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v\nwant  %s", src, err, want)
		}
	}
}

// What is too much is refused, and the limit is said.
func TestLimits(t *testing.T) {
	m := simulate.Default()
	if _, err := simulate.Rows(m, []simulate.Vary{{Name: "replicas", Values: make([]string, 11)}, {Name: "timeout", Values: make([]string, 10)}}); err == nil || !strings.Contains(err.Error(), "more than 100 combinations") {
		t.Errorf("error %v", err)
	}
	if _, err := simulate.Run(m.Complete(), simulate.Options{QuietTime: 30000 * 24 * time.Hour}); err == nil || !strings.Contains(err.Error(), "the limit is 5e+09") {
		t.Errorf("error %v", err)
	}
	m.Traffic.Clients, m.Traffic.Rate = 5, 0
	if err := m.Complete().Validate(); err == nil || !strings.Contains(err.Error(), "think is 0s, must be at least 1ms") {
		t.Errorf("error %v", err)
	}
}

// Every value that is told can be set again, and is the same then.
func TestParamsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := simulate.Default()
		for name, text := range map[string]string{
			"rate": rapid.SampledFrom([]string{"5/s", "30/m", "7/h", "1200/m"}).Draw(t, "rate"), "background": rapid.SampledFrom([]string{"0%", "0.5%", "12.25%"}).Draw(t, "background"),
			"latency": rapid.SampledFrom([]string{"20ms", "20ms..1s"}).Draw(t, "latency"), "outage": rapid.SampledFrom([]string{"1m..2m", "0s..1s"}).Draw(t, "outage"),
			"slidingWindowType": rapid.SampledFrom([]string{"TIME_BASED", "count-based"}).Draw(t, "type"), "failureRateThreshold": rapid.SampledFrom([]string{"33.3", "50%"}).Draw(t, "threshold"),
			"retryMaxAttempts": "3", "exponentialBackoffMultiplier": "1.5", "slidingWindowSynchronizationStrategy": "LOCK_FREE", "transitionToStateAfterWaitDuration": "CLOSED",
		} {
			if err := m.Set(name, text); err != nil {
				t.Fatal(err)
			}
		}
		again := simulate.Default()
		for _, p := range simulate.Params() {
			if p.Name == "clients" || p.Name == "think" || p.Name == "duration" { // 0 is their absence.
				continue
			}
			if err := p.Set(&again, p.Get(&m)); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(m, again); d != "" {
			t.Fatal(d)
		}
	})
}

// The examples of docs/simulate.md can be read.
func TestDocumented(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulate.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, block := range strings.Split(string(src), "```") {
		if yaml, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
			n++
			if _, err := simulate.Read("docs/simulate.md", []byte(yaml), simulate.Default()); err != nil {
				t.Error(err)
			}
		}
	}
	if n == 0 {
		t.Error("it has none")
	}
	for _, p := range simulate.Params() {
		if !strings.Contains(string(src), "`"+p.Name+"`") {
			t.Errorf("it does not say what %s is", p.Name)
		}
	}
}
