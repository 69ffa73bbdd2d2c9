package predict_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// What a fault of a connection does to a call is not predicted, nor what comes after it; what
// comes before is.
func TestStreamsAreNotPredicted(t *testing.T) {
	for _, file := range []string{"tcp", "websocket"} {
		f := foreseen(t, file, "", "")
		a := f.Assertions[0]
		if a.Can != predict.NotPredicted || !strings.Contains(a.Reason, "is of connections at") {
			t.Errorf("%s: %s: %s", file, a.Can, a.Reason)
		}
		if !slices.ContainsFunc(f.Supposed, func(s string) bool { return strings.Contains(s, "is not predicted") }) {
			t.Errorf("%s: supposed is %q", file, f.Supposed)
		}
	}
	f := foreseen(t, "tcp", "phase: ends", "phase: calm")
	if a := f.Assertions[0]; a.Can == predict.NotPredicted {
		t.Errorf("before any fault: %s: %s", a.Can, a.Reason)
	}
	for _, p := range f.Phases {
		if len(p.Attempts) > 0 || (len(p.Faults) == 0) != (p.Name == "calm") {
			t.Errorf("phase %s: attempts %v, faults %v", p.Name, p.Attempts, p.Faults)
		}
	}
}

// foreseen is the forecast of one of the reader's good files, with one text for another.
func foreseen(t *testing.T, file, from, to string) *predict.Forecast {
	t.Helper()
	file = "../testdata/" + file + ".good.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := experiments.LoadPlan(file, []byte(strings.Replace(string(src), from, to, 1)), 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := predict.Of(plan)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
