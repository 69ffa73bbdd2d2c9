package h2

import (
	"bytes"
	"cmp"
	"errors"
	"net"
	"time"
)

// outbox is what waits to be written to the connection. The connection's lock guards it.
type outbox struct {
	buf      bytes.Buffer
	wake     chan struct{} // holds a token when there is something to do
	progress chan struct{} // closed and replaced when something was written
	inflight int64         // bytes that are being written
	written  int64         // bytes, since the beginning
	control  int           // frames that answer the client's own, since the last write
	finish   bool
	err      error
}

func newOutbox() outbox {
	return outbox{wake: make(chan struct{}, 1), progress: make(chan struct{})}
}

// wakeLocked has what is in buf written.
func (o *outbox) wakeLocked() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// pending is how many bytes are not written yet.
func (o *outbox) pending() int64 { return o.inflight + int64(o.buf.Len()) }

// finishLocked has the connection ended when all is written.
func (o *outbox) finishLocked() {
	o.finish = true
	o.wakeLocked()
}

// write writes what waits, until the connection ends.
func (c *Conn) write() {
	var chunk []byte
	for range c.out.wake {
		c.mu.Lock()
		chunk = append(chunk[:0], c.out.buf.Bytes()...)
		c.out.buf.Reset()
		c.out.control = 0
		c.out.inflight = int64(len(chunk))
		finish := c.out.finish
		c.mu.Unlock()
		n, err := c.nc.Write(chunk) // Nothing to be written is no error.
		c.mu.Lock()
		c.out.written, c.out.inflight = c.out.written+int64(n), 0
		over := err != nil || finish && c.out.buf.Len() == 0
		if over {
			c.out.err = cmp.Or(err, net.ErrClosed) // What is queued from now on is never written.
		}
		close(c.out.progress)
		c.out.progress = make(chan struct{})
		c.mu.Unlock()
		switch {
		case err != nil:
			_ = c.nc.Close() // The reader ends with it.
			return
		case over:
			c.finish()
			return
		}
	}
}

// finish ends the connection after what was written: by FIN, and a moment in which what the
// client still sends is read, as unread bytes would make the FIN a RST.
func (c *Conn) finish() {
	c.mu.Lock()
	why := c.ended
	c.mu.Unlock()
	if errors.Is(why, ErrAborted) {
		return // By Abort, which must not find it ended by FIN.
	}
	half := c.o.CloseWrite
	if errors.Is(why, ErrShut) || errors.Is(why, ErrClientLeft) || half == nil || half() != nil {
		_ = c.nc.Close()
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(linger))
}

// flush waits until all that was queued so far is written. A client who resets the stream ends the wait.
func (s *stream) flush() error {
	s.c.mu.Lock()
	target := s.c.out.written + s.c.out.pending()
	s.c.mu.Unlock()
	return s.flushed(target)
}

// flushed waits until so many bytes are written. The end of the connection does not end the wait: what
// was written before it is to be known, and the writer comes to an end of its own.
func (s *stream) flushed(target int64) error {
	c, done := s.c, s.done
	for {
		c.mu.Lock()
		written, err, progress := c.out.written, c.out.err, c.out.progress
		reset := s.ended
		if c.ended != nil {
			reset = nil
		}
		c.mu.Unlock()
		switch {
		case written >= target:
			return nil
		case err != nil:
			return err
		case reset != nil:
			return reset
		}
		select {
		case <-progress:
		case <-done:
			done = nil
		}
	}
}
