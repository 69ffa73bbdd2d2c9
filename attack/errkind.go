package attack

import (
	"context"
	"errors"
	"io"
	"net"
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
	case errors.Is(context.Cause(ctx), errTimeout):
		return trace.ErrTimeout
	case ctx.Err() != nil:
		return trace.ErrCanceled // The caller's own deadline is a stop too.
	case errors.As(err, &timeout) && timeout.Timeout():
		return trace.ErrTimeout // The operating system's, such as ETIMEDOUT.
	}
	return trace.ErrOther
}

// closedIdle recognises the error for a connection that the SUT closed just as
// the request went out. net/http does not export it.
func closedIdle(err error) bool {
	return strings.HasSuffix(err.Error(), "http: server closed idle connection")
}
