package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors lists the packages of the module from the ground up: a package imports
// only packages of lower floors. ARCHITECTURE.md says what each is for.
func floors() [][]string {
	return [][]string{
		{"target/trace", "target/match", "breakerref", "injector/fault", "attack/pace", "internal/yamldoc", "internal/stories"},
		{"assert", "injector/wire", "injector/imports", "target/memnet", "breakerref/model", "breakerref/limit", "breakerref/bulkhead", "breakerref/retry", "breakerref/timelimit", "breakerref/differential"},
		{"assert/report", "ci", "injector/h2", "breakerref/mutant", "breakerref/resilience4j", "breakerref/mesh", "breakerref/simulate"},
		{"experiments", "breakerref/resilience4j/lint", "injector", "attack", "target", "target/probe", "breakerref/proxy"},
		{"experiments/run", "experiments/predict", "injector/selftest", "injector/control"},
		{"injector/control/client", "experiments/calibrate", "experiments/verify", "experiments/draft"},
		{"cmd/faultline"},
	}
}

func TestImportsPointDown(t *testing.T) {
	const mod = "github.com/faultline-go/faultline/"
	floor := map[string]int{}
	for i, ps := range floors() {
		for _, p := range ps {
			floor[p] = i
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", mod+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		self := strings.TrimPrefix(p.ImportPath, mod)
		here, ok := floor[self]
		if !ok {
			t.Errorf("%s has no floor: add it to floors and to ARCHITECTURE.md", self)
			continue
		}
		seen++
		slices.Sort(p.Imports)
		for _, imp := range p.Imports {
			if dep, ours := strings.CutPrefix(imp, mod); ours && floor[dep] >= here {
				t.Errorf("%s (floor %d) imports %s (floor %d)", self, here, dep, floor[dep])
			}
		}
	}
	if seen != len(floor) {
		t.Errorf("%d packages are on a floor, the module has %d of them", len(floor), seen)
	}
}
