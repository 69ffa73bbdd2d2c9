package main

import (
	"fmt"
	"strings"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// healthyInWords says who answers at a dependency when no fault does.
func healthyInWords(cfg injector.Config) string {
	switch {
	case cfg.TCP != nil:
		return "passing connections on to " + cfg.TCP.Upstream
	case cfg.Upstream != "":
		return "in front of " + cfg.Upstream
	case cfg.Stub.GRPC != nil:
		return "answering " + experiments.ProtocolWords(fault.Rule{Respond: cfg.Stub.Respond})
	}
	return fmt.Sprintf("answering %d", max(cfg.Stub.Status, 200))
}

// tcpInWords says what a fault does to connections, and to which.
func tcpInWords(r fault.Rule) string {
	var b strings.Builder
	b.WriteString(r.TCP.String() + selectionInWords(r.Select) + " connection" + severalEnd(r.Select))
	if r.Match.Peer != "" {
		b.WriteString(" of " + r.Match.Peer)
	}
	return b.String()
}

// unpassed says what becomes of what a dependency cannot pass on.
func (c tally) unpassed() string {
	if c.cut {
		return "who connects is cut off"
	}
	return "what it cannot pass on is answered 502"
}
