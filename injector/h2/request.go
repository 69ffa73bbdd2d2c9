package h2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
)

// headers begins a stream, or ends the body of one by trailers.
func (c *Conn) headers(ctx context.Context, f *http2.MetaHeadersFrame, since time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := f.StreamID
	if id%2 == 0 {
		return broken(http2.ErrCodeProtocol, "HEADERS on stream %d, which is not a client's", id)
	}
	if s := c.streams[id]; s != nil {
		return s.trailersLocked(f)
	}
	switch {
	case c.ended != nil, c.forgiven[id]: // Nobody would end a stream that began after the end.
		return nil
	case id <= c.last:
		return broken(http2.ErrCodeStreamClosed, "HEADERS on stream %d, which is closed", id)
	case c.going:
		return nil // It was told to begin none; this was on its way.
	}
	if f.HasPriority() && f.Priority.StreamDep == id {
		return refused(id, http2.ErrCodeProtocol, "it depends on itself")
	}
	if len(c.streams) >= int(c.o.Settings.MaxStreams) {
		return refused(id, http2.ErrCodeRefusedStream, "more than %d concurrent streams", c.o.Settings.MaxStreams)
	}
	if len(c.serving) >= int(c.o.Settings.MaxStreams)+maxControl {
		return broken(http2.ErrCodeEnhanceYourCalm, "%d requests were reset and are still being served", len(c.serving))
	}
	r, err := request(f)
	if err != nil {
		return refused(id, http2.ErrCodeProtocol, "malformed request: %w", err)
	}
	c.last = id
	c.begin(ctx, f, r, since)
	return nil
}

// trailersLocked ends the request's body.
func (s *stream) trailersLocked(f *http2.MetaHeadersFrame) error {
	switch {
	case s.remoteEnd:
		return refused(s.id, http2.ErrCodeStreamClosed, "HEADERS after the end of the stream")
	case !f.StreamEnded() || len(f.PseudoFields()) > 0:
		return refused(s.id, http2.ErrCodeProtocol, "trailers that do not end the stream, or hold pseudo-header fields")
	case s.length >= 0 && s.got != s.length:
		return refused(s.id, http2.ErrCodeProtocol, "%d bytes of a body whose Content-Length is %d", s.got, s.length)
	}
	trailer := http.Header{}
	for _, field := range f.RegularFields() {
		trailer.Add(field.Name, field.Value)
	}
	s.remoteEndLocked(trailer)
	return nil
}

// begin has a request served. The lock is held.
func (c *Conn) begin(ctx context.Context, f *http2.MetaHeadersFrame, r *http.Request, since time.Time) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{
		c: c, id: f.StreamID, cancel: cancel, done: ctx.Done(), recv: specWindow, window: c.peerInitial,
		poke: make(chan struct{}, 1), length: r.ContentLength,
	}
	if c.acked {
		s.recv = int64(c.o.Settings.InitialWindow)
	}
	s.body = &body{s: s, poke: make(chan struct{}, 1)}
	c.streams[s.id] = s
	w := &response{s: s, r: r, header: http.Header{}, head: r.Method == http.MethodHead}
	r.RemoteAddr = c.nc.RemoteAddr().String()
	r.Body = http.NoBody
	if f.StreamEnded() {
		r.ContentLength = 0
		s.remoteEnd = true
	} else {
		r.Body = s.body
		s.body.trailers = func(h http.Header) { takeTrailers(r, h) }
		if httpguts.HeaderValuesContainsToken(r.Header["Expect"], "100-continue") {
			r.Header.Del("Expect")
			s.body.onRead = w.goOn
		}
	}
	c.serving[s] = true
	c.handler.Go(func() {
		defer c.served(s)
		if f.Truncated {
			c.tell(Unread{Since: since, Status: http.StatusRequestHeaderFieldsTooLarge, Why: fmt.Sprintf("the head of a request is longer than %d bytes", maxHeaderList)})
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			w.finish()
			return
		}
		w.run(r.WithContext(ctx))
	})
}

