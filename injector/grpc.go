package injector

import (
	"net/http"
	"strconv"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

func isGRPC(h http.Header) bool { return match.IsGRPC(h.Get("Content-Type")) }

// grpcSent is what is recorded of gRPC of an answer of the injector; empty: it is none.
func (x *exchange) grpcSent(a answer) string {
	spoilt := a.grpc != nil && a.grpc.Frame != "" || x.form().Malformed != ""
	status := x.grpcOf(a.header, a.trailer, a.grpc != nil, spoilt)
	if status == "OK" && a.grpc != nil && len(a.grpc.Messages) == 0 {
		return trace.GRPCNoMessage // An upstream knows whether its caller waits for one.
	}
	return status
}

// grpcOf is what is recorded of gRPC. An answer is one of gRPC if it is meant so, or if it or what
// it answers says so. A trailer is the status, or else the head, which is trailers-only.
func (x *exchange) grpcOf(head, trailer http.Header, meant, spoilt bool) string {
	if x.stream == nil || !meant && !isGRPC(head) && !isGRPC(x.r.Header) {
		return "" // gRPC goes over HTTP/2 only.
	}
	text := trailer.Get("Grpc-Status")
	if text == "" {
		text = head.Get("Grpc-Status")
	}
	number, err := strconv.ParseUint(text, 10, 32)
	switch codes := fault.GRPCCodes(); {
	case err != nil:
		return trace.GRPCNoStatus
	case spoilt || !isGRPC(head):
		return trace.GRPCUnreadable
	case number < uint64(len(codes)):
		return string(codes[number])
	}
	return strconv.FormatUint(number, 10)
}
