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

// twin is a service that is wrong, by settings that change an experiment, and the assertion that
// fails for it.
type twin struct {
	fails string
	sets  []string
}

// listed is an experiment of the catalogue with its wrong twins, which its comment names:
// "# ID fails with --set PATH=VALUE".
type listed struct {
	name, file string
	src        []byte
	twins      []twin
}

func catalogue(t *testing.T) []listed {
	t.Helper()
	files, err := filepath.Glob("../*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d experiments, %v", len(files), err)
	}
	wrong := regexp.MustCompile(`(?m)^#\s+([a-z0-9-]+) fails with (--set .*)$`)
	out := make([]listed, 0, len(files))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		l := listed{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), file: file, src: src}
		for _, m := range wrong.FindAllStringSubmatch(string(src), -1) {
			l.twins = append(l.twins, twin{fails: m[1], sets: settings(m[2])})
		}
		if len(l.twins) == 0 && l.name != "quickstart" { // Its mutations are TestQuickstart's.
			t.Errorf("%s names no wrong twin", l.name)
		}
		out = append(out, l)
	}
	return out
}

// TestCatalogue carries out every experiment of the catalogue against its right service, which
// passes, and each wrong twin, which fails at the assertion that is named with it.
func TestCatalogue(t *testing.T) {
	for _, l := range catalogue(t) {
		t.Run(l.name, func(t *testing.T) {
			for _, v := range judged(t, l, 1).Verdicts {
				if v.Result != assert.Pass {
					t.Errorf("%s is %s: expected %s, observed %s: %s", v.ID, v.Result, v.Expected, v.Observed, v.Reason)
				}
			}
		})
		for _, w := range l.twins {
			t.Run(l.name+" "+strings.Join(w.sets, " "), func(t *testing.T) {
				if v := w.verdict(t, judged(t, l, 1, w.sets...)); v.Result != assert.Fail {
					t.Errorf("%s is %s: observed %s: %s", v.ID, v.Result, v.Observed, v.Reason)
				}
			})
		}
	}
}

// verdict is the one that should be fail.
func (w twin) verdict(t *testing.T, rep assert.Report) assert.Verdict {
	t.Helper()
	i := slices.IndexFunc(rep.Verdicts, func(v assert.Verdict) bool { return v.ID == w.fails })
	if i < 0 {
		t.Fatalf("there is no assertion %s", w.fails)
	}
	return rep.Verdicts[i]
}

// TestCatalogueManyTimes carries the catalogue out again and again, spread evenly over its right
// services and their wrong twins, each time with another seed: no verdict is ever wrong. With
// FAULTLINE_DEEP=1 it does so a thousand times.
func TestCatalogueManyTimes(t *testing.T) {
	type job struct {
		listed
		twin twin
	}
	var jobs []job
	for _, l := range catalogue(t) {
		jobs = append(jobs, job{listed: l})
		for _, w := range l.twins {
			jobs = append(jobs, job{l, w})
		}
	}
	runs := 20
	if deep() {
		runs = 1000
	}
	var right, wrong, undecided, verdicts int
	for n := range runs {
		seed := uint64(n + 2)
		j := jobs[(n*len(jobs)/min(runs, len(jobs)))%len(jobs)]
		rep := judged(t, j.listed, seed, j.twin.sets...)
		if j.twin.fails != "" {
			wrong++
			verdicts++
			switch v := j.twin.verdict(t, rep); v.Result {
			case assert.Fail:
			case assert.Pass:
				t.Errorf("seed %d, %s %q: %s passes: observed %s", seed, j.name, j.twin.sets, v.ID, v.Observed)
			default:
				undecided++
				t.Logf("seed %d, %s %q: %s is %s: %s", seed, j.name, j.twin.sets, v.ID, v.Result, v.Reason)
			}
			continue
		}
		right++
		for _, v := range rep.Verdicts {
			verdicts++
			switch v.Result {
			case assert.Pass:
			case assert.Fail:
				t.Errorf("seed %d, %s: %s fails: expected %s, observed %s", seed, j.name, v.ID, v.Expected, v.Observed)
			default:
				undecided++
				t.Logf("seed %d, %s: %s is %s: %s", seed, j.name, v.ID, v.Result, v.Reason)
			}
		}
	}
	t.Logf("%d runs of %d right services and wrong twins in virtual time (%d right, %d wrong): %d verdicts looked at, %d undecided",
		runs, len(jobs), right, wrong, verdicts, undecided)
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
func judged(t *testing.T, l listed, seed uint64, sets ...string) assert.Report {
	t.Helper()
	plan, err := experiments.LoadPlan(l.file, l.src, seed, sets...)
	if err != nil {
		t.Fatal(err)
	}
	var rep assert.Report
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(seed)
		res, err := run.Run(t.Context(), plan, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		rep = assert.Evaluate(plan.Spec(), res.Trace)
	})
	return rep
}
