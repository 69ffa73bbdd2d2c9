package fault

import (
	"slices"
	"strings"
	"time"
)

// H2 is a fault that only HTTP/2 has, of a rule with ActionPass or ActionRespond; it is one of
// its parts. A caller who speaks HTTP/1.1 is told by a 501 that it has no meaning there.
//
//   - Reset sends RST_STREAM on the request's stream. What comes before it is sent.
//   - GoAway sends GOAWAY on the connection.
//   - Abort resets the TCP connection with all its streams: RST before any byte of the answer.
//
// Where nothing of an answer is sent, the dependency is not asked, as with ActionReset.
type H2 struct {
	Reset  *StreamReset `json:"reset,omitempty" yaml:"reset,omitempty"`
	GoAway *GoAway      `json:"goaway,omitempty" yaml:"goaway,omitempty"`
	Abort  bool         `json:"abort,omitempty" yaml:"abort,omitempty"`
}

// StreamReset is RST_STREAM with an error code (RFC 9113, section 6.4).
type StreamReset struct {
	Code ErrCode `json:"code" yaml:"code"`
	// At is CutStart: before the head; or CutBody: after the head and Bytes of the body. Of a
	// shorter body, all but its last byte are sent; END_STREAM never is.
	At    CutAt `json:"at" yaml:"at"`
	Bytes int64 `json:"bytes,omitempty" yaml:"bytes,omitempty"`
}

// GoAway is GOAWAY (RFC 9113, section 6.8). What it says of this request decides what becomes of it:
//
//	last  fin    the request is
//	this  false  answered; the connection is closed when its streams are through
//	this  true   not answered: FIN follows, under all streams of the connection
//	none  false  not answered, and nothing follows until the caller leaves or the phase ends
//	none  true   not answered: FIN follows. Clients resend it on a new connection
type GoAway struct {
	Code ErrCode    `json:"code" yaml:"code"`
	Last LastStream `json:"last" yaml:"last"`
	FIN  bool       `json:"fin,omitempty" yaml:"fin,omitempty"`
}

// LastStream says which streams a GOAWAY calls processed.
type LastStream string

// The streams.
const (
	LastNone LastStream = "none" // 0: none
	LastThis LastStream = "this" // this one and those before
)

// ErrCode is an error code by its name in RFC 9113, section 7.
type ErrCode string

