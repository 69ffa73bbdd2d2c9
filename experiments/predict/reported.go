package predict

import "github.com/faultline-go/faultline/assert"

// selfReported reports whether a rule compares calls with what the service says of itself,
// which nothing declares before it says it.
func selfReported(r assert.Rule) bool {
	switch r.(type) {
	case assert.ReportedStateAgrees, assert.MetricAgrees, assert.FallbackStaleness:
		return true
	}
	return false
}
