package imports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
	"github.com/faultline-go/faultline/target/trace"
)

// seen is what the two sides of a connection saw of what stands between them.
type seen struct {
	got     int    // bytes that the caller got
	end     string // what it saw then: FIN, RST, refused, or open when it stopped waiting
	arrived int    // bytes that the upstream got

	first, last time.Duration // when the caller got its first byte, and when it saw the end; not compared exactly
	pieces      int           // in how many reads
}

// scene is what goes over a connection.
type scene struct {
	name   string
	toxics string
	off    bool          // the proxy is not enabled
	dead   bool          // nobody listens at the upstream
	asks   int           // bytes that the caller sends
	reply  int           // bytes that the upstream sends, once it got a byte
	stays  bool          // the upstream then waits, and does not close
	waits  time.Duration // of the caller, for the end
	half   bool          // the caller ends its half, for which the upstream waits with its reply

	want seen // of both; first and last are the shortest times
	// ours is what the import sees where Toxiproxy is known to differ, and why.
	ours *seen
	why  string
}

// scenes are played to Toxiproxy itself and to what its toxics become.
func scenes() []scene {
	const fin, rst = "FIN", "RST"
	slow := func(d time.Duration) seen { return seen{got: 1000, end: fin, arrived: 10, first: d, last: d} }
	return []scene{
		{name: "nothing", asks: 10, reply: 1000, want: slow(0)},
		{name: "latency", toxics: `{"type": "latency", "attributes": {"latency": 300}}`, asks: 10, reply: 1000, want: slow(300 * ms)},
		{name: "latency up", toxics: `{"type": "latency", "stream": "upstream", "attributes": {"latency": 300}}`, asks: 10, reply: 1000, want: slow(300 * ms)},
		{name: "latency both", toxics: `{"type": "latency", "stream": "upstream", "attributes": {"latency": 200}}, {"type": "latency", "attributes": {"latency": 250}}`, asks: 10, reply: 1000, want: slow(450 * ms)},
		{name: "two latencies", toxics: `{"type": "latency", "name": "a", "attributes": {"latency": 200}}, {"type": "latency", "name": "b", "attributes": {"latency": 250}}`, asks: 10, reply: 1000, want: slow(450 * ms)},
		{name: "jitter", toxics: `{"type": "latency", "attributes": {"latency": 300, "jitter": 60}}`, asks: 10, reply: 1000, want: slow(240 * ms)},
		{name: "timeout", toxics: `{"type": "timeout", "attributes": {"timeout": 400}}`, asks: 10, reply: 1000, stays: true, want: seen{end: fin, arrived: 10, last: 400 * ms}},
		{name: "timeout up", toxics: `{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 400}}`, asks: 10, stays: true, want: seen{end: fin, last: 400 * ms}},
		{name: "timeout 0", toxics: `{"type": "timeout", "attributes": {"timeout": 0}}`, asks: 10, reply: 1000, stays: true, waits: 600 * ms, want: seen{end: "open", arrived: 10, last: 600 * ms}},
		{name: "limit_data", toxics: `{"type": "limit_data", "attributes": {"bytes": 700}}`, asks: 10, reply: 1000, stays: true, want: seen{got: 700, end: fin, arrived: 10}},
		{name: "limit_data up", toxics: `{"type": "limit_data", "stream": "upstream", "attributes": {"bytes": 30}}`, asks: 100, stays: true, want: seen{end: fin, arrived: 30}},
		{name: "limit_data late", toxics: `{"type": "limit_data", "attributes": {"bytes": 700}}, {"type": "latency", "attributes": {"latency": 300}}`, asks: 10, reply: 1000, stays: true, want: seen{got: 700, end: fin, arrived: 10, first: 300 * ms, last: 300 * ms}},
		{name: "reset_peer later", toxics: `{"type": "reset_peer", "attributes": {"timeout": 400}}`, asks: 10, reply: 1000, stays: true, want: seen{end: rst, arrived: 10, last: 400 * ms}},
		{
			name: "reset_peer", toxics: `{"type": "reset_peer", "attributes": {"timeout": 0}}`, asks: 10, reply: 1000, stays: true, want: seen{end: rst, arrived: 10},
			ours: &seen{end: rst}, why: "Toxiproxy waits for the first bytes",
		},
		{
			name: "reset_peer that hits nothing", toxics: `{"type": "reset_peer", "toxicity": 0}`, asks: 10, reply: 1000, want: seen{got: 1000, end: rst, arrived: 10},
			ours: &seen{got: 1000, end: fin, arrived: 10}, why: "issue 603 of Toxiproxy",
		},
		{name: "slicer", toxics: `{"type": "slicer", "attributes": {"average_size": 100, "size_variation": 0, "delay": 20000}}`, asks: 10, reply: 1600, want: seen{got: 1600, end: fin, arrived: 10, last: 300 * ms, pieces: 16}},
		{name: "bandwidth", toxics: `{"type": "bandwidth", "attributes": {"rate": 20}}`, asks: 10, reply: 20000, want: seen{got: 20000, end: fin, arrived: 10, last: 1000 * ms}},
		{name: "bandwidth 0", toxics: `{"type": "bandwidth", "attributes": {"rate": 0}}`, asks: 10, reply: 20000, stays: true, waits: 600 * ms, want: seen{end: "open", arrived: 10, last: 600 * ms}},
		{
			name: "half", half: true, asks: 10, reply: 1000, want: seen{end: fin, arrived: 10},
			ours: &seen{got: 1000, end: fin, arrived: 10}, why: "Toxiproxy closes the whole connection when one side ends its half",
		},
		{
			name: "bandwidth, latency", toxics: `{"type": "bandwidth", "attributes": {"rate": 20}}, {"type": "latency", "attributes": {"latency": 500}}`,
			asks: 10, reply: 20000, want: seen{got: 20000, end: fin, arrived: 10, first: 500 * ms, last: 1000 * ms},
			ours: &seen{got: 20000, end: fin, arrived: 10, first: 500 * ms, last: 1500 * ms}, why: "Toxiproxy takes the time in the first toxic for a part of the latency",
		},
		{name: "dead", dead: true, want: seen{end: fin}},
		{name: "off", off: true, asks: 10, reply: 10, want: seen{end: "refused"}},
	}
}

