package calibrate_test

import (
	"testing"

	"github.com/faultline-go/faultline/experiments/calibrate"
)

// TestEveryMutantIsCaught by a rule that names it, and no right service fails.
func TestEveryMutantIsCaught(t *testing.T) {
	r, err := calibrate.Run(t.Context(), calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Missed() {
		t.Errorf("%s (it %s) was missed by %v", d.Name, d.Says, d.MissedBy)
	}
	for _, g := range r.Good {
		if g.Verdict != calibrate.VerdictPass {
			t.Errorf("%s: %s: %s", g.Name, g.Verdict, g.Reason)
		}
	}
	if r.Total < 60 || r.Caught != r.Total || r.FalseAlarms != 0 || r.Inconclusive != 0 {
		t.Errorf("%d of %d caught, %d false alarms, %d inconclusive", r.Caught, r.Total, r.FalseAlarms, r.Inconclusive)
	}
}
