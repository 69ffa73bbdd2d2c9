package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert/report"
)

// zooMember is a real system under test, in a folder of its own below
// target/zoo.
type zooMember struct {
	folder  string
	build   []string // what builds it, in its folder
	profile string   // environment variable that selects a configuration
	cases   []zooCase
}

// zooCase is one configuration of a system of the zoo, and what faultline has to
// say of it.
type zooCase struct {
	profile    string
	experiment string   // experiment.yaml if empty
	set        []string // changes to the experiment, each path=value
	fails      []string // the assertions that fail; none: all pass
	blind      bool     // nothing can be decided of it, ever,
	but        []string // except that these pass
	unclear    []string // these pass, or cannot be decided of it
}

// brief shortens what comes after the trip: of a breaker that never opens there
// is nothing more to see. more are further phases that are cut.
func brief(more ...string) []string {
	return append([]string{"phases.outage.duration=1500ms", "phases.probes.duration=1s", "phases.recovery.duration=1s"}, more...)
}

// TestZooSpring judges a Spring Boot service with Resilience4j.
func TestZooSpring(t *testing.T) {
	const rest = "phases.warm-rest.duration=100ms"
	zooMember{
		folder: "spring-resilience4j", build: []string{"mvn", "-q", "-B", "-DskipTests", "package"}, profile: "SPRING_PROFILES_ACTIVE",
		cases: []zooCase{
			{profile: "good"},
			{profile: "permitted-10", fails: []string{"three-probes"}},
			{profile: "minimum-default", fails: []string{"trips"}},
			{profile: "fallback-signature", fails: []string{"fallback"}},
			{profile: "wait-4s", fails: []string{"waits-2s"}},
			{profile: "bypass", set: brief(rest), fails: []string{"trips", "fallback"}},
			{profile: "ignore-5xx", set: brief(rest), fails: []string{"trips"}},
			{profile: "time-unreachable", set: brief(rest), fails: []string{"trips"}},
			// A cache that answers is seen to be one, so that no fallback answered while all was well.
			{profile: "cache", set: brief(rest), blind: true, but: []string{"honest"}},
			{profile: "good", experiment: "timeout.yaml"},
			{profile: "no-timeout", experiment: "timeout.yaml", fails: []string{"times-out"}},
			{profile: "good", experiment: "reported.yaml"},
			{profile: "automatic", experiment: "reported.yaml", fails: []string{"says-lazy"}},
		},
	}.judge(t)
}

// TestZooGobreaker judges a Go service with sony/gobreaker.
func TestZooGobreaker(t *testing.T) {
	zooMember{
		folder: "gobreaker", build: []string{"go", "build", "-o", "pricing", "."}, profile: "PROFILE",
		cases: []zooCase{
			{profile: "good"},
			{profile: "probes-10", fails: []string{"three-probes"}},
			{profile: "per-request", set: brief(), fails: []string{"trips"}},
			{profile: "rate-limits-only", set: brief(), fails: []string{"trips"}},
			{profile: "past", fails: []string{"no-leak"}},
			// Calls that come while it ought to be open may be leaks, but it has closed.
			{profile: "sign-of-life", fails: []string{"reopens"}, unclear: []string{"no-leak"}},
		},
	}.judge(t)
}

// TestZooOpossum judges a Node service with opossum.
func TestZooOpossum(t *testing.T) {
	zooMember{
		folder: "opossum", build: []string{"npm", "ci", "--silent"}, profile: "PROFILE",
		cases: []zooCase{
			{profile: "good"},
			{profile: "reset-2s", fails: []string{"waits-1s"}},
			{profile: "volume", set: brief(), fails: []string{"trips"}},
			{profile: "error-filter", set: brief(), fails: []string{"trips", "fallback"}},
		},
	}.judge(t)
}

