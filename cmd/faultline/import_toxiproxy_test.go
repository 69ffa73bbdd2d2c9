package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
)

// What import prints of proxies is read by an experiment as what it was.
func TestImportToxiproxy(t *testing.T) {
	const proxies = `[
		{"name": "db", "listen": "127.0.0.1:26379", "upstream": "127.0.0.1:6379", "toxics": [
			{"type": "latency", "attributes": {"latency": 100, "jitter": 200}},
			{"type": "latency", "name": "more", "stream": "upstream", "toxicity": 0.125, "attributes": {"latency": 7}},
			{"type": "bandwidth", "toxicity": 0.3, "attributes": {"rate": 5}},
			{"type": "slicer", "attributes": {"average_size": 10, "delay": 1500}},
			{"type": "limit_data", "toxicity": 0.01, "attributes": {"bytes": 100000}}]},
		{"name": "cache", "listen": "127.0.0.1:26380", "upstream": "127.0.0.1:6380", "toxics": [
			{"type": "timeout", "toxicity": 0.5, "attributes": {"timeout": 250}},
			{"type": "reset_peer", "stream": "upstream", "toxicity": 0.2}]}]`
	file := filepath.Join(t.TempDir(), "toxiproxy.json")
	if err := os.WriteFile(file, []byte(proxies), 0o600); err != nil {
		t.Fatal(err)
	}
	code, parts, said := call("import", file)
	if code != 0 || !strings.Contains(said, file+":3:") || !strings.Contains(said, "ignores their toxics") {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	injectors, faults, _ := strings.Cut(parts, "\nfaults:\n")
	experiment := "apiVersion: faultline/v1\nkind: Experiment\nmetadata: {name: proxies}\nsut: {base_url: http://127.0.0.1:8080}\n" + injectors +
		"\nload: {rate: 100/s, targets: [{name: a, path: /a, depends_on: [db, cache]}]}\n" +
		"phases:\n  - name: p\n    duration: 5s\n" + indented("faults:\n"+faults) + "assert: [{id: a, phase: p, error.share: {max: 50%}}]\n"
	plan, err := experiments.LoadPlan("proxies.yaml", []byte(experiment), 1)
	if err != nil {
		t.Fatalf("%v:\n%s", err, experiment)
	}
	want, err := imports.Toxiproxy(file, []byte(proxies))
	if err != nil {
		t.Fatal(err)
	}
	for n, d := range want.Injectors {
		in := plan.Injectors[n]
		if in.Name != d.Name || in.Listen != d.Listen || in.TCP.Upstream != d.Upstream || in.TCP.Undialled != fault.ActionClose {
			t.Errorf("%+v is not %+v", in, d)
		}
		if diff := cmp.Diff(d.Rules, plan.Phases[0].Faults[d.Name], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fault.Rule{}, "ID")); diff != "" {
			t.Errorf("%s (-imported +read):\n%s", d.Name, diff)
		}
	}
	for text, want := range map[string]string{
		"a: 1":                "there is no fault in it, neither spec.http[].fault of a VirtualService nor a filter of type HTTPFault; nor a proxy of Toxiproxy",
		`[{"listen": "a:1"}]`: "belongs to a proxy without an upstream",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, said := call("import", file); code != 2 || out != "" || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s%s", text, code, out, said)
		}
	}
}
