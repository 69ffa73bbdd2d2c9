package assert

import (
	"strconv"
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

// A service without a timeout is one on a crowded machine too: that the end of the
// fault cut some attempts off early does not make the others any shorter.
func TestCrowdDoesNotExcuseAMissingTimeout(t *testing.T) {
	const ms = time.Millisecond
	spec := Spec{
		Targets:    []match.Target{{Name: "browse", DependsOn: []string{"stock"}}},
		Phases:     []Phase{{Name: "hang", Measure: true}},
		Integrity:  DefaultIntegrity(),
		Assertions: []Assertion{{ID: "gives-up", Phase: "hang", Rule: AbandonedAfter{Injector: "stock", Equals: time.Second, Tolerance: 0.1}}},
	}
	for name, tc := range map[string]struct {
		hang time.Duration // how long the fault lasts
		want Result
	}{
		"kept for far longer than a crowd can make it": {3 * time.Second, Fail},
		"kept for no longer than a crowd can make it":  {1900 * ms, Inconclusive},
	} {
		tr := &trace.Trace{Phases: []trace.Phase{{Name: "hang", To: tc.hang, Measure: true, OpenLoop: true, Planned: 20, Sent: 20}}}
		for i := range 20 {
			at, id := time.Duration(i)*tc.hang/20, "hang/"+strconv.Itoa(i)
			tr.Calls = append(tr.Calls, trace.Call{ID: id, Phase: "hang", Target: "browse", Sched: at, Send: at, First: trace.None, End: tc.hang + ms, Err: trace.ErrEOF})
			tr.Attempts = append(tr.Attempts, trace.Attempt{
				Seq: i + 1, Injector: "stock", ID: id, By: match.Traceparent, Phase: "hang", Rule: "hang/1",
				Arr: at + ms, Dep: tc.hang, Abandon: trace.None, Outcome: trace.OutcomeHang,
			})
		}
		for at := 250 * ms; at <= tc.hang; at += 250 * ms {
			tr.Marks = append(tr.Marks, trace.Mark{At: at, Dur: 250 * ms, Kind: trace.MarkPressure, Text: "0.90"})
		}
		if v := Evaluate(spec, tr).Verdicts[0]; v.Result != tc.want {
			t.Errorf("%s: %s: %s, %s", name, v.Result, v.Observed, v.Reason)
		}
	}
}
