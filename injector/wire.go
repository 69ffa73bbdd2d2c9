package injector

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// halfLine begins an answer that never comes. A client that has read any byte
// cannot take the dead connection for one that idled out and resend in silence; Java's
// HttpURLConnection wants eight. There is no status in it: a whole status line, and then
// the end of the connection, is an empty 200 to HttpURLConnection, Python and curl.
const halfLine = "HTTP/1.1 "

// sever ends the connection without an answer, by RST or by FIN.
func (x *exchange) sever(reset bool) ending {
	if x.r.Context().Err() != nil {
		return x.gone()
	}
	conn, _, err := http.NewResponseController(x.w.ResponseWriter).Hijack()
	if err != nil {
		return x.gone()
	}
	defer func() { _ = conn.Close() }() // a caller who is gone already is no error
	// Close must not wait for a caller who does not read.
	stop := context.AfterFunc(x.r.Context(), func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if !x.verdict.Rule.Stealth {
		if _, err := io.WriteString(conn, halfLine); err != nil {
			return x.gone()
		}
	}
	e := ending{outcome: trace.OutcomeFIN, at: time.Now()}
	if reset {
		e.outcome = x.reset(conn)
	}
	return e
}

// reset makes the close of nc a RST. A network that has none is told of, and
// what the caller sees is recorded: a FIN.
func (x *exchange) reset(nc net.Conn) trace.Outcome {
	var err error
	if c, ok := nc.(*conn); ok {
		nc = c.Conn // whose network knows how
	}
	switch c := nc.(type) {
	case interface{ Abort() }:
		c.Abort()
	case interface{ SetLinger(sec int) error }:
		err = c.SetLinger(0)
	default:
		err = net.UnknownNetworkError(nc.LocalAddr().Network())
	}
	if err != nil {
		x.log.LogAttrs(x.r.Context(), slog.LevelError, "this network cannot reset a connection; it is closed instead",
			slog.String("injector", x.cfg.Name), slog.String("rule", x.verdict.Rule.ID), slog.Any("error", err))
		return trace.OutcomeFIN
	}
	return trace.OutcomeReset
}
