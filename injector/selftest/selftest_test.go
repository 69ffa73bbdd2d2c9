package selftest_test

import (
	"testing"

	"github.com/faultline-go/faultline/injector/selftest"
)

func TestEveryContractHolds(t *testing.T) {
	seen := map[string]bool{}
	err := selftest.Run(t.Context(), 1, func(r selftest.Result) {
		if !r.OK {
			t.Errorf("%s (%s): expected %s\nobserved %s", r.Fault, r.Protocol, r.Expected, r.Observed)
		}
		name := r.Protocol + ": " + r.Fault
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d contracts", len(seen))
}
