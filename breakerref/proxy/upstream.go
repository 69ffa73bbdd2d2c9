package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/limit"
)

// cause says why there is no complete answer; the zero value: there is one.
type cause string

const (
	refused  cause = "refused by the circuit breaker"
	timeout  cause = "timeout"
	reset    cause = "reset"
	eof      cause = "eof"
	late     cause = "given up by the time limiter"
	stopping cause = "the proxy is stopping"
	left     cause = "its client has left" // and the call with it

	// The call was not made. Neither counts unless the service says so.
	full    cause = "the bulkhead is full"
	limited cause = "the rate limiter does not permit further calls"
	crowded cause = "the rate limiter tells no more keys apart"

	// There was no connection to begin with. Both count as a reset.
	nobody      cause = "connection refused"
	unreachable cause = "unreachable"
)

// nothing reports whether the call ended without an outcome.
func (c cause) nothing() bool { return c == stopping || c == left }

// rejection reports whether a policy inside of the breaker refused the call.
func (c cause) rejection() bool { return c == full || c == limited || c == crowded }

// answer is a complete answer of the dependency.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// outcome is what came of an attempt.
type outcome struct {
	answer *answer // nil: see cause
	cause  cause
	failed bool             // it counts as a failure
	state  breakerref.State // that refused it
	limit  *limit.Decision  // that limited it
}

// good reports whether there is an answer that is not a failure.
func (o outcome) good() bool { return o.answer != nil && !o.failed }

// upstream is a source of answers.
type upstream struct {
	url       *url.URL
	timeout   time.Duration // of a call; 0: none
	transport *http.Transport
}

// send sends the call to the source and reads the answer to its end.
func (u *upstream) send(c *call) (*answer, cause) {
	ctx := c.ctx
	if u.timeout > 0 {
		limited, cancel := context.WithTimeout(c.ctx, u.timeout)
		defer cancel()
		ctx = limited
	}
	resp, err := u.transport.RoundTrip(u.forward(ctx, c))
	if err != nil {
		return nil, causeOf(c, err)
	}
	defer func() { _ = resp.Body.Close() }() // It was read to its end or is broken.
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, causeOf(c, err)
	}
	return &answer{status: resp.StatusCode, header: endToEnd(resp.Header), body: got}, ""
}

// forward makes the request for the source out of the client's.
func (u *upstream) forward(ctx context.Context, c *call) *http.Request {
	header := c.header.Clone()
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil // Or the client would name itself.
	}
	out := &http.Request{
		Method: c.method,
		URL:    u.join(c.url),
		Header: header,
		// Neither nil, http.NoBody nor with a GetBody, also if it is empty: all
		// three let the transport send the request a second time.
		Body:          io.NopCloser(bytes.NewReader(c.body)),
		ContentLength: int64(len(c.body)),
	}
	return out.WithContext(ctx)
}

// join puts path and query of a request behind the upstream's base, escaped as the
// client escaped them.
func (u *upstream) join(asked *url.URL) *url.URL {
	joined := *u.url
	joined.Path = strings.TrimSuffix(u.url.Path, "/") + asked.Path
	joined.RawPath = strings.TrimSuffix(u.url.EscapedPath(), "/") + asked.EscapedPath()
	joined.RawQuery = asked.RawQuery
	joined.ForceQuery = asked.ForceQuery
	return &joined
}

// causeOf gives an error of the way to the dependency the name that a reader of the
// answer knows it by.
func causeOf(c *call, err error) cause {
	var slow net.Error
	switch {
	case c.ctx.Err() != nil:
		return c.ended()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return timeout
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return reset
	}
	if _, ok := errors.AsType[*unreachableError](err); ok {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nobody
		}
		return unreachable
	}
	return eof
}

// unreachableError says that there was no connection to begin with.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error { return e.error }

// endToEnd returns the headers that are meant for the other end of a chain of
// proxies, see RFC 9110, section 7.6.1.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		out.Del(name)
	}
	return out
}
