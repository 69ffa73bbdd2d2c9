package ci_test

import (
	"fmt"
	"os"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/ci"
)

// A failed assertion is a failure in JUnit's terms; an undecided one would be an
// error.
func ExampleWriteJUnit() {
	err := ci.WriteJUnit(os.Stdout, []ci.Run{{
		Experiment: "checkout", Tool: "v1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 4 * time.Second,
		Report: assert.Report{Verdicts: []assert.Verdict{
			{ID: "no-leak", Kind: "breaker.leak", Phase: "outage", Result: assert.Fail, Expected: "at most 0 calls", Observed: "3 calls"},
		}},
	}}, ci.Options{})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <testsuites name="faultline" tests="1" failures="1" errors="0" skipped="0" time="4.000">
	//   <testsuite name="faultline.checkout" tests="1" failures="1" errors="0" skipped="0" time="4.000" timestamp="2026-01-02T03:04:05">
	//     <properties>
	//       <property name="faultline.version" value="v1"></property>
	//       <property name="faultline.seed" value="0"></property>
	//     </properties>
	//     <testcase name="no-leak" classname="faultline.checkout.outage" time="0.000">
	//       <failure message="expected at most 0 calls, observed 3 calls" type="faultline.breaker.leak"><![CDATA[
	// rule        breaker.leak
	// phase       outage
	// verdict     fail
	// expected    at most 0 calls
	// observed    3 calls
	// ]]></failure>
	//     </testcase>
	//   </testsuite>
	// </testsuites>
}
