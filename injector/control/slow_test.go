package control_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// pipes is a network without buffers, for bubbles.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() pipes {
	p := pipes{calls: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error                                { p.close(); return nil }
func (p pipes) Addr() net.Addr                              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (p pipes) listen(string, string) (net.Listener, error) { return p, nil }

func (p pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	p.calls <- far
	return near
}

// A reader who takes nothing is dropped after a time, and until then nobody waits for him.
func TestASlowReaderIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		a := begin(t, control.Config{Listen: p.listen}, injector.Config{Listen: newPipes().listen}, "dep")
		began := time.Now()
		c := p.dial(t)
		defer c.Close()
		text := "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		// One byte at a time, so that nothing of the snapshot is taken.
		resp, err := http.ReadResponse(bufio.NewReaderSize(oneByOne{c}, 16), nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", resp, err)
		}
		synctest.Wait()
		if err := a.deps[0].Enter("out"); err != nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		c.SetReadDeadline(time.Now())
		if _, err := c.Read(nil); errors.Is(err, io.EOF) {
			t.Error("dropped too early")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		c.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := io.Copy(io.Discard, c); err != nil || time.Since(began) > 7*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		m := p.dial(t)
		defer m.Close()
		go io.WriteString(m, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if metrics, err := io.ReadAll(m); err != nil || !strings.Contains(string(metrics), "\nfaultline_streams_dropped_total 1\n") {
			t.Errorf("it is not counted: %s, %v", metrics, err)
		}
	})
}

// A caller who begins a request and does not end it is dropped as well.
func TestASlowCallerIsDropped(t *testing.T) {
	for what, text := range map[string]string{
		"head": "GET /v1/state HTTP/1.1\r\nHost: local",
		"body": "POST /v1/clear HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			begin(t, control.Config{Listen: p.listen}, injector.Config{Listen: newPipes().listen}, "dep")
			began := time.Now()
			c := p.dial(t)
			defer c.Close()
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(c)
			if took := time.Since(began); err != nil || took == 0 || took > 20*time.Second || strings.HasPrefix(string(answer), "HTTP/1.1 200") {
				t.Errorf("%s: after %v %q, %v", what, took, answer, err)
			}
		})
	}
}

// oneByOne reads single bytes.
type oneByOne struct{ io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(1, len(p))]) }

// A change is told once, and nothing is told where nothing changes.
func TestDeltasAreOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		a := begin(t, control.Config{Listen: p.listen}, injector.Config{Listen: newPipes().listen}, "dep")
		d := websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return p.dial(t), nil }}
		c, resp, err := d.Dial("ws://localhost/v1/stream", nil)
		if err != nil {
			t.Fatal(resp, err)
		}
		defer c.Close()
		var got []string
		go func() {
			for m := (control.StreamMessage{}); c.ReadJSON(&m) == nil; m = (control.StreamMessage{}) {
				got = append(got, m.Type)
			}
		}()
		time.Sleep(time.Second)
		if err := a.deps[0].Enter("out"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"snapshot", "delta"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A stream that has ended leaves its place to another.
func TestStreamsEnd(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	for range 2 {
		for range 32 {
			until(t, "there is a place", func() bool {
				_, _, err := a.stream(nil)
				return err == nil
			})
		}
		if _, resp, err := a.stream(nil); resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("one too many: %v, %v", resp, err)
		}
		a.hangUp()
	}
}
