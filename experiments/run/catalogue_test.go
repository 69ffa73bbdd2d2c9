package run_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
)

// TestCatalogue carries out every experiment of the catalogue against its right
// service, which passes, and each wrong twin that its comment names, which fails at
// the assertion that the comment names: "# ID fails with --set PATH=VALUE".
func TestCatalogue(t *testing.T) {
	files, err := filepath.Glob("../*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d experiments, %v", len(files), err)
	}
	twin := regexp.MustCompile(`(?m)^#\s+([a-z0-9-]+) fails with (--set .*)$`)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			for _, v := range judged(t, file, src).Verdicts {
				if v.Result != assert.Pass {
					t.Errorf("%s is %s: expected %s, observed %s: %s", v.ID, v.Result, v.Expected, v.Observed, v.Reason)
				}
			}
		})
		twins := twin.FindAllStringSubmatch(string(src), -1)
		if len(twins) == 0 && name != "quickstart" { // Its mutations are TestQuickstart's.
			t.Errorf("%s names no wrong twin", name)
		}
		for _, m := range twins {
			t.Run(name+" "+m[2], func(t *testing.T) {
				vs := judged(t, file, src, settings(m[2])...).Verdicts
				i := slices.IndexFunc(vs, func(v assert.Verdict) bool { return v.ID == m[1] })
				if i < 0 {
					t.Fatalf("there is no assertion %s", m[1])
				}
				if v := vs[i]; v.Result != assert.Fail {
					t.Errorf("%s is %s: observed %s: %s", v.ID, v.Result, v.Observed, v.Reason)
				}
			})
		}
	}
}

// settings are the values of --set on a command line without a double quote.
func settings(line string) []string {
	var sets []string
	for _, m := range regexp.MustCompile(`--set (?:'([^']*)'|(\S+))`).FindAllStringSubmatch(line, -1) {
		sets = append(sets, m[1]+m[2])
	}
	return sets
}

// judged carries an experiment out in virtual time.
func judged(t *testing.T, file string, src []byte, sets ...string) assert.Report {
	t.Helper()
	plan, err := experiments.LoadPlan(file, src, 1, sets...)
	if err != nil {
		t.Fatal(err)
	}
	var rep assert.Report
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		res, err := run.Run(t.Context(), plan, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		rep = assert.Evaluate(plan.Spec(), res.Trace)
	})
	return rep
}
