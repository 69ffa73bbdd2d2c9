package injector

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// The faults of HTTP/1.1 on a stream of HTTP/2:
//
//	reset            RST_STREAM INTERNAL_ERROR, which clients do not resend on;
//	                 stealth: REFUSED_STREAM, on which they may
//	close            GOAWAY NO_ERROR with this stream as the last processed, then FIN under all
//	                 streams of the connection; stealth: with the stream before this one, so
//	                 that this one may be resent
//	hang             nothing; RST_STREAM CANCEL when the phase ends
//	cut              HEADERS, so many bytes in DATA without END_STREAM, then as above; at start as
//	                 stealth, at line as without; at head it has no meaning
//	malformed        header fields that are none, or a Content-Length that is not that of DATA; the
//	                 stream ends by END_STREAM. Chunks do not exist
//	after            tell: GOAWAY NO_ERROR before the end; close, reset: FIN or RST under all streams; half
//	                 has no meaning
//	drip, inform     as over HTTP/1.1; a chunk is a DATA
//	bandwidth        of this stream's body
//	garbage          bytes that are no frame, then FIN under all streams
//	slice            has no meaning: where TCP cuts is not a stream's

// severH2 ends the stream without an answer.
func (x *exchange) severH2(by fault.Action, stealth bool) ending {
	if by == fault.ActionReset {
		code := http2.ErrCodeInternal
		if stealth {
			code = http2.ErrCodeRefusedStream
		}
		return x.rst(code)
	}
	last := x.stream.ID()
	if stealth {
		last = max(last, 2) - 2 // The stream of a client before this one, or none.
	}
	return x.goAwayAndFIN(http2.ErrCodeNo, last)
}

// rst sends RST_STREAM.
func (x *exchange) rst(code http2.ErrCode) ending {
	e := ending{outcome: trace.OutcomeReset, at: time.Now()}
	if x.stream.Reset(code) != nil {
		return x.gone()
	}
	return e
}

// goAwayAndFIN closes the connection under all its streams.
func (x *exchange) goAwayAndFIN(code http2.ErrCode, last uint32) ending {
	e := ending{outcome: trace.OutcomeFIN, at: time.Now()}
	if x.stream.GoAway(code, last, "") != nil {
		return x.gone()
	}
	return x.closeH2(e)
}

// closeH2 closes the connection by FIN, unless it has come to another end meanwhile.
func (x *exchange) closeH2(e ending) ending {
	if x.stream.Close() != nil {
		return x.gone()
	}
	return e
}

// abortH2 resets the connection under all its streams.
func (x *exchange) abortH2() ending {
	if x.stream.Sent() != nil {
		return x.gone()
	}
	if c, ok := connOf(x.r); ok {
		x.awaitSent(c, nil)
	}
	e := ending{outcome: trace.OutcomeReset, at: time.Now()}
	switch err := x.stream.Abort(); {
	case err == nil:
	case errors.Is(err, context.Cause(x.r.Context())): // The connection has come to another end meanwhile.
		return x.gone()
	default:
		x.cannotReset(x.verdict.Rule, err)
		e.outcome = trace.OutcomeFIN
	}
	return e
}

// garbageH2 sends what is no frame.
func (x *exchange) garbageH2() ending {
	e := ending{outcome: trace.OutcomeFIN, at: time.Now()}
	if x.stream.Raw(wire.Garbage(x.verdict.Rule.Garbage, x.verdict.Draw)[0].Bytes) != nil {
		return x.gone()
	}
	return x.closeH2(e)
}

// playH2 plays what only HTTP/2 has before an answer; true: there is none.
func (x *exchange) playH2(h *fault.H2) (e ending, over bool) {
	switch {
	case h.Abort:
		return x.abortH2(), true
	case h.Reset != nil && h.Reset.At == fault.CutStart:
		return x.rst(http2.ErrCode(h.Reset.Code.Number())), true
	case h.GoAway == nil:
		return ending{}, false
	}
	code, last := http2.ErrCode(h.GoAway.Code.Number()), uint32(0)
	if h.GoAway.Last == fault.LastThis {
		last = x.stream.ID()
	}
	if h.GoAway.FIN {
		return x.goAwayAndFIN(code, last), true
	}
	if x.stream.GoAway(code, last, "") != nil {
		return x.gone(), true
	}
	if h.GoAway.Last == fault.LastNone {
		return x.hang(), true
	}
	return ending{}, false
}

