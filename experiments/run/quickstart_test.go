package run_test

import (
	"os"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
)

// TestQuickstartNamesEveryDefect changes one number of the quickstart's service
// at a time, as its comment invites the reader to.
func TestQuickstartNamesEveryDefect(t *testing.T) {
	src, err := os.ReadFile("../quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ from, to, fails string }{
		"as it is":        {},
		"permitted 10":    {"permitted_calls: 3", "permitted_calls: 10", "three-probes"},
		"permitted 2":     {"permitted_calls: 3", "permitted_calls: 2", "three-probes"},
		"waits too long":  {"wait: 400ms", "wait: 800ms", "waits-400ms"},
		"waits too short": {"wait: 400ms", "wait: 200ms", "waits-400ms"},
		"rate 90 %":       {"failure_rate: 50%", "failure_rate: 90%", "trips"},
		"window 100":      {"window: 10, minimum_calls: 10", "window: 100, minimum_calls: 100", "trips"},
		"no fallback":     {"    fallback: { status: 200, body: '{\"state\":\"QUEUED\"}' }\n", "", "fallback"},
	} {
		t.Run(name, func(t *testing.T) {
			// The service comes first in the file; what the breaker is declared to be stays.
			changed := strings.Replace(string(src), c.from, c.to, 1)
			if c.from != "" && changed == string(src) {
				t.Fatalf("the quickstart has no %q", c.from)
			}
			out := inBubble(t, changed, nil)
			if out.err != nil {
				t.Fatal(out.err)
			}
			for _, v := range out.report.Verdicts {
				switch {
				case v.ID == c.fails && v.Result != assert.Fail, v.ID != c.fails && v.Result == assert.Fail:
					t.Errorf("%s is %s", v.ID, v.Result)
				case c.fails == "" && v.Result != assert.Pass:
					t.Errorf("%s is %s", v.ID, v.Result)
				}
			}
			if t.Failed() {
				out.log(t)
			}
		})
	}
}
