package injector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// secured is a connection with TLS. Its handshake is made by the first read, which is
// net/http's, in the goroutine of the connection.
type secured struct {
	*tls.Conn

	under *under
	once  sync.Once
	err   error // of the handshake; read after once
}

// under is what TLS is spoken over: the caller's connection and what its handshake came to.
type under struct {
	net.Conn

	injector *Injector
	muted    atomic.Bool // what is written is thrown away
	quiet    atomic.Bool // it ends without close_notify

	// What follows belongs to the goroutine of the handshake.
	size    int64     // of what came
	ahead   []byte    // came while nobody asked
	since   time.Time // when the first of it came
	left    time.Time // when the caller ended the connection
	phase   string
	sni     string
	rule    *fault.Rule
	handle  int // of the attempt that the handshake is, if arrived
	arrived bool
	ended   bool
}

// secure puts TLS over an accepted connection.
func (i *Injector) secure(nc net.Conn) net.Conn {
	u := &under{Conn: nc, injector: i, since: time.Now(), phase: i.phase.Load().name}
	return &secured{Conn: tls.Server(u, i.room.sound), under: u}
}

// Read makes the handshake first. A failed one is the end of the connection, which is not
// for net/http to answer.
func (s *secured) Read(p []byte) (int, error) {
	s.once.Do(s.handshake)
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.Conn.Read(p)
	if _, isNet := errors.AsType[net.Error](err); err != nil && (!isNet || isRemote(err)) {
		err = io.EOF // An alert, or bytes that are no TLS: net/http would answer them.
	}
	return n, err
}

// isRemote reports whether the caller sent an alert.
func isRemote(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// Close ends the connection with close_notify and FIN, unless a fault wants it otherwise.
func (s *secured) Close() error {
	if s.under.quiet.Load() {
		s.under.muted.Store(true)
	}
	return s.Conn.Close()
}

// CloseWrite says that nothing more is sent, to the caller's TLS and to its TCP.
func (s *secured) CloseWrite() error {
	if !s.under.quiet.Load() {
		_ = s.Conn.CloseWrite() // Before the handshake there is nothing to say.
	}
	if half, ok := s.under.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetReadBuffer says how much the kernel takes in advance, where it can.
func (s *secured) SetReadBuffer(bytes int) error {
	if b, ok := s.under.Conn.(interface{ SetReadBuffer(bytes int) error }); ok {
		return b.SetReadBuffer(bytes)
	}
	return errors.ErrUnsupported
}

// bare is the connection below TLS, over which TLS says nothing more.
func (s *secured) bare() net.Conn {
	s.under.muted.Store(true)
	return s.under.Conn
}

// Write is what TLS says.
func (u *under) Write(p []byte) (int, error) {
	if u.muted.Load() {
		return len(p), nil
	}
	return u.Conn.Write(p)
}

// Read notes what comes before the end of the handshake, and how the caller leaves.
func (u *under) Read(p []byte) (int, error) {
	if len(u.ahead) > 0 {
		n := copy(p, u.ahead)
		u.ahead = u.ahead[n:]
		return n, nil
	}
	n, err := u.Conn.Read(p)
	if n > 0 && u.size == 0 {
		u.since, u.phase = time.Now(), u.injector.phase.Load().name
	}
	u.size += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		u.left = time.Now()
	}
	return n, err
}

// mostAhead is how much is taken in advance while a handshake waits.
const mostAhead = 64 << 10

// listen hears the caller leave. What comes in the meantime is kept.
func (u *under) listen() (left bool) {
	buffer := make([]byte, 4<<10)
	for len(u.ahead) < mostAhead {
		n, err := u.Conn.Read(buffer)
		u.ahead = append(u.ahead, buffer[:n]...)
		if err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return false
}

// wait waits until a time, if one is given, or until enough; it returns false when the
// caller left before or the injector ends.
func (u *under) wait(due <-chan time.Time, enough <-chan struct{}) bool {
	heard, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		if u.listen() {
			close(gone)
		}
	}()
	stays := true
	select {
	case <-due:
	case <-enough:
	case <-u.injector.closing:
		stays = false
	case <-gone:
		u.left, stays = time.Now(), false
	}
	_ = u.SetReadDeadline(time.Unix(1, 0)) // Of a closed connection there is nothing to hear.
	<-heard
	_ = u.SetReadDeadline(time.Time{})
	return stays
}

// handshake makes the handshake and records one that failed.
func (s *secured) handshake() {
	u := s.under
	err := s.HandshakeContext(context.Background()) // The injector ends it by closing the connection.
	if err == nil {
		return
	}
	s.err = io.EOF
	if u.size == 0 {
		// Nobody can have meant an attempt, unless the caller reset the connection; that is
		// seen by who reads this.
		if errors.Is(err, syscall.ECONNRESET) {
			s.err = err
		}
		return
	}
	if errors.Is(err, net.ErrClosed) && u.rule == nil {
		return // The injector ends, or shuts its door: as with a connection that nobody has used.
	}
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && looksLikeHTTP(plain.RecordHeader) {
		u.answerPlain()
		return
	}
	if isRemote(err) && u.left.IsZero() {
		u.left = time.Now()
	}
	if !u.arrived {
		u.arrive(fmt.Sprintf("the TLS handshake failed: %s", reason(err)))
	}
	u.depart(func(a *trace.Attempt) { a.Outcome = trace.OutcomeFIN })
}

// reason is an error of a handshake in words.
func reason(err error) string {
	if errors.Is(err, io.EOF) {
		return "the caller closed the connection"
	}
	return err.Error()
}

// arrive records the attempt that this handshake is.
func (u *under) arrive(detail string) {
	i := u.injector
	a := trace.Attempt{Injector: i.cfg.Name, Phase: u.phase, Peer: u.RemoteAddr().String(), Arr: i.offset(u.since), Detail: "no request: " + detail}
	if u.sni != "" {
		a.Detail += fmt.Sprintf("; it is for %q", u.sni)
	}
	if u.rule != nil {
		a.Rule = u.rule.ID
	}
	u.handle, u.arrived = i.cfg.Recorder.Arrived(a), true
}

// depart records its end; how, if the caller did not leave, is said by set.
func (u *under) depart(set func(*trace.Attempt)) {
	if u.ended {
		return
	}
	u.ended = true
	left, now := u.left, u.injector.offset(time.Now())
	u.injector.cfg.Recorder.Departed(u.handle, func(a *trace.Attempt) {
		set(a)
		if left.IsZero() {
			a.Dep = now
		} else if a.Outcome != trace.OutcomeReset {
			a.Outcome, a.Abandon = trace.OutcomeHang, u.injector.offset(left)
		}
	})
}

// looksLikeHTTP reports whether these may be the first bytes of a request in plain.
func looksLikeHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		return true
	}
	return false
}

// answerPlain answers a caller who speaks HTTP in plain.
func (u *under) answerPlain() {
	const text = "HTTP/1.0 400 Bad Request\r\n\r\nThis port speaks TLS.\n"
	u.arrive("HTTP in plain, but this port speaks TLS; it was answered 400")
	_, _ = io.WriteString(u.Conn, text) // A caller who is gone needs no answer.
	u.depart(func(a *trace.Attempt) { a.Outcome, a.Status = trace.OutcomeAnswered, 400 })
}
