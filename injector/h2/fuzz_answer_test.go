package h2_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector/h2"
)

// FuzzAnswer has a handler answer whatever it likes and end it in one of the ways there are.
// What is sent are sound frames: the head with the status, the body in order, the trailers,
// and then the end that was meant.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "X-A", "b", []byte("body"), 3, "X-T", "t", byte(0), uint32(0))
	f.Add(503, "Content-Type", "text/plain", bytes.Repeat([]byte("x"), 20_000), 16_384, "", "", byte(1), uint32(8))
	f.Add(204, "bad name", "bad\nvalue", []byte{}, 1, "Grpc-Status", "13", byte(2), uint32(11))
	f.Add(200, "X-Long", strings.Repeat("v", 40_000), []byte("x"), 1, "Trailer", "a", byte(3), uint32(2))
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte, chunk int, trailer, last string, end byte, code uint32) {
		if status < 200 || status > 999 || len(body) > 60_000 || chunk < 1 || len(body)/chunk > 500 || len(value)+len(last) > 100_000 {
			t.Skip() // A window that is never opened further, and time.
		}
		a := answered{status: status, name: name, value: value, body: body, chunk: chunk, trailer: trailer, last: last, end: end % 4, code: http2.ErrCode(code)}
		if http.CanonicalHeaderKey(name) == "Connection" || http.CanonicalHeaderKey(name) == "Trailer" {
			t.Skip() // They say something to the server.
		}
		a.check(t, a.play(t))
	})
}

// answered is what a handler does.
type answered struct {
	status        int
	name, value   string
	body          []byte
	chunk         int
	trailer, last string
	end           byte // 0: as it comes; 1: RST_STREAM; 2: GOAWAY before the answer; 3: FIN after the body
	code          http2.ErrCode
}

func (a answered) serve(w http.ResponseWriter) {
	s := w.(h2.Stream)
	if a.end == 2 {
		_ = s.GoAway(a.code, s.ID(), "")
	}
	w.Header().Set(a.name, a.value)
	w.Header().Set("Content-Type", "x/y")
	w.WriteHeader(a.status)
	for part := range slices.Chunk(a.body, a.chunk) {
		_, _ = w.Write(part)
	}
	w.Header().Set(http.TrailerPrefix+a.trailer, a.last)
	switch a.end {
	case 1:
		_ = s.Reset(a.code)
	case 3:
		_ = s.Sent()
		s.Close()
	}
}

// came is what a client read.
type came struct {
	head, trailer []hpack.HeaderField
	body          []byte
	ended, fin    bool
	reset, goAway *http2.ErrCode
}

// play has it played, and read by a framer that somebody else wrote.
func (a answered) play(t *testing.T) (got came) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	c := h2.New(far, h2.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { a.serve(w) })})
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.Serve(t.Context())
	}()
	_ = near.SetDeadline(time.Now().Add(20 * time.Second))
	framer := http2.NewFramer(near, near)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.MaxHeaderListSize = 1 << 20
	go func() { // A pipe holds nothing: who writes waits for who reads.
		io.WriteString(near, http2.ClientPreface)
		_ = framer.WriteSettings()
		get := []byte{0x82, 0x86, 0x84, 0x41, 0x01, 'h'} // GET http://h/
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: get, EndStream: true, EndHeaders: true})
	}()
	for !got.ended && got.reset == nil && !got.fin {
		frame, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			got.fin = true
			break
		}
		if err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
		got.take(t, frame)
	}
	near.Close()
	<-served
	return got
}

func (c *came) take(t *testing.T, frame http2.Frame) {
	t.Helper()
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		if c.head == nil {
			c.head = f.Fields
		} else {
			c.trailer = f.Fields
		}
		c.ended = f.StreamEnded()
	case *http2.DataFrame:
		c.body = append(c.body, f.Data()...)
		c.ended = f.StreamEnded()
	case *http2.RSTStreamFrame:
		c.reset = &f.ErrCode
	case *http2.GoAwayFrame:
		c.goAway = &f.ErrCode
	}
}

// check holds what came against what was meant.
func (a answered) check(t *testing.T, got came) {
	t.Helper()
	if got.head == nil || got.head[0].Name != ":status" || got.head[0].Value != strconv.Itoa(a.status) {
		t.Fatalf("%+v: the head is %v", a, got.head)
	}
	want := a.body
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		want = nil
	}
	if !bytes.Equal(want, got.body) {
		t.Errorf("%+v: %d bytes of body, want %d", a, len(got.body), len(want))
	}
	if legal := httpguts.ValidHeaderFieldName(a.name) && httpguts.ValidHeaderFieldValue(a.value); legal && !hopByHop(a.name) {
		field := hpack.HeaderField{Name: strings.ToLower(a.name), Value: a.value}
		if !slices.Contains(got.head, field) && field.Name != "content-type" && !strings.HasPrefix(a.name, http.TrailerPrefix) {
			t.Errorf("%+v: the head has no %v: %v", a, field, got.head)
		}
	}
	switch {
	case a.end == 1 && (got.reset == nil || *got.reset != a.code):
		t.Errorf("%+v: no RST_STREAM of %v: %+v", a, a.code, got)
	case a.end == 3 && (got.ended || !got.fin):
		t.Errorf("%+v: no FIN in the middle: %+v", a, got)
	case a.end == 2 && (got.goAway == nil || *got.goAway != a.code):
		t.Errorf("%+v: no GOAWAY of %v: %+v", a, a.code, got)
	case a.end%2 == 0 && !got.ended:
		t.Errorf("%+v: no END_STREAM: %+v", a, got)
	}
}

// hopByHop reports whether a header is left out, as HTTP/2 has none.
func hopByHop(name string) bool {
	return slices.Contains([]string{"Connection", "Proxy-Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade"}, http.CanonicalHeaderKey(name))
}