// TestZooToxiproxy has Toxiproxy itself, and the faults that its toxics become, stand between a
// caller and an upstream that look at their sockets.
func TestZooToxiproxy(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("Toxiproxy itself is asked with FAULTLINE_ZOO=1")
	}
	api := startToxiproxy(t)
	for n, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			dial, upstream := s.upstream(t)
			text := fmt.Sprintf(`[{"name": "p%d", "listen": "127.0.0.1:0", "upstream": %q, "enabled": %v, "toxics": [%s]}]`, n, dial, !s.off, s.toxics)
			theirs, ours := populate(t, api, text), imported(t, text)
			want := s.want
			if s.ours != nil {
				want = *s.ours
				t.Logf("a known difference: %s", s.why)
			}
			s.compare(t, "Toxiproxy", theirs, upstream, s.want)
			s.compare(t, "the import", ours, upstream, want)
		})
	}
}

// compare plays the scene until it is as wanted. A slow machine can only make things later, and
// pieces come together; so these are tried again, and what is never late enough is wrong.
func (s scene) compare(t *testing.T, who, addr string, arrived <-chan int, want seen) {
	t.Helper()
	const tries = 5
	var told []string
	for range tries {
		got := s.play(t, addr, arrived, want)
		told = nil
		exact := want
		exact.first, exact.last, exact.pieces = got.first, got.last, got.pieces
		if diff := cmp.Diff(exact, got, cmp.AllowUnexported(seen{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
			return
		}
		for what, d := range map[string][2]time.Duration{"first byte": {want.first, got.first}, "end": {want.last, got.last}} {
			const early, late, slack = 0.8, 1.6, 150 * ms
			switch {
			case float64(d[1]) < early*float64(d[0]):
				t.Errorf("%s: %s after %v, which is before %v", who, what, d[1], d[0])
				return
			case float64(d[1]) > late*float64(d[0])+float64(slack):
				told = append(told, fmt.Sprintf("%s after %v, want about %v", what, d[1], d[0]))
			}
		}
		if want.pieces > 0 && (got.pieces > want.pieces || got.pieces < want.pieces/2) {
			told = append(told, fmt.Sprintf("%d pieces, want about %d", got.pieces, want.pieces))
		}
		if len(told) == 0 {
			t.Logf("%s: %+v", who, got)
			return
		}
	}
	t.Errorf("%s, in each of %d tries: %s", who, tries, strings.Join(told, "; "))
}

// play makes one connection.
func (s scene) play(t *testing.T, addr string, arrived <-chan int, want seen) seen {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return seen{end: "refused"}
	case errors.Is(err, syscall.ECONNRESET): // It was, as soon as it was made.
		return seen{end: "RST"}
	}
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var got seen
	if _, err := c.Write(make([]byte, s.asks)); err == nil {
		if s.half {
			c.(*net.TCPConn).CloseWrite()
		}
		got.read(c, start, s.waits)
	} else {
		got.end = "RST"
	}
	got.last = time.Since(start)
	c.Close()
	// Where the upstream is not to be dialled, that nothing arrives is seen by waiting.
	patience := 20 * time.Second
	if want.arrived == 0 && want.got == 0 {
		patience = 300 * ms
	}
	select {
	case got.arrived = <-arrived:
	case <-time.After(patience):
	}
	return got
}

// read takes in what comes, until the end.
func (g *seen) read(c net.Conn, start time.Time, patience time.Duration) {
	if patience == 0 {
		patience = 20 * time.Second
	}
	c.SetReadDeadline(start.Add(patience))
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.Read(buffer)
		if n > 0 && g.got == 0 {
			g.first = time.Since(start)
		}
		if n > 0 {
			g.pieces++
		}
		g.got += n
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			g.end = "FIN"
		case errors.Is(err, syscall.ECONNRESET):
			g.end = "RST"
		case errors.Is(err, os.ErrDeadlineExceeded):
			g.end = "open"
		default:
			g.end = err.Error()
		}
		return
	}
}

