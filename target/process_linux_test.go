package target_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/target"
)

// parentEnv turns this test binary into a faultline that is going to be killed;
// its value is the file that the system under test logs to.
const parentEnv = "FAULTLINE_TEST_PARENT_LOG"

func TestMain(m *testing.M) {
	if name := os.Getenv(parentEnv); name != "" {
		fmt.Fprintln(os.Stderr, beParent(name))
		return
	}
	m.Run()
}

// beParent starts a system under test, says so and waits to be killed.
func beParent(name string) error {
	log, err := os.Create(name)
	if err != nil {
		return err
	}
	l := target.Launch{Command: []string{"sh", "-c", stubborn}, Log: log, Stop: time.Hour}
	if _, err := target.Start(context.Background(), l, nil); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "started")
	select {}
}

// stubborn is a system under test that ignores SIGTERM and has a child that does
// so too. Both say who they are.
const stubborn = `trap '' TERM; sh -c 'echo child=$$; exec sleep 600' & setsid sh -c 'echo stray=$$; exec sleep 600' & echo main=$$; wait; wait; wait`

func TestStopKillsAGrandchildThatIgnoresSIGTERM(t *testing.T) {
	script := `sh -c 'trap "" TERM; echo child=$$; exec sleep 600' & echo main=$$; wait`
	var said lockedBuffer
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", script}, Stop: 100 * time.Millisecond}, &said)
	pids := waitPids(t, log, "main", "child")
	stop(t, p)
	wantGone(t, pids)
	if !strings.Contains(said.String(), "did not end in time after SIGTERM") {
		t.Errorf("the kill was not told; the logger got:\n%s", said.String())
	}
}

func TestStopIsPatientWithAGrandchild(t *testing.T) {
	// The started process ends at once on SIGTERM, its child tidies up for a while.
	script := `sh -c 'trap "sleep 0.3; echo tidied; exit 0" TERM; echo child=$$; while :; do sleep 0.01; done' & echo main=$$; wait`
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", script}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main", "child")
	stop(t, p)
	wantGone(t, pids)
	if text := read(t, log); !strings.Contains(text, "tidied") {
		t.Errorf("the child was not given the time to tidy up; log:\n%s", text)
	}
}

func TestStopEndsTheChildrenOfADeadProcess(t *testing.T) {
	script := `sh -c 'echo child=$$; exec sleep 600' & echo main=$$; sleep 0.05; exit 3`
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", script}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main", "child")
	// The child holds the log open; the end of the process is seen all the same.
	waitExit(t, p)
	stop(t, p)
	wantGone(t, pids)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "ended by itself with exit code 3") {
		t.Errorf("Err() = %v, want the exit code 3", err)
	}
}

func TestStopTwice(t *testing.T) {
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", `echo main=$$; exec sleep 600`}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main")
	if err := p.Err(); err != nil {
		t.Errorf("Err() = %v while it runs, want nil", err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { stop(t, p) })
	}
	both.Wait()
	stop(t, p)
	wantGone(t, pids)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "was stopped by faultline and ended by the signal: terminated") {
		t.Errorf("Err() = %v, want that it was stopped, and by which signal", err)
	}
}

func TestStopIsHurriedByItsContext(t *testing.T) {
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", stubborn}, Stop: time.Hour}, nil)
	pids := waitPids(t, log, "main", "child")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	wantGone(t, pids)
}

