package h2

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// response answers a request. Its handler alone uses it.
type response struct {
	s      *stream
	r      *http.Request
	header http.Header
	head   bool // the request was HEAD
	status int  // 0: no head was sent
	bare   bool // the answer has no body
}

var _ Stream = (*response)(nil)

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sends the head; one with a status below 200 is sent before the answer's own.
func (w *response) WriteHeader(status int) { w.writeHead(status, nil) }

// writeHead sends the head of an answer that begins with these bytes.
func (w *response) writeHead(status int, begin []byte) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("h2: the status is %d", status)) // As net/http does.
	case w.status != 0:
		return
	case status < http.StatusOK && status != http.StatusSwitchingProtocols:
		_ = w.Fields(w.fields(status, w.header), false) // That the client is gone is told by what follows.
		return
	}
	w.status = status
	w.bare = w.head || status == http.StatusNoContent || status == http.StatusNotModified
	head := w.header.Clone()
	if _, ok := head["Date"]; !ok {
		head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	if _, ok := head["Content-Type"]; !ok && len(begin) > 0 && head.Get("Content-Encoding") == "" {
		head.Set("Content-Type", http.DetectContentType(begin))
	}
	closes := httpguts.HeaderValuesContainsToken(head["Connection"], "close")
	_ = w.Fields(w.fields(status, head), false)
	if closes { // What HTTP/1.1 says by a header is said by GOAWAY.
		w.s.c.Shutdown()
	}
}

// fields are the header fields of a head.
func (w *response) fields(status int, head http.Header) []hpack.HeaderField {
	fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(status)}}
	for _, name := range slices.Sorted(maps.Keys(head)) {
		switch name {
		case "Connection", "Proxy-Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade":
			continue
		}
		if !strings.HasPrefix(name, http.TrailerPrefix) {
			fields = appendFields(fields, name, head[name])
		}
	}
	return fields
}

// appendFields adds a header; one that cannot be written is left out, as net/http does.
func appendFields(fields []hpack.HeaderField, name string, values []string) []hpack.HeaderField {
	if !httpguts.ValidHeaderFieldName(name) {
		return fields
	}
	for _, v := range values {
		if httpguts.ValidHeaderFieldValue(v) {
			fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: v})
		}
	}
	return fields
}

// goOn sends 100 Continue, unless the answer has begun.
func (w *response) goOn() {
	if w.status == 0 {
		_ = w.Fields(w.fields(http.StatusContinue, nil), false)
	}
}

// Write sends a piece of the body, as the client's window lets it.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.writeHead(http.StatusOK, p)
	}
	if w.head {
		return len(p), nil
	}
	if w.bare {
		return 0, http.ErrBodyNotAllowed
	}
	return w.s.write(p, false)
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError waits until all that was sent so far is on the connection.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.Sent()
}

// finish ends an answer that its handler has not ended itself, and a request that has not ended.
func (w *response) finish() {
	s := w.s
	s.c.mu.Lock()
	answered, over := s.localEnd, s.ended != nil
	s.c.mu.Unlock()
	if over {
		return
	}
	if !answered {
		w.finishAnswer()
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !s.remoteEnd { // The rest of the request is not wanted (RFC 9113, section 8.1).
		s.resetLocked(http2.ErrCodeNo, errDone)
	}
}

// finishAnswer ends an answer by its trailers or without any.
func (w *response) finishAnswer() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if trailer := w.trailers(); len(trailer) > 0 {
		_ = w.Fields(trailer, true)
	} else {
		_ = w.End()
	}
}

// trailers are what was announced, and what is named with http.TrailerPrefix.
func (w *response) trailers() []hpack.HeaderField {
	var fields []hpack.HeaderField
	for _, names := range w.header["Trailer"] {
		for name := range strings.SplitSeq(names, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			fields = appendFields(fields, name, w.header[name])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.header)) {
		if name, ok := strings.CutPrefix(key, http.TrailerPrefix); ok {
			fields = appendFields(fields, name, w.header[key])
		}
	}
	return fields
}