// upstream serves the scene, and tells of each connection how many bytes it got.
func (s scene) upstream(t *testing.T) (addr string, arrived <-chan int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan int, 100)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				told <- s.serve(c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	if s.dead {
		ln.Close()
	}
	return ln.Addr().String(), told
}

// serve answers the first bytes and reads on until the end.
func (s scene) serve(c net.Conn) int {
	buffer := make([]byte, 64<<10)
	n, _ := c.Read(buffer)
	if n == 0 {
		return 0
	}
	if s.half {
		rest, _ := io.Copy(io.Discard, c)
		n += int(rest)
	}
	c.Write(make([]byte, s.reply))
	if !s.stays {
		c.(*net.TCPConn).CloseWrite()
	}
	rest, _ := io.Copy(io.Discard, c)
	return n + int(rest)
}

// imported starts the injector that a file of Toxiproxy comes to, and returns its address.
func imported(t *testing.T, text string) string {
	t.Helper()
	got, err := imports.Toxiproxy("populate.json", []byte(text))
	if err != nil || len(got.Injectors) != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	d := got.Injectors[0]
	i, err := injector.Start(t.Context(), injector.Config{
		Name: d.Name, Addr: d.Listen, TCP: &injector.TCP{Upstream: d.Upstream, Undialled: d.Undialled}, Phase: "p",
		Script: fault.Script{Phases: map[string][]fault.Rule{"p": d.Rules}}, Recorder: trace.NewRecorder(time.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i.Addr()
}

// startToxiproxy runs the server, and returns the URL of its API.
func startToxiproxy(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "toxiproxy")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "testdata/toxiproxy"
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Toxiproxy: %v\n%s", err, text)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	cmd := exec.CommandContext(t.Context(), program, addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Get("http://" + addr + "/version")
		if err == nil {
			resp.Body.Close()
			return "http://" + addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("Toxiproxy does not listen: %v", err)
		}
		time.Sleep(20 * ms)
	}
}

// populate gives the server the same file and then, as it ignores them there, each toxic.
func populate(t *testing.T, api, text string) string {
	t.Helper()
	var answer struct {
		Proxies []struct {
			Listen string
			Toxics []json.RawMessage
		}
	}
	post(t, api+"/populate", text, &answer)
	if len(answer.Proxies) != 1 || len(answer.Proxies[0].Toxics) != 0 {
		t.Fatalf("the server reads toxics from a file, or something else: %+v", answer)
	}
	var file []struct {
		Name   string
		Toxics []json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	for _, x := range file[0].Toxics {
		post(t, api+"/proxies/"+file[0].Name+"/toxics", string(x), nil)
	}
	return answer.Proxies[0].Listen
}

func post(t *testing.T, url, text string, answer any) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		t.Fatalf("POST %s: %s: %s", url, resp.Status, body)
	}
	if answer != nil {
		if err := json.Unmarshal(body, answer); err != nil {
			t.Fatal(err)
		}
	}
}
