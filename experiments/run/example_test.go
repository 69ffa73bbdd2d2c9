package run_test

import (
	"context"
	"fmt"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
)

// Load, run, judge: what the command does. Options.Listen and Options.Dial put the
// same run into virtual time, see target/memnet.
func ExampleRun() {
	plan, err := experiments.LoadPlan("checkout.yaml", []byte(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: checkout }
sut: { reference: { breaker: { window: 10, minimum_calls: 5 } } }
injectors: { payments: { stub: { status: 200 } } }
load: { targets: [{ name: checkout, path: /checkout }] }
breakers: { payments: { window: 10, minimum_calls: 5 } }
phases:
  - name: outage
    load: { calls: 20, until: open }
    faults: [{ respond: { status: 503 } }]
assert:
  - { id: opens, breaker.opens: payments, phase: outage, within_calls: 5 }
`), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := run.Run(context.Background(), plan, run.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range assert.Evaluate(plan.Spec(), result.Trace).Verdicts {
		fmt.Println(v.ID, v.Result)
	}
	// Output: opens pass
}
