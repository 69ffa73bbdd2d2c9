package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// socketJob is an experiment of the catalogue and a service to carry it out against.
type socketJob struct {
	file  string
	fails string   // the assertion that names what is wrong with the service; empty: nothing is
	sets  []string // that make it so
}

// socketJobs are all right services of the catalogue and all their wrong twins, which the
// experiments' comments name.
func socketJobs(t *testing.T) []socketJob {
	t.Helper()
	files, err := filepath.Glob("../../experiments/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d experiments, %v", len(files), err)
	}
	twin := regexp.MustCompile(`(?m)^#\s+([a-z0-9-]+) fails with (--set .*)$`)
	set := regexp.MustCompile(`--set (?:'([^']*)'|(\S+))`)
	var jobs []socketJob
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, socketJob{file: file})
		for _, m := range twin.FindAllStringSubmatch(string(src), -1) {
			j := socketJob{file: file, fails: m[1]}
			for _, s := range set.FindAllStringSubmatch(m[2], -1) {
				j.sets = append(j.sets, s[1]+s[2])
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// TestCatalogueUnderLoad carries the catalogue out over real sockets while other processes keep
// both cores busy, spread evenly over right services and wrong twins: no verdict is wrong. What
// such a machine was too slow to decide is counted. With FAULTLINE_DEEP=1 there are 200 runs.
func TestCatalogueUnderLoad(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the catalogue is carried out over sockets with FAULTLINE_ZOO=1, as it takes long")
	}
	bin := filepath.Join(t.TempDir(), "faultline")
	runIn(t, ".", "go", "build", "-o", bin, ".")
	jobs, runs := socketJobs(t), 6
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		runs = 200
	}
	keepBusy(t)
	keepBusy(t)
	right, verdicts, undecided, whole := 0, 0, 0, 0
	for n := range runs {
		j := jobs[(n*len(jobs)/min(runs, len(jobs)))%len(jobs)]
		looked, open := j.run(t, bin, n+1)
		if j.fails == "" {
			right++
		}
		if verdicts, undecided = verdicts+looked, undecided+open; open == 0 {
			whole++
		}
	}
	t.Logf("%d runs over sockets with both cores kept busy (%d right services, %d wrong twins): %d verdicts looked at, %d undecided; %d runs decided in full",
		runs, right, runs-right, verdicts, undecided, whole)
}

// run carries a job out and says how many verdicts were looked at, and how many of them are open.
func (j socketJob) run(t *testing.T, bin string, seed int) (looked, open int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), fmt.Sprint("run", seed))
	args := []string{"run", j.file, "--out", out, "--seed", fmt.Sprint(seed)}
	for _, s := range j.sets {
		args = append(args, "--set", s)
	}
	text, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	found := j.fails == ""
	for _, v := range readVerdicts(t, filepath.Join(out, "verdicts.json"), text).Assertions {
		if j.fails != "" && v.ID != j.fails {
			continue
		}
		found = true
		looked++
		want := "pass"
		if j.fails != "" {
			want = "fail"
		}
		switch v.Verdict {
		case want:
		case "inconclusive", "skipped":
			open++
		default:
			t.Errorf("%s %s: %s is %s, want %s\n%s", filepath.Base(j.file), strings.Join(j.sets, " "), v.ID, v.Verdict, want, bytes.TrimSpace(text))
		}
	}
	if !found {
		t.Errorf("%s has no assertion %s", j.file, j.fails)
	}
	return looked, open
}
