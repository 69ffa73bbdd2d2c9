package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// cause says why there is no complete answer; the zero value: there is one.
type cause string

const (
	refused  cause = "refused by the circuit breaker"
	timeout  cause = "timeout"
	reset    cause = "reset"
	eof      cause = "eof"
	stopping cause = "the proxy is stopping"
	full     cause = "no room in the bulkhead"

	// There was no connection to begin with. Both count as a reset.
	nobody      cause = "connection refused"
	unreachable cause = "unreachable"
)

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
}

// good reports whether there is an answer that is not a failure.
func (o outcome) good() bool { return o.answer != nil && !o.failed }

// attempt asks the breaker, then the dependency, and gives the breaker exactly one
// outcome or its permission back.
func (s *service) attempt(base context.Context, r *http.Request, body []byte) outcome {
	permit := s.breaker.acquire()
	if !permit.ok {
		if s.Defect == SlowReject && !pause(base, slowReject) {
			return outcome{cause: stopping}
		}
		return outcome{cause: refused, state: permit.state}
	}
	if !s.take() {
		s.breaker.ignore(permit, note{took: s.now().Sub(permit.start), reason: "the bulkhead is full"})
		return outcome{cause: full}
	}
	answer, cause := s.primary.call(base, r, body)
	s.leave()
	took := s.now().Sub(permit.start)
	if cause == stopping {
		s.breaker.release(permit)
		return outcome{cause: cause}
	}
	failed := s.counts(answer, cause, took)
	n := note{took: took}
	if failed {
		n.reason = s.reason(answer, cause, took)
	}
	s.breaker.record(permit, failed, n)
	return outcome{answer: answer, cause: cause, failed: failed}
}

// take takes a place in the bulkhead, or reports that there is none.
func (s *service) take() bool {
	if s.places == nil {
		return true
	}
	select {
	case s.places <- struct{}{}:
		return true
	default:
		return false
	}
}

// leave gives a place in the bulkhead back.
func (s *service) leave() {
	if s.places != nil {
		<-s.places
	}
}

// counts reports whether an outcome is one that the breaker is told to count as a
// failure.
func (s *service) counts(a *answer, c cause, took time.Duration) bool {
	f := s.Failure
	if f.Slow > 0 && took > f.Slow {
		return true
	}
	switch c {
	case timeout:
		return f.Abandon
	case reset, nobody, unreachable:
		return f.Reset
	case eof:
		return f.EOF
	case refused, full, stopping:
		return false
	}
	return f.Status(a.status)
}

// reason says why an outcome counts as a failure.
func (s *service) reason(a *answer, c cause, took time.Duration) string {
	switch {
	case a == nil:
		return "the dependency did not answer: " + string(c)
	case s.Failure.Status(a.status):
		return fmt.Sprintf("the dependency answered %d", a.status)
	default:
		return fmt.Sprintf("the dependency took %v, more than %v", took, s.Failure.Slow)
	}
}

// upstream is a source of answers.
type upstream struct {
	url       *url.URL
	timeout   time.Duration // of a call; 0: none
	transport *http.Transport
}

// call sends the request to the source and reads the answer to its end.
func (u *upstream) call(base context.Context, r *http.Request, body []byte) (*answer, cause) {
	ctx := base
	if u.timeout > 0 {
		limited, cancel := context.WithTimeout(base, u.timeout)
		defer cancel()
		ctx = limited
	}
	resp, err := u.transport.RoundTrip(u.forward(ctx, r, body))
	if err != nil {
		return nil, causeOf(base, err)
	}
	defer func() { _ = resp.Body.Close() }() // It was read to its end or is broken.
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, causeOf(base, err)
	}
	return &answer{status: resp.StatusCode, header: endToEnd(resp.Header), body: got}, ""
}

// forward makes the request for the source out of the client's.
func (u *upstream) forward(ctx context.Context, r *http.Request, body []byte) *http.Request {
	header := endToEnd(r.Header)
	header.Del("Expect") // This server has answered it.
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil // Or the client would name itself.
	}
	out := &http.Request{
		Method: r.Method,
		URL:    u.join(r.URL),
		Header: header,
		// Neither nil, http.NoBody nor with a GetBody, also if it is empty: all
		// three let the transport send the request a second time.
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
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
func causeOf(base context.Context, err error) cause {
	var slow net.Error
	switch {
	case base.Err() != nil:
		return stopping
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
