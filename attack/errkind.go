package attack

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/faultline-go/faultline/target/trace"
)

// kindOf says why a call has no complete answer. ctx is the call's own. What
// the network said comes first: net/http reports the end of ctx, and not the
// connection that it tore down, when ctx ended before.
func kindOf(ctx context.Context, err error) trace.ErrKind {
	var timeout net.Error
	switch {
	case errors.Is(err, errTimeout):
		return trace.ErrTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return trace.ErrRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return trace.ErrReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), closedIdle(err):
		return trace.ErrEOF
	case ofTLS(err):
		return trace.ErrTLS
	case ofProtocol(err):
		return trace.ErrProtocol
	case errors.Is(context.Cause(ctx), errTimeout):
		return trace.ErrTimeout
	case ctx.Err() != nil:
		return trace.ErrCanceled // The caller's own deadline is a stop too.
	case errors.As(err, &timeout) && timeout.Timeout():
		return trace.ErrTimeout // The operating system's, such as ETIMEDOUT.
	}
	return trace.ErrOther
}

// ofTLS recognises what crypto/tls and net/http say of TLS. Alerts have no type that is exported: their
// text stands at the end of the chain.
func ofTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return strings.HasPrefix(err.Error(), "tls: ")
}

// ofProtocol recognises an answer that could not be read as HTTP/1.1, in its head or in its chunks.
// net/http exports neither error. Where the connection ended within the first line, it takes what
// came for a whole one and drops the end from the chain, so that it may have been any.
func ofProtocol(err error) bool {
	text := err.Error()
	chunks := []string{"invalid byte in chunk length", "malformed chunked encoding", "empty hex number for chunk length", "http chunk length too large"}
	return slices.Contains(chunks, text) || strings.HasPrefix(text, "net/http: HTTP/1.x transport connection broken: ")
}

// closedIdle recognises the error for a connection that the SUT closed just as
// the request went out. net/http does not export it.
func closedIdle(err error) bool {
	return strings.HasSuffix(err.Error(), "http: server closed idle connection")
}
