package experiments_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// load compiles a file that must be good.
func load(t *testing.T, file string) *experiments.Plan {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := experiments.LoadPlan(file, src, 42)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestFaults shows what a golden plan does not: what was derived.
func TestFaults(t *testing.T) {
	plan := load(t, "testdata/reference.good.yaml")
	all := fault.Select{Kind: fault.SelectAll}
	want := map[string][]fault.Rule{
		"payments": {
			{
				ID:      "trip/0",
				Match:   fault.Match{Method: "POST", Path: "/charges*", Header: map[string]string{"X-Kind": "card"}},
				Select:  fault.Select{Kind: fault.SelectRatio, Num: 333, Den: 1000},
				Action:  fault.ActionRespond,
				Respond: fault.Respond{Status: 503, Headers: map[string]string{"Retry-After": "1"}, Body: "down"},
			},
			{ID: "trip/2", Select: fault.Select{Kind: fault.SelectScript, Pattern: "..XX."}, Action: fault.ActionClose},
			{
				ID: "trip/3", Select: fault.Select{Kind: fault.SelectFirst, First: 2}, Action: fault.ActionPass,
				Latency: fault.Latency{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
			},
			{
				ID: "trip/5", Select: all, Action: fault.ActionPass,
				Latency: fault.Latency{Min: 60 * time.Millisecond, Max: 60 * time.Millisecond},
				Hold:    &fault.Hold{Probes: 3, Rejected: 15, Max: 250 * time.Millisecond, OneByOne: true},
			},
		},
		"billing": {
			{ID: "trip/1", Select: fault.Select{Kind: fault.SelectFirst, First: 3}, Action: fault.ActionReset, Stealth: true},
			{ID: "trip/4", Select: fault.Select{Kind: fault.SelectFirst, First: 1}, Action: fault.ActionHang},
		},
	}
	if diff := cmp.Diff(want, plan.Phases[2].Faults); diff != "" {
		t.Errorf("faults of trip (-want +got):\n%s", diff)
	}
	for _, in := range plan.Injectors {
		script := fault.Script{Phases: map[string][]fault.Rule{"trip": want[in.Name]}}
		if diff := cmp.Diff(script, in.Script); diff != "" {
			t.Errorf("script of %s (-want +got):\n%s", in.Name, diff)
		}
	}
}

// TestDeclared tells a breaker with numbers from one without.
func TestDeclared(t *testing.T) {
	plan := load(t, "testdata/reference.good.yaml")
	declared := breakerref.Default()
	declared.Name = "payments"
	declared.WindowType, declared.Window = breakerref.TimeBased, 10
	declared.MinimumCalls, declared.FailureRate = 6, 40
	declared.Wait, declared.Permitted = 2*time.Second, 3
	declared.SlowRate, declared.SlowDuration = 90, time.Second
	other := breakerref.Default()
	other.Name = "other"
	want := []assert.Breaker{
		{
			Name: "payments", Injector: "payments", Targets: []string{"checkout"}, Unit: assert.UnitAttempt,
			Declared: true, Config: declared, Failure: match.Failure{Statuses: []int{503}},
		},
		{
			Name: "other", Injector: "payments", Targets: []string{"bill", "checkout"}, Unit: assert.UnitCall,
			Config: other, Failure: match.DefaultFailure(), LateDropped: true,
		},
	}
	if diff := cmp.Diff(want, plan.Breakers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSpec(t *testing.T) {
	plan := load(t, "quickstart.yaml")
	spec := plan.Spec()
	if diff := cmp.Diff(plan.Targets, spec.Targets); diff != "" {
		t.Errorf("targets:\n%s", diff)
	}
	if diff := cmp.Diff(plan.Classes, spec.Classes); diff != "" {
		t.Errorf("classes:\n%s", diff)
	}
	if diff := cmp.Diff(plan.Breakers, spec.Breakers); diff != "" {
		t.Errorf("breakers:\n%s", diff)
	}
	if diff := cmp.Diff(plan.Integrity, spec.Integrity); diff != "" {
		t.Errorf("integrity:\n%s", diff)
	}
	if len(spec.Phases) != len(plan.Phases) || len(spec.Assertions) != len(plan.Assertions) {
		t.Fatalf("%d phases and %d assertions", len(spec.Phases), len(spec.Assertions))
	}
	for i, p := range plan.Phases {
		want := assert.Phase{Name: p.Name, Measure: p.Measure, Faults: p.Faults}
		if diff := cmp.Diff(want, spec.Phases[i]); diff != "" {
			t.Errorf("phase %s:\n%s", p.Name, diff)
		}
	}
	for i, a := range plan.Assertions {
		want := assert.Assertion{ID: a.ID, Phase: a.Phase, Line: a.Line, Rule: a.Rule}
		if diff := cmp.Diff(want, spec.Assertions[i]); diff != "" || a.Line == 0 || a.Kind != a.Rule.Kind() {
			t.Errorf("assertion %s in line %d:\n%s", a.ID, a.Line, diff)
		}
	}
}

// TestSeed takes the seed of the file, or else the caller's.
func TestSeed(t *testing.T) {
	if plan := load(t, "quickstart.yaml"); plan.Seed != 42 {
		t.Errorf("seed %d, want the caller's", plan.Seed)
	}
	if plan := load(t, "testdata/reference.good.yaml"); plan.Seed != 1<<64-1 {
		t.Errorf("seed %d, want the file's", plan.Seed)
	}
}

func ExampleLoadPlan() {
	_, err := experiments.LoadPlan("first.yaml", []byte(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: first }
sut: { reference: { breaker: { window: 10, wait: 2 } } }
injectors: { payments: { stub: { status: 200 } } }
load: { rate: 100/s, targets: [{ name: checkout, path: /checkout }] }
breakers: { payments: { permitted_calls: 3 } }
phases: [{ name: outage, durration: 5s, duration: 5s }]
assert: [{ id: no-leak, breaker.leak: payment, phase: outage }]
`), 1)
	fmt.Println(err)
	// Output:
	// first.yaml:5:50: sut.reference.breaker.wait: 2 has no unit; write 2s, 2ms or 2m
	// first.yaml:9:26: phases[0].durration: unknown key; did you mean "duration"?
	// first.yaml:10:39: assert[0].breaker.leak: there is no breaker "payment"; did you mean "payments"?
}
