package calibrate

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
)

// TestTheReferenceServiceHasTheSameDefects carries out one of the experiments that catch a
// mutant with the real load, the real injectors and the real reference service, over a network
// in this process: what the forecast plays and what the service does are the same defect.
func TestTheReferenceServiceHasTheSameDefects(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	by := catchers(t)
	for _, m := range mutant.All() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			var tried []string
			for _, by := range by[m.Name] {
				name, id, _ := strings.Cut(by, "/")
				x := all[slices.IndexFunc(all, func(x *experiment) bool { return x.name == name })]
				v := carried(t, &look{at: x, with: m, seed: 1}, id)
				if v.Result == assert.Fail {
					return
				}
				tried = append(tried, by+": "+string(v.Result)+", "+v.Observed+": "+v.Reason)
			}
			t.Errorf("it is not caught by\n%s", strings.Join(tried, "\n"))
		})
	}
}

// catchers are the assertions that caught each mutant in virtual time, as the golden has them.
func catchers(t *testing.T) map[string][]string {
	t.Helper()
	golden, err := os.ReadFile("testdata/matrix.txt")
	if err != nil {
		t.Fatal(err)
	}
	by, name := map[string][]string{}, ""
	for line := range strings.Lines(string(golden)) {
		if id, ok := strings.CutPrefix(line, "  "); ok {
			by[name] = append(by[name], strings.TrimSpace(id))
		} else {
			name, _, _ = strings.Cut(line, ":")
		}
	}
	for _, m := range mutant.All() {
		if m.Needs.Paging {
			by[m.Name] = []string{"scenario-paging/continuous"}
		}
	}
	return by
}

// carried is the verdict on one assertion in a bubble.
func carried(t *testing.T, l *look, id string) assert.Verdict {
	t.Helper()
	var vs []assert.Verdict
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		var err error
		if vs, err = overNetwork(t.Context(), l, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext}); err != nil {
			t.Fatal(err)
		}
	})
	i := slices.IndexFunc(vs, func(v assert.Verdict) bool { return v.ID == id })
	if i < 0 {
		t.Fatalf("there is no verdict of %s", id)
	}
	return vs[i]
}
