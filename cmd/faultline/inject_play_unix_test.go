//go:build unix

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/trace"
)

// counted is an experiment whose phases end with their calls: three that are answered
// and two that fail.
func counted(t *testing.T, addr string) string {
	t.Helper()
	return launched{injector: "listen: " + addr + ", stub: { status: 201 }", phases: `{ name: healthy, load: { calls: 3 } }
  - { name: broken, load: { calls: 2 }, faults: [ { respond: { status: 503 } } ] }`}.write(t)
}

// ledgerOf reads a trace.
func ledgerOf(t *testing.T, file string) *trace.Trace {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

// phaseMarks are the phases of a trace in their order, each with > for its start and <
// for its end.
func phaseMarks(tr *trace.Trace) string {
	var all []string
	for _, m := range tr.Marks {
		switch m.Kind {
		case trace.MarkPhaseStart:
			all = append(all, ">"+m.Subject)
		case trace.MarkPhaseEnd:
			all = append(all, "<"+m.Subject)
		default:
		}
	}
	return strings.Join(all, " ")
}

// Phases of calls end with as many requests, to the request; then it is over, or it
// stays so, or begins again.
func TestInjectPhasesOfCalls(t *testing.T) {
	t.Parallel()
	const once = "201 201 201 503 503"
	for then, c := range map[string]struct{ got, marks string }{
		"end":  {once, ">healthy <healthy >broken <broken"},
		"stay": {once + " 503 503 503", ">healthy <healthy >broken <broken"},
		"loop": {once + " " + once + " 201", ">healthy <healthy >broken <broken >healthy <healthy >broken <broken >healthy <healthy"},
	} {
		addr, file := vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
		p := begin(t, exec.Command("faultline", "inject", "--then", then, "--trace", file, counted(t, addr)))
		p.says(t, "phase 1 of 2: healthy, until 3 requests have come and gone: none, the dependency is healthy")
		listening(t, addr)
		if got := ask(t, len(strings.Fields(c.got)), http.MethodGet, "http://"+addr); got != c.got {
			t.Errorf("--then %s: %q, want %q", then, got, c.got)
		}
		code := 0
		if then != "end" {
			p.signal(t, syscall.SIGINT)
			code = 130
		}
		p.ends(t, code)
		if diff := cmp.Diff(c.marks, phaseMarks(ledgerOf(t, file))); diff != "" {
			t.Errorf("--then %s: marks (-want +got):\n%s", then, diff)
		}
	}
}

// Many callers at a time do not overfill a phase: who comes too early waits an instant.
func TestInjectPhasesOfCallsUnderLoad(t *testing.T) {
	t.Parallel()
	const callers, each = 16, 50
	addr, file := vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
	phases := `{ name: healthy, load: { calls: 333 } }
  - { name: broken, load: { calls: 222 }, faults: [ { ratio: 50%, respond: { status: 503 } } ] }
  - { name: rest, load: { calls: 245 } }`
	p := begin(t, exec.Command("faultline", "inject", "--trace", file,
		launched{injector: "listen: " + addr + ", stub: { status: 201 }", phases: phases}.write(t)))
	listening(t, addr)
	var work sync.WaitGroup
	for range callers {
		work.Go(func() { ask(t, each, http.MethodGet, "http://"+addr) })
	}
	work.Wait()
	p.ends(t, 0)
	came, hit := map[string]int{}, 0
	for _, a := range ledgerOf(t, file).Attempts {
		came[a.Phase]++
		if a.Rule != "" {
			hit++
		}
	}
	// One that was counted for a phase may find the next one begun, when others fill it
	// in that instant and have their answers: none of the callers more than once.
	for phase, want := range map[string]int{"healthy": 333, "broken": 222, "rest": 245} {
		if got := came[phase]; got < want-callers || got > want+callers {
			t.Errorf("%d in phase %s, want %d", got, phase, want)
		}
	}
	if half := float64(came["broken"]) / 2; float64(hit) < half-1 || float64(hit) > half+1 {
		t.Errorf("%d hit of %d", hit, came["broken"])
	}
}

// With --play first nothing begins before somebody comes: the phase's start in the trace
// is the instant of the first request, and so is that of its ramp.
func TestInjectBeginsWithTheFirstRequest(t *testing.T) {
	t.Parallel()
	addr, file := vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
	ramp := launched{injector: "listen: " + addr + ", stub: { status: 201 }", phases: `{ name: healthy, duration: 1s, load: { rate: 10/s },
        faults: [ { ratio: { steps: [ { at: 0s, ratio: 100% }, { at: 800ms, ratio: 0% } ] }, respond: { status: 503 } } ] }
  - { name: again, duration: 200ms, load: { rate: 10/s } }`}.write(t)
	p := begin(t, exec.Command("faultline", "inject", "--play", "first", "--trace", file, ramp))
	p.says(t, "phase healthy begins with the first request")
	listening(t, addr)
	time.Sleep(900 * time.Millisecond) // Had it begun before, the fault would be over.
	got := ask(t, 1, http.MethodGet, "http://"+addr)
	p.says(t, "phase 1 of 2: healthy, 1s: respond 503 to a share .100%, from 800ms on 0%. of requests")
	p.says(t, "phase 2 of 2: again, 200ms")
	p.ends(t, 0)
	tr := ledgerOf(t, file)
	if len(tr.Attempts) != 1 || got != "503" {
		t.Fatalf("got %q, %+v", got, tr.Attempts)
	}
	for _, m := range tr.Marks {
		if m.Kind == trace.MarkPhaseStart && m.Subject == "healthy" && m.At != tr.Attempts[0].Arr {
			t.Errorf("the phase began at %v, the first request came at %v", m.At, tr.Attempts[0].Arr)
		}
	}
}

// Who jumps does not wait for the first request, and the clock goes on from there.
func TestInjectJumpsBeforeTheFirstRequest(t *testing.T) {
	t.Parallel()
	addr, ctl, file := vacant(t), vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
	p := begin(t, exec.Command("faultline", "inject", "--play", "first", "--then", "loop", "--trace", file, "--control", ctl, counted(t, addr)))
	listening(t, ctl)
	wants(t, orders(t, ctl, "POST", "/v1/phase", `{"name":"broken"}`), `200 {"phase":"broken"}`)
	p.says(t, "phase 2 of 2: broken, until 2 requests have come and gone: respond 503 to all requests")
	if got, want := ask(t, 6, http.MethodGet, "http://"+addr), "503 503 201 201 201 503"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.signal(t, syscall.SIGINT)
	p.ends(t, 130)
	if marks := phaseMarks(ledgerOf(t, file)); marks != ">broken <broken >healthy <healthy >broken <broken" {
		t.Errorf("marks: %s", marks)
	}
}
