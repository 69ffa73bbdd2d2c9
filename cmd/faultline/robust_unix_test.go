//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/target/trace"
)

// runOf is a run of an experiment into a folder.
func runOf(t *testing.T, l launched, dir string) *program {
	t.Helper()
	return begin(t, exec.Command("faultline", "run", "--out", dir, l.write(t)))
}

// calls reads how many calls a run's trace has.
func calls(t *testing.T, dir string) int {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "trace.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return len(recorded.Calls)
}

// Each signal stops the load, the service and the faults, and what was recorded is
// kept and judged.
func TestSignalsOfARunWithALaunchedService(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]struct {
		code int
		name string
	}{
		syscall.SIGINT: {130, "Ctrl-C"}, syscall.SIGTERM: {143, "SIGTERM"}, syscall.SIGHUP: {143, "SIGHUP"},
	} {
		dir, addr := filepath.Join(t.TempDir(), "out"), vacant(t)
		p := runOf(t, launched{phases: long, injector: "listen: " + addr + `, stub: { body: '{"source":"engine"}' }`}, dir)
		p.says(t, "phase 1 of 1")
		p.signal(t, signal)
		out, _ := p.ends(t, want.code)
		gone(t, pids(t, dir, "service")...)
		if !refused(t, addr) {
			t.Errorf("%v: the injector listens still", signal)
		}
		wants(t, out, "interrupted by "+want.name, "judged")
		if s := summary(t, dir); s.Verdict != report.OutcomeInterrupted || s.ExitCode != want.code || calls(t, dir) != s.Calls || s.Calls == 0 {
			t.Errorf("%v: verdicts.json says %s, %d, %d calls; the trace has %d", signal, s.Verdict, s.ExitCode, s.Calls, calls(t, dir))
		}
	}
}

// What was started by nohup outlives its terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := begin(t, exec.Command("/bin/sh", "-c", `trap '' HUP; exec faultline run --out "$0" "$1"`, dir, launched{phases: long}.write(t)))
	p.says(t, "phase 1 of 1")
	p.signal(t, syscall.SIGHUP)
	p.signal(t, syscall.SIGINT)
	if out, _ := p.ends(t, 130); strings.Contains(out, "SIGHUP") {
		t.Errorf("SIGHUP was taken for the cause:\n%s", out)
	}
	gone(t, pids(t, dir, "service")...)
}

// stopping is a service's patience of an hour.
const stopping = ", stop: 1h }\n  base_url: \"http://127.0.0.1:{{sut.port}}\"\n  ready: { get: /ready, timeout: 20s }"

// One Ctrl-C leaves a service the time that it was given, and says so; the next one
// kills it, and the trace is kept even so.
func TestCtrlCTwiceWithAServiceThatDoesNotStop(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := runOf(t, launched{flags: "--stubborn", sut: stopping, phases: long}, dir)
	p.says(t, "phase 1 of 1")
	p.signal(t, syscall.SIGINT)
	p.says(t, "waiting for the service to stop, up to 1h0m0s; Ctrl-C to kill it")
	p.signal(t, syscall.SIGINT)
	_, said := p.ends(t, 130)
	gone(t, pids(t, dir, "service")...)
	wants(t, said, "interrupted by Ctrl-C", "stopping at once")
	if s := summary(t, dir); s.Verdict != report.OutcomeInterrupted || calls(t, dir) == 0 {
		t.Errorf("verdicts.json says %s; the trace has %d calls", s.Verdict, calls(t, dir))
	}
}

// A run that is over stays what it was when its service is killed by Ctrl-C.
func TestCtrlCWhileTheServiceOfACompleteRunStops(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := runOf(t, launched{flags: "--stubborn", sut: stopping}, dir)
	p.says(t, "waiting for the service to stop")
	p.signal(t, syscall.SIGINT)
	p.ends(t, 130)
	gone(t, pids(t, dir, "service")...)
	if s := summary(t, dir); s.Verdict != report.OutcomePass {
		t.Errorf("verdicts.json says %s: %s", s.Verdict, s.Reason)
	}
}

// faultline that is killed leaves nothing behind either.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	p := runOf(t, launched{flags: "--stubborn", sut: stopping, phases: long}, dir)
	p.says(t, "phase 1 of 1")
	p.signal(t, syscall.SIGKILL)
	p.ends(t, -1)
	gone(t, pids(t, dir, "service")...)
}

