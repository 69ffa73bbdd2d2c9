package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestZooDockerfile carries out the build stage of the Dockerfile as plain
// commands on a copy of what it would be given: a file that .dockerignore leaves
// out, or a step that fails, is found without a container.
func TestZooDockerfile(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") == "" {
		t.Skip("builds the program anew; runs with FAULTLINE_ZOO=1")
	}
	src, out := filepath.Join(t.TempDir(), "src"), t.TempDir()
	context := exec.CommandContext(t.Context(), "sh", "-c", `mkdir -p "$1" && git ls-files -z --cached --others --exclude-standard \
		':!.ci' ':!target/zoo' ':!*_test.go' ':!*/testdata/*' | xargs -0 cp --parents -t "$1"`, "sh", src)
	context.Dir = filepath.Join("..", "..")
	if msg, err := context.CombinedOutput(); err != nil {
		t.Fatalf("copy what the build is given: %v\n%s", err, msg)
	}
	steps, env := buildStage(t, filepath.Join("..", "..", "Dockerfile"))
	if len(steps) < 3 {
		t.Fatalf("the build stage has the steps %q, fewer than there were", steps)
	}
	for _, step := range steps {
		run := exec.CommandContext(t.Context(), "sh", "-ec", step)
		run.Dir, run.Env = src, append(append(os.Environ(), env...), "OUT="+out)
		if msg, err := run.CombinedOutput(); err != nil {
			t.Fatalf("RUN %s: %v\n%s", step, err, msg)
		}
	}
	static(t, filepath.Join(out, "faultline"))
}

// buildStage returns the RUN steps of the first stage and the variables that it sets.
func buildStage(t *testing.T, file string) (steps, env []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stage := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "FROM":
			stage++
		case stage != 1:
		case word == "RUN":
			steps = append(steps, rest)
		case word == "ENV":
			env = append(env, strings.Fields(rest)...)
		}
	}
	return steps, env
}

// static fails a program that needs another file to run.
func static(t *testing.T, program string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program asks for a dynamic linker: it is not static")
		}
	}
}
