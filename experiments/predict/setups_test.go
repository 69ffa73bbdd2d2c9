package predict_test

import (
	"os"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// read reads a file of the repository.
func read(t testing.TB, file string) string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// quickstart is the first experiment with pieces replaced, from and to in turn.
func quickstart(t testing.TB, swaps ...string) string {
	t.Helper()
	src := read(t, "../quickstart.yaml")
	for i := 0; i < len(swaps); i += 2 {
		changed := strings.Replace(src, swaps[i], swaps[i+1], 1)
		if changed == src {
			t.Fatalf("the quickstart has no %q", swaps[i])
		}
		src = changed
	}
	return src
}

// load compiles an experiment.
func load(t testing.TB, src string) *experiments.Plan {
	t.Helper()
	plan, err := experiments.LoadPlan("test.yaml", []byte(src), 1)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// forecast predicts an experiment.
func forecast(t testing.TB, src string) *predict.Forecast {
	t.Helper()
	f, err := predict.Of(load(t, src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// about finds what is said of an assertion.
func about(t testing.TB, f *predict.Forecast, id string) predict.Assertion {
	t.Helper()
	for _, a := range f.Assertions {
		if a.ID == id {
			return a
		}
	}
	t.Fatalf("nothing is said of %s", id)
	return predict.Assertion{}
}

// undecided names the assertions that cannot be decided both ways, with what is
// said of them.
func undecided(f *predict.Forecast) map[string]predict.Can {
	out := map[string]predict.Can{}
	for _, a := range f.Assertions {
		if a.Can != predict.CanDecide {
			out[a.ID] = a.Can
		}
	}
	return out
}
