//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// margin is how late a busy machine may be with what takes less than a second.
const margin = 10 * time.Second

// launched is an experiment with a service of service_test.go: its flags, what
// stands under sut besides, the injector, and the phases.
type launched struct {
	flags    string
	sut      string
	injector string
	timeout  string
	phases   string
}

// write writes the experiment to a new folder and returns its path.
func (l launched) write(t *testing.T) string {
	t.Helper()
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	text := `apiVersion: faultline/v1
kind: Experiment
metadata: { name: hostile }
sut:
  launch: { command: [service, ` + or(l.flags, "--") + `, "127.0.0.1:{{sut.port}}", "{{injectors.engine.url}}"]` + or(l.sut, ", stop: 100ms } \n  base_url: \"http://127.0.0.1:{{sut.port}}\"\n  ready: { get: /ready, timeout: 20s }") + `
injectors:
  engine: { ` + or(l.injector, `stub: { status: 200, body: '{"source":"engine"}' }`) + ` }
load:
  timeout: ` + or(l.timeout, "2s") + `
  targets:
    - { name: search, method: GET, path: /search, depends_on: [engine] }
  classify:
    primary: { status: 200, contains: '"engine"' }
    fallback: { status: 200, contains: '"fallback"' }
breakers:
  search: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 1m, permitted_calls: 2 }
phases:
  - ` + or(l.phases, "{ name: healthy, load: { calls: 30, concurrency: 1 } }") + `
assert:
  - { id: honest, fallback.share: { max: 0% }, phase: healthy }
`
	file := filepath.Join(t.TempDir(), "hostile.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// long is a phase that nobody waits for.
const long = "{ name: healthy, duration: 10m, load: { rate: 20/s } }"

// program is a started faultline.
type program struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	said           chan string // the lines of standard error
	read           chan struct{}
}

// begin starts a command whose standard error can be waited for.
func begin(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{Cmd: cmd, said: make(chan string, 1000), read: make(chan struct{})}
	if p.Stdout == nil {
		p.Stdout = &p.stdout
	}
	stream, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() }) // Nothing happens to one that has ended.
	go func() {
		defer close(p.read)
		defer close(p.said)
		for lines := bufio.NewScanner(io.TeeReader(stream, &p.stderr)); lines.Scan(); {
			p.said <- lines.Text()
		}
	}()
	return p
}

// says waits for a line on standard error.
func (p *program) says(t *testing.T, pattern string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	limit := time.After(60 * time.Second)
	for {
		select {
		case line, ok := <-p.said:
			if !ok {
				<-p.read
				t.Fatalf("it ended without saying %q:\n%s%s", pattern, p.stderr.String(), p.stdout.String())
			}
			if wanted.MatchString(line) {
				return
			}
		case <-limit:
			t.Fatalf("it has not said %q for a minute", pattern)
		}
	}
}

// signal sends a signal.
func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end and wants one of these exit codes. It returns both streams.
func (p *program) ends(t *testing.T, codes ...int) (stdout, stderr string) {
	t.Helper()
	go func() {
		for range p.said { // Nobody waits for a line any more.
		}
	}()
	limit := time.AfterFunc(2*time.Minute, func() { _ = p.Process.Kill() })
	defer limit.Stop()
	<-p.read
	_ = p.Wait()
	if !slices.Contains(codes, p.ProcessState.ExitCode()) {
		t.Errorf("%v, want an exit code of %v\n%s%s", p.ProcessState, codes, p.stderr.String(), p.stdout.String())
	}
	return p.stdout.String(), p.stderr.String()
}

// wants reports what is missing in a text.
func wants(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// pids are who the service said that it and its children are, in sut.log.
func pids(t *testing.T, dir string, names ...string) []int {
	t.Helper()
	var found []int
	log, err := os.ReadFile(filepath.Join(dir, "sut.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		m := regexp.MustCompile(`(?m)^` + name + `=(\d+)$`).FindSubmatch(log)
		if m == nil {
			t.Fatalf("%s never said who it is:\n%s", name, log)
		}
		pid, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// gone wants all processes to have ended within a second, and the margin of a busy
// machine.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	since := time.Now()
	for _, pid := range pids {
		for alive(pid) {
			if time.Since(since) > margin {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Fatalf("process %d is left behind", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive reports whether a process runs; one that is only waited for does not.
func alive(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false // There is none.
	}
	return !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// occupy listens at an address that nobody else can have then.
func occupy(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// vacant returns an address that nobody listens at.
func vacant(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := lc.Listen(t.Context(), "tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			// A process that another test has just forked holds the socket until it execs.
			for limit := time.Now().Add(time.Minute); !refused(t, addr); time.Sleep(time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("somebody listens at %s", addr)
				}
			}
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// refused reports whether nobody listens at an address.
func refused(t testing.TB, addr string) bool {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = c.Close()
	return false
}
