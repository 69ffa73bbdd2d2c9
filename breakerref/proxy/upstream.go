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
)

// cause says why there is no complete answer; the zero value: there is one.
type cause string

const (
	refused  cause = "refused by the circuit breaker"
	timeout  cause = "timeout"
	reset    cause = "reset"
	eof      cause = "eof"
	stopping cause = "the proxy is stopping"

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
func (p *Proxy) attempt(base context.Context, r *http.Request, body []byte) outcome {
	start, state, ok := p.breaker.acquire()
	if !ok {
		return outcome{cause: refused, state: state}
	}
	answer, cause := p.call(base, r, body)
	took := p.cfg.Now().Sub(start)
	if cause == stopping {
		p.breaker.release()
		return outcome{cause: cause}
	}
	failed := p.counts(answer, cause, took)
	p.breaker.record(failed, took)
	return outcome{answer: answer, cause: cause, failed: failed}
}

// counts reports whether an outcome is one that the breaker is told to count as a
// failure.
func (p *Proxy) counts(a *answer, c cause, took time.Duration) bool {
	f := p.cfg.Failure
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
	case refused, stopping:
		return false
	}
	return f.Status(a.status)
}

// call sends the request to the dependency and reads the answer to its end.
func (p *Proxy) call(base context.Context, r *http.Request, body []byte) (*answer, cause) {
	ctx := base
	if p.cfg.Timeout > 0 {
		limited, cancel := context.WithTimeout(base, p.cfg.Timeout)
		defer cancel()
		ctx = limited
	}
	resp, err := p.transport.RoundTrip(p.forward(ctx, r, body))
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

// forward makes the request for the dependency out of the client's.
func (p *Proxy) forward(ctx context.Context, r *http.Request, body []byte) *http.Request {
	header := endToEnd(r.Header)
	header.Del("Expect") // This server has answered it.
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil // Or the client would name itself.
	}
	out := &http.Request{
		Method: r.Method,
		URL:    p.join(r.URL),
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
func (p *Proxy) join(u *url.URL) *url.URL {
	joined := *p.upstream
	joined.Path = strings.TrimSuffix(p.upstream.Path, "/") + u.Path
	joined.RawPath = strings.TrimSuffix(p.upstream.EscapedPath(), "/") + u.EscapedPath()
	joined.RawQuery = u.RawQuery
	joined.ForceQuery = u.ForceQuery
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
