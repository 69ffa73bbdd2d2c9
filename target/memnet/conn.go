package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Buffer is how many bytes a direction of a connection holds, on their way or
// unread, before a write waits for the reader.
const Buffer = 1 << 20

// conn is one end of a connection. The two ends share one lock, which nobody
// holds while waiting.
type conn struct {
	mu          *sync.Mutex
	peer        *conn
	near, far   net.Addr
	out         *line    // carries what this end sends
	flight      []parcel // sent by this end and not arrived, in order
	inbox       []byte   // arrived and unread
	queued      int      // bytes on their way to this end, or unread
	ended       error    // what a reader gets after inbox: io.EOF or ECONNRESET
	closed      bool
	linger0     bool
	readBefore  time.Time // zero: no deadline
	writeBefore time.Time
	readTimer   *time.Timer
	writeTimer  *time.Timer
	wake        chan struct{} // closed and replaced at every change for this end
}

var _ net.Conn = (*conn)(nil)

// parcel is one hop of a connection: bytes, or the end of them.
type parcel struct {
	at   time.Duration
	data []byte
	end  error
}

// newPair makes the two ends of a dialled connection.
func newPair(d *dial) (near, far *conn) {
	mu := new(sync.Mutex)
	near = &conn{mu: mu, near: d.near, far: d.far, out: d.up, wake: make(chan struct{})}
	far = &conn{mu: mu, near: d.far, far: d.near, out: d.down, wake: make(chan struct{})}
	near.peer, far.peer = far, near
	return near, far
}

// Read waits for bytes, the end of the stream, the deadline or Close.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, wake, err := c.tryRead(b)
		if wake == nil {
			return n, err
		}
		<-wake
	}
}

// tryRead returns a channel to wait on when there is nothing to return yet.
func (c *conn) tryRead(b []byte) (n int, wake <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, nil, c.fail("read", net.ErrClosed)
	case passed(c.readBefore):
		return 0, nil, c.fail("read", os.ErrDeadlineExceeded)
	case len(b) == 0:
		return 0, nil, nil
	case len(c.inbox) > 0:
		n = copy(b, c.inbox)
		c.inbox = c.inbox[n:]
		c.queued -= n
		c.peer.signal() // There is room for its writer.
		return n, nil, nil
	case errors.Is(c.ended, io.EOF):
		return 0, nil, io.EOF
	case c.ended != nil:
		return 0, nil, c.fail("read", os.NewSyscallError("read", c.ended))
	}
	return 0, c.wake, nil
}

// Write sends b, in one hop as far as the buffer has room. It waits only while
// the buffer is full.
func (c *conn) Write(b []byte) (int, error) {
	sent := 0
	for {
		n, wake, err := c.tryWrite(b[sent:])
		sent += n
		if err != nil || sent == len(b) {
			return sent, err
		}
		if wake != nil {
			<-wake
		}
	}
}

// tryWrite sends what there is room for, or returns a channel to wait on.
func (c *conn) tryWrite(b []byte) (n int, wake <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := Buffer - c.peer.queued
	switch {
	case c.closed:
		return 0, nil, c.fail("write", net.ErrClosed)
	case passed(c.writeBefore):
		return 0, nil, c.fail("write", os.ErrDeadlineExceeded)
	case errors.Is(c.ended, syscall.ECONNRESET):
		return 0, nil, c.fail("write", os.NewSyscallError("write", c.ended))
	case len(b) == 0:
		return 0, nil, nil
	case room <= 0:
		return 0, c.wake, nil
	}
	n = min(len(b), room)
	c.peer.queued += n
	c.send(parcel{data: append([]byte(nil), b[:n]...)})
	return n, nil, nil
}

// Close ends this end: the peer reads io.EOF after what was written before, or
// ECONNRESET after SetLinger(0).
func (c *conn) Close() error { return c.close(false) }

// abort closes with a reset.
func (c *conn) abort() { _ = c.close(true) } // It is closed already: that is what was wanted.

func (c *conn) close(reset bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.closed = true
	c.queued -= len(c.inbox)
	c.inbox = nil
	stop(c.readTimer)
	stop(c.writeTimer)
	c.signal()
	c.peer.signal()
	end := io.EOF
	if reset || c.linger0 {
		end = syscall.ECONNRESET
	}
	c.send(parcel{end: end})
	return nil
}

// SetLinger with 0 makes Close send a reset, as on a *net.TCPConn; any other
// value makes it send an orderly end, for close never waits here.
func (c *conn) SetLinger(sec int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	c.linger0 = sec == 0
	return nil
}

// send puts a parcel on its way. The lock is held.
func (c *conn) send(p parcel) {
	p.at = c.out.hop(c.arrive)
	c.flight = append(c.flight, p)
}

// arrive delivers to the peer what is due. On a real clock two timers may fire
// in the wrong order, so it delivers by instant and not one parcel per call.
func (c *conn) arrive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.out.clock.now()
	for len(c.flight) > 0 && c.flight[0].at <= now {
		p := c.flight[0]
		c.flight = c.flight[1:]
		c.peer.receive(p)
	}
}

// receive takes one parcel. The lock is held.
func (c *conn) receive(p parcel) {
	if c.closed {
		c.queued -= len(p.data)
		if p.data != nil {
			c.send(parcel{end: syscall.ECONNRESET}) // Nobody reads here any more.
		}
		c.peer.signal()
		return
	}
	if p.end != nil {
		c.ended = p.end
	}
	c.inbox = append(c.inbox, p.data...)
	c.signal()
}

// signal lets whoever waits at this end look again. The lock is held.
func (c *conn) signal() {
	close(c.wake)
	c.wake = make(chan struct{})
}

// LocalAddr is this end's address.
func (c *conn) LocalAddr() net.Addr { return c.near }

// RemoteAddr is the other end's address.
func (c *conn) RemoteAddr() net.Addr { return c.far }

// fail dresses an error as package net does.
func (c *conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.near, Addr: c.far, Err: err}
}

// stop stops a timer that may not exist.
func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
