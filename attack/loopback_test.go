package attack_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// TestACallIsOnTheWireOnce has a server that answers every fifth request on a
// used connection by closing or resetting it: the very case in which net/http
// repeats a GET without a word.
func TestACallIsOnTheWireOnce(t *testing.T) {
	var reused atomic.Int64
	w := newLoopbackWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		used := r.Context().Value(connKey{}).(*atomic.Bool)
		if used.Swap(true) {
			if n := reused.Add(1); n%5 == 0 {
				kill(t, rw, n%10 == 0)
				return
			}
		}
		_, _ = io.WriteString(rw, "ok")
	})
	p := calls(1000, 4)
	p.Targets = []match.Target{
		{Name: "get", Path: "/a", Weight: 2},
		{Name: "idempotent", Method: http.MethodPost, Path: "/b", Weight: 1, Headers: map[string]string{"Idempotency-Key": "1"}},
	}
	got := w.run(t, p)
	tr := w.finish(t)
	if got.Sent != 1000 || len(tr.Calls) != 1000 || len(tr.Attempts) != 1000 {
		t.Errorf("%d sent, %d recorded, %d arrived, want 1000 of each", got.Sent, len(tr.Calls), len(tr.Attempts))
	}
	kinds := map[trace.ErrKind]int64{}
	for _, c := range tr.Calls {
		kinds[c.Err]++
	}
	killed := reused.Load() / 5
	if killed < 50 || kinds[trace.ErrReset]+kinds[trace.ErrEOF] != killed || kinds[trace.ErrOther] != 0 {
		t.Errorf("%d calls were killed, recorded were %v", killed, kinds)
	}
}

// kill ends the connection without an answer.
func kill(t *testing.T, rw http.ResponseWriter, reset bool) {
	c, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if reset {
		_ = c.(*net.TCPConn).SetLinger(0)
	}
	_ = c.Close()
}

// rawServer reads one request per connection and lets end finish it.
func rawServer(t *testing.T, end func(c *net.TCPConn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				t.Error(err)
			}
			end(c.(*net.TCPConn))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

// TestKindsOfFailure is on real sockets, since an RST is a matter of the kernel.
func TestKindsOfFailure(t *testing.T) {
	const part = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
	const nobody = "127.0.0.1:1" // A port that was free a moment ago may be given to somebody else.
	send := func(s string) func(*net.TCPConn) {
		return func(c *net.TCPConn) { _, _ = io.WriteString(c, s) }
	}
	for _, tc := range []struct {
		name   string
		addr   string
		want   trace.ErrKind
		status int
	}{
		{"refused", nobody, trace.ErrRefused, 0},
		{"reset before the answer", rawServer(t, func(c *net.TCPConn) { _ = c.SetLinger(0) }), trace.ErrReset, 0},
		{"end before the answer", rawServer(t, func(*net.TCPConn) {}), trace.ErrEOF, 0},
		{"end in the headers", rawServer(t, send("HTTP/1.1 200 OK\r\nContent-Length: 1")), trace.ErrEOF, 0},
		{"end in the body", rawServer(t, send(part)), trace.ErrEOF, 200},
		{"end in a chunk", rawServer(t, send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")), trace.ErrEOF, 200},
		{"not HTTP", rawServer(t, send("SSH-2.0-what\r\n\r\n")), trace.ErrProtocol, 0},
		{"HTTP/2", rawServer(t, send("\x00\x00\x00\x04\x00\x00\x00\x00\x00")), trace.ErrProtocol, 0},
		{"no status", rawServer(t, send("HTTP/1.1 abc\r\n\r\n")), trace.ErrProtocol, 0},
		{"end in the status line", rawServer(t, send("HTTP/1.1 ")), trace.ErrProtocol, 0},
		{"no chunk", rawServer(t, send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")), trace.ErrProtocol, 200},
		{"a header that is none", rawServer(t, send("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")), trace.ErrProtocol, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := trace.NewRecorder(time.Now())
			a, err := attack.New(attack.Config{
				BaseURL:    "http://" + tc.addr,
				Recorder:   rec,
				Correlator: match.Correlator{Run: 1, Phases: []string{"probe"}},
				Timeout:    10 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := a.Once(t.Context(), 0, 0, match.Target{Path: "/"})
			if err != nil {
				t.Fatal(err)
			}
			if c.Err != tc.want || c.Status != tc.status || c.Class != "" || (c.Detail != "") != tc.want.Detailed() {
				t.Errorf("%+v", c)
			}
			if got := rec.Snapshot(trace.Header{}).Calls; len(got) != 1 || got[0] != c {
				t.Errorf("returned %+v, recorded %+v", c, got)
			}
			if err := a.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKindsOfTLSFailure has a server that is not trusted, one that breaks the handshake off by an
// alert, one that speaks no TLS in two ways, and one that ends the connection in the handshake.
func TestKindsOfTLSFailure(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	untrusted.StartTLS()
	defer untrusted.Close()
	answering := func(s string) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 4096)) // The ClientHello.
				_, _ = io.WriteString(c, s)
				_ = c.Close()
			}
		}()
		return "https://" + ln.Addr().String()
	}
	for name, tc := range map[string]struct {
		url  string
		want trace.ErrKind
	}{
		"untrusted":           {untrusted.URL, trace.ErrTLS},
		"alert":               {answering("\x15\x03\x03\x00\x02\x02\x28"), trace.ErrTLS},
		"plain HTTP":          {answering("HTTP/1.1 400 Bad Request\r\n\r\n"), trace.ErrTLS},
		"something else":      {answering("SSH-2.0-what\r\n\r\n"), trace.ErrTLS},
		"end in a handshake":  {answering(""), trace.ErrEOF},
		"half of a handshake": {answering("\x16\x03"), trace.ErrEOF},
	} {
		a, err := attack.New(attack.Config{
			BaseURL: tc.url, Recorder: trace.NewRecorder(time.Now()), Correlator: match.Correlator{Run: 1, Phases: []string{"probe"}}, Timeout: 10 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.Once(t.Context(), 0, 0, match.Target{Path: "/"})
		if err != nil || c.Err != tc.want || (c.Detail != "") != tc.want.Detailed() {
			t.Errorf("%s: %+v %v", name, c, err)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAbortOnRealSockets has calls that would take a minute. The bound is for a
// busy machine; the bubble has the exact one.
func TestAbortOnRealSockets(t *testing.T) {
	arrived := make(chan struct{}, 100)
	w := newLoopbackWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	returned := make(chan error)
	go func() {
		_, err := w.Run(t.Context(), calls(100, 3))
		returned <- err
	}()
	for range 3 {
		<-arrived
	}
	began := time.Now()
	w.Abort()
	if err := <-returned; !errors.Is(err, attack.ErrAborted) {
		t.Errorf("run: %v", err)
	}
	tr := w.finish(t)
	took := time.Since(began)
	t.Logf("3 calls in flight were over after %v", took)
	if took > time.Second {
		t.Errorf("the abort took %v; the calls' own timeout is 2 s", took)
	}
	for _, c := range tr.Calls {
		if c.Err != trace.ErrCanceled {
			t.Errorf("%+v", c)
		}
	}
}
