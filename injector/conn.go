package injector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// watched is a listener whose connections are watched for attempts that never
// become a request.
type watched struct {
	*door
	injector *Injector
}

// Accept notes when the connection came.
func (w watched) Accept() (net.Conn, error) {
	in, err := w.next()
	if err != nil {
		return nil, err
	}
	c := in.Conn
	if w.injector.room != nil {
		c = w.injector.secure(c)
	}
	closed := make(chan struct{})
	watching := &conn{
		Conn: c, injector: w.injector, closed: closed, close: sync.OnceFunc(func() { close(closed) }),
		fresh: true, late: in.late, since: time.Now(), phase: w.injector.phase.Load().name,
	}
	watching.ahead.stir.L = &watching.ahead.mu
	return watching, nil
}

// conn is a connection of a caller. What it is for is to tell, at its end, whether
// an attempt was made on it that no request tells of: see unread.
type conn struct {
	net.Conn
	injector *Injector
	closed   chan struct{}
	close    func()                // closes closed, once
	pace     atomic.Pointer[pacer] // of what is sent; nil: none
	idle     atomic.Bool           // it waits for a request
	limited  atomic.Bool           // there is a time by which to have read

	busy atomic.Bool // a request was read and is served

	mu     sync.Mutex
	fresh  bool      // no request has come yet
	late   bool      // the first request waited for the door to open
	head   []byte    // the first bytes that belong to no request
	size   int64     // how many such bytes there are
	since  time.Time // when the first of them came; before that, when the connection did
	phase  string    // of that moment
	left   time.Time // when the caller ended the connection
	reset  bool      // by RST
	status int       // what the server answered to such bytes by itself
	said   time.Time // when

	ahead ahead
	seat  *exchange   // for the next request; nil: it needs one of its own
	taken atomic.Bool // from the server, by the handler of a request, until whose end it is counted
}

// headBytes is how much of what is no request is kept, to say what it looks like.
const headBytes = 24

// Read watches what the caller sends, and how it leaves.
func (c *conn) Read(p []byte) (int, error) {
	// A request being served, its body is read into large buffers. A single byte is
	// net/http looking whether the caller left: it begins the next request.
	if len(p) == 1 {
		return c.lookAhead(p)
	}
	n, since := c.takeAhead(p)
	if n > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.note(p[:n], since)
		return n, nil
	}
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !c.busy.Load() {
		c.note(p[:n], c.injector.now())
	}
	if err != nil {
		c.noteEnd(err)
	}
	return n, err
}

// note takes in what came, if it belongs to no request that is being served. mu is held.
func (c *conn) note(p []byte, since time.Time) {
	if c.busy.Load() {
		return
	}
	if c.size == 0 {
		c.since, c.phase = since, c.injector.phase.Load().name
	}
	c.size += int64(len(p))
	c.head = append(c.head, p[:min(len(p), headBytes-len(c.head))]...)
}

// noteEnd notes how the caller left. mu is held.
func (c *conn) noteEnd(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		c.left, c.reset = time.Now(), errors.Is(err, syscall.ECONNRESET)
	}
}

// Write watches what the server answers where there is no request.
func (c *conn) Write(p []byte) (int, error) {
	if !c.busy.Load() {
		c.noteAnswer(p)
	}
	if slow := c.pace.Load(); slow != nil {
		return slow.write(c, p)
	}
	return c.Conn.Write(p)
}

// noteAnswer takes in the status of what is answered where there is no request.
func (c *conn) noteAnswer(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version := []byte("HTTP/1.1 "); c.status == 0 && bytes.HasPrefix(p, version) && len(p) >= len(version)+3 {
		c.status, _ = strconv.Atoi(string(p[len(version) : len(version)+3])) // 0: no status.
		c.said = time.Now()
	}
}

// Close ends what waits to be sent, too.
func (c *conn) Close() error {
	c.close()
	c.ahead.end()
	return c.Conn.Close()
}

// slow has so many bytes a second sent from now on, until enough, or until the caller is
// gone; 0: as many as there are.
func (c *conn) slow(rate int64, enough, gone <-chan struct{}) {
	if rate == 0 {
		c.pace.Store(nil)
		return
	}
	c.pace.Store(&pacer{pace: pace{rate: rate}, enough: enough, gone: gone})
}

// heed has what is sent slowly, and has not begun, end with another channel.
func (c *conn) heed(gone <-chan struct{}) {
	if s := c.pace.Load(); s != nil {
		c.pace.Store(&pacer{pace: s.pace, enough: s.enough, gone: gone})
	}
}

// pacer sends at a pace. Who sends on a connection does so alone.
type pacer struct {
	pace

	enough <-chan struct{}
	gone   <-chan struct{}
}

// write sends p, piece by piece.
func (s *pacer) write(c *conn, p []byte) (int, error) {
	for sent := 0; ; {
		n := s.piece(len(p) - sent)
		timer := time.NewTimer(time.Until(s.due(n, time.Now())))
		select {
		case <-timer.C:
		case <-s.enough:
			timer.Stop()
		case <-s.gone:
			timer.Stop()
			return sent, net.ErrClosed
		case <-c.closed:
			timer.Stop()
			return sent, net.ErrClosed
		}
		n, err := c.Conn.Write(p[sent : sent+n])
		if sent += n; err != nil || sent == len(p) {
			return sent, err
		}
	}
}

// longAgo is the deadline by which net/http ends its look ahead, in seconds of Unix.
const longAgo = 1

