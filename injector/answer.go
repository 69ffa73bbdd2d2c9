package injector

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// answer is a complete HTTP answer, ready to be sent.
type answer struct {
	status int
	header http.Header
	body   []byte
	fill   int64             // bytes of filler that follow
	retry  *fault.RetryAfter // nil: no such header

	trailer http.Header // over HTTP/2
	grpc    *fault.GRPC // nil: it is none

	fields []field // of header, for an answer that is sent many times; nil: they were not listed
}

// field is one of a header.
type field struct {
	key    string
	values []string
}

// listed lists the fields of the header, which must not change any more: it is faster to go
// through a list.
func (a answer) listed() answer {
	for _, key := range slices.Sorted(maps.Keys(a.header)) {
		a.fields = append(a.fields, field{key, a.header[key]})
	}
	return a
}

// addTo adds the header to one.
func (a answer) addTo(h http.Header) {
	if a.fields == nil {
		maps.Copy(h, a.header)
	}
	for _, f := range a.fields {
		h[f.key] = f.values
	}
}

// newAnswer prepares an answer. A JSON body is called JSON, as net/http would
// call it text and clients would refuse to decode it.
func newAnswer(r fault.Respond) answer {
	a := answer{status: r.Status, header: http.Header{}, body: []byte(r.Body), fill: r.Fill, retry: r.RetryAfter}
	for key, value := range r.Headers {
		a.header.Set(key, value)
	}
	if r.HeaderFill > 0 {
		a.header.Set("X-Faultline-Fill", filled(r.HeaderFill))
	}
	if r.GRPC != nil {
		return a.asGRPC(r.GRPC)
	}
	text := bytes.TrimSpace(a.body)
	structured := len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text)
	if structured && a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", "application/json")
	}
	if mayHaveBody(a.status) {
		a.header.Set("Content-Length", strconv.FormatInt(int64(len(a.body))+a.fill, 10))
	}
	return a
}

// asGRPC makes it the answer of a gRPC server.
func (a answer) asGRPC(g *fault.GRPC) answer {
	a.status, a.body, a.trailer, a.grpc = http.StatusOK, wire.GRPCBody(g), wire.GRPCTrailer(g), g
	if a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", "application/grpc")
	}
	return a
}

// mayHaveBody reports whether an answer with this status carries a body (RFC
// 9110, sections 15.3.5 and 15.4.5).
func mayHaveBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// onePiece is how long a body may be, in bytes, that no caller is slow to read: net/http sends it
// together with the head.
const onePiece = 1 << 10

// inOnePiece reports whether an answer goes out at once.
func (a answer) inOnePiece() bool { return len(a.body) <= onePiece && a.fill == 0 }

// answer sends a. The last byte of a longer body is sent apart from the others, so that the end
// is stamped when it is near also if the caller reads slowly.
func (x *exchange) answer(a answer) ending {
	if x.r.Context().Err() != nil {
		return x.gone()
	}
	a.addTo(x.w.Header())
	switch n := int64(len(a.body)) + a.fill; {
	case a.inOnePiece() && !x.w.keep && a.status >= http.StatusOK:
		x.w.atOnce(a.status, a.body, x.r.Method == http.MethodHead, x.now())
	case n == 0 || x.r.Method == http.MethodHead:
		x.w.WriteHeader(a.status)
	default:
		x.w.WriteHeader(a.status)
		body := bytes.NewReader(a.body)
		x.w.sendFrom(body, n-1)
		x.w.sendFrom(body, 1)
	}
	if err := http.NewResponseController(x.w.ResponseWriter).Flush(); err != nil || x.w.err != nil {
		return x.gone()
	}
	return ending{outcome: trace.OutcomeAnswered, status: a.status, grpc: x.grpcSent(a), at: x.w.last}
}

// answerWriter notes what is answered, and when its last part began to be sent.
type answerWriter struct {
	http.ResponseWriter
	status int
	last   time.Time      // before the last bytes were handed over
	err    error          // the first error of a write
	filled int64          // bytes of filler that were sent
	taken  func(net.Conn) // told of the connection when it becomes a tunnel; nil: nobody is

	keep bool      // what is no answer yet is kept until release
	kept []interim // these
}

// WriteHeader notes a final status.
func (w *answerWriter) WriteHeader(status int) {
	if w.keeps(status) {
		return
	}
	if status >= http.StatusOK {
		w.status = status
	}
	w.last = time.Now()
	w.ResponseWriter.WriteHeader(status)
}

// Write notes the instant and whether the caller could be written to.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.last = time.Now()
	n, err := w.ResponseWriter.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// atOnce does what WriteHeader and Write do, of which nothing is sent before the end of both: with
// one look at the clock.
func (w *answerWriter) atOnce(status int, body []byte, bare bool, now time.Time) {
	w.status, w.last = status, now
	w.ResponseWriter.WriteHeader(status)
	if len(body) > 0 && !bare {
		if _, err := w.ResponseWriter.Write(body); err != nil && w.err == nil {
			w.err = err
		}
	}
}

// sendFrom writes so many bytes of a body, and filler where that ends; an error is kept in
// w.err.
func (w *answerWriter) sendFrom(body *bytes.Reader, n int64) {
	// Both errors are kept: that of reading, which there is none of, and that of writing.
	sent, _ := io.CopyN(struct{ io.Writer }{w}, body, min(n, int64(body.Len())))
	_ = wire.WriteFill(w, w.filled, n-sent)
	w.filled += n - sent
}

// Hijack notes that the connection becomes a tunnel: the answer was a 101.
func (w *answerWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status, w.last = http.StatusSwitchingProtocols, time.Now()
	nc, buf, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.taken != nil {
		w.taken(nc)
	}
	return nc, buf, err
}

// Unwrap lets http.ResponseController flush.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
