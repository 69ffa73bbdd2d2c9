//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/trace"
)

// ask sends requests to an address and returns what came of them, one word each.
func ask(t *testing.T, n int, method, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var got []string
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			got = append(got, "cut") // The trace tells how.
		} else {
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got = append(got, resp.Status[:3]+string(body))
		}
		cancel()
	}
	return strings.Join(got, " ")
}

// attempts reads what a trace has of requests, one word each.
func attempts(t *testing.T, file string) string {
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
	var got []string
	for _, a := range recorded.Attempts {
		got = append(got, endOf(&a).word())
	}
	return strings.Join(got, " ")
}

// One fault by flags: who is hit, who is not, what is told, what is left.
func TestInjectByFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags, method, path, got, total, trace string
	}{
		{"--body ok", "GET", "/", "200ok 200ok", "in all 2 arrived, 0 hit | 200:2", "200 200"},
		{"--status 204 --respond 503 --ratio 40%", "GET", "/", "204 503 204 503 204", "in all 5 arrived, 2 hit | 204:3 503:2", "204 503 204 503 204"},
		{"--reset --first 1", "POST", "/", "cut 200", "in all 2 arrived, 1 hit | 200:1 reset:1", "reset 200"},
		{"--close --method post --path /a*", "POST", "/ab", "cut", "in all 1 arrived, 1 hit | closed:1", "closed"},
		{"--close --method post --path /a*", "GET", "/ab", "200", "in all 1 arrived, 0 hit | 200:1", "200"},
		{"--close --method post --path /a*", "POST", "/b", "200", "in all 1 arrived, 0 hit | 200:1", "200"},
		{"--latency 1ms-20ms --respond 500", "GET", "/", "500", "in all 1 arrived, 1 hit | 500:1", "500"},
	} {
		addr, file := vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
		p := begin(t, exec.Command("faultline", append([]string{"inject", "--listen", addr, "--trace", file}, strings.Fields(tt.flags)...)...))
		listening(t, addr)
		got := ask(t, len(strings.Fields(tt.got)), tt.method, "http://"+addr+tt.path)
		if got != tt.got {
			t.Errorf("%s: got %q, want %q", tt.flags, got, tt.got)
		}
		p.says(t, "arrived, ")
		p.signal(t, syscall.SIGINT)
		out, said := p.ends(t, 130)
		wants(t, out, "listening on http://"+addr+", answering ")
		wants(t, said, tt.total+"\n", "interrupted by Ctrl-C")
		if diff := cmp.Diff(tt.trace, attempts(t, file)); diff != "" {
			t.Errorf("%s: trace (-want +got):\n%s", tt.flags, diff)
		}
	}
}

// listening waits until somebody listens at an address.
func listening(t *testing.T, addr string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); refused(t, addr); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("nobody listens at %s", addr)
		}
	}
}

// A fault lives in faultline: whoever hangs is let go when it ends, however it ends.
func TestInjectedFaultsEndWithFaultline(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 143, syscall.SIGKILL: -1} {
		addr := vacant(t)
		p := begin(t, exec.Command("faultline", "inject", "--listen", addr, "--hang"))
		listening(t, addr)
		answer := make(chan string)
		go func() { answer <- ask(t, 1, http.MethodGet, "http://"+addr) }()
		p.says(t, "1 arrived, 1 hit")
		p.signal(t, signal)
		p.ends(t, code)
		if got := <-answer; got != "cut" || !refused(t, addr) {
			t.Errorf("%v: the caller got %q", signal, got)
		}
	}
}

func TestInjectOnATakenPort(t *testing.T) {
	t.Parallel()
	taken := occupy(t)
	out, said := begin(t, exec.Command("faultline", "inject", "--listen", taken)).ends(t, 3)
	wants(t, said, "port of "+taken+" is taken by another process; stop that process, or listen on another port")
	if out != "" {
		t.Errorf("standard output has %q", out)
	}
}

func TestInjectBeforeAnUpstreamThatIsDown(t *testing.T) {
	t.Parallel()
	addr, nobody := vacant(t), "http://"+vacant(t)
	p := begin(t, exec.Command("faultline", "inject", "--listen", addr, "--upstream", nobody))
	listening(t, addr)
	wants(t, ask(t, 1, http.MethodGet, "http://"+addr), "502faultline: injector dependency could not reach its upstream "+nobody)
	p.says(t, "1 arrived, 0 hit | unreachable:1")
	p.says(t, "injector dependency cannot reach its upstream; what it cannot pass on is answered 502")
	p.signal(t, syscall.SIGTERM)
	p.ends(t, 143)
}

// timed is an experiment whose phases have durations.
func timed(t *testing.T, addr string) string {
	t.Helper()
	return launched{injector: "listen: " + addr + ", stub: { status: 201 }", phases: `{ name: healthy, duration: 1s, load: { rate: 10/s } }
  - { name: broken, duration: 5s, load: { rate: 10/s }, faults: [ { respond: { status: 503 } } ] }
  - { name: again, duration: 1s, load: { rate: 10/s } }`}.write(t)
}

// The phases of an experiment are played in order of time, and then it is over.
func TestInjectPhasesOfAnExperiment(t *testing.T) {
	t.Parallel()
	addr, file := vacant(t), filepath.Join(t.TempDir(), "back.jsonl")
	p := begin(t, exec.Command("faultline", "inject", "--trace", file, timed(t, addr)))
	p.says(t, "phase 1 of 3: healthy, 1s: none, the dependency is healthy")
	p.says(t, "phase 2 of 3: broken, 5s: respond 503 to all requests")
	for got := ""; got != "503"; { // It is told an instant before.
		got = ask(t, 1, http.MethodGet, "http://"+addr)
	}
	p.says(t, "phase 3 of 3: again, 1s: none")
	out, _ := p.ends(t, 0)
	wants(t, out, "engine listening on http://"+addr+", answering 201\n")
	wants(t, attempts(t, file), "503")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), `"kind":"fault_on","subject":"engine","text":"broken"`, `"kind":"fault_off","subject":"engine","text":"broken"`, `"kind":"phase_start","subject":"again"`)
	if !refused(t, addr) {
		t.Error("the injector listens still")
	}
}

func TestInjectOnePhase(t *testing.T) {
	t.Parallel()
	addr := vacant(t)
	p := begin(t, exec.Command("faultline", "inject", "--phase", "broken", timed(t, addr)))
	p.says(t, "phase broken, until Ctrl-C: respond 503 to all requests")
	listening(t, addr)
	if got := ask(t, 2, http.MethodGet, "http://"+addr); got != "503 503" {
		t.Errorf("got %q", got)
	}
	p.signal(t, syscall.SIGINT)
	p.ends(t, 130)
}
