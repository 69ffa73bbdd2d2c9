package calibrate_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/experiments/calibrate"
)

// TestEveryMutantIsCaught by a rule that names it, and no right service fails.
func TestEveryMutantIsCaught(t *testing.T) {
	from := time.Now()
	r, err := calibrate.Run(t.Context(), calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d caught, %d false alarms, %d inconclusive, in %v", r.Caught, r.Total, r.FalseAlarms, r.Inconclusive, time.Since(from))
	for _, d := range r.Mutants {
		if !d.Caught {
			t.Errorf("%s (%s) was missed by %v", d.Name, d.Says, d.MissedBy)
		}
	}
	for _, g := range r.Good {
		if g.Verdict != calibrate.VerdictPass {
			t.Errorf("%s: %s: %s", g.Name, g.Verdict, g.Reason)
		}
	}
}
