package injector_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// leave ends a connection by RST or by FIN.
func (o observer) leave(t *testing.T, reset bool) {
	t.Helper()
	if reset {
		if err := o.conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// served sends a request and reads its answer.
func (o observer) served(t *testing.T, body int) {
	t.Helper()
	o.say(request("POST", body))
	resp, err := http.ReadResponse(o.r, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// What a raw socket does decides whether it was an attempt: what came and was no
// request was one, and so was a new connection that its caller reset; one that
// nobody used was none.
func TestAttemptsWithoutARequest(t *testing.T) {
	const garbage, half = "\x00\x01\x02 garbage\r\n\r\n", "POST /x HTTP/1.1\r\nHost: de"
	for _, c := range []struct {
		name    string
		before  int    // requests that are served first
		send    string // then
		wait    bool   // for the answer of the server, which ends the connection
		hear    bool   // wait for the first byte of the server
		reset   bool
		outcome trace.Outcome // empty: no attempt
		status  int
		detail  string
	}{
		{name: "unused, closed"},
		{name: "unused, reset", reset: true, outcome: trace.OutcomeHang, detail: "reset the connection before it sent anything"},
		{name: "used, closed", before: 2},
		{name: "used, reset", before: 1, reset: true},
		{name: "half a request, closed", send: half, outcome: trace.OutcomeHang, detail: `ended after 26 bytes, "POST /x HTTP/1.1\r\nHost: "`},
		{name: "half a request, reset", send: half, reset: true, outcome: trace.OutcomeHang, detail: "no request"}, // A reset throws away what was not read.
		{name: "half a request after others", before: 2, send: half, outcome: trace.OutcomeHang, detail: "after 26 bytes"},
		{name: "a letter after others", before: 1, send: "P", outcome: trace.OutcomeHang, detail: `after 1 bytes, "P"`},
		{name: "a letter", send: "P", outcome: trace.OutcomeHang, detail: `after 1 bytes, "P"`},
		{name: "garbage", send: garbage, wait: true, outcome: trace.OutcomeAnswered, status: 400, detail: "answered 400"},
		{name: "garbage after others", before: 1, send: garbage, wait: true, outcome: trace.OutcomeAnswered, status: 400, detail: `begin "\x00\x01\x02 garbage`},
		{name: "no host", send: "GET / HTTP/1.1\r\n\r\n", wait: true, outcome: trace.OutcomeAnswered, status: 400, detail: "answered 400"},
		{name: "a header too long", send: "GET / HTTP/1.1\r\nHost: d\r\nX: " + strings.Repeat("x", 2<<20), wait: true, outcome: trace.OutcomeAnswered, status: 431, detail: "answered 431"},
		{name: "an expectation", send: "POST / HTTP/1.1\r\nHost: d\r\nExpect: luck\r\n\r\n", wait: true, outcome: trace.OutcomeAnswered, status: 417, detail: "answered 417"},
		{name: "HTTP/2, unused", hear: true, send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		{name: "HTTP/2, no request", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82", outcome: trace.OutcomeReset, detail: "PROTOCOL_ERROR: malformed request"},
		{name: "half of HTTP/2", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n", outcome: trace.OutcomeHang, detail: "after 22 bytes of the preface"},
		{name: "HTTP/2, half a head", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x09\x01\x05\x00\x00\x00\x01\x82", outcome: trace.OutcomeHang, detail: "in the middle of the head"},
		{name: "HTTP/2 without settings", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x01\x05\x00\x00\x00\x01", wait: true, outcome: trace.OutcomeFIN, detail: "HTTP/2"},
		{name: "TLS", send: "\x16\x03\x01\x00\x05hello\r\n\r\n", wait: true, outcome: trace.OutcomeFIN, detail: "a TLS handshake"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, injector.Config{})
			o := observe(t, d.Addr())
			for i := range c.before {
				o.served(t, 100*i)
			}
			if c.before == 0 { // The connection is accepted, not only queued.
				observe(t, d.Addr()).served(t, 0)
				c.before++
			}
			sent := d.rec.Since(time.Now())
			if c.wait {
				o.say(c.send)
				if _, end := o.rest(); end != "FIN" && end != "RST" {
					t.Errorf("the connection ended with %s", end)
				}
			} else if c.send != "" {
				if _, err := io.WriteString(o.conn, c.send); err != nil {
					t.Fatal(err)
				}
			}
			if c.hear {
				if _, err := o.r.Peek(1); err != nil {
					t.Fatal(err)
				}
			}
			o.leave(t, c.reset)
			if c.outcome != "" {
				until(t, "recorded", func() bool { return d.ended() == c.before+1 })
			}
			as := d.attempts(t)
			if c.outcome == "" {
				if len(as) != c.before {
					t.Errorf("%d attempts, want the %d requests: %+v", len(as), c.before, as)
				}
				return
			}
			if len(as) != c.before+1 {
				t.Fatalf("%d attempts, want one beside the %d requests: %+v", len(as), c.before, as)
			}
			a := as[0]
			for _, other := range as {
				if other.Unread() {
					a = other
				}
			}
			if a.ID != "" || a.Outcome != c.outcome || a.Status != c.status || !strings.Contains(a.Detail, c.detail) || a.Phase != "p" || a.Peer == "" || a.Method != "" {
				t.Errorf("recorded %+v, want outcome %q, status %d, detail %q", a, c.outcome, c.status, c.detail)
			}
			if left := a.Outcome == trace.OutcomeHang; left != (a.Abandon != trace.None) || left != (a.Dep == trace.None) || a.Done() < a.Arr {
				t.Errorf("recorded %+v: its end is not that of its outcome", a)
			}
			if c.send != "" && !c.reset && a.Arr < sent {
				t.Errorf("arrived at %v, before it was sent at %v: that the connection came is no arrival", a.Arr, sent)
			}
		})
	}
}

// The same in virtual time, where it is certain that the injector saw the end: only a
// new connection that is reset is an attempt.
func TestEndsOfIdleConnections(t *testing.T) {
	for _, c := range []struct {
		name        string
		used, reset bool
		want        int // attempts that are no requests
	}{
		{"unused, closed", false, false, 0},
		{"unused, reset", false, true, 1},
		{"used, closed", true, false, 0},
		{"used, reset", true, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := memnet.New(1)
				d := start(t, injector.Config{Listen: n.Listen, Addr: "dep:80"})
				conn, err := n.DialContext(t.Context(), "tcp", "dep:80")
				if err != nil {
					t.Fatal(err)
				}
				requests := 0
				if c.used {
					requests++
					observer{conn, bufio.NewReader(conn)}.served(t, 10)
				}
				time.Sleep(time.Minute)
				if c.reset {
					if err := conn.(interface{ SetLinger(sec int) error }).SetLinger(0); err != nil {
						t.Fatal(err)
					}
				}
				_ = conn.Close()
				time.Sleep(time.Second)
				as := d.attempts(t)
				if len(as) != requests+c.want || c.want == 1 && (!as[0].Unread() || as[0].Abandon < time.Minute || as[0].Arr > ms) {
					t.Errorf("%d attempts, want %d requests and %d others: %+v", len(as), requests, c.want, as)
				}
			})
		})
	}
}

// Go's own client opens connections in advance, closes those that it opened too
// many of, and keeps some idle: all of that is no attempt.
func TestPoolsAreNoAttempts(t *testing.T) {
	d := start(t, injector.Config{})
	const calls = 200
	for range 5 {
		tr := &http.Transport{MaxIdleConnsPerHost: 1}
		done := make(chan error)
		for range calls {
			go func() {
				_, _, err := get(&http.Client{Transport: tr}, d.URL())
				done <- err
			}()
		}
		for range calls {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		tr.CloseIdleConnections()
	}
	idle := observe(t, d.Addr())
	if as := d.attempts(t); len(as) != 5*calls {
		t.Errorf("%d attempts, want %d", len(as), 5*calls)
	}
	idle.rest()
}

// A client that speaks TLS to a plain port fails, and its attempt is seen.
func TestTLSClient(t *testing.T) {
	d := start(t, injector.Config{})
	conn, err := tls.Dial("tcp", d.Addr(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It never gets so far.
	if err == nil {
		conn.Close()
		t.Fatal("a plain port spoke TLS")
	}
	until(t, "recorded", func() bool { return d.ended() == 1 })
	if a := d.only(t); !a.Unread() || !strings.Contains(a.Detail, "TLS") || a.Outcome != trace.OutcomeFIN {
		t.Errorf("recorded %+v", a)
	}
}

// What is half-said when the injector ends is an attempt that it cut off.
func TestHalfARequestWhenTheInjectorEnds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.at(10 * ms)
		conn, err := w.net.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		w.at(20 * ms)
		if _, err := io.WriteString(conn, "POST /x"); err != nil {
			t.Fatal(err)
		}
		w.at(30 * ms)
		a := w.only(t)
		if !a.Unread() || a.Outcome != trace.OutcomeFIN || a.Arr != 20*ms || a.Dep != 30*ms || a.Abandon != trace.None {
			t.Errorf("recorded %+v, want what came at 20 ms and was cut off at 30 ms", a)
		}
		_ = conn.Close()
	})
}

// What a caller sends before its answer has gone out begins its next request.
func TestSpeakingBeforeTheAnswer(t *testing.T) {
	slow := rule(fault.ActionRespond)
	slow.Latency = fault.Latency{Min: 10 * ms, Max: 10 * ms}
	inVirtualTime(t, func(t *testing.T, w *world) {
		conn, err := w.net.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, conn)
		for _, text := range []string{request("GET", 0), "P"} {
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			w.at(w.rec.Since(time.Now()) + 5*ms)
		}
		w.at(20 * ms)
		_ = conn.Close()
		w.at(30 * ms)
		as := w.attempts(t)
		if len(as) != 2 || as[0].Unread() || !as[1].Unread() || as[1].Arr != 5*ms || as[1].Abandon != 20*ms || !strings.Contains(as[1].Detail, `"P"`) {
			t.Errorf("recorded %+v, want a request and the letter that came at 5 ms and was left at 20 ms", as)
		}
	}, slow)
}

// halfCloser is a connection whose one direction can be closed.
type halfCloser struct {
	net.Conn
	closed *atomic.Bool
}

func (h halfCloser) CloseWrite() error { h.closed.Store(true); return nil }

// A server that refuses what it has not read all of ends its own direction first, as
// closing both would throw its answer away.
func TestRefusalEndsOneDirectionFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var closed atomic.Bool
		w.net.wrap = func(c net.Conn) net.Conn { return halfCloser{c, &closed} }
		conn, err := w.net.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(conn, "GET / HTTP/1.1\r\nHost: d\r\nX: "+strings.Repeat("x", 2<<20))
		all, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(all), "HTTP/1.1 431") || !closed.Load() {
			t.Errorf("answered %.20q, one direction closed: %t", all, closed.Load())
		}
		w.attempts(t)
		_ = conn.Close()
	})
}