// stop is where an answer ends before its end.
type stop struct {
	before bool // before the head
	bytes  int64
	end    func() ending
}

// stopOf says where the rule, or the answer itself, ends; nil: nowhere. size is that of the body.
func (x *exchange) stopOf(a answer, f fault.Form, size int64) *stop {
	short := func(n int64) int64 { return min(n, max(0, size-1)) }
	rst := func(c fault.ErrCode) func() ending {
		return func() ending { return x.rst(http2.ErrCode(c.Number())) }
	}
	switch rule := x.verdict.Rule; {
	case f.Cut != nil:
		s := &stop{before: f.Cut.At != fault.CutBody, bytes: short(f.Cut.Bytes)}
		s.end = func() ending { return x.severH2(f.Cut.By, f.Cut.At == fault.CutStart) }
		if f.Cut.By == fault.ActionHang {
			s.end = x.hang
		}
		return s
	case rule != nil && rule.H2 != nil && rule.H2.Reset != nil:
		return &stop{bytes: short(rule.H2.Reset.Bytes), end: rst(rule.H2.Reset.Code)}
	case a.grpc != nil && a.grpc.End == fault.GRPCReset:
		return &stop{bytes: size, end: rst(a.grpc.Code)}
	}
	return nil
}

// foreign says what of a form HTTP/2 does not know; empty: nothing.
func foreign(f fault.Form) string {
	switch {
	case f.Slice != nil:
		return "slice"
	case f.Cut != nil && f.Cut.At == fault.CutHead:
		return "cut at head"
	case f.Malformed == fault.BadChunk || f.Malformed == fault.NoLastChunk:
		return "malformed " + string(f.Malformed)
	case f.After != nil && f.After.Do == fault.AfterHalf:
		return "after half"
	}
	return ""
}

// replyH2 sends an answer in the form that the rule gives it.
func (x *exchange) replyH2(a answer) ending {
	f := x.form()
	if what := foreign(f); what != "" {
		return x.misfit(what)
	}
	if x.r.Context().Err() != nil {
		return x.gone()
	}
	w := wire.Spoil(wire.Answer{
		Status: a.status, Header: a.header, Body: a.body, Fill: a.fill,
		Bare: x.r.Method == http.MethodHead || !mayHaveBody(a.status),
	}, f.Malformed, x.verdict.Draw)
	size := int64(len(w.Body)) + w.Fill
	length := w.Length()
	if w.Bare {
		size = 0
	}
	s := x.stopOf(a, f, size)
	if s != nil && s.before {
		return s.end()
	}
	if !x.inform(f.Inform) {
		return x.gone()
	}
	if s != nil && length == 0 {
		length = 1 // Or there would be nothing to end before.
	}
	return x.frames(a, w, f, fieldsOf(w, f, length), s)
}

// frames sends an answer's frames.
func (x *exchange) frames(a answer, w wire.Answer, f fault.Form, fields []hpack.HeaderField, s *stop) ending {
	size, only := int64(len(w.Body))+w.Fill, false
	if w.Bare {
		size = 0
	}
	if s == nil && size == 0 || f.Malformed == fault.ContinueForNobody {
		fields, only = append(fields, headerFields(a.trailer)...), true // END_STREAM, and trailers-only.
	}
	x.w.status, x.w.last = a.status, time.Now()
	if f.After != nil && f.After.Do == fault.AfterTell && x.stream.GoAway(http2.ErrCodeNo, x.stream.ID(), "") != nil {
		return x.gone()
	}
	if x.stream.Fields(fields, only) != nil {
		return x.gone()
	}
	if only {
		return x.afterwards(a, f)
	}
	send := size
	switch {
	case s != nil:
		send = s.bytes
	case f.Malformed == fault.LengthMissing:
		send /= 2
	}
	if !x.dataPieces(w, f, size, send) {
		return x.gone()
	}
	if s != nil {
		return s.end()
	}
	if !x.endOfStream(a) {
		return x.gone()
	}
	return x.afterwards(a, f)
}

// endOfStream sends what ends the stream.
func (x *exchange) endOfStream(a answer) bool {
	if trailer := headerFields(a.trailer); len(trailer) > 0 {
		x.w.last = time.Now() // They are part of the answer.
		return x.stream.Fields(trailer, true) == nil
	}
	return x.stream.End() == nil
}

