package main

import (
	"cmp"
	"fmt"
	"strings"

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
	}
	return fmt.Sprintf("answering %d", max(cfg.Stub.Status, 200))
}

// tcpInWords says what a fault does to connections, and to which.
func tcpInWords(r fault.Rule) string {
	var b strings.Builder
	b.WriteString(r.TCP.String() + selectionInWords(r.Select) + " connections")
	if r.Match.Peer != "" {
		b.WriteString(" of " + r.Match.Peer)
	}
	return b.String()
}

// unpassed says what becomes of what a dependency cannot pass on.
func (in injection) unpassed(injector string) string {
	for _, cfg := range in.injectors {
		if cfg.Name == injector && cfg.TCP != nil {
			return "whoever connects sees a " + string(cmp.Or(cfg.TCP.Undialled, fault.ActionReset))
		}
	}
	return "what it cannot pass on is answered 502"
}
