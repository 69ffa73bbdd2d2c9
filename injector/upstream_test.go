package injector_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// upstream runs a real dependency.
func upstream(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestUpstreamSeesWhatTheCallerSent(t *testing.T) {
	var seen *http.Request
	var body string
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen, body = r, string(b)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	})
	d := start(t, injector.Config{Upstream: up.URL + "/base"})
	req, err := http.NewRequest(http.MethodPut, d.URL()+"/a%2Fb/c?x=1;y&z", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"X-Forwarded-For": {"10.0.0.1"}, "Connection": {"X-Hop"}, "X-Hop": {"1"}, "Traceparent": {"t"}}
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "/elsewhere" {
		t.Errorf("the redirect was followed: %d %v", resp.StatusCode, resp.Header)
	}
	got := []string{seen.Method, seen.RequestURI, seen.Host, seen.Header.Get("X-Forwarded-For"), seen.Header.Get("X-Hop"), seen.Header.Get("Traceparent"), body}
	want := []string{"PUT", "/base/a%2Fb/c?x=1;y&z", up.Listener.Addr().String(), "10.0.0.1", "", "t", "hello"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("request (-want +got):\n" + diff)
	}
	if a := d.only(t); a.Outcome != trace.OutcomeAnswered || a.Status != http.StatusFound || a.Dep < a.Arr {
		t.Errorf("recorded %+v", a)
	}
}

func TestUpstreamBodyIsNotRecoded(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "" {
			io.WriteString(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "packed")
		z.Close()
	})
	d := start(t, injector.Config{Upstream: up.URL})
	for accept, want := range map[string]string{"": "plain", "gzip": "\x1f\x8b"} {
		tr := &http.Transport{DisableCompression: true}
		t.Cleanup(tr.CloseIdleConnections)
		req, err := http.NewRequest(http.MethodGet, d.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			req.Header.Set("Accept-Encoding", accept)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), want) || resp.Header.Get("Content-Encoding") != accept {
			t.Errorf("asked for %q, got %q, %v (%v)", accept, body, resp.Header, err)
		}
	}
}

