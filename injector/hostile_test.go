package injector_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// A tunnel that an upstream fills and whose caller reads nothing does not keep the injector from
// its end.
func TestCloseEndsATunnelThatNobodyReads(t *testing.T) {
	full := make(chan struct{}, 1)
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		nc, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
		for block := make([]byte, 1<<20); ; {
			nc.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
			if _, err := nc.Write(block); err != nil {
				break
			}
		}
		full <- struct{}{}
		io.Copy(io.Discard, nc)
	})
	d := start(t, injector.Config{Upstream: up.URL})
	o := observe(t, d.Addr())
	o.say("GET /x HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n")
	<-full
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		d.Close()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("Close waits for who does not read")
		o.conn.Close()
		<-closed
	}
}

// An injector that has ended does not take its port again, whatever is asked of it.
func TestADoorStaysClosedAfterClose(t *testing.T) {
	for _, action := range []fault.Action{fault.ActionRefuse, fault.ActionDeaf} {
		for name, ask := range map[string]func(dependency) error{
			"clear": func(d dependency) error { return d.Clear() },
			"enter": func(d dependency) error { return d.Enter("") },
			"shut":  func(d dependency) error { d.Clear(); return d.Enter("p") },
		} {
			d := start(t, injector.Config{}, rule(action))
			before := runtime.NumGoroutine()
			d.Close()
			if err := ask(d); err != nil {
				t.Errorf("%s, %s: %v", action, name, err)
			}
			if c, err := net.Dial("tcp", d.Addr()); err == nil {
				c.Close()
				t.Errorf("%s, %s: somebody listens at %s", action, name, d.Addr())
			}
			settle(t, before)
		}
	}
}

// slowReader is a raw socket whose kernel has little room.
func slowReader(t *testing.T, addr string) observer {
	t.Helper()
	o := observe(t, addr)
	if err := o.conn.(*net.TCPConn).SetReadBuffer(32 << 10); err != nil {
		t.Fatal(err)
	}
	return o
}

// All that is sent before a cut comes to a caller who reads late, also where it ends by RST, which
// would throw away what his kernel had no room for.
func TestACutLosesNothingBeforeIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the kernel does not say what is on its way")
	}
	const size = 2 << 20
	for end, by := range map[string]fault.Action{"RST": fault.ActionReset, "FIN": fault.ActionClose} {
		r := rule(fault.ActionRespond)
		r.Respond.Fill, r.Form.Cut = 2*size, &fault.Cut{At: fault.CutBody, Bytes: size, By: by}
		d := start(t, injector.Config{}, r)
		o := slowReader(t, d.Addr())
		o.say(request("GET", 0))
		until(t, "it arrived", func() bool { return len(d.snapshot()) == 1 })
		time.Sleep(50 * time.Millisecond) // Or the fault would not be behind anything.
		seen, got := o.rest()
		if _, body, _ := strings.Cut(seen, "\r\n\r\n"); len(body) != size || got != end {
			t.Errorf("%d bytes of the body and %s, want %d and %s", len(body), got, size, end)
		}
	}
}

// The same of bytes that are passed on.
func TestAResetOfTCPLosesNothingBeforeIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the kernel does not say what is on its way")
	}
	const size = 2 << 20
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			defer c.Close()
			io.Copy(c, io.LimitReader(zeros{}, 2*size))
		}
	}()
	r := fault.Rule{Action: fault.ActionTCP, Select: fault.Select{Kind: fault.SelectAll}, TCP: &fault.TCP{
		Down: &fault.Stream{End: &fault.StreamEnd{After: size, By: fault.ActionReset}},
	}}
	d := start(t, injector.Config{TCP: &injector.TCP{Upstream: ln.Addr().String()}}, r)
	o := slowReader(t, d.Addr())
	time.Sleep(100 * time.Millisecond) // As above.
	if seen, end := o.rest(); len(seen) != size || end != "RST" {
		t.Errorf("%d bytes and %s, want %d and RST", len(seen), end, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The trailers of a request come to the upstream, also if the request does not wait.
func TestUpstreamSeesTrailersOfTheRequest(t *testing.T) {
	late := rule(fault.ActionPass)
	late.Latency = fault.Latency{Min: 1, Max: 1}
	for _, rules := range [][]fault.Rule{nil, {late}} {
		got := make(chan string, 1)
		up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			got <- r.Trailer.Get("X-Sum")
		})
		d := start(t, injector.Config{Upstream: up.URL}, rules...)
		o := observe(t, d.Addr())
		o.say("POST /x HTTP/1.1\r\nHost: d\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n")
		if resp, err := http.ReadResponse(o.r, nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		if sum := <-got; sum != "42" {
			t.Errorf("the upstream has the trailer %q", sum)
		}
	}
}

// An upstream that breaks off while the caller still sends is seen as it is recorded.
func TestAnUpstreamThatBreaksOffInAnUpload(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				t.Error(err)
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			time.Sleep(20 * time.Millisecond) // So that what was said comes before its end.
			c.Close()
		}
	}()
	d := start(t, injector.Config{Upstream: "http://" + ln.Addr().String()})
	for range 5 {
		o := observe(t, d.Addr())
		o.say(request("POST", 8<<20))
		if seen, end := o.rest(); end != "FIN" || !strings.HasSuffix(seen, "half") {
			t.Errorf("%q, %s", seen, end)
		}
	}
	for _, a := range d.attempts(t) {
		if a.Outcome != trace.OutcomeFIN {
			t.Errorf("recorded %+v", a)
		}
	}
}