// templated is a correlator that looks for tokens everywhere.
func templated() match.Correlator {
	return match.Correlator{Run: 0xfedcba9876543210, Phases: []string{"a"}, Carriers: []string{match.CarrierTemplate}}
}

// A body that is looked into reaches the upstream whole, whatever its size, and a
// token in its first 64 KiB is found.
func TestLookingIntoABody(t *testing.T) {
	var got []byte
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		var err error
		if got, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, r.ContentLength)
	})
	corr := templated()
	token := corr.TraceID(0, 5)
	for _, c := range []struct {
		name   string
		before int // bytes
		after  int
		chunks bool
		id     string
	}{
		{"nothing else", 0, 0, false, "a/5"},
		{"chunks", 10, 10, true, "a/5"},
		{"at the end of what is looked at", match.MaxLook - 32, 1 << 20, false, "a/5"},
		{"a byte too late", match.MaxLook - 31, 1 << 20, false, ""},
		{"long chunks", 1000, 5 << 20, true, "a/5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t, injector.Config{Upstream: up.URL, Correlator: corr})
			sent := []byte(strings.Repeat("x", c.before) + token + strings.Repeat("y", c.after))
			var body io.Reader = bytes.NewReader(sent)
			length := fmt.Sprint(len(sent))
			if c.chunks {
				body, length = io.MultiReader(body), "-1"
			}
			resp, err := client(t).Post(d.URL(), "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || string(text) != length || !bytes.Equal(got, sent) {
				t.Errorf("upstream got %d of %d bytes, length %s (%v), want %s", len(got), len(sent), text, err, length)
			}
			if a := d.only(t); a.ID != c.id || c.id != "" && a.By != match.CarrierTemplate {
				t.Errorf("recorded %+v, want call %q", a, c.id)
			}
		})
	}
}