func TestTheProcessOutlivesTheContextOfItsStart(t *testing.T) {
	log := create(t)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := target.Start(ctx, target.Launch{Command: []string{"sh", "-c", `echo main=$$; exec sleep 600`}, Log: log, Stop: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitPids(t, log.Name(), "main")
	cancel()
	select {
	case <-p.Exited():
		t.Errorf("it ended with the context of its start: %v", p.Err())
	case <-time.After(100 * time.Millisecond):
	}
	stop(t, p)
}

func TestAProcessThatDiesAtOnceIsQuoted(t *testing.T) {
	log := create(t)
	script := `seq 1 100; echo "Error: Unable to access jarfile app.jar" >&2; exit 1`
	p, err := target.Start(t.Context(), target.Launch{Command: []string{"sh", "-c", script}, Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitExit(t, p)
	stop(t, p)
	got := p.Err().Error()
	for _, want := range []string{"ended by itself with exit code 1 after", log.Name(), "  | 100\n  | Error: Unable to access jarfile app.jar"} {
		if !strings.Contains(got, want) {
			t.Errorf("Err() lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "| 50\n") {
		t.Errorf("Err() quotes more than the last lines:\n%s", got)
	}
}

func TestTheEndOfAnEarlierProcessIsNotQuoted(t *testing.T) {
	log := create(t)
	fmt.Fprintln(log, "written by an earlier process")
	p, err := target.Start(t.Context(), target.Launch{Command: []string{"true"}, Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitExit(t, p)
	stop(t, p)
	if got, want := p.Err().Error(), "; its log "+log.Name()+" is empty"; !strings.HasSuffix(got, want) {
		t.Errorf("Err() = %q, want the end %q", got, want)
	}
}

func TestASignalIsNamed(t *testing.T) {
	p, err := target.Start(t.Context(), target.Launch{Command: []string{"sh", "-c", "kill -KILL $$"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitExit(t, p)
	stop(t, p)
	for _, want := range []string{"ended by itself by the signal: killed", "its output was not kept"} {
		if !strings.Contains(p.Err().Error(), want) {
			t.Errorf("Err() lacks %q: %v", want, p.Err())
		}
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("FAULTLINE_TEST_KEPT", "kept")
	t.Setenv("FAULTLINE_TEST_CHANGED", "old")
	dir := t.TempDir()
	p, log := start(t, target.Launch{
		Command: []string{"sh", "-c", `echo "$FAULTLINE_TEST_KEPT $FAULTLINE_TEST_CHANGED $PWD"`},
		Dir:     dir,
		Env:     map[string]string{"FAULTLINE_TEST_CHANGED": "new"},
	}, nil)
	waitExit(t, p)
	stop(t, p)
	if got, want := read(t, log), "kept new "+dir+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStartErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		launch target.Launch
		want   string
	}{
		{"nothing to start", target.Launch{}, "the command is empty"},
		{"no such program", target.Launch{Command: []string{"faultline-no-such-program", "two words"}}, `start faultline-no-such-program "two words": exec: "faultline-no-such-program": executable file not found`},
		{"no such directory", target.Launch{Command: []string{"sh"}, Dir: "/faultline/no/such/dir"}, "working directory /faultline/no/such/dir"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := target.Start(t.Context(), tc.launch, nil)
			if p != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Start = %v, %v; want an error with %q", p, err, tc.want)
			}
		})
	}
}

func TestNothingOutlivesAKilledFaultline(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sut.log")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+name)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the parent did not start: %v, %v", err, parent.Wait())
	}
	pids := waitPids(t, name, "main", "child", "stray")
	pids = append(pids, parentOf(t, pids[0])) // To be sure that it is the parent's.
	if pids[3] != parent.Process.Pid {
		t.Errorf("the system under test has the parent %d, want %d", pids[3], parent.Process.Pid)
	}
	// A system that ends its whole group does not end the guard in it.
	if err := syscall.Kill(-groupOf(t, pids[0]), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	_ = parent.Wait()
	for _, pid := range pids {
		for running(pid) {
			if time.Since(killed) > 5*time.Second { // Milliseconds on a quiet machine.
				t.Fatalf("process %d still runs %s after the kill", pid, time.Since(killed))
			}
			time.Sleep(time.Millisecond)
		}
	}
	t.Logf("all gone %s after the kill", time.Since(killed))
}

func start(t *testing.T, l target.Launch, said *lockedBuffer) (p *target.Process, log string) {
	t.Helper()
	f := create(t)
	l.Log = f
	var logger *slog.Logger
	if said != nil {
		logger = slog.New(slog.NewTextHandler(said, nil))
	}
	p, err := target.Start(t.Context(), l, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p, f.Name()
}

func create(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sut.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func stop(t *testing.T, p *target.Process) {
	t.Helper()
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func waitExit(t *testing.T, p *target.Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("the process did not end")
	}
}

// waitPids waits until the log has "NAME=PID" for each name.
func waitPids(t *testing.T, log string, names ...string) []int {
	t.Helper()
	var pids []int
	deadline := time.Now().Add(20 * time.Second)
	for _, name := range names {
		pattern := regexp.MustCompile(`(?m)^` + name + `=(\d+)$`)
		for {
			if m := pattern.FindStringSubmatch(read(t, log)); m != nil {
				pid, _ := strconv.Atoi(m[1])
				pids = append(pids, pid)
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s never said who it is; log:\n%s", name, read(t, log))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return pids
}

// wantGone wants processes to have ended, or to be past everything but their own end: the
// kernel takes a killed one's memory first, and the rest when it comes to it.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for limit := time.Now().Add(5 * time.Second); running(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Errorf("process %d still runs", pid)
				break
			}
		}
	}
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

func parentOf(t *testing.T, pid int) int { return statNumber(t, pid, 1) }

func groupOf(t *testing.T, pid int) int { return statNumber(t, pid, 2) }

func statNumber(t *testing.T, pid, field int) int {
	t.Helper()
	fields := stat(pid)
	if len(fields) <= field {
		t.Fatalf("there is no process %d", pid)
	}
	n, err := strconv.Atoi(fields[field])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// stat is what /proc/PID/stat has after the name.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lockedBuffer takes what a logger says from any goroutine.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// daemon is a system under test with a child that left for a session of its own, and
// whose parent has ended.
const daemon = `(setsid sh -c 'echo stray=$$; exec sleep 600' &) ; echo main=$$; exec sleep 600`

// patientDaemon is one whose child tidies up when it is told to stop.
const patientDaemon = `(setsid sh -c 'trap "sleep 0.3; echo tidied; exit 0" TERM; echo stray=$$; while :; do sleep 0.01; done' &) ; echo main=$$; exec sleep 600`

func TestStopFollowsWhoLeftTheGroup(t *testing.T) {
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", daemon}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main", "stray")
	if groupOf(t, pids[0]) == groupOf(t, pids[1]) {
		t.Fatal("the stray is in the group, so this test shows nothing")
	}
	stop(t, p)
	wantGone(t, pids)
}

func TestStopIsPatientWithWhoLeftTheGroup(t *testing.T) {
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", patientDaemon}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main", "stray")
	stop(t, p)
	wantGone(t, pids)
	if text := read(t, log); !strings.Contains(text, "tidied") {
		t.Errorf("the stray was not given the time to tidy up; log:\n%s", text)
	}
}

func TestStopKillsWhoLeftTheGroupAndIgnoresSIGTERM(t *testing.T) {
	script := `(setsid sh -c "trap '' TERM; echo stray=\$\$; exec sleep 600" &) ; echo main=$$; exec sleep 600`
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", script}, Stop: 100 * time.Millisecond}, nil)
	pids := waitPids(t, log, "main", "stray")
	stop(t, p)
	wantGone(t, pids)
}

// What takes the mark off is left alone: it is meant to stay.
func TestStopLeavesWhoTookTheMarkOff(t *testing.T) {
	script := `(env -u FAULTLINE_LAUNCH setsid sh -c 'echo stray=$$; exec sleep 600' &) ; echo main=$$; exec sleep 600`
	p, log := start(t, target.Launch{Command: []string{"sh", "-c", script}, Stop: time.Minute}, nil)
	pids := waitPids(t, log, "main", "stray")
	stop(t, p)
	wantGone(t, pids[:1])
	if !running(pids[1]) {
		t.Error("a process without the mark was ended")
	}
	_ = syscall.Kill(pids[1], syscall.SIGKILL)
}
