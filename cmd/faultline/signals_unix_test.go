//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/faultline-go/faultline/assert/report"
)

// started starts the built program and waits for a line that it says on one of its
// streams; the rest of it is read away.
func started(t *testing.T, cmd *exec.Cmd, stream io.Reader, line string) []string {
	t.Helper()
	found := begins(t, cmd, stream, line)
	if found == nil {
		t.Fatalf("the program ended without saying %q", line)
	}
	return found
}

// begins is [started], but for a program that may end without saying the line: nil.
func begins(t *testing.T, cmd *exec.Cmd, stream io.Reader, line string) []string {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // Nothing happens to one that has ended.
	wanted := regexp.MustCompile(line)
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if found := wanted.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, stream) }() // Ends with the program.
			return found
		}
	}
	return nil
}

func TestCtrlCAndSIGTERMOfARun(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := filepath.Join(t.TempDir(), "out")
		cmd := exec.Command("faultline", "run", "--out", dir, "testdata/long.yaml")
		stream, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		started(t, cmd, stream, `phase 1 of 1`)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d, want %d", signal, got, code)
		}
		if s := summary(t, dir); s.Verdict != report.OutcomeInterrupted || s.ExitCode != code {
			t.Errorf("%v: verdicts.json says %s, %d", signal, s.Verdict, s.ExitCode)
		}
	}
}

// The target is a breaker: it passes answers on, then rejects, and ends when told.
func TestTarget(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusOK)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer upstream.Close()
	cmd := exec.Command("faultline", "target", "--listen", "127.0.0.1:0", "--upstream", upstream.URL,
		"--window", "2", "--minimum-calls", "2", "--wait", "1h", "--fallback-status", "203")
	stream, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	url := started(t, cmd, stream, `^listening on (http://127\.0\.0\.1:\d+), in front of `+regexp.QuoteMeta(upstream.URL)+`$`)[1]
	get := func() int {
		t.Helper()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := get(); got != http.StatusOK {
		t.Errorf("a healthy dependency's answer became %d", got)
	}
	status.Store(http.StatusInternalServerError)
	get()
	status.Store(http.StatusOK)
	if got := get(); got != 203 {
		t.Errorf("the breaker is not open after one failure of two calls: %d", got)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit code %d", got)
	}
}
