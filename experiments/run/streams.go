package run

import (
	"strings"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
)

// OfConnections sets in cfg what a dependency of a plan is beside one of requests: it speaks
// WebSocket, or its connections are passed on.
func OfConnections(cfg *injector.Config, in experiments.Injector) {
	if in.Stub != nil && in.Stub.WebSocket != nil {
		cfg.Stub.WebSocket = &injector.WebSocketStub{Open: in.Stub.WebSocket.Open, Answer: in.Stub.WebSocket.Answer}
	}
	if in.TCP != nil {
		cfg.TCP = &injector.TCP{Upstream: in.TCP.Upstream, Undialled: in.TCP.Undialled}
	}
	cfg.EnvoyHeaders = in.EnvoyHeaders
}

// overHTTP is the URL by which faultline's own service calls a dependency. It speaks HTTP also
// where the connections are passed on.
func overHTTP(in *injector.Injector) string {
	if rest, ok := strings.CutPrefix(in.URL(), "tcp://"); ok {
		return "http://" + rest
	}
	return in.URL()
}

// upstreamOf is the URL of the real dependency behind an injector, or nothing.
func upstreamOf(in experiments.Injector) string {
	if in.TCP != nil {
		return "tcp://" + in.TCP.Upstream
	}
	return in.Upstream
}

// arrivals are what arrives at an injector, in a word.
func arrivals(in experiments.Injector) string {
	if in.TCP != nil {
		return "connections"
	}
	return "requests"
}
