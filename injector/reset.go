package injector

import (
	"context"
	"log/slog"
	"net"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/wire"
	"github.com/faultline-go/faultline/target/trace"
)

// sever ends the connection without an answer, by RST or by FIN.
func (x *exchange) sever(by fault.Action) ending {
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
	return x.abort(nc, x.verdict.Rule)
}

// abort does that to a connection of the network, or with TLS, for a rule.
func (i *Injector) abort(nc net.Conn, rule *fault.Rule) trace.Outcome {
	var err error
	if s, ok := nc.(*secured); ok {
		nc = s.bare() // close_notify before the RST would be an end without error.
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
		i.log.LogAttrs(context.Background(), slog.LevelError, "this network cannot reset a connection; it is closed instead",
			slog.String("injector", i.cfg.Name), slog.String("rule", rule.ID), slog.Any("error", err))
		return trace.OutcomeFIN
	}
	return trace.OutcomeReset
}
