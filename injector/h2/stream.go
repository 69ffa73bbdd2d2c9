package h2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"golang.org/x/net/http2"
)

// stream is a request and its answer. The connection's lock guards what changes.
type stream struct {
	c      *Conn
	id     uint32
	cancel context.CancelCauseFunc
	done   <-chan struct{}

	ended     error // why it is closed before its end; nil: it is not
	remoteEnd bool  // the client has sent all
	localEnd  bool  // the server has
	recv      int64 // what the client may send
	owed      int64 // what it is to be told of
	window    int64 // what the server may send
	poke      chan struct{}
	body      *body
	length    int64 // as the head says; -1: it does not
	got       int64
	trailer   http.Header // of the request
}

// endLocked closes the stream for a reason; its handler is told by its context.
func (s *stream) endLocked(why error) {
	if s.ended != nil {
		return
	}
	s.ended = why
	s.cancel(why)
	s.pokeLocked()
	s.pokeBodyLocked()
}

// resetLocked sends RST_STREAM.
func (s *stream) resetLocked(code http2.ErrCode, why error) {
	if s.c.ended != nil || s.c.streams[s.id] == nil {
		return
	}
	_ = s.c.framer.WriteRSTStream(s.id, code) // Into memory.
	s.c.out.wakeLocked()
	s.c.forgiveLocked(s.id)
	s.endLocked(why)
	s.c.dropLocked(s)
}

// remoteEndLocked notes that the client has sent all.
func (s *stream) remoteEndLocked(trailer http.Header) {
	s.remoteEnd, s.trailer = true, trailer
	s.pokeBodyLocked()
	s.closedLocked()
}

// closedLocked forgets the stream if both sides have sent all.
func (s *stream) closedLocked() {
	if s.remoteEnd && s.localEnd {
		s.c.dropLocked(s)
	}
}

// pokeLocked lets who waits for a window look again.
func (s *stream) pokeLocked() { token(s.poke) }

// pokeBodyLocked lets who reads the body look again.
func (s *stream) pokeBodyLocked() { token(s.body.poke) }

// token leaves one in a channel that holds one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// giveLocked lets the client send so many bytes more on the stream.
func (s *stream) giveLocked(n int64) {
	s.owed += n
	set := s.c.o.Settings
	held := set.NoUpdates && !s.c.released
	if s.owed == 0 || held || s.remoteEnd || s.ended != nil || s.owed < int64(set.InitialWindow)/4 && !set.NoUpdates {
		return
	}
	_ = s.c.framer.WriteWindowUpdate(s.id, uint32(min(s.owed, maxWindow)))
	s.recv += s.owed
	s.owed = 0
	s.c.out.wakeLocked()
}

// body is the body of a request.
type body struct {
	s        *stream
	buf      bytes.Buffer
	poke     chan struct{}
	closed   bool
	onRead   func() // before the first Read; nil: nothing is to be done
	trailers func(http.Header)
}

// Read waits for bytes, or the end of the stream.
func (b *body) Read(p []byte) (int, error) {
	if b.onRead != nil {
		b.onRead()
		b.onRead = nil
	}
	for over := false; ; {
		n, ok, err := b.take(p)
		switch {
		case ok:
			return n, err
		case over: // Its handler has returned.
			return 0, http.ErrBodyReadAfterClose
		}
		select {
		case <-b.poke:
		case <-b.s.done:
			over = true
		}
	}
}

// take reads what is there; false: nothing is yet.
func (b *body) take(p []byte) (n int, ok bool, err error) {
	b.s.c.mu.Lock()
	defer b.s.c.mu.Unlock()
	switch {
	case b.closed:
		return 0, true, http.ErrBodyReadAfterClose
	case b.s.ended != nil:
		return 0, true, b.s.ended
	case b.buf.Len() > 0:
		n, err = b.buf.Read(p)
		b.s.giveLocked(int64(n))
		return n, true, err
	case b.s.remoteEnd:
		if b.trailers != nil {
			b.trailers(b.s.trailer)
			b.trailers = nil
		}
		return 0, true, io.EOF
	}
	return 0, false, nil
}

// Close ends reading; what still comes is thrown away, within the window.
func (b *body) Close() error {
	b.s.c.mu.Lock()
	defer b.s.c.mu.Unlock()
	b.closed = true
	b.buf.Reset()
	return nil
}

// errDone is why the context of a handler ends that has returned.
var errDone = errors.New("the handler has returned")
