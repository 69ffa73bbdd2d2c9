package predict

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// Who asks for faults by headers is told that nothing of it is foreseen, or that nobody follows.
func TestAskingIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		follows bool
		header  string
		want    string
	}{
		{true, "X-Envoy-Fault-Abort-Request", "not foreseen"},
		{false, "x-envoy-fault-delay-request", "no injector follows"},
		{true, "X-Envoy-Other", ""},
	} {
		plan := &experiments.Plan{
			Injectors: []experiments.Injector{{Name: "a"}, {Name: "b", EnvoyHeaders: c.follows}},
			Targets:   []match.Target{{Name: "pay", Headers: map[string]string{c.header: "5"}}},
		}
		var text string
		for _, w := range asking(plan) {
			text += w.What + w.Remedy
		}
		if c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %q", c, text)
		}
	}
}
