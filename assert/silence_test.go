package assert

import (
	"fmt"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// TestSilenceIsNoAnswer: a service that answers nobody serves no fallback, and no
// rule that allows few of them passes for that.
func TestSilenceIsNoAnswer(t *testing.T) {
	none := 0.0
	tr := &trace.Trace{Phases: []trace.Phase{{Name: "quiet", To: 10 * time.Second, Measure: true, OpenLoop: true, Planned: 40, Sent: 40}}}
	for i := range 40 {
		at := time.Duration(i) * 100 * time.Millisecond
		tr.Calls = append(tr.Calls, trace.Call{
			ID: fmt.Sprintf("quiet/%d", i), Phase: "quiet", Target: "pay", Sched: at, Send: at, First: trace.None, End: at + time.Second, Err: trace.ErrTimeout,
		})
		tr.Attempts = append(tr.Attempts, trace.Attempt{
			Seq: i + 1, Injector: "dep", ID: fmt.Sprintf("quiet/%d", i), Phase: "quiet",
			Arr: at + time.Millisecond, Dep: trace.None, Abandon: at + time.Second, Outcome: trace.OutcomeHang,
		})
	}
	spec := Spec{
		Targets:   []match.Target{{Name: "pay", DependsOn: []string{"dep"}}},
		Classes:   match.Classes{{Name: match.ClassFallback, Contains: []string{"QUEUED"}}},
		Breakers:  []Breaker{{Name: "dep", Injector: "dep", Targets: []string{"pay"}}},
		Phases:    []Phase{{Name: "quiet", Measure: true}},
		Integrity: DefaultIntegrity(),
		Assertions: []Assertion{
			{ID: "a", Phase: "quiet", Rule: FallbackShare{Breaker: "dep", Max: &none, Of: []CallSet{SetAll}}},
			{ID: "b", Phase: "quiet", Rule: Share{Subject: match.ClassFallback, Max: &none}},
			{ID: "c", Phase: "quiet", Rule: FallbackForbidden{}},
		},
	}
	for _, v := range Evaluate(spec, tr).Verdicts {
		if v.Result != Inconclusive {
			t.Errorf("%s is %s: %s", v.Kind, v.Result, v.Observed)
		}
	}
	if v := Evaluate(spec, tr).Verdicts[0]; v.Reason == "" || v.Remedy == "" {
		t.Errorf("%+v", v)
	}
}
