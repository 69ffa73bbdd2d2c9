package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments"
)

// What import prints is a part of an experiment; what it leaves out, it tells.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "vs.yaml")
	const mesh = "spec:\n  http:\n  - match: [{uri: {exact: /health}}]\n  - fault:\n      delay: {percentage: {value: 10}, fixedDelay: 1s}\n      abort: {percentage: {value: 20}, httpStatus: 503}\n      other: 1\n"
	if err := os.WriteFile(file, []byte(mesh), 0o600); err != nil {
		t.Fatal(err)
	}
	code, faults, said := call("import", file)
	if code != 0 || !strings.Contains(said, file+":7:14: spec.http[1].fault.other: has no equivalent and is left out") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	experiment := "apiVersion: faultline/v1\nkind: Experiment\nmetadata: {name: mesh}\nsut: {base_url: http://127.0.0.1:8080}\n" +
		"injectors: {payments: {listen: 127.0.0.1:9901, stub: {}}}\nload: {rate: 100/s, targets: [{name: pay, path: /pay}]}\nbreakers: {payments: {}}\n" +
		"phases:\n  - name: p\n    duration: 5s\n" + indented(faults) + "assert: [{id: a, phase: p, breaker.opens: payments}]\n"
	plan, err := experiments.LoadPlan("mesh.yaml", []byte(experiment), 1)
	if err != nil {
		t.Fatalf("%v:\n%s", err, experiment)
	}
	var shares []uint64
	for _, r := range plan.Phases[0].Faults["payments"] {
		shares = append(shares, r.Select.Num*1000/max(1, r.Select.Den))
	}
	if len(shares) != 4 || shares[1] != 20 || shares[2] != 80 || shares[3] != 180 {
		t.Errorf("the shares are %v of a thousand, want 20, 80 and 180 behind what passes", shares)
	}
	if code, out, said := call("import", filepath.Join(dir, "no.yaml")); code != 2 || out != "" || !strings.Contains(said, "no such file") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
}

// indented stands below a phase.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