func TestUpstreamUnreachable(t *testing.T) {
	const nobody = "127.0.0.1:1" // A port that was free a moment ago may be given to somebody else.
	d := start(t, injector.Config{Upstream: "http://" + nobody})
	resp, err := client(t).Post(d.URL(), "text/plain", strings.NewReader(strings.Repeat("b", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"injector dep could not reach its upstream http://" + nobody, "refused"} {
		if !strings.Contains(string(body), part) {
			t.Errorf("%q does not say %q", body, part)
		}
	}
	if a := d.only(t); resp.StatusCode != http.StatusBadGateway || a.Outcome != trace.OutcomeUpstream || a.Status != http.StatusBadGateway {
		t.Errorf("status %d, recorded %+v", resp.StatusCode, a)
	}
}

func TestUpstreamBreaksOff(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	d := start(t, injector.Config{Upstream: up.URL})
	status, body, err := get(client(t), d.URL())
	if status != http.StatusOK || body != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d %q %v, want half an answer", status, body, err)
	}
	if a := d.only(t); a.Outcome != trace.OutcomeFIN || a.Dep == trace.None || a.Abandon != trace.None {
		t.Errorf("recorded %+v", a)
	}
}

// A request that has to wait is kept whole, whatever its size, and leaves no
// file behind.
func TestUpstreamGetsTheBodyOfARequestThatWaited(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprint(w, r.ContentLength, len(b), strings.Count(string(b), "b"), err)
	})
	pass := rule(fault.ActionPass)
	pass.Latency = fault.Latency{Min: time.Millisecond, Max: time.Millisecond}
	d := start(t, injector.Config{Upstream: up.URL}, pass)
	for _, size := range []int{1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		resp, err := client(t).Post(d.URL(), "text/plain", strings.NewReader(strings.Repeat("b", size)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := fmt.Sprint(size, size, size, nil); err != nil || string(got) != want {
			t.Errorf("%d bytes: the upstream got %q (%v)", size, got, err)
		}
	}
	for _, a := range d.attempts(t) {
		if a.Rule != "p/1" || a.Dep-a.Arr < time.Millisecond {
			t.Errorf("recorded %+v, want a latency of 1ms", a)
		}
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestBodyThatCannotBeKeptIsNotTheCallersFault(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/absent")
	pass := rule(fault.ActionPass)
	pass.Latency = fault.Latency{Min: 1, Max: 1}
	d := start(t, injector.Config{Upstream: "http://127.0.0.1:1"}, pass)
	o := observe(t, d.Addr())
	o.say(request("POST", 2<<20))
	o.rest()
	if a := d.only(t); a.Outcome != trace.OutcomeFIN || a.Abandon != trace.None {
		t.Errorf("recorded %+v", a)
	}
}

// The upstream learns that the caller left, with the body passed on or on its way.
func TestCallerLeavesWhileTheUpstreamWorks(t *testing.T) {
	for _, text := range []string{
		request("GET", 0), request("POST", 1<<20), request("POST", 1<<20)[:1000],
	} {
		reached, canceled := make(chan struct{}), make(chan struct{})
		up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			close(reached)
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			close(canceled)
		})
		d := start(t, injector.Config{Upstream: up.URL})
		o := observe(t, d.Addr())
		if _, err := io.WriteString(o.conn, text); err != nil {
			t.Fatal(err)
		}
		<-reached
		o.conn.Close()
		select {
		case <-canceled:
		case <-time.After(patience):
			t.Fatal("the upstream works on for nobody")
		}
		until(t, "abandoned", func() bool { return d.ended() == 1 })
		if a := d.only(t); a.Outcome != trace.OutcomeHang || a.Abandon == trace.None || a.Dep != trace.None {
			t.Errorf("recorded %+v", a)
		}
	}
}

// A body that makes no sense is the caller's doing, not the upstream's. He has not left, and what
// he sees is a FIN.
func TestCallersBrokenBodyIsNotBlamedOnTheUpstream(t *testing.T) {
	pass := rule(fault.ActionPass)
	pass.Latency = fault.Latency{Min: 1, Max: 1}
	for _, rules := range [][]fault.Rule{nil, {pass}} {
		up := upstream(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
		d := start(t, injector.Config{Upstream: up.URL}, rules...)
		o := observe(t, d.Addr())
		o.say("POST / HTTP/1.1\r\nHost: dep\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n")
		if seen, end := o.rest(); seen != "" || end != "FIN" {
			t.Errorf("an answer: %q, %s", seen, end)
		}
		if a := d.only(t); a.Outcome != trace.OutcomeFIN || a.Abandon != trace.None || !strings.Contains(a.Detail, "the body of the request") {
			t.Errorf("recorded %+v", a)
		}
	}
}

func TestUpstreamStreams(t *testing.T) {
	next := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			io.WriteString(w, "tick")
			http.NewResponseController(w).Flush()
			<-next
		}
	})
	d := start(t, injector.Config{Upstream: up.URL})
	resp, err := client(t).Get(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 3 {
		if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		next <- struct{}{} // the upstream waits for this: nothing is held back
	}
}

func TestUpstreamUpgrades(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "echo" {
			io.WriteString(w, "asked for "+r.Header.Get("Upgrade"))
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, err := rw.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		io.WriteString(conn, line)
		io.Copy(io.Discard, rw)
	})
	d := start(t, injector.Config{Upstream: up.URL})
	ask := func(protocol string) (*http.Response, observer) {
		o := observe(t, d.Addr())
		o.say("GET / HTTP/1.1\r\nHost: dep\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n")
		resp, err := http.ReadResponse(o.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp, o
	}
	resp, o := ask("echo")
	o.say("hello\n")
	line, err := o.r.ReadString('\n')
	if resp.StatusCode != http.StatusSwitchingProtocols || line != "hello\n" || err != nil {
		t.Errorf("%d, %q, %v", resp.StatusCode, line, err)
	}
	// HTTP/2 would take later requests out of sight; it is not offered.
	resp, _ = ask("h2c")
	if body, err := io.ReadAll(resp.Body); string(body) != "asked for " || err != nil {
		t.Errorf("an upgrade to h2c: %q, %v", body, err)
	}
	as := d.attempts(t) // the tunnel is still open: Close ends it
	if as[0].Status != http.StatusSwitchingProtocols || as[0].Outcome != trace.OutcomeAnswered {
		t.Errorf("recorded %+v", as[0])
	}
	if _, err := bufio.NewReader(o.conn).ReadByte(); err == nil {
		t.Error("the tunnel outlives Close")
	}
}