// judge builds a system and judges all its configurations, one after another. On
// a machine that was too slow to tell, an assertion may be inconclusive; no
// verdict may be wrong, and the one that names the defect must be there.
//
// These tests need more than Go: without FAULTLINE_ZOO=1 they are skipped, with it
// a missing tool fails them.
func (m zooMember) judge(t *testing.T) {
	t.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real systems are judged with FAULTLINE_ZOO=1")
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", m.folder))
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, m.build...)
	bin := filepath.Join(t.TempDir(), "faultline")
	runIn(t, ".", "go", "build", "-o", bin, ".") // `go run` hides exit codes.
	deep := os.Getenv("FAULTLINE_DEEP") == "1"
	if deep {
		keepBusy(t)
	}
	for _, c := range m.cases {
		if c.experiment == "" {
			c.experiment = "experiment.yaml"
		}
		t.Run(c.profile+"/"+strings.TrimSuffix(c.experiment, ".yaml"), func(t *testing.T) {
			run := func() bool { return m.run(t, bin, dir, c) }
			if deep {
				often(t, run)
				return
			}
			// A machine that stalls may leave something undecided; a wrong verdict
			// fails the test at once.
			for range 3 {
				if run() || t.Failed() {
					return
				}
			}
			t.Error("three runs left something undecided")
		})
	}
}

// often judges a configuration 20 times: all verdicts right, at most one run with
// something undecided.
func often(t *testing.T, run func() (decided bool)) {
	t.Helper()
	const runs = 20
	undecided, began := 0, time.Now()
	for range runs {
		if !run() {
			undecided++
		}
	}
	t.Logf("%d of %d runs were decided in full, %s each", runs-undecided, runs, (time.Since(began) / runs).Round(100*time.Millisecond))
	if undecided > 1 {
		t.Errorf("%d of %d runs left something undecided", undecided, runs)
	}
}

// keepBusy lets another process take one core until the test ends.
func keepBusy(t *testing.T) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // It ends by the kill, which Wait reports as an error.
	})
}

// run judges a configuration once and checks what was said; it reports whether
// all was decided. The folder of a run that said something wrong is kept.
func (m zooMember) run(t *testing.T, bin, dir string, c zooCase) (decided bool) {
	t.Helper()
	out, err := os.MkdirTemp("", "faultline-zoo-") //nolint:usetesting // a run that said something wrong outlives the test
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", filepath.Join(dir, c.experiment), "--out", out}
	for _, s := range c.set {
		args = append(args, "--set", s)
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Env = append(os.Environ(), m.profile+"="+c.profile)
	text, err := cmd.CombinedOutput()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	wrong, decided := c.compare(readVerdicts(t, filepath.Join(out, "verdicts.json"), text), code)
	switch {
	case len(wrong) > 0:
		t.Errorf("%s\nthe run is in %s\n%s", strings.Join(wrong, "\n"), out, text)
		return decided
	case !decided:
		t.Logf("not all was decided\n%s", text)
	}
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	return decided
}

// compare tells which verdicts of a run, or its exit code, are wrong, and whether
// all was decided that can be.
func (c zooCase) compare(got verdicts, code int) (wrong []string, decided bool) {
	decided = true
	for _, a := range got.Assertions {
		want := "pass"
		switch {
		case c.blind && !slices.Contains(c.but, a.ID):
			want = "inconclusive"
		case slices.Contains(c.fails, a.ID):
			want = "fail"
		}
		switch {
		case a.Verdict == want, a.Verdict == "skipped" && slices.Contains(c.fails, a.BlockedBy):
		case a.Verdict == "inconclusive" && slices.Contains(c.unclear, a.ID):
		case a.Verdict == "inconclusive":
			decided = false
		default:
			wrong = append(wrong, a.ID+" is "+a.Verdict+", want "+want)
		}
	}
	want := report.ExitPass
	switch {
	case c.blind:
		want = report.ExitInconclusive
	case len(c.fails) > 0:
		want = report.ExitFail
	}
	if decided && code != want {
		wrong = append(wrong, "the exit code is not the one of these verdicts")
	}
	return wrong, decided
}

// verdicts is what this test reads of verdicts.json.
type verdicts struct {
	Assertions []struct {
		ID        string `json:"id"`
		Verdict   string `json:"verdict"`
		BlockedBy string `json:"blocked_by"`
	} `json:"assertions"`
}

// readVerdicts reads the verdicts of a run that printed text.
func readVerdicts(t *testing.T, path string, text []byte) verdicts {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var v verdicts
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Assertions) == 0 {
		t.Fatalf("%s holds no verdict\n%s", path, text)
	}
	return v
}

// runIn runs a tool that has to succeed.
func runIn(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}