// SetReadDeadline spares the network what changes nothing: the server says several times in every
// request that there is no such time, and ends a look ahead by one that has passed.
func (c *conn) SetReadDeadline(t time.Time) error {
	is := !t.IsZero()
	switch {
	case !is:
		c.ahead.anew()
	case t.Unix() == longAgo && !c.ahead.end():
		return nil
	}
	if c.limited.Swap(is) || is {
		return c.Conn.SetReadDeadline(t)
	}
	return nil
}

// SetDeadline is one for reading as well.
func (c *conn) SetDeadline(t time.Time) error {
	c.limited.Store(!t.IsZero())
	return c.Conn.SetDeadline(t)
}

// CloseWrite lets the server end a connection softly, where the network can.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// begin tells that a request was read: the bytes so far were its head. It reports whether
// they waited for the door to open.
func (c *conn) begin() (late bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late, c.late = c.late, false
	c.busy.Store(true)
	c.fresh, c.head, c.size = false, c.head[:0], 0
	return late
}

// end tells that a request was served, all of its body read.
func (c *conn) end() { c.busy.Store(false) }

// unread returns the attempt that was made on a closed connection without a
// request that could be read, with its end. There is none in these cases, in which
// nobody can have meant one:
//
//   - All that came was requests.
//   - Nothing came, and the caller closed the connection, or the injector ended. A
//     client speaks first, so this is a connection that a pool opened in advance,
//     or opened one too many of, and gave up.
//   - A connection that has served a request is closed or reset before another.
//
// A caller that resets a new connection without a word did not mean to keep it: it
// gave an attempt up.
func (c *conn) unread() (a trace.Attempt, complete func(*trace.Attempt), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gaveUp := c.fresh && c.reset
	if c.busy.Load() || c.size == 0 && !gaveUp && c.status == 0 {
		return trace.Attempt{}, nil, false
	}
	in := c.injector
	a = trace.Attempt{
		Injector: in.cfg.Name, Phase: c.phase, Peer: c.RemoteAddr().String(), Arr: in.offset(c.since), Detail: c.looks(),
	}
	left, said, now := c.left, c.said, time.Now()
	return a, func(a *trace.Attempt) {
		switch {
		case c.refused() && !isTLS(c.head):
			a.Outcome, a.Status, a.Dep = trace.OutcomeAnswered, c.status, in.offset(said)
		case c.refused(): // What is not encrypted is no answer to this caller.
			a.Outcome, a.Dep = trace.OutcomeFIN, in.offset(said)
		case !left.IsZero():
			a.Outcome, a.Abandon = trace.OutcomeHang, in.offset(left)
		default:
			a.Outcome, a.Dep = trace.OutcomeFIN, in.offset(now)
		}
	}, true
}

// refused reports whether the server answered what came before its caller left; it
// also answers a request that ends in the middle, when nobody is there any more.
func (c *conn) refused() bool { return c.status != 0 && (c.left.IsZero() || c.said.Before(c.left)) }

// looks says what came instead of a request.
func (c *conn) looks() string {
	switch {
	case c.size == 0 && c.refused(): // It came in one piece with an earlier request, and was read with that.
		return fmt.Sprintf("no request that can be served: what came right behind an earlier request was answered %d", c.status)
	case c.size == 0 && c.status != 0:
		return "no request: the connection ended in the middle of what came right behind an earlier request"
	case c.size == 0:
		return "no request: the caller reset the connection before it sent anything"
	case isTLS(c.head):
		return "no request: a TLS handshake, but this port speaks plain HTTP"
	case bytes.HasPrefix(c.head, []byte("PRI * HTTP/2")):
		return fmt.Sprintf("no request: the connection ended after %d bytes of the preface of HTTP/2", c.size)
	case c.refused():
		return fmt.Sprintf("no request that can be served: %d bytes that begin %q were answered %d", c.size, c.head, c.status)
	}
	return fmt.Sprintf("no request: the connection ended after %d bytes, %q", c.size, c.head)
}

// isTLS reports whether these are the first bytes of a TLS record with a
// handshake (RFC 8446, section 5.1).
func isTLS(head []byte) bool { return len(head) >= 2 && head[0] == 0x16 && head[1] == 3 }

// connKey is the context key of a request's *conn.
type connKey struct{}

// withConn lets a request find its connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request.
func connOf(r *http.Request) (*conn, bool) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	return c, ok
}

// track follows connections: Close waits for them, and what came on one without
// becoming a request is recorded at its end. A connection is counted by the accept
// loop, which has ended before Close waits.
func (i *Injector) track(nc net.Conn, s http.ConnState) {
	c, ours := nc.(*conn)
	if !ours {
		return // There is no other: it comes from watched.
	}
	c.idle.Store(s == http.StateNew || s == http.StateIdle)
	switch s {
	case http.StateNew:
		i.work.Add(1)
		i.known(c, true)
	case http.StateIdle:
		c.end()
		if i.phase.Load().door != "" {
			_ = nc.Close()
		}
	case http.StateClosed:
		i.recordUnread(c)
		i.known(c, false)
		i.work.Done()
	case http.StateHijacked:
		c.ahead.leave()
		i.known(c, false)
		c.taken.Store(true)
	case http.StateActive:
	}
}

// known notes a connection that the server has.
func (i *Injector) known(c *conn, is bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if is {
		i.conns[c] = true
	} else {
		delete(i.conns, c)
	}
}

// recordUnread records the attempt on a closed connection that no request tells of.
func (i *Injector) recordUnread(c *conn) {
	if a, complete, ok := c.unread(); ok {
		i.cfg.Recorder.Departed(i.cfg.Recorder.Arrived(a), complete)
	}
}
