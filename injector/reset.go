package injector

import (
	"log/slog"
	"net"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// sever ends the connection without an answer, by RST or by FIN.
func (x *exchange) sever(by fault.Action) ending {
	if x.stream != nil {
		return x.severH2(by, x.verdict.Rule.Stealth)
	}
	cut := fault.Cut{At: fault.CutLine, By: by}
	if x.verdict.Rule.Stealth {
		cut.At = fault.CutStart
	}
	return x.perform(wire.HTTP1(wire.Answer{}, fault.Form{Cut: &cut}), 0)
}

// reset makes the close of nc a RST. A network that has none is told of, and
// what the caller sees is recorded: a FIN.
func (x *exchange) reset(nc net.Conn) trace.Outcome {
	if c, ok := nc.(*conn); ok {
		nc = c.Conn // whose network knows how
	}
	if err := prepareReset(nc); err != nil {
		x.cannotReset(err)
		return trace.OutcomeFIN
	}
	return trace.OutcomeReset
}

// prepareReset makes the close of a connection a RST, or resets it, if its network has any.
func prepareReset(nc net.Conn) error {
	switch c := nc.(type) {
	case interface{ Abort() }:
		c.Abort()
		return nil
	case interface{ SetLinger(sec int) error }:
		return c.SetLinger(0)
	default:
		return net.UnknownNetworkError(nc.LocalAddr().Network())
	}
}

// cannotReset tells of a network that has no reset.
func (x *exchange) cannotReset(err error) {
	x.log.LogAttrs(x.r.Context(), slog.LevelError, "this network cannot reset a connection; it is closed instead",
		slog.String("injector", x.cfg.Name), slog.String("rule", x.verdict.Rule.ID), slog.Any("error", err))
}
