package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
)

// TestDefectsAreKnown holds the words that an experiment may use to what the
// reference service can do.
func TestDefectsAreKnown(t *testing.T) {
	var can []string
	for _, d := range proxy.Defects() {
		can = append(can, string(d))
	}
	if diff := cmp.Diff(can, experiments.Defects()); diff != "" {
		t.Errorf("of the service (-) and of experiments (+):\n%s", diff)
	}
}
