package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"github.com/faultline-go/faultline/target/memnet"
)

const addr = "dependency:80"

// pair returns the two ends of a connection of a fresh network.
func pair(t *testing.T) (dialled, accepted net.Conn) {
	t.Helper()
	n := memnet.New(1)
	ln := listen(t, n, addr)
	dialled = dial(t, n, addr)
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = accepted.Close()
	})
	return dialled, accepted
}

func listen(t *testing.T, n *memnet.Network, addr string) net.Listener {
	t.Helper()
	ln, err := n.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func dial(t *testing.T, n *memnet.Network, addr string) net.Conn {
	t.Helper()
	c, err := n.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConn is the conformance test of golang.org/x/net, on the real clock.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		n := memnet.New(1)
		ln, err := n.Listen("tcp", addr)
		if err != nil {
			return nil, nil, nil, err
		}
		if c1, err = n.DialContext(context.Background(), "tcp", addr); err != nil {
			return nil, nil, nil, err
		}
		if c2, err = ln.Accept(); err != nil {
			return nil, nil, nil, err
		}
		return c1, c2, func() {
			_ = c1.Close()
			_ = c2.Close()
			_ = ln.Close()
		}, nil
	})
}

func TestCloseGivesEOFAfterTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		mustWrite(t, c, "last words")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(s)
		if err != nil || string(got) != "last words" {
			t.Errorf("read %q, %v", got, err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read on the closed end: %v", err)
		}
	})
}

func TestLingerZeroResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		if err := s.(interface{ SetLinger(sec int) error }).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
	})
}

func TestWritingToAClosedPeerResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read after the peer's close: %v", err)
		}
		mustWrite(t, c, "to nobody")
		time.Sleep(time.Millisecond)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read after writing to nobody: %v", err)
		}
	})
}

func TestDialErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		if _, err := n.DialContext(t.Context(), "tcp", "nobody:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
		ln := listen(t, n, addr)
		_ = ln.Close()
		if _, err := n.DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens any more: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.DialContext(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		for _, bad := range [][2]string{{"udp", addr}, {"tcp", "no-port"}, {"tcp", "a:http"}, {"tcp", "a:70000"}} {
			if _, err := n.DialContext(t.Context(), bad[0], bad[1]); err == nil {
				t.Errorf("dialling %v gave no error", bad)
			}
			if _, err := n.Listen(bad[0], bad[1]); err == nil {
				t.Errorf("listening on %v gave no error", bad)
			}
		}
	})
}

// TestGivingUpADialClosesTheConnection cancels a dial between its two hops: the
// other side must not be left with a connection that never ends.
func TestGivingUpADialClosesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln := listen(t, n, addr)
		ctx, cancel := context.WithCancel(t.Context())
		accepted := make(chan net.Conn)
		go func() {
			c, _ := ln.Accept()
			cancel()
			accepted <- c
		}()
		if c, err := n.DialContext(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
			t.Fatalf("dial: %v, %v", c, err)
		}
		s := <-accepted
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read: %v", err)
		}
		_ = s.Close()
	})
}

func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a, b := listen(t, n, "127.0.0.1:0"), listen(t, n, "localhost:0")
		if a.Addr().String() == b.Addr().String() {
			t.Errorf("two listeners share %v", a.Addr())
		}
		if _, ok := a.Addr().(*net.TCPAddr); !ok {
			t.Errorf("the address is a %T", a.Addr())
		}
		if _, err := n.Listen("tcp", a.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("listening twice: %v", err)
		}
		everywhere := listen(t, n, ":9000")
		for _, to := range []string{a.Addr().String(), b.Addr().String(), "anything:9000", everywhere.Addr().String()} {
			c := dial(t, n, to)
			if c.RemoteAddr().String() != to {
				t.Errorf("dialled %s, got %v", to, c.RemoteAddr())
			}
		}
	})
}

func TestClosingAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln := listen(t, n, addr)
		waiting := dial(t, n, addr)
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a connection nobody accepted: %v", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		again := listen(t, n, addr)
		errs := make(chan error)
		go func() {
			_, err := again.Accept()
			errs <- err
		}()
		synctest.Wait()
		_ = again.Close()
		if err := <-errs; !errors.Is(err, net.ErrClosed) {
			t.Errorf("waiting accept: %v", err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t)
		start := time.Now()
		setReadDeadline(t, c, start.Add(time.Second))
		time.AfterFunc(500*time.Millisecond, func() { setReadDeadline(t, c, start.Add(2*time.Second)) })
		_, err := c.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("a deadline moved to 2 s ended the read after %v", took)
		}
		setReadDeadline(t, c, time.Time{})
		time.AfterFunc(time.Second, func() { setReadDeadline(t, c, time.Unix(1, 0)) })
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read with a past deadline: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("a deadline in the past ended the read after %v", took)
		}
	})
}

func setReadDeadline(t *testing.T, c net.Conn, at time.Time) {
	t.Helper()
	if err := c.SetReadDeadline(at); err != nil {
		t.Error(err)
	}
}

func TestAWriteWaitsOnlyWhenTheBufferIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		start := time.Now()
		full := bytes.Repeat([]byte("x"), memnet.Buffer)
		if n, err := c.Write(full); n != len(full) || err != nil || time.Since(start) != 0 {
			t.Errorf("filling the buffer wrote %d, %v in %v", n, err, time.Since(start))
		}
		if err := c.SetWriteDeadline(start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Write([]byte("y")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write beyond the buffer: %d, %v", n, err)
		}
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { _, _ = io.ReadFull(s, make([]byte, 10)) })
		if n, err := c.Write([]byte("zz")); n != 2 || err != nil {
			t.Errorf("a write after room was made: %d, %v", n, err)
		}
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("the write did not wait for room: it ended after %v", took)
		}
	})
}

func mustWrite(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}