// A caller that breaks off its body while that is looked into is seen to leave.
func TestBodyThatBreaksOffWhileLookedInto(t *testing.T) {
	for _, up := range []string{"", "http://127.0.0.1:1"} {
		d := start(t, injector.Config{Correlator: templated(), Upstream: up})
		o := observe(t, d.Addr())
		if _, err := io.WriteString(o.conn, "POST /x HTTP/1.1\r\nHost: d\r\nContent-Length: 100\r\n\r\nhalf"); err != nil {
			t.Fatal(err)
		}
		o.leave(t, false)
		until(t, "recorded", func() bool { return d.ended() == 1 })
		if a := d.only(t); a.Outcome != trace.OutcomeHang || a.Abandon == trace.None || a.ID != "" || a.Unread() {
			t.Errorf("upstream %q: recorded %+v, want an attempt that was given up", up, a)
		}
	}
}

// Watch sees requests until it is told not to.
func TestWatch(t *testing.T) {
	d := start(t, injector.Config{})
	var paths []string
	d.Watch(func(r *http.Request) { paths = append(paths, r.URL.Path) })
	c := client(t)
	for _, path := range []string{"/a", "/b"} {
		if _, _, err := get(c, d.URL()+path); err != nil {
			t.Fatal(err)
		}
	}
	d.Watch(nil)
	if _, _, err := get(c, d.URL()+"/c"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(paths, " "); got != "/a /b" {
		t.Errorf("saw %s", got)
	}
}
