package predict_test

import (
	"fmt"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// Twenty calls a second show when the breaker opens, but not how many probes it lets
// through: for that they must be held, and others rejected meanwhile.
func ExampleOf() {
	plan, err := experiments.LoadPlan("checkout.yaml", []byte(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: checkout }
sut: { reference: { breaker: { window: 10, minimum_calls: 5, wait: 1s, permitted_calls: 3 } } }
injectors: { payments: { stub: { status: 200 } } }
load: { rate: 20/s, targets: [{ name: checkout, path: /checkout }] }
breakers: { payments: { window: 10, minimum_calls: 5, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: outage, duration: 4s, faults: [{ respond: { status: 503 } }] }
assert:
  - { id: opens, breaker.opens: payments, phase: outage, within_calls: 5 }
  - { id: three-probes, breaker.half_open_probes: payments, phase: outage, exactly: 3 }
`), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	forecast, err := predict.Of(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range forecast.Assertions {
		fmt.Println(a.ID, a.Can)
		if a.Can != predict.CanDecide {
			fmt.Println("to do:", a.Remedy)
		}
	}
	// Output:
	// opens can be decided
	// three-probes cannot be decided
	// to do: hold the probes (faults: hold) and raise the rate of this phase
}