// served is the end of a handler.
func (c *Conn) served(s *stream) {
	s.cancel(errDone)
	_ = s.body.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.serving, s)
	c.idleLocked()
}

// takeTrailers gives a request its trailers. Those that were not announced are taken, too.
func takeTrailers(r *http.Request, h http.Header) {
	for name, values := range h {
		if r.Trailer == nil {
			r.Trailer = http.Header{}
		}
		r.Trailer[name] = values
	}
}

// run has the handler answer.
func (w *response) run(r *http.Request) {
	whole := false
	defer func() {
		if whole {
			w.finish()
			return
		}
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // As net/http compares it.
			w.s.c.o.Logger.LogAttrs(r.Context(), slog.LevelError, "a handler panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
		_ = w.Reset(http2.ErrCodeInternal) // The client is gone otherwise.
	}()
	w.s.c.o.Handler.ServeHTTP(w, r)
	whole = true
}

// request makes a request of header fields (RFC 9113, sections 8.2 and 8.3.1). The values of
// the frame are strings, which may be kept.
func request(f *http2.MetaHeadersFrame) (*http.Request, error) {
	r := &http.Request{
		Method: f.PseudoValue("method"), Host: f.PseudoValue("authority"), RequestURI: f.PseudoValue("path"),
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{}, ContentLength: -1,
	}
	if f.Truncated {
		r.URL, r.Method = &url.URL{}, http.MethodGet
		return r, nil
	}
	if err := regular(r, f); err != nil {
		return nil, err
	}
	scheme := f.PseudoValue("scheme")
	switch {
	case r.Method == http.MethodConnect:
		if r.RequestURI != "" || scheme != "" || r.Host == "" {
			return nil, errors.New("CONNECT with a scheme or a path, or without an authority")
		}
		r.URL, r.RequestURI = &url.URL{Host: r.Host}, r.Host
		return r, nil
	case r.Method == "" || r.RequestURI == "" || scheme == "":
		return nil, errors.New("it lacks :method, :path or :scheme")
	case r.RequestURI[0] != '/' && (r.RequestURI != "*" || r.Method != http.MethodOptions):
		return nil, fmt.Errorf(":path is %q", r.RequestURI)
	}
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return nil, err
	}
	r.URL = u
	return r, nil
}

// regular takes the fields that are no pseudo-header fields.
func regular(r *http.Request, f *http2.MetaHeadersFrame) error {
	for _, field := range f.RegularFields() {
		if err := take(r, http.CanonicalHeaderKey(field.Name), field.Value); err != nil {
			return err
		}
	}
	if f.StreamEnded() && r.ContentLength > 0 {
		return fmt.Errorf("Content-Length is %d, and there is no body", r.ContentLength)
	}
	if cookies := r.Header["Cookie"]; len(cookies) > 1 {
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return nil
}

// take takes one field.
func take(r *http.Request, name, value string) error {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade":
		return fmt.Errorf("%s belongs to one connection of HTTP/1.1", name)
	case "Te":
		if value != "trailers" {
			return fmt.Errorf("TE is %q", value)
		}
	case "Host":
		if r.Host == "" {
			r.Host = value
		}
		return nil
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || r.ContentLength >= 0 && r.ContentLength != int64(n) {
			return fmt.Errorf("Content-Length is %q", value)
		}
		r.ContentLength = int64(n)
	case "Trailer":
		announce(r, value)
		return nil
	}
	r.Header.Add(name, value)
	return nil
}

// announce notes the names of trailers.
func announce(r *http.Request, names string) {
	for name := range strings.SplitSeq(names, ",") {
		if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); httpguts.ValidTrailerHeader(name) {
			if r.Trailer == nil {
				r.Trailer = http.Header{}
			}
			r.Trailer[name] = nil
		}
	}
}
