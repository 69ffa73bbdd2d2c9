package predict_test

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments/predict"
)

// What comes of a proxy that ejects a host is not played beforehand: that is said of each
// assertion, and none is called decided, or not to be.
func TestEjectionsAreNotPredicted(t *testing.T) {
	f := forecast(t, read(t, "../scenario-ejection.yaml"))
	for _, a := range f.Assertions {
		if a.Can != predict.NotPredicted || !strings.Contains(a.Reason, "ejects a host") || a.Remedy != "run it" {
			t.Errorf("%s: %s: %s; %s", a.ID, a.Can, a.Reason, a.Remedy)
		}
	}
}
