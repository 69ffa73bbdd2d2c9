package predict_test

import (
	"os"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// A minute at 200/s with every rule of the quickstart: what a person waits for.
func BenchmarkMinute(b *testing.B) {
	src, err := os.ReadFile("../quickstart.yaml")
	if err != nil {
		b.Fatal(err)
	}
	long := strings.NewReplacer("duration: 400ms", "duration: 15s", "duration: 1s", "duration: 15s", "duration: 700ms", "duration: 15s", "duration: 800ms", "duration: 15s").Replace(string(src))
	plan, err := experiments.LoadPlan("quickstart.yaml", []byte(long), 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := predict.Of(plan); err != nil {
			b.Fatal(err)
		}
	}
}
