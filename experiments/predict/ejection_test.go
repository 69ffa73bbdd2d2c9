package predict_test

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments/predict"
)

// ejecting is the scenario with pieces replaced, from and to in turn.
func ejecting(t *testing.T, swaps ...string) string {
	t.Helper()
	src := read(t, "../scenario-ejection.yaml")
	for i := 0; i < len(swaps); i += 2 {
		changed := strings.Replace(src, swaps[i], swaps[i+1], 1)
		if changed == src {
			t.Fatalf("the scenario has no %q", swaps[i])
		}
		src = changed
	}
	return src
}

// Of a proxy whose inside is not known it is not told for how long it ejects a host: that is
// said of each assertion, and none is called decided, or not to be.
func TestEjectionsAreNotPredicted(t *testing.T) {
	f := forecast(t, ejecting(t, `sut:
  reference:
    ejection: { after: 5, base: 1s, max: 10s, tick: 300ms, max_ejected: 100% }
    timeout: 5s
`, `sut: { base_url: "http://127.0.0.1:8080" }
`, "payments: { stub", `payments: { listen: "127.0.0.1:9901", stub`))
	for _, a := range f.Assertions {
		if a.Can != predict.NotPredicted || !strings.Contains(a.Reason, "ejects a host") || a.Remedy != "run it" {
			t.Errorf("%s: %s: %s; %s", a.ID, a.Can, a.Reason, a.Remedy)
		}
	}
}

// Of faultline's own service it is told, and where the load is too weak for it.
func TestEjectionsArePredicted(t *testing.T) {
	for name, c := range map[string]struct {
		swaps    []string
		id       string
		can      predict.Can
		notices  string
		misses   string
		timeline bool
	}{
		"as it is":                {id: "grows", can: predict.CanDecide, notices: "ejects for 200ms instead of 1s at first; ejects always for as long", timeline: true},
		"failures in a row":       {id: "after-five", can: predict.CanDecide, notices: "ejects after 6 failures in a row; ejects after 4 failures in a row"},
		"probes that overlap":     {id: "all-at-once", can: predict.CanDecide, notices: "lets one call try when the host comes back"},
		"probes that do not":      {swaps: []string{", load: { rate: 400/s }", ""}, id: "all-at-once", can: predict.CannotDecide},
		"a phase that is short":   {swaps: []string{"name: outage, duration: 8s", "name: outage, duration: 2s"}, id: "grows", can: predict.CannotDecide},
		"another number declared": {swaps: []string{"breakers:\n  payments: { ejection: { after: 5 }", "breakers:\n  payments: { ejection: { after: 3 }"}, id: "after-five", can: predict.Contradicts},
	} {
		t.Run(name, func(t *testing.T) {
			f := forecast(t, ejecting(t, c.swaps...))
			a := about(t, f, c.id)
			if a.Can != c.can || !strings.Contains(a.Notices, c.notices) || a.Misses != c.misses {
				t.Errorf("%s; notices %q, misses %q: %s", a.Can, a.Notices, a.Misses, a.Reason)
			}
			if c.timeline && (len(f.Breakers) != 1 || f.Breakers[0].Segments[1].State != "EJECTED" || f.Phases[3].States[0] != "ejected; ejected 4x; ejected") {
				t.Errorf("timelines %v, states %v", f.Breakers, f.Phases[3].States)
			}
		})
	}
}
