package assert_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// A trace from anywhere can be judged. Here two failing calls reach the
// dependency, and then the service answers by itself.
func ExampleEvaluate() {
	t := &trace.Trace{
		Phases: []trace.Phase{{Name: "outage", To: time.Second, Measure: true, Planned: 8, Sent: 8}},
		Marks:  []trace.Mark{{Kind: trace.MarkLaunch}}, // so the window was empty
	}
	for i := range 8 {
		sent := time.Duration(i) * 100 * time.Millisecond
		id := fmt.Sprintf("outage/%d", i)
		t.Calls = append(t.Calls, trace.Call{
			ID: id, Phase: "outage", Target: "checkout", Sched: sent, Send: sent,
			First: sent + 3*time.Millisecond, End: sent + 3*time.Millisecond, Status: 503, Class: "rejected",
		})
		if i < 2 {
			t.Attempts = append(t.Attempts, trace.Attempt{
				Seq: i + 1, Injector: "payments", ID: id, Phase: "outage", Rule: "outage/1",
				Arr: sent + time.Millisecond, Dep: sent + 2*time.Millisecond, Abandon: trace.None,
				Outcome: trace.OutcomeAnswered, Status: 503,
			})
		}
	}
	declared := breakerref.Default()
	declared.Window, declared.MinimumCalls = 4, 4
	report := assert.Evaluate(assert.Spec{
		Targets: []match.Target{{Name: "checkout", DependsOn: []string{"payments"}}},
		Breakers: []assert.Breaker{{
			Name: "payments", Injector: "payments", Targets: []string{"checkout"},
			Declared: true, Config: declared, Failure: match.DefaultFailure(),
		}},
		Phases:     []assert.Phase{{Name: "outage", Measure: true}},
		Assertions: []assert.Assertion{{ID: "opens-at-4", Phase: "outage", Rule: assert.Opens{Breaker: "payments", AtCall: 4}}},
		Integrity:  assert.DefaultIntegrity(),
	}, t)
	v := report.Verdicts[0]
	fmt.Printf("%s %s: expected %s, observed %s\n", v.ID, v.Result, v.Expected, v.Observed)
	// Output: opens-at-4 fail: expected opens at outcome 4, observed opened at outcome 2
}
