package differential_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
)

// harness is a process that plays cases on the real library.
type harness struct {
	in     *bufio.Writer
	out    *bufio.Reader
	errors *bytes.Buffer
	kill   func() error
}

// build builds the harness and returns its jar.
func build(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-DskipTests", "package")
	cmd.Dir = "harness"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the harness, which needs Maven and a JDK of 17 or later: %v\n%s", err, out)
	}
	return filepath.Join("harness", "target", "harness.jar")
}

// start starts a harness that ends with the test.
func start(t *testing.T, jar string) *harness {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "java", "-XX:+UseSerialGC", "-Xmx256m", "-jar", jar)
	h := &harness{errors: &bytes.Buffer{}}
	cmd.Stderr = h.errors
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the harness: %v", err)
	}
	h.in, h.out = bufio.NewWriterSize(in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	h.kill = cmd.Process.Kill
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the harness ended: %v", err)
		}
	})
	return h
}

// send gives it a case, whose answers have to be received.
func (h *harness) send(r run) error {
	if _, err := h.in.Write(r.appendLine(nil)); err != nil {
		return fmt.Errorf("send a case to the harness: %w", err)
	}
	if err := h.in.Flush(); err != nil {
		return fmt.Errorf("send a case to the harness: %w", err)
	}
	return nil
}

// receive appends the answers to the next case.
func (h *harness) receive(answers []byte) ([]byte, error) {
	for {
		line, err := h.out.ReadSlice('\n')
		if err != nil {
			rest, _ := io.ReadAll(h.out) // Until it has said all that it has to say.
			return answers, fmt.Errorf("the harness stops: %w\n%s%s%s", err, line, rest, h.errors)
		}
		if string(line) == ".\n" {
			return answers, nil
		}
		answers = append(answers, line...)
	}
}

// ask is an answerer.
func (h *harness) ask(r run) ([]byte, error) {
	if err := h.send(r); err != nil {
		return nil, err
	}
	return h.receive(nil)
}
