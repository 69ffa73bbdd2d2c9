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
	return x.abort(nc, x.verdict.Rule)
}

// abort does that to a connection of the network, or with TLS, for a rule.
func (i *Injector) abort(nc net.Conn, rule *fault.Rule) trace.Outcome {
	if err := prepareReset(nc); err != nil {
		i.cannotReset(rule, err)
		return trace.OutcomeFIN
	}
	return trace.OutcomeReset
}

// prepareReset makes the close of a connection a RST, or resets it, if its network has any.
func prepareReset(nc net.Conn) error {
	if s, ok := nc.(*secured); ok {
		nc = s.bare() // close_notify before the RST would be an end without error.
	}
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
func (i *Injector) cannotReset(rule *fault.Rule, err error) {
	i.log.LogAttrs(context.Background(), slog.LevelError, "this network cannot reset a connection; it is closed instead",
		slog.String("injector", i.cfg.Name), slog.String("rule", rule.ID), slog.Any("error", err))
}