// ErrCodes are all of them; the index of each is its number.
func ErrCodes() []ErrCode {
	return []ErrCode{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
		"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
}

// Number is what goes over the wire; it must be one of ErrCodes.
func (c ErrCode) Number() uint32 { return uint32(max(0, slices.Index(ErrCodes(), c))) }

// Storms reports whether a client is known that resends a request at once, without a wait and an
// end, when its stream is reset so: Go's does on PROTOCOL_ERROR, thousands of times a second.
func (c ErrCode) Storms() bool { return c == "PROTOCOL_ERROR" }

// H2Settings is how connections of HTTP/2 are served that begin in a phase, for ActionSettings; one of its parts
// at least. Connections can be told by their peer. Those that are open when the phase begins are told to go by
// GOAWAY and finish their streams; so are those that a rule hit when it ends, and they are given what was held back.
// To limits, one that a rule hit counts as a request that is hit, up to its end.
type H2Settings struct {
	MaxStreams    uint32 `json:"max_concurrent_streams,omitempty" yaml:"max_concurrent_streams,omitempty"` // 0: as a sound server
	InitialWindow uint32 `json:"initial_window_size,omitempty" yaml:"initial_window_size,omitempty"`       // bytes; 0: as a sound server
	// NoUpdates never sends WINDOW_UPDATE: 65535 bytes are all that the connection takes, and
	// InitialWindow a stream.
	NoUpdates bool          `json:"no_window_updates,omitempty" yaml:"no_window_updates,omitempty"`
	AckDelay  time.Duration `json:"settings_ack_delay,omitempty" yaml:"settings_ack_delay,omitempty"`
}

// Unanswered reports whether nothing of an answer is sent.
func (h *H2) Unanswered() bool {
	return h != nil && (h.Abort || h.Reset != nil && h.Reset.At == CutStart || h.GoAway != nil && (h.GoAway.FIN || h.GoAway.Last == LastNone))
}

// Silent reports whether nothing follows until the caller leaves or the phase ends.
func (h *H2) Silent() bool {
	return h != nil && h.GoAway != nil && h.GoAway.Last == LastNone && !h.GoAway.FIN
}

// clone copies what the caller might change.
func (h *H2) clone() *H2 {
	if h == nil {
		return nil
	}
	return &H2{Reset: copied(h.Reset), GoAway: copied(h.GoAway), Abort: h.Abort}
}

// checkH2 looks at what only HTTP/2 has.
func (r Rule) checkH2(ps *problems) {
	if r.H2 != nil {
		r.H2.check(ps)
		if r.Action != ActionPass && r.Action != ActionRespond {
			ps.add("h2", "has no meaning with action %s", r.Action)
		}
		if r.Form.Cut != nil || r.Form.After != nil || r.Form.Malformed.ends() {
			ps.add("h2", "form already ends the answer or the connection; leave one of them out")
		} else if r.H2.Unanswered() && r.Form != (Form{}) {
			ps.add("form", "has no meaning with h2, which gives no answer here")
		}
		if r.Match.WebSocket {
			ps.add("h2", "has no meaning with a match of websocket, which is asked for over HTTP/1.1")
		}
	}
	if settings := r.Action == ActionSettings; settings != (r.Settings != nil) {
		ps.add("settings", "belongs to action %s, which needs it", ActionSettings)
	}
}

// checkSettings looks at a rule for connections of HTTP/2.
func (r Rule) checkSettings(ps *problems) {
	r.checkConn(ps)
	if r.Latency.Longest() != 0 {
		ps.add("latency", "has no meaning with action %s, which begins a connection at once", r.Action)
	}
	if r.Settings != nil {
		r.Settings.check(ps)
	}
}

func (h H2) check(ps *problems) {
	parts := 0
	for _, set := range []bool{h.Reset != nil, h.GoAway != nil, h.Abort} {
		if set {
			parts++
		}
	}
	if parts != 1 {
		ps.add("h2", "has %d of reset, goaway and abort; write one", parts)
	}
	if x := h.Reset; x != nil {
		x.Code.check("h2.reset.code", ps)
		switch {
		case x.At != CutStart && x.At != CutBody:
			ps.add("h2.reset.at", "%q is none of start, body; after the head is body with 0 bytes", x.At)
		case x.At == CutStart && x.Bytes != 0:
			ps.add("h2.reset.bytes", "has no meaning at start; it belongs to body")
		case x.Bytes < 0:
			ps.add("h2.reset.bytes", "%d is negative", x.Bytes)
		}
	}
	if g := h.GoAway; g != nil {
		g.Code.check("h2.goaway.code", ps)
		if g.Last != LastNone && g.Last != LastThis {
			ps.add("h2.goaway.last", "%q is none of none, this", g.Last)
		}
	}
}

// check looks whether there is such a code.
func (c ErrCode) check(field string, ps *problems) {
	if !slices.Contains(ErrCodes(), c) {
		ps.add(field, "%q is none of %s", c, words(ErrCodes()))
	}
}

// mostWindow is the largest window there is (RFC 9113, section 6.9.1).
const mostWindow = 1<<31 - 1

func (s H2Settings) check(ps *problems) {
	if s == (H2Settings{}) {
		ps.add("settings", "says nothing; write one of %s", strings.Join([]string{"max_concurrent_streams", "initial_window_size", "no_window_updates", "settings_ack_delay"}, ", "))
	}
	if s.InitialWindow > mostWindow {
		ps.add("settings.initial_window_size", "is %d bytes; at most %d are possible", s.InitialWindow, mostWindow)
	}
	if s.AckDelay < 0 {
		ps.add("settings.settings_ack_delay", "%v is negative", s.AckDelay)
	}
}
