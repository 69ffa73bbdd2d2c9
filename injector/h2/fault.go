package h2

import (
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Stream is what a handler may do beyond answering. Nothing is checked: header fields and
// bytes go out as they are given. Errors say that the stream or the connection has ended.
type Stream interface {
	http.ResponseWriter
	// ID is the stream's number.
	ID() uint32
	// Fields sends a HEADERS frame, and CONTINUATION where it takes more, and with end
	// END_STREAM.
	Fields(fields []hpack.HeaderField, end bool) error
	// Data sends a piece of the body, as the client's windows let it.
	Data(p []byte) error
	// End sends END_STREAM, in a DATA frame without data.
	End() error
	// Reset sends RST_STREAM; the stream is over.
	Reset(code http2.ErrCode) error
	// GoAway sends GOAWAY with this last stream. The connection is closed when no stream is
	// open any more, as after Conn.Shutdown.
	GoAway(code http2.ErrCode, last uint32, debug string) error
	// Raw sends bytes on the connection that need not be frames.
	Raw(p []byte) error
	// Sent waits until all that was sent is on the connection.
	Sent() error
	// Close closes the connection by FIN, when all that was sent is on it. Other streams
	// end with ErrClosed. Its error is that of a connection which another end has come to before.
	Close() error
	// Abort resets the connection at once: RST, or FIN with the error of Options.Reset. Other
	// streams end with ErrAborted. A connection that has come to an end already keeps that end,
	// and the error says which.
	Abort() error
}

// ID implements Stream.
func (w *response) ID() uint32 { return w.s.id }

// over is the error of a stream that nothing can be sent on. The lock is held.
func (s *stream) overLocked() error {
	switch {
	case s.ended != nil:
		return s.ended
	case s.c.ended != nil:
		return s.c.ended
	case s.localEnd:
		return net.ErrClosed
	}
	return s.c.out.err
}

// Fields implements Stream.
func (w *response) Fields(fields []hpack.HeaderField, end bool) error {
	s, c := w.s, w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.overLocked(); err != nil {
		return err
	}
	c.block.Reset()
	for _, f := range fields {
		_ = c.enc.WriteField(f) // Into memory.
	}
	for block, first := c.block.Bytes(), true; first || len(block) > 0; first = false {
		n := min(len(block), c.peerFrame)
		last := n == len(block)
		if first {
			_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block[:n], EndStream: end, EndHeaders: last})
		} else {
			_ = c.framer.WriteContinuation(s.id, last, block[:n])
		}
		block = block[n:]
	}
	c.out.wakeLocked()
	if end {
		s.localEndLocked()
	}
	return nil
}

// localEndLocked notes that the server has sent all.
func (s *stream) localEndLocked() {
	s.localEnd = true
	s.closedLocked()
}

// Data implements Stream.
func (w *response) Data(p []byte) error {
	_, err := w.s.write(p, false)
	return err
}

// End implements Stream.
func (w *response) End() error {
	_, err := w.s.write(nil, true)
	return err
}

// Reset implements Stream.
func (w *response) Reset(code http2.ErrCode) error {
	s := w.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	s.resetLocked(code, errDone)
	return s.c.out.err
}

// GoAway implements Stream.
func (w *response) GoAway(code http2.ErrCode, last uint32, debug string) error {
	c := w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	c.goAwayLocked(code, last, debug)
	return nil
}

// Raw implements Stream.
func (w *response) Raw(p []byte) error {
	c := w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	_, _ = c.out.buf.Write(p) // Into memory.
	c.out.wakeLocked()
	return nil
}

// Sent implements Stream.
func (w *response) Sent() error { return w.s.flush() }

// Close implements Stream.
func (w *response) Close() error {
	c := w.s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closeLocked(w.s, ErrClosed)
}

// closeLocked ends the connection from a stream, whose own end is none of another's making. The
// error is why the connection has ended already: it ends once, and in one way.
func (c *Conn) closeLocked(by *stream, why error) error {
	if c.ended != nil {
		return c.ended
	}
	delete(c.streams, by.id)
	by.endLocked(errDone)
	c.endLocked(why)
	return nil
}

// Abort implements Stream.
func (w *response) Abort() error {
	c := w.s.c
	c.mu.Lock()
	over := c.closeLocked(w.s, ErrAborted)
	c.mu.Unlock()
	if over != nil {
		return over
	}
	err := net.UnknownNetworkError(c.nc.LocalAddr().Network())
	if c.o.Reset == nil {
		_ = c.nc.Close()
		return err
	}
	resetErr := c.o.Reset()
	_ = c.nc.Close() // By RST, or it is closed already.
	return resetErr
}

// write sends a piece of a body within the windows, and waits while too much waits to be sent.
func (s *stream) write(p []byte, end bool) (sent int, err error) {
	for {
		n, ahead, err := s.piece(p[sent:], end)
		if err != nil {
			return sent, err
		}
		sent += n
		if ahead > 0 {
			if err := s.flushed(ahead); err != nil {
				return sent, err
			}
		}
		switch {
		case sent == len(p):
			return sent, nil
		case n > 0:
			continue
		}
		select {
		case <-s.poke:
		case <-s.done:
			return sent, net.ErrClosed
		}
	}
}

// piece sends what the windows let through, as one frame. ahead is how many bytes have to be on the
// connection before more is sent; 0: none.
func (s *stream) piece(p []byte, end bool) (n int, ahead int64, err error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.overLocked(); err != nil {
		return 0, 0, err
	}
	n = int(max(0, min(int64(len(p)), s.window, c.window, int64(min(c.peerFrame, maxFrame)))))
	end = end && n == len(p)
	if n > 0 || end {
		_ = c.framer.WriteData(s.id, end, p[:n]) // Into memory.
		s.window -= int64(n)
		c.window -= int64(n)
		c.out.wakeLocked()
	}
	if over := c.out.pending() - maxAhead; over > 0 {
		ahead = c.out.written + over
	}
	if end {
		s.localEndLocked()
	}
	return n, ahead, nil
}
