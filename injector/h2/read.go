package h2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// source is what the client sends, and how it ended.
type source struct {
	io.Reader
	err error
}

// Read notes the end.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// greet sends the server's preface.
func (c *Conn) greet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.o.Settings
	_ = c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: maxFrame},
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: s.MaxStreams},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderList},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: s.InitialWindow},
	)
	if !s.NoUpdates {
		c.recv = connWindow
		_ = c.framer.WriteWindowUpdate(0, connWindow-specWindow)
	}
	c.out.wakeLocked()
}

// read reads frames until the client is gone. What a client sends after the end of the
// service is thrown away.
func (c *Conn) read(ctx context.Context) {
	if why := c.preface(); why != nil {
		c.broke(*why)
	} else {
		c.frames(ctx)
	}
	_, _ = io.Copy(io.Discard, c.in)
}

// broke tells of what became no request, and ends the connection.
func (c *Conn) broke(u Unread) {
	if !u.Left {
		c.fail(http2.ErrCodeProtocol, u.Why)
	}
	c.tell(u)
}

// tell tells of what became no request.
func (c *Conn) tell(u Unread) {
	if u.Since.IsZero() {
		u.Since = time.Now()
	}
	if c.o.Unread != nil {
		c.o.Unread(u)
	}
}

// preface reads the client's preface (RFC 9113, section 3.4).
func (c *Conn) preface() *Unread {
	got := make([]byte, len(http2.ClientPreface))
	n, err := io.ReadFull(c.in, got)
	switch {
	case c.isOver():
		return nil
	case err != nil:
		return &Unread{Left: true, Why: fmt.Sprintf("the connection ended after %d bytes of the preface of HTTP/2", n)}
	case string(got) != http2.ClientPreface:
		return &Unread{Why: fmt.Sprintf("no preface of HTTP/2, but %q", got)}
	}
	return nil
}

// isOver reports whether nothing more is served.
func (c *Conn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended != nil
}

// frames reads and serves frames.
func (c *Conn) frames(ctx context.Context) {
	in := http2.NewFramer(io.Discard, c.in)
	in.SetMaxReadFrameSize(maxFrame)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	in.MaxHeaderListSize = maxHeaderList
	for first := true; ; first = false {
		head, err := in.ReadFrameHeader()
		var f http2.Frame
		since := time.Now()
		if err == nil {
			f, err = in.ReadFrameForHeader(head)
		}
		if c.isOver() {
			return
		}
		if _, settings := f.(*http2.SettingsFrame); err == nil && first && (!settings || head.Flags.Has(http2.FlagSettingsAck)) {
			err = broken(http2.ErrCodeProtocol, "the first frame is %s and not SETTINGS", head.Type)
		}
		if err == nil {
			err = c.serve(ctx, f, since)
		}
		if err != nil && !c.survives(head, err, in.ErrorDetail(), since) {
			return
		}
	}
}

// survives answers an error, and reports whether the connection goes on.
func (c *Conn) survives(head http2.FrameHeader, err, detail error, since time.Time) bool {
	if s, ok := errors.AsType[http2.StreamError](err); ok {
		c.refuse(head, s, detail, since)
		return true
	}
	u := Unread{Since: since, Why: err.Error()}
	code := http2.ErrCodeProtocol
	v, isViolation := errors.AsType[violation](err)
	connection, isConnection := errors.AsType[http2.ConnectionError](err)
	switch {
	case isViolation:
		code = v.code
	case isConnection:
		code, u.Why = http2.ErrCode(connection), fmt.Sprintf("%s: %v", http2.ErrCode(connection), detail)
	case errors.Is(err, http2.ErrFrameTooLarge):
		code = http2.ErrCodeFrameSize
	case c.in.err == nil: // Bytes that the framer cannot read.
	default: // The client is gone. In the middle of a request, that was an attempt.
		if head.Type == http2.FrameHeaders {
			u.Left, u.Why = true, "the connection ended in the middle of the head of a request"
			c.tell(u)
		}
		return false
	}
	c.fail(code, u.Why)
	c.tell(u)
	return false
}

// refuse answers an error of one stream.
func (c *Conn) refuse(head http2.FrameHeader, e http2.StreamError, detail error, since time.Time) {
	c.mu.Lock()
	isNew := head.Type == http2.FrameHeaders && e.StreamID > c.last
	if isNew {
		c.last = e.StreamID
	}
	if s := c.streams[e.StreamID]; s != nil {
		s.resetLocked(e.Code, ErrBroken)
	} else {
		_ = c.framer.WriteRSTStream(e.StreamID, e.Code) // Into memory.
		c.forgiveLocked(e.StreamID)
		c.out.wakeLocked()
	}
	over := !c.countLocked()
	c.mu.Unlock()
	if over {
		c.fail(http2.ErrCodeEnhanceYourCalm, "too many frames that have to be answered")
	}
	if isNew {
		why := e.Cause
		if why == nil {
			why = detail
		}
		c.tell(Unread{Since: since, Reset: true, Why: fmt.Sprintf("%s: %v", e.Code, why)})
	}
}

// forgiveLocked notes that the server reset a stream.
func (c *Conn) forgiveLocked(id uint32) {
	const most = 256
	if c.forgiven[id] {
		return
	}
	c.forgiven[id] = true
	c.forget = append(c.forget, id)
	if len(c.forget) > most {
		delete(c.forgiven, c.forget[0])
		c.forget = c.forget[1:]
	}
}

// countLocked counts a frame that answers one of the client's; false: they are too many.
func (c *Conn) countLocked() bool {
	c.out.control++
	return c.out.control <= maxControl
}

// violation is an error of the connection.
type violation struct {
	code http2.ErrCode
	why  string
}

// Error implements error.
func (v violation) Error() string { return v.code.String() + ": " + v.why }

// broken returns an error of the connection.
func broken(code http2.ErrCode, format string, args ...any) error {
	return violation{code, fmt.Sprintf(format, args...)}
}

// refused returns an error of a stream.
func refused(id uint32, code http2.ErrCode, format string, args ...any) error {
	return http2.StreamError{StreamID: id, Code: code, Cause: fmt.Errorf(format, args...)}
}