// afterwards is what becomes of the connection after the end of the stream.
func (x *exchange) afterwards(a answer, f fault.Form) ending {
	e := ending{outcome: trace.OutcomeAnswered, status: a.status, grpc: x.grpcSent(a), at: x.w.last}
	if (fault.Form{Malformed: f.Malformed}).Ends() != "" {
		e.outcome, e.status, e.grpc = trace.OutcomeFIN, 0, ""
	}
	if x.stream.Sent() != nil {
		return x.gone()
	}
	if f.After == nil || f.After.Do == fault.AfterTell || !x.sleepUntil(time.Now().Add(f.After.Wait)) {
		return e
	}
	if f.After.Do == fault.AfterReset {
		x.abortH2()
	} else {
		_ = x.stream.Close() // The answer was complete before any end.
	}
	return e
}

// dataPieces sends so many bytes of a body, as it is dripped; false: the caller left.
func (x *exchange) dataPieces(w wire.Answer, f fault.Form, size, send int64) bool {
	out := &framed{x: x, pace: pace{rate: f.Bandwidth}}
	body, filled := bytes.NewReader(w.Body), int64(0)
	start := time.Now()
	for _, p := range wire.Pieces(size, f.Drip) {
		if send == 0 {
			break
		}
		if !x.sleepUntil(start.Add(p.At)) {
			return false
		}
		n := min(p.Size, send)
		send -= n
		// The last byte is sent apart, so that the end is stamped when it is near.
		for _, part := range []int64{n - 1, 1} {
			sent, _ := io.CopyN(out, body, min(part, int64(body.Len()))) // out keeps the error.
			_ = wire.WriteFill(out, filled, part-sent)
			filled += part - sent
		}
		if out.err != nil {
			return false
		}
	}
	return x.r.Context().Err() == nil
}

// framed writes a body as DATA, at a pace if there is one.
type framed struct {
	x    *exchange
	pace pace
	err  error
}

// Write sends a piece.
func (s *framed) Write(p []byte) (int, error) {
	for sent := 0; ; {
		n := len(p) - sent
		if s.pace.rate > 0 {
			n = s.pace.piece(n)
			if !s.x.sleepUntil(s.pace.due(n, time.Now())) {
				s.err = io.ErrClosedPipe
				return sent, s.err
			}
		}
		s.x.w.last = time.Now()
		if s.err = s.x.stream.Data(p[sent : sent+n]); s.err != nil {
			return sent, s.err
		}
		if sent += n; sent == len(p) {
			return sent, nil
		}
	}
}

// fieldsOf are the header fields of an answer's head, malformed if its form says so. n is the length of
// its body.
func fieldsOf(w wire.Answer, f fault.Form, n int64) []hpack.HeaderField {
	field := func(name, value string) hpack.HeaderField { return hpack.HeaderField{Name: name, Value: value} }
	if f.Malformed == fault.ContinueForNobody {
		return []hpack.HeaderField{field(":status", "101")}
	}
	head := w.Header.Clone()
	length := head.Get("Content-Length") != "" || f.Malformed != ""
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade"} {
		head.Del(name) // Framing is said below, and connections have none of the others here.
	}
	if head.Get("Date") == "" {
		head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	status := strconv.Itoa(w.Status)
	if f.Malformed == fault.BadStatusLine {
		status = "abc"
	}
	fields := append([]hpack.HeaderField{field(":status", status)}, headerFields(head)...)
	if f.Malformed == fault.BadHeader {
		fields = append(fields, field("A header", "with a name that is none"))
	}
	lengths := []int64{n}
	switch f.Malformed {
	case fault.LengthTwice:
		lengths = []int64{n, n + 1}
	case fault.LengthNegative:
		lengths = []int64{-1}
	case fault.LengthTooLong:
		lengths = []int64{2*n + 1}
	case fault.LengthMissing:
		lengths = nil
	default:
	}
	if length && mayHaveBody(w.Status) {
		for _, n := range lengths {
			fields = append(fields, field("content-length", strconv.FormatInt(n, 10)))
		}
	}
	return fields
}

// headerFields are those of a header.
func headerFields(h http.Header) []hpack.HeaderField {
	var fields []hpack.HeaderField
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: value})
		}
	}
	return fields
}
