package assert

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// slowAnswers is a second of answers that take d each, on a machine of which
// something waited for a CPU for a share of the time.
func slowAnswers(d time.Duration, waited string) *trace.Trace {
	t := &trace.Trace{Phases: []trace.Phase{{Name: "outage", To: 4 * time.Second, Measure: true, OpenLoop: true, Planned: 100, Sent: 100}}}
	for i := range 100 {
		at := time.Duration(i) * 10 * time.Millisecond
		t.Calls = append(t.Calls, trace.Call{
			ID: "outage/" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Phase: "outage", Target: "browse",
			Sched: at, Send: at, First: at + d, End: at + d, Status: 200, Class: match.Unclassified,
		})
	}
	for at := 250 * time.Millisecond; at <= 4*time.Second && waited != ""; at += 250 * time.Millisecond {
		t.Marks = append(t.Marks, trace.Mark{At: at, Dur: 250 * time.Millisecond, Kind: trace.MarkPressure, Text: waited})
	}
	return t
}

// TestStarvedSUTIsNotBlamed: rejected calls took 400 ms on a machine with twenty
// processes on two CPUs, and a right service was failed for it.
func TestStarvedSUTIsNotBlamed(t *testing.T) {
	const ms = time.Millisecond
	spec := Spec{
		Targets:    []match.Target{{Name: "browse"}},
		Phases:     []Phase{{Name: "outage", Measure: true}},
		Integrity:  DefaultIntegrity(),
		Assertions: []Assertion{{ID: "fast", Phase: "outage", Rule: Latency{Subject: SubjectAll, Bounds: []QuantileBound{{Quantile: 0.99, Max: 100 * ms}}}}},
	}
	for name, tc := range map[string]struct {
		took   time.Duration
		waited string
		want   Result
	}{
		"a free machine":               {400 * ms, "", Fail},
		"some pressure":                {400 * ms, "0.40", Fail},
		"a crowded machine":            {400 * ms, "0.90", Inconclusive},
		"slower than it can make it":   {1500 * ms, "0.90", Fail},
		"a bound that was kept anyway": {50 * ms, "0.90", Pass},
	} {
		rep := Evaluate(spec, slowAnswers(tc.took, tc.waited))
		v := rep.Verdicts[0]
		if v.Result != tc.want {
			t.Errorf("%s: %s: %s %s", name, v.Result, v.Observed, v.Reason)
		}
		for _, c := range rep.Integrity {
			if c.Name == checkPressure && c.OK == (tc.want == Inconclusive) {
				t.Errorf("%s: cpu_pressure ok is %t", name, c.OK)
			}
		}
	}
}
