package selftest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The observer of HTTP/2 sends what it has to say at once, as bytes, and looks at the frames among the
// bytes that came when all is over: it is no client that would hide anything.

// asking is the beginning of a connection of HTTP/2, and requests on it.
type asking struct {
	bytes.Buffer
	framer *http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
}

// ask returns what a client with prior knowledge sends first.
func ask() *asking {
	a := &asking{}
	a.framer = http2.NewFramer(&a.Buffer, nil)
	a.enc = hpack.NewEncoder(&a.block)
	a.WriteString(http2.ClientPreface)
	// All goes into memory, so that none of this fails.
	_ = a.framer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0})
	_ = a.framer.WriteWindowUpdate(0, 1<<20)
	return a
}

// request adds a request on a stream; without end, its body is to follow.
func (a *asking) request(id uint32, method, path string, end bool) *asking {
	a.block.Reset()
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "selftest"}, {"te", "trailers"}} {
		_ = a.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	_ = a.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: a.block.Bytes(), EndStream: end, EndHeaders: true})
	return a
}

// body adds so many bytes of a body, in frames.
func (a *asking) body(id uint32, n int, end bool) *asking {
	for n > 0 {
		piece := min(n, 16<<10)
		n -= piece
		_ = a.framer.WriteData(id, end && n == 0, make([]byte, piece))
	}
	return a
}

// ignored adds so many bytes in frames of a kind that nobody knows.
func (a *asking) ignored(n int) *asking {
	for ; n > 0; n -= 16 << 10 {
		_ = a.framer.WriteRawFrame(0xfa, 0, 0, make([]byte, 16<<10))
	}
	return a
}

// get is one GET on stream 1.
func get() string { return ask().request(1, "GET", "/charges", true).String() }

// post is one POST on stream 1 with a body of so many bytes.
func post(n int, end bool) string {
	return ask().request(1, "POST", "/charges", false).body(1, n, end).String()
}

// h2Frame is one frame that came, as text.
type h2Frame struct {
	text string
	at   time.Duration // when its last byte came
}

// frames reads the frames that came. DATA without END_STREAM is told as one where several follow each
// other, unless apart; the server's own settings are left out, and the window of the connection.
func (o Observation) frames(apart bool) []h2Frame {
	var all []h2Frame
	r := bytes.NewReader(o.Bytes)
	fr := http2.NewFramer(io.Discard, r)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	fr.SetMaxReadFrameSize(1 << 20)
	for left := r.Len(); left > 0; left = r.Len() {
		f, err := fr.ReadFrame()
		at := o.when(len(o.Bytes) - r.Len())
		stream, isStream := errors.AsType[http2.StreamError](err)
		switch {
		case isStream:
			all = append(all, h2Frame{fmt.Sprintf("malformed HEADERS %d (%v)", stream.StreamID, fr.ErrorDetail()), at})
		case err != nil:
			return append(all, h2Frame{fmt.Sprintf("%d bytes that are no frame", left), o.last()})
		default:
			text := frameText(f)
			if d, ok := f.(*http2.DataFrame); ok && !apart && len(all) > 0 && !d.StreamEnded() {
				if last := &all[len(all)-1]; strings.HasPrefix(last.text, fmt.Sprintf("DATA %d ", d.StreamID)) {
					last.text += string(d.Data())
					last.at = at
					continue
				}
			}
			if text != "" {
				all = append(all, h2Frame{text, at})
			}
		}
	}
	return all
}

// when is when so many bytes had come.
func (o Observation) when(n int) time.Duration {
	for _, p := range o.Parts {
		if n -= len(p.Bytes); n <= 0 {
			return p.At
		}
	}
	return o.last()
}

// frameText writes a frame.
func frameText(f http2.Frame) string {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		var b strings.Builder
		fmt.Fprintf(&b, "HEADERS %d", id)
		for _, field := range f.Fields {
			if field.Name != "date" {
				fmt.Fprintf(&b, " %s=%s", field.Name, field.Value)
			}
		}
		if f.StreamEnded() {
			b.WriteString(" END")
		}
		return b.String()
	case *http2.DataFrame:
		if f.StreamEnded() {
			return fmt.Sprintf("END %d", id)
		}
		return fmt.Sprintf("DATA %d %s", id, f.Data())
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %s", id, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %s", f.LastStreamID, f.ErrCode)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "SETTINGS ACK"
		}
		window, _ := f.Value(http2.SettingInitialWindowSize)
		streams, _ := f.Value(http2.SettingMaxConcurrentStreams)
		return fmt.Sprintf("SETTINGS window=%d streams=%d", window, streams)
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW_UPDATE %d", id)
	default:
		return f.Header().String()
	}
}

// beginning reports whether a frame belongs to every connection.
func beginning(text string) bool {
	return strings.HasPrefix(text, "SETTINGS ") || strings.HasPrefix(text, "WINDOW_UPDATE ")
}

// texts are the frames but those of every connection, in one line.
func (o Observation) texts() string {
	var all []string
	for _, f := range o.frames(false) {
		if !beginning(f.text) {
			all = append(all, f.text)
		}
	}
	return strings.Join(all, "; ")
}

// framesShown writes the frames that came.
func framesShown(o Observation) string {
	text := o.texts()
	const most = 300
	if len(text) > most {
		text = text[:most] + "..."
	}
	if text == "" {
		text = "no frame beyond those of every connection"
	}
	return fmt.Sprintf("%q", text)
}

// framed reports whether the frames match a pattern as a whole, and how the connection ended.
func framed(pattern string, end End) func(Observation) bool {
	re := regexp.MustCompile(`^(?s:` + pattern + `)$`)
	return func(o Observation) bool { return o.End == end && re.MatchString(o.texts()) }
}

// has reports whether a frame came.
func has(text string) func(Observation) bool {
	return func(o Observation) bool {
		return slices.ContainsFunc(o.frames(true), func(f h2Frame) bool { return f.text == text })
	}
}

// lacks reports whether no frame of a kind came.
func lacks(prefix string) func(Observation) bool {
	return func(o Observation) bool {
		return !slices.ContainsFunc(o.frames(true), func(f h2Frame) bool { return strings.HasPrefix(f.text, prefix) })
	}
}

// came reports whether the first frame that begins so came not before a time.
func came(prefix string, d time.Duration) func(Observation) bool {
	return func(o Observation) bool {
		all := o.frames(true)
		i := slices.IndexFunc(all, func(f h2Frame) bool { return strings.HasPrefix(f.text, prefix) })
		return i >= 0 && all[i].at >= d
	}
}
