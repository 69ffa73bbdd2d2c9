package h2_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector/h2"
	"github.com/faultline-go/faultline/target/memnet"
)

// peer is a client that speaks frames.
type peer struct {
	*http2.Framer
	t     *testing.T
	conn  net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
	h2    *h2.Conn
	over  chan struct{} // closed when Serve has returned
	told  *[]h2.Unread
}

// between has a client and a server meet in a bubble.
func between(t *testing.T, o h2.Options, f func(t *testing.T, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		ln, err := n.Listen("tcp", "server:80")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := n.DialContext(t.Context(), "tcp", "server:80")
		if err != nil {
			t.Fatal(err)
		}
		far, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{Framer: http2.NewFramer(conn, conn), t: t, conn: conn, over: make(chan struct{}), told: new([]h2.Unread)}
		p.AllowIllegalWrites = true
		p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		p.enc = hpack.NewEncoder(&p.block)
		o.Reset = func() error {
			time.Sleep(time.Millisecond) // All others have their turn before: none of them may end the connection otherwise.
			return far.(interface{ SetLinger(int) error }).SetLinger(0)
		}
		o.Unread = func(u h2.Unread) { *p.told = append(*p.told, u) }
		p.h2 = h2.New(far, o)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(p.over)
			p.h2.Serve(ctx)
		}()
		f(t, p)
		cancel()
		<-p.over
		conn.Close()
		ln.Close()
	})
}

// hello sends the client's preface.
func (p *peer) hello(s ...http2.Setting) {
	io.WriteString(p.conn, http2.ClientPreface)
	p.WriteSettings(s...)
}

// fields encodes header fields, given as name, value, name, value.
func (p *peer) fields(pairs ...string) []byte {
	p.block.Reset()
	for pair := range slices.Chunk(pairs, 2) {
		p.enc.WriteField(hpack.HeaderField{Name: pair[0], Value: pair[1]})
	}
	return slices.Clone(p.block.Bytes())
}

// ask sends the head of a request.
func (p *peer) ask(id uint32, method string, end bool, more ...string) {
	head := []string{":method", method, ":scheme", "http", ":path", "/x", ":authority", "server"}
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(append(head, more...)...), EndStream: end, EndHeaders: true})
}

// seen reads frames for a second, or to the end, which is the last line. The server's own settings, its
// acknowledgement and the window of the connection at the beginning are left out.
func (p *peer) seen() []string {
	var lines []string
	p.conn.SetReadDeadline(time.Now().Add(time.Second))
	for {
		f, err := p.ReadFrame()
		if stream, ok := errors.AsType[http2.StreamError](err); ok {
			lines = append(lines, fmt.Sprintf("malformed %d", stream.StreamID))
			continue
		}
		switch {
		case errors.Is(err, io.EOF):
			return append(lines, "FIN")
		case errors.Is(err, syscall.ECONNRESET):
			return append(lines, "RST")
		case err != nil:
			if n, ok := errors.AsType[net.Error](err); !ok || !n.Timeout() {
				lines = append(lines, err.Error())
			}
			return lines
		}
		if line := told(f); line != "" {
			lines = append(lines, line)
		}
	}
}

// told writes a frame as a line.
func told(f http2.Frame) string {
	end := ""
	if f.Header().Flags.Has(http2.FlagDataEndStream) && (f.Header().Type == http2.FrameData || f.Header().Type == http2.FrameHeaders) {
		end = " END"
	}
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		var b strings.Builder
		for _, field := range f.Fields {
			if field.Name != "date" && field.Name != "content-type" {
				fmt.Fprintf(&b, " %s=%s", field.Name, field.Value)
			}
		}
		return fmt.Sprintf("HEADERS %d%s%s", id, b.String(), end)
	case *http2.DataFrame:
		if len(f.Data()) > 40 {
			return fmt.Sprintf("DATA %d (%d)%s", id, len(f.Data()), end)
		}
		return fmt.Sprintf("DATA %d %s%s", id, f.Data(), end)
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %s", id, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %s", f.LastStreamID, f.ErrCode)
	case *http2.WindowUpdateFrame:
		if id == 0 && f.Increment == 1<<20-65535 {
			return ""
		}
		return fmt.Sprintf("WINDOW_UPDATE %d %d", id, f.Increment)
	case *http2.PingFrame:
		return fmt.Sprintf("PING %v %s", f.IsAck(), f.Data[:])
	default:
		return ""
	}
}

// settle waits for what was sent to arrive, and for everyone to come to rest.
func (p *peer) settle() {
	p.t.Helper()
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

// want compares what is seen.
func (p *peer) want(lines ...string) {
	p.t.Helper()
	if diff := cmp.Diff(lines, p.seen()); diff != "" {
		p.t.Errorf("frames (-want +got):\n%s", diff)
	}
}

// hello answers with a word, and with the request's body.
func hello(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	fmt.Fprintf(w, "%s %s", r.Method, body)
}
