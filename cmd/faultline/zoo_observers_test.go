package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// lateTrace is a run of a breaker with one probe, which is let through at 1s and ends at 1.5s,
// and with one late result at an instant. Calls follow every 10ms; let through are those that
// are sent at and after another instant.
func lateTrace(kind string, late, admitted time.Duration) *trace.Trace {
	t, phase := &trace.Trace{}, "late-"+kind
	call := func(in string, n int, at time.Duration, reached bool, took time.Duration) {
		c := trace.Call{ID: fmt.Sprintf("%s-%s/%d", phase, in, n), Phase: phase + "-" + in, Send: at, End: at + took, Status: 200}
		t.Calls = append(t.Calls, c)
		if reached {
			t.Attempts = append(t.Attempts, trace.Attempt{
				ID: c.ID, Injector: "dependency", Arr: at, Dep: at + took, Abandon: trace.None, Outcome: trace.OutcomeAnswered,
			})
		}
	}
	const ms = time.Millisecond
	call("calls", 0, 0, true, late)
	call("trip", 0, 100*ms, false, ms)
	call("probes", 0, time.Second, true, 500*ms)
	for n := 1; n < 90; n++ {
		at := time.Second + time.Duration(n)*10*ms
		call("probes", n, at, at >= admitted, ms)
	}
	return t
}

// TestLateVisit plays what breakers make of late results, and runs that do not tell.
func TestLateVisit(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		kind           string
		late, admitted time.Duration
		want           string // empty: it is not decided
	}{
		{"failures", 1250 * ms, 1500 * ms, "nothing"}, // the probe's success closes
		{"failures", 1250 * ms, 9000 * ms, "decide"},
		{"successes", 1250 * ms, 1500 * ms, "nothing"},
		{"successes", 1250 * ms, 1250 * ms, "decide"},
		{"failures", 1250 * ms, 1600 * ms, ""}, // let through at some time after: by what, nobody knows
		{"failures", 900 * ms, 1500 * ms, ""},  // it came before the probe
		{"failures", 1490 * ms, 1500 * ms, ""}, // it came as the probe ended
	} {
		got, decided := lateVisit(lateTrace(c.kind, c.late, c.admitted), c.kind)
		if decided != (c.want != "") || decided && got != c.want {
			t.Errorf("late %s at %v, let through from %v on: %q, want %q", c.kind, c.late, c.admitted, got, c.want)
		}
	}
}

// policyTrace is a phase of calls with one attempt each, but for those that were refused.
func policyTrace(sent, took []time.Duration, reached func(n int) bool) *trace.Trace {
	t := &trace.Trace{Phases: []trace.Phase{{Name: "policy"}}}
	for n, at := range sent {
		c := trace.Call{ID: fmt.Sprintf("policy/%d", n), Phase: "policy", Send: at, End: at + took[n%len(took)], Status: 200}
		t.Calls = append(t.Calls, c)
		if reached(n) {
			t.Attempts = append(t.Attempts, trace.Attempt{
				ID: c.ID, Injector: "dependency", Arr: at, Dep: c.End, Abandon: trace.None, Outcome: trace.OutcomeAnswered,
			})
		}
	}
	return t
}

// TestPolicyObservers plays policies that do what is declared, and such that do not.
func TestPolicyObservers(t *testing.T) {
	const ms = time.Millisecond
	var every10 []time.Duration
	for n := range 300 {
		every10 = append(every10, time.Duration(n)*10*ms)
	}
	inCycle := func(most int) func(int) bool { return func(n int) bool { return n%50 < most } }
	for _, c := range []struct {
		name  string
		p     declaredPolicy
		trace *trace.Trace
		wrong bool
	}{
		{"rate as declared", declaredPolicy{kind: "rate", max: 5, wait: 500 * ms}, policyTrace(every10, []time.Duration{ms}, inCycle(5)), false},
		{"one more in a cycle", declaredPolicy{kind: "rate", max: 5, wait: 500 * ms}, policyTrace(every10, []time.Duration{ms}, inCycle(6)), true},
		{"two at a time", declaredPolicy{kind: "concurrency", max: 2}, policyTrace(every10, []time.Duration{15 * ms}, inCycle(20)), false},
		{"three at a time", declaredPolicy{kind: "concurrency", max: 2}, policyTrace(every10, []time.Duration{25 * ms}, inCycle(20)), true},
		{"answered at the limit", declaredPolicy{kind: "time_limit", wait: 300 * ms}, policyTrace(every10, []time.Duration{305 * ms}, inCycle(50)), false},
		{"answered when the dependency did", declaredPolicy{kind: "time_limit", wait: 300 * ms}, policyTrace(every10, []time.Duration{900 * ms}, inCycle(50)), true},
		{"one attempt", declaredPolicy{kind: "retry", attempts: 2}, policyTrace(every10, []time.Duration{ms}, inCycle(50)), true},
	} {
		if got := c.p.observe(c.trace); got.wrong != c.wrong || !c.wrong && got.open {
			t.Errorf("%s: %+v, want wrong to be %v", c.name, got, c.wrong)
		}
	}
}
