package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
)

// A status of gRPC, too, is read by an experiment as what it was.
func TestImportGRPC(t *testing.T) {
	const mesh = "spec:\n  http:\n  - match: [{uri: {prefix: /a}}]\n    fault:\n      delay: {percentage: {value: 10}, fixedDelay: 1s}\n      abort: {percentage: {value: 20}, grpcStatus: UNAVAILABLE}\n  - fault: {abort: {grpcStatus: INTERNAL}}\n"
	file := filepath.Join(t.TempDir(), "vs.yaml")
	if err := os.WriteFile(file, []byte(mesh), 0o600); err != nil {
		t.Fatal(err)
	}
	code, faults, said := call("import", file)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	experiment := "apiVersion: faultline/v1\nkind: Experiment\nmetadata: {name: mesh}\nsut: {base_url: http://127.0.0.1:8080}\n" +
		"injectors: {payments: {listen: 127.0.0.1:9901, stub: {}}}\nload: {rate: 100/s, targets: [{name: pay, path: /pay}]}\nbreakers: {payments: {}}\n" +
		"phases:\n  - name: p\n    duration: 5s\n" + indented(faults) + "assert: [{id: a, phase: p, error.share: {max: 50%}}]\n"
	plan, err := experiments.LoadPlan("mesh.yaml", []byte(experiment), 1)
	if err != nil {
		t.Fatalf("%v:\n%s", err, experiment)
	}
	want, err := imports.Mesh(file, []byte(mesh))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Rules, plan.Phases[0].Faults["payments"], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fault.Rule{}, "ID")); diff != "" {
		t.Errorf("(-imported +read):\n%s", diff)
	}
}
