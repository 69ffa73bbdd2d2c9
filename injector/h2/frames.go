package h2

import (
	"context"
	"math"
	"time"

	"golang.org/x/net/http2"
)

// serve serves one frame.
func (c *Conn) serve(ctx context.Context, f http2.Frame, since time.Time) error {
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return c.headers(ctx, f, since)
	case *http2.DataFrame:
		return c.data(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f)
	case *http2.PingFrame:
		return c.ping(f)
	case *http2.RSTStreamFrame:
		return c.rstStream(f)
	case *http2.PushPromiseFrame:
		return broken(http2.ErrCodeProtocol, "a client sent PUSH_PROMISE")
	default: // GOAWAY says nothing to a server that pushes nothing; priorities and unknown frames are left alone.
		return nil
	}
}

// settings takes the client's settings (RFC 9113, section 6.5).
func (c *Conn) settings(f *http2.SettingsFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.IsAck() {
		c.ackedLocked()
		return nil
	}
	if f.HasDuplicates() && f.NumSettings() > 100 {
		return broken(http2.ErrCodeEnhanceYourCalm, "%d settings in one frame", f.NumSettings())
	}
	if err := f.ForeachSetting(c.settingLocked); err != nil {
		return err
	}
	if !c.countLocked() {
		return broken(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS")
	}
	if d := c.o.Settings.AckDelay; d > 0 && !c.released {
		if c.unacked++; c.unacked > maxControl { // Other frames are answered meanwhile, so countLocked does not see them.
			return broken(http2.ErrCodeEnhanceYourCalm, "%d SETTINGS that are not acknowledged yet", c.unacked)
		}
		c.late = append(c.late, time.AfterFunc(d, c.ackLate))
		return nil
	}
	_ = c.framer.WriteSettingsAck() // Into memory, as all that follows.
	c.out.wakeLocked()
	return nil
}

// ackLate acknowledges settings whose time has come.
func (c *Conn) ackLate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unacked == 0 || c.ended != nil { // Release was earlier.
		return
	}
	c.unacked--
	c.late = c.late[1:] // All wait equally long, so the first one was the first.
	_ = c.framer.WriteSettingsAck()
	c.out.wakeLocked()
}

// ackedLocked has the server's own settings in force.
func (c *Conn) ackedLocked() {
	if c.acked {
		return
	}
	c.acked = true
	for _, s := range c.streams {
		s.recv += int64(c.o.Settings.InitialWindow) - specWindow
	}
}

// settingLocked takes one setting.
func (c *Conn) settingLocked(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingInitialWindowSize:
		more := int64(s.Val) - c.peerInitial
		c.peerInitial = int64(s.Val)
		for _, t := range c.streams {
			if t.window += more; t.window > maxWindow {
				return broken(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE makes the window of stream %d larger than 2^31-1", t.id)
			}
			t.pokeLocked()
		}
	case http2.SettingMaxFrameSize:
		c.peerFrame = int(s.Val)
	case http2.SettingHeaderTableSize:
		c.enc.SetMaxDynamicTableSize(min(s.Val, 4096))
	default:
	}
	return nil
}

// windowUpdate lets the server send more.
func (c *Conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.StreamID == 0 {
		if c.window += int64(f.Increment); c.window > maxWindow {
			return broken(http2.ErrCodeFlowControl, "WINDOW_UPDATE makes the window of the connection larger than 2^31-1")
		}
		for _, s := range c.streams {
			s.pokeLocked()
		}
		return nil
	}
	s := c.streams[f.StreamID]
	if s == nil {
		return c.idleErrorLocked(f.StreamID, "WINDOW_UPDATE")
	}
	if s.window += int64(f.Increment); s.window > maxWindow {
		return refused(s.id, http2.ErrCodeFlowControl, "WINDOW_UPDATE makes its window larger than 2^31-1")
	}
	s.pokeLocked()
	return nil
}

// idleErrorLocked is the error of a frame on a stream that was never begun.
func (c *Conn) idleErrorLocked(id uint32, frame string) error {
	if c.going && id%2 == 1 {
		return nil // Of a stream that the client began before it knew that it was to begin none.
	}
	if id > c.last || id%2 == 0 {
		return broken(http2.ErrCodeProtocol, "%s on stream %d, which is idle", frame, id)
	}
	return nil
}

// ping answers a PING.
func (c *Conn) ping(f *http2.PingFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.IsAck() {
		return nil
	}
	if !c.countLocked() {
		return broken(http2.ErrCodeEnhanceYourCalm, "too many PING")
	}
	_ = c.framer.WritePing(true, f.Data)
	c.out.wakeLocked()
	return nil
}

// rstStream ends a stream that the client does not want any more.
func (c *Conn) rstStream(f *http2.RSTStreamFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[f.StreamID]
	if s == nil {
		return c.idleErrorLocked(f.StreamID, "RST_STREAM")
	}
	s.endLocked(ErrClientReset)
	c.dropLocked(s)
	return nil
}

// dropLocked forgets a stream that is closed.
func (c *Conn) dropLocked(s *stream) {
	delete(c.streams, s.id)
	c.idleLocked()
}

// data takes a piece of a request's body.
func (c *Conn) data(f *http2.DataFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(f.Length) // Padding counts (RFC 9113, section 6.9.1).
	if size > c.recv {
		return broken(http2.ErrCodeFlowControl, "DATA of %d bytes where the connection's window has %d", size, c.recv)
	}
	c.recv -= size
	// What a stream has not read yet is bounded by its own window, so it holds back no other.
	c.giveLocked(size)
	s := c.streams[f.StreamID]
	switch {
	case s == nil && c.forgiven[f.StreamID]:
		return nil
	case s == nil && (f.StreamID > c.last || f.StreamID%2 == 0):
		return c.idleErrorLocked(f.StreamID, "DATA")
	case s == nil || s.remoteEnd:
		return refused(f.StreamID, http2.ErrCodeStreamClosed, "DATA after the end of the stream")
	case size > s.recv:
		return refused(s.id, http2.ErrCodeFlowControl, "DATA of %d bytes where the stream's window has %d", size, s.recv)
	}
	s.recv -= size
	s.body.buf.Write(f.Data())
	s.giveLocked(size - int64(len(f.Data())))
	s.got += int64(len(f.Data()))
	if s.length >= 0 && (s.got > s.length || f.StreamEnded() && s.got != s.length) {
		return refused(s.id, http2.ErrCodeProtocol, "%d bytes of a body whose Content-Length is %d", s.got, s.length)
	}
	if f.StreamEnded() {
		s.remoteEndLocked(nil)
	}
	s.pokeBodyLocked()
	return nil
}

// giveLocked lets the client send so many bytes more on the connection.
func (c *Conn) giveLocked(n int64) {
	c.owed += n
	if c.owed == 0 || c.o.Settings.NoUpdates && !c.released || c.owed < connWindow/4 && !c.o.Settings.NoUpdates {
		return
	}
	_ = c.framer.WriteWindowUpdate(0, uint32(min(c.owed, math.MaxInt32)))
	c.recv += c.owed
	c.owed = 0
	c.out.wakeLocked()
}
