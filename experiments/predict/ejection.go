package predict

import (
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
)

// byEjection says of an assertion about what comes of a proxy that ejects a host that it is not
// foreseen, or is empty: how long an ejection lasts is the proxy's, and not declared.
func byEjection(plan *experiments.Plan, a assert.Assertion) string {
	about := breakersOf(plan, a)
	for _, b := range plan.Breakers {
		if b.Ejection != nil && slices.Contains(about, b.Name) {
			return "breaker " + b.Name + " ejects a host, and for how long is not declared"
		}
	}
	return ""
}
