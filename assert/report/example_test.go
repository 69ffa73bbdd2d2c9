package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
)

// What a run came to, as a person reads it.
func ExampleWriteText() {
	judged := assert.Report{Verdicts: []assert.Verdict{
		{ID: "trips", Kind: "breaker.opens", Phase: "outage", Result: assert.Pass, Expected: "opens at outcome 10", Observed: "opened at outcome 10", Margin: "exact"},
		{ID: "no-leak", Kind: "breaker.leak", Phase: "outage", Result: assert.Fail, Expected: "at most 0 admissions while open", Observed: "3 admitted and 97 rejected while open"},
	}}
	s := report.Summary{Experiment: "checkout", Seed: 1, Duration: 4 * time.Second, Assertions: judged.Verdicts}
	s.Verdict, s.ExitCode = report.Conclude(judged, report.EndComplete, report.PolicyFail)
	if err := report.WriteText(os.Stdout, s, report.TextOptions{Width: 80, Quiet: true}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// checkout: seed 1, 4s
	//
	// FAIL  no-leak
	//   rule        breaker.leak, phase outage
	//   expected    at most 0 admissions while open
	//   observed    3 admitted and 97 rejected while open
	//
	// FAIL  checkout: 1 of 2 passed, 1 failed (no-leak) (exit 1)
}
