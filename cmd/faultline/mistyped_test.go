package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every kind of mistake on a command line tells what to do.
func TestMistypedCommandLine(t *testing.T) {
	see := func(command string) string { return "\nSee " + command + " --help\n" }
	for args, want := range map[string]string{
		"rnu x.yaml":                    `faultline has no command "rnu"; did you mean faultline run?` + see("faultline"),
		"hlep":                          `faultline has no command "hlep"; did you mean faultline help?` + see("faultline"),
		"vers":                          `faultline has no command "vers"; did you mean faultline version?` + see("faultline"),
		"xyzzy":                         `faultline has no command "xyzzy"` + see("faultline"),
		"help injct":                    `faultline has no command "injct"; did you mean faultline inject?` + see("faultline"),
		"completion bsh":                `faultline completion has no command "bsh"; did you mean faultline completion bash?` + see("faultline completion"),
		"completion":                    "completion needs a shell, as in: faultline completion bash\n",
		"run --fromat json x.yaml":      "unknown flag: --fromat; did you mean --format?" + see("faultline run"),
		"run --sed=1 x.yaml":            "unknown flag: --sed; did you mean --seed?" + see("faultline run"),
		"run -seed 1 x.yaml":            "unknown shorthand flag: 's' in -seed; did you mean --seed?" + see("faultline run"),
		"run -q x.yaml":                 "unknown shorthand flag: 'q' in -q; did you mean --quiet?" + see("faultline run"),
		"run --seed":                    "flag needs an argument: --seed" + see("faultline run"),
		"run --format jsn x.yaml":       `invalid argument "jsn" for "--format" flag: allowed are text and json; did you mean json?` + see("faultline run"),
		"run --inconclusive pass x":     `invalid argument "pass" for "--inconclusive" flag: allowed are fail and skip` + see("faultline run"),
		"target --wiat 5s":              "unknown flag: --wiat; did you mean --wait?" + see("faultline target"),
		"target --wait 5":               `invalid argument "5" for "--wait" flag: 5 has no unit; write 5s, 5ms or 5m` + see("faultline target"),
		"inject --latncy 5s":            "unknown flag: --latncy; did you mean --latency?" + see("faultline inject"),
		"run":                           "run needs an experiment file, as in: faultline run experiments/quickstart.yaml\n",
		"version 2":                     `faultline version takes no arguments, got "2"; see faultline version --help` + "\n",
		"inject testdata/lnog.yaml":     "testdata/lnog.yaml: no such file; did you mean testdata/long.yaml?\n",
		"inject testdata/no/xyzzy.yaml": "testdata/no/xyzzy.yaml: no such file; check the name and the working directory\n",
	} {
		code, out, said := call(strings.Fields(args)...)
		if diff := cmp.Diff("faultline: "+want, said); diff != "" || code != 2 || out != "" {
			t.Errorf("%s: exit code %d, standard output %q, -want +got:\n%s", args, code, out, diff)
		}
	}
	const unusable = "faultline: the experiment is not usable; nothing was started\n"
	code, _, said := call("run", "testdata/god.yaml")
	if diff := cmp.Diff("testdata/god.yaml: no such file; did you mean testdata/good.yaml?\n"+unusable, said); diff != "" || code != 2 {
		t.Errorf("a file: exit code %d, -want +got:\n%s", code, diff)
	}
}

// So does every kind of mistake in an experiment, in the form that editors jump to.
func TestMistypedExperiment(t *testing.T) {
	good, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ right, wrong, want string }{
		{"\nload:", "\nlaod:", `11:1: laod: unknown key; did you mean "load"?`},
		{"depends_on:", "depend_on:", `14:51: load.targets[0].depend_on: unknown key; did you mean "depends_on"?`},
		{"kind: Experiment", "kind: Experimant", `3:7: kind: "Experimant" is not known here; did you mean "Experiment"?`},
		{"timeout: 2s", "timeout: 2", "12:12: load.timeout: 2 has no unit; write 2s, 2ms or 2m"},
		{"timeout: 2s", "timeout: 2 seconds", `12:12: load.timeout: "2 seconds" is not a duration; write it as 5s, 250ms or 1m30s`},
		{"max: 0%", "max: 0.5", "23:42: assert[0].fallback.share.max: 0.5 has no unit; a share is written in percent: 50%, if a part of 1 was meant, or else 0.5%"},
		{"[engine]", "[engin]", `14:64: load.targets[0].depends_on[0]: there is no injector "engin"; did you mean "engine"?`},
		{"GET", "get", `14:31: load.targets[0].method: "get" is not a method; methods are upper case, as GET`},
		{"calls: 30", "calls: many", `21:37: phases[0].load.calls: wants a whole number, not "many"`},
		{"fallback.share", "fallback.shared", `23:19: assert[0].fallback.shared: unknown key; did you mean "fallback.share"?`},
		{"phase: healthy", "phase: healty", `23:55: assert[0].phase: there is no phase "healty"; did you mean "healthy"?`},
		{"stub: { status: 200", "stub: { status: 2000", "10:29: injectors.engine.stub.status: 2000 is not a status of HTTP; it is from 200 to 599"},
	} {
		if !strings.Contains(string(good), tt.right) {
			t.Fatalf("%q is not in the experiment", tt.right)
		}
		if err := os.WriteFile(filepath.Clean("x.yaml"), []byte(strings.Replace(string(good), tt.right, tt.wrong, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, said := call("run", "x.yaml")
		want := "x.yaml:" + tt.want + "\nfaultline: the experiment is not usable; nothing was started\n"
		if diff := cmp.Diff(want, said); diff != "" || code != 2 || out != "" {
			t.Errorf("%s: exit code %d, standard output %q, -want +got:\n%s", tt.wrong, code, out, diff)
		}
	}
}