func TestServiceThatDies(t *testing.T) {
	t.Parallel()
	for _, phases := range []string{"", "{ name: healthy, duration: 30s, load: { rate: 50/s } }"} {
		dir, addr := filepath.Join(t.TempDir(), "out"), vacant(t)
		began := time.Now()
		p := runOf(t, launched{flags: "--die=10", phases: phases, injector: "listen: " + addr + `, stub: { body: '{"source":"engine"}' }`}, dir)
		out, _ := p.ends(t, 3)
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("the run went on for %s without its service", took)
		}
		gone(t, pids(t, dir, "service")...)
		if !refused(t, addr) {
			t.Error("the injector listens still")
		}
		wants(t, strings.Join(strings.Fields(out), " "), "NOT CARRIED OUT", "the system under test ended during the run", "exit code 7", "sut.log")
		if n := calls(t, dir); n < 10 {
			t.Errorf("%d calls are kept of 10 that were made", n)
		}
	}
}

func TestServiceThatNeverGetsReady(t *testing.T) {
	t.Parallel()
	mute := launched{flags: "--mute", sut: ", stop: 100ms }\n  base_url: \"http://127.0.0.1:{{sut.port}}\"\n  ready: { get: /ready, timeout: 300ms }"}
	dir := filepath.Join(t.TempDir(), "out")
	out, _ := runOf(t, mute, dir).ends(t, 3)
	gone(t, pids(t, dir, "service")...)
	wants(t, out, "NOT CARRIED OUT", "/ready did not answer 200 within 300ms")

	// Nobody has to wait for it.
	mute.sut = strings.Replace(mute.sut, "300ms", "1h", 1)
	dir = filepath.Join(t.TempDir(), "out")
	p := runOf(t, mute, dir)
	p.says(t, "waiting for http")
	for log := ""; !strings.Contains(log, "service="); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "sut.log"))
		if err != nil {
			t.Fatal(err)
		}
		log = string(text)
	}
	p.signal(t, syscall.SIGINT)
	out, _ = p.ends(t, 130)
	gone(t, pids(t, dir, "service")...)
	wants(t, out, "interrupted by Ctrl-C before the first phase")
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken := occupy(t)
	dir := filepath.Join(t.TempDir(), "out")
	out, _ := runOf(t, launched{injector: "listen: " + taken + ", stub: {}"}, dir).ends(t, 3)
	wants(t, strings.Join(strings.Fields(out), " "), "injector engine: port of "+taken+" is taken by another process; stop that process, or listen on another port")

	dir = filepath.Join(t.TempDir(), "out")
	fixed := ", stop: 100ms }\n  base_url: http://" + taken + "\n  ready: { get: /ready }"
	l := launched{sut: fixed}
	file := l.write(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), `"127.0.0.1:{{sut.port}}"`, taken))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ = begin(t, exec.Command("faultline", "run", "--out", dir, file)).ends(t, 3)
	wants(t, strings.Join(strings.Fields(out), " "), "somebody listens at "+taken+" already, before the system under test was launched; stop that process")
}

// An upstream that is down gives the service failures that no experiment asked for.
func TestUpstreamThatIsDown(t *testing.T) {
	t.Parallel()
	nobody := vacant(t)
	dir := filepath.Join(t.TempDir(), "out")
	out, _ := runOf(t, launched{injector: "upstream: http://" + nobody}, dir).ends(t, 3)
	gone(t, pids(t, dir, "service")...)
	wants(t, strings.Join(strings.Fields(out), " "), "injector engine cannot reach its upstream http://"+nobody, "connection refused", "start what listens there, correct injectors.engine.upstream, or")

	var asked atomic.Int32
	var upstream *httptest.Server
	upstream = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		if _, err := w.Write([]byte(`{"source":"engine"}`)); err != nil {
			t.Error(err)
		}
		if asked.Add(1) == 10 {
			_ = upstream.Listener.Close()
		}
	}))
	upstream.Start()
	t.Cleanup(upstream.Close)
	dir = filepath.Join(t.TempDir(), "out")
	out, _ = runOf(t, launched{injector: "upstream: " + upstream.URL}, dir).ends(t, 3)
	wants(t, strings.Join(strings.Fields(out), " "), "injector engine could not reach its upstream "+upstream.URL+" for 21 of 31 requests")
	if n := calls(t, dir); n != 31 {
		t.Errorf("%d calls are kept of 31", n)
	}
}
