//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// examples are the command lines that help shows, of all commands.
func examples(cmd *cobra.Command) []string {
	var all []string
	for line := range strings.Lines(cmd.Example) {
		all = append(all, strings.TrimSpace(line))
	}
	for _, sub := range cmd.Commands() {
		all = append(all, examples(sub)...)
	}
	return all
}

// What help shows is run, by a shell in a copy of the experiments, as whoever reads
// it would run it: every line does what it says.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	lines := examples(app{}.root())
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		t.Run(line, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "experiments"), os.DirFS("../../experiments")); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{ // The reader's own.
				"application.yml":      "resilience4j.circuitbreaker.instances:\n  payments: {slidingWindowSize: 20}\n  search: {slidingWindowSize: 10}\n",
				"virtual-service.yaml": "spec: {http: [{fault: {abort: {httpStatus: 500, percentage: {value: 1}}}}]}\n",
				"toxiproxy.json":       `[{"name": "db", "listen": "127.0.0.1:26379", "upstream": "127.0.0.1:6379"}]`,
				"envoy.json":           `{"@type": "envoy.extensions.filters.http.fault.v3.HTTPFault", "abort": {"http_status": 500, "percentage": {"numerator": 1}}}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("/bin/sh", "-c", "exec "+line)
			cmd.Dir = dir
			words := strings.Fields(line)
			if !slices.Contains([]string{"inject", "target"}, words[1]) {
				codes := []int{0}
				if slices.Contains([]string{"run", "plan", "verify"}, words[1]) {
					// A machine that is too slow makes a run inconclusive and nothing else, a plan
					// may show what it is to find what cannot be decided, and nobody serves here.
					codes = []int{0, 3}
				}
				begin(t, cmd).ends(t, codes...)
				return
			}
			served(t, cmd)
		})
	}
}

// served starts a command that serves until Ctrl-C, and stops it.
func served(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	stream, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if begins(t, cmd, stream, `listening on http://127\.0\.0\.1:\d+`) == nil {
		_ = cmd.Wait()
		text, err := os.ReadFile(said.Name())
		if err == nil && strings.Contains(string(text), "taken by another p") {
			t.Skip("another program has the port of this example")
		}
		t.Fatalf("it does not listen: %s, %v", text, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit code %d", got)
	}
}
