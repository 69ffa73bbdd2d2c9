package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert/report"
)

// zooCase is one system of the zoo, in one configuration, and what faultline
// has to say of it.
type zooCase struct {
	name     string
	profile  string
	exitCode int
	fails    string // the one assertion that fails; empty: all pass
}

// TestZooSpring judges the Spring Boot service with Resilience4j. On a machine
// that was too slow to tell, an assertion may be inconclusive; no verdict may be
// wrong, and the one that names the defect must be there.
func TestZooSpring(t *testing.T) {
	dir := zoo(t, "spring-resilience4j")
	runIn(t, dir, "mvn", "-q", "-B", "-DskipTests", "package")
	bin, experiment := build(t), filepath.Join(dir, "experiment.yaml")
	for _, c := range []zooCase{
		{name: "good", profile: "good"},
		{name: "permitted 10", profile: "permitted-10", exitCode: report.ExitFail, fails: "three-probes"},
		{name: "minimum left at its default", profile: "minimum-default", exitCode: report.ExitFail, fails: "trips"},
		{name: "fallback with a wrong signature", profile: "fallback-signature", exitCode: report.ExitFail, fails: "fallback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("FAULTLINE_DEEP") == "1" {
				c.deep(t, bin, experiment)
				return
			}
			// A machine that stalls may leave something undecided; a wrong verdict
			// fails the test at once.
			for range 3 {
				if c.judge(t, bin, experiment) || t.Failed() {
					return
				}
			}
			t.Error("three runs left something undecided")
		})
	}
}

// deep runs an experiment 20 times: all verdicts right, at most one undecided.
func (c zooCase) deep(t *testing.T, bin, experiment string) {
	t.Helper()
	const runs = 20
	undecided := 0
	for range runs {
		if !c.judge(t, bin, experiment) {
			undecided++
		}
	}
	t.Logf("%d of %d runs were decided in full", runs-undecided, runs)
	if undecided > 1 {
		t.Errorf("%d of %d runs left something undecided", undecided, runs)
	}
}

// judge runs an experiment once and checks its verdicts; it reports whether all
// were decided.
func (c zooCase) judge(t *testing.T, bin, experiment string) (decided bool) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), bin, "run", experiment, "--out", out)
	cmd.Env = append(os.Environ(), "SPRING_PROFILES_ACTIVE="+c.profile)
	text, err := cmd.CombinedOutput()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	got := readVerdicts(t, filepath.Join(out, "verdicts.json"))
	decided = true
	for _, a := range got.Assertions {
		want := "pass"
		if a.ID == c.fails {
			want = "fail"
		}
		switch {
		case a.Verdict == want, a.Verdict == "skipped" && a.BlockedBy == c.fails:
		case a.Verdict == "inconclusive":
			decided = false
		default:
			t.Errorf("%s: %s is %s, want %s\n%s", c.name, a.ID, a.Verdict, want, text)
		}
	}
	if decided && code != c.exitCode {
		t.Errorf("%s: exit code %d, want %d\n%s", c.name, code, c.exitCode, text)
	}
	if !decided {
		t.Logf("%s: not all decided\n%s", c.name, text)
	}
	return decided
}

// verdicts is what this test reads of verdicts.json.
type verdicts struct {
	Assertions []struct {
		ID        string `json:"id"`
		Verdict   string `json:"verdict"`
		BlockedBy string `json:"blocked_by"`
	} `json:"assertions"`
}

func readVerdicts(t *testing.T, path string) verdicts {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v verdicts
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Assertions) == 0 {
		t.Fatalf("%s holds no verdict", path)
	}
	return v
}

// zoo returns the folder of a system of the zoo. These tests need more than Go:
// without FAULTLINE_ZOO=1 they are skipped, with it a missing tool fails them.
func zoo(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real systems are judged with FAULTLINE_ZOO=1")
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", name))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build compiles the command, since `go run` hides exit codes.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "faultline")
	runIn(t, ".", "go", "build", "-o", bin, ".")
	return bin
}

// runIn runs a tool that has to succeed.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
