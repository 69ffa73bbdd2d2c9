package predict_test

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments/predict"
)

// Whether a call counts that ended as its client left is not declared: a right service that lets
// go of it, and tells its breaker nothing, is not failed for staying closed.
func TestCallsThatEndWithTheirClients(t *testing.T) {
	src := strings.NewReplacer(
		"window: 1000, minimum_calls: 1000", "window: 10, minimum_calls: 10",
		"faults: [{ hang: true }]", "faults: [{ ratio: 80%, hang: true }]",
		"\nassert:", "\nassert:\n  - { id: opens, breaker.opens: payments, phase: hang, within: 1500ms }",
	).Replace(read(t, "../cancel.yaml"))
	if a := about(t, forecast(t, src), "opens"); a.Can != predict.CannotDecide {
		t.Errorf("it cancels: %s: %s, %s", a.Can, a.Observed, a.Reason)
	}
}
