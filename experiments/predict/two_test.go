package predict_test

import (
	"testing"

	"github.com/faultline-go/faultline/experiments/predict"
)

// Two breakers before one dependency, told apart by their targets: the attempts of one are
// not lost to the other.
func TestTwoBreakersAtOneInjector(t *testing.T) {
	const breaker = "window: 5, minimum_calls: 5, failure_rate: 100%, wait: 1500ms, permitted_calls: 1"
	f := forecast(t, `apiVersion: faultline/v1
kind: Experiment
metadata: { name: two }
sut:
  reference:
    breaker: { `+breaker+` }
    routes: [{ path: /stock, injector: dep, breaker: { `+breaker+` } }]
injectors: { dep: { stub: { status: 200, body: ok } } }
load: { rate: 20/s, targets: [{ name: price, path: /price }, { name: stock, path: /stock }] }
breakers:
  price: { target: price, `+breaker+` }
  stock: { target: stock, `+breaker+` }
phases:
  - { name: ok, duration: 2s }
  - { name: outage, duration: 5s, faults: [ { respond: { status: 503 } } ] }
assert:
  - { id: opens, breaker.opens: price, phase: outage, within_calls: 5 }
  - { id: leak, breaker.leak: price, phase: outage }
  - { id: opens-stock, breaker.opens: stock, phase: outage, within_calls: 5 }
`)
	for _, a := range f.Assertions {
		if a.Can != predict.CanDecide {
			t.Errorf("%s: %s: %s", a.ID, a.Can, a.Reason)
		}
	}
}
