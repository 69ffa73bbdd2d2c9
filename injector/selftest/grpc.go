package selftest

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// grpc are the contracts of answers of a gRPC server.
func grpc() []contract {
	all := append(grpcStatuses(), grpcFrames()...)
	for i := range all {
		all[i].protocol = "gRPC"
		if all[i].request == "" {
			all[i].request = ask().request(1, "POST", "/charges.Charges/Charge", false).body(1, 5, true).String()
			all[i].show = framesShown
		}
	}
	return all
}

// grpcHead begins every answer but trailers-only.
const grpcHead = `HEADERS 1 :status=200 content-type=application/grpc`

// message is base64 of "hi".
const message = "aGk="

// asGRPC is a rule that answers so.
func asGRPC(g fault.GRPC) fault.Rule {
	return fault.Rule{Action: fault.ActionRespond, Respond: fault.Respond{GRPC: &g}}
}

// grpcStatuses are answers with a status, and without.
func grpcStatuses() []contract {
	hi := "\x00\x00\x00\x00\x02hi"
	details := base64.StdEncoding.EncodeToString([]byte("\x08\x0e\x12\x04down"))
	return []contract{
		{
			fault: "a healthy stub", expected: "a message, and grpc-status 0 with END_STREAM", rule: fault.Rule{Action: fault.ActionPass},
			stub:  injector.Stub{Respond: fault.Respond{GRPC: &fault.GRPC{Messages: []string{message}}}},
			holds: framed(grpcHead+`; DATA 1 `+hi+`; HEADERS 1 grpc-status=0 END`, None),
		},
		{
			fault: "grpc: UNAVAILABLE", expected: "one HEADERS with the status and END_STREAM, called trailers-only",
			rule: asGRPC(fault.GRPC{Status: "UNAVAILABLE"}), holds: framed(grpcHead+` grpc-status=14 END`, None),
		},
		{
			fault: "grpc: {status: NOT_FOUND, message}", expected: "grpc-message, percent-encoded",
			rule:  asGRPC(fault.GRPC{Status: "NOT_FOUND", Message: "100 % für dich\n"}),
			holds: framed(grpcHead+` grpc-message=100 %25 f%C3%BCr dich%0A grpc-status=5 END`, None),
		},
		{
			fault: "grpc: {status: UNAVAILABLE, details}", expected: "grpc-status-details-bin with the bytes as given, in base64",
			rule:  asGRPC(fault.GRPC{Status: "UNAVAILABLE", Details: details}),
			holds: framed(grpcHead+` grpc-status=14 grpc-status-details-bin=`+regexp.QuoteMeta("CA4SBGRvd24")+` END`, None),
		},
		{
			fault: "grpc: {messages: 2, status: INTERNAL}", expected: "two messages, then HEADERS with the status and END_STREAM",
			rule:  asGRPC(fault.GRPC{Messages: []string{message, message}, Status: "INTERNAL"}),
			holds: framed(grpcHead+`; DATA 1 `+hi+hi+`; HEADERS 1 grpc-status=13 END`, None),
		},
		{
			fault: "grpc: {messages: 1, end: no_trailers}", expected: "a message, then END_STREAM without a status",
			rule:  asGRPC(fault.GRPC{Messages: []string{message}, End: fault.GRPCNoTrailers}),
			holds: framed(grpcHead+`; DATA 1 `+hi+`; END 1`, None),
		},
		{
			fault: "grpc: {messages: 2, end: reset, code: INTERNAL_ERROR}", expected: "two messages, then RST_STREAM INTERNAL_ERROR", recorded: trace.OutcomeReset,
			rule:  asGRPC(fault.GRPC{Messages: []string{message, message}, End: fault.GRPCReset, Code: "INTERNAL_ERROR"}),
			holds: framed(grpcHead+`; DATA 1 `+hi+hi+`; RST_STREAM 1 INTERNAL_ERROR`, None),
		},
		{
			fault: "grpc: {status: OK}, over HTTP/1.1", expected: "501 with a text that says that it has no meaning over HTTP/1.1",
			rule: asGRPC(fault.GRPC{Status: "OK"}), request: "POST /charges HTTP/1.1\r\nHost: selftest\r\nContent-Length: 0\r\n\r\n",
			holds: looks(`HTTP/1\.1 501 .*grpc has no meaning over HTTP/1\.1\n`, None),
		},
	}
}

// grpcFrames are messages whose prefix lies.
func grpcFrames() []contract {
	lie := func(f fault.GRPCFrame) fault.Rule { return asGRPC(fault.GRPC{Messages: []string{message}, Frame: f}) }
	framed := func(prefix string) func(Observation) bool {
		return framed(grpcHead+`; DATA 1 `+prefix+`hi; HEADERS 1 grpc-status=0 END`, None)
	}
	return []contract{
		{
			fault: "grpc: {frame: length_too_long}", expected: "a prefix of 18 before 2 bytes, then the status",
			rule: lie(fault.GRPCTooLong), holds: framed("\x00\x00\x00\x00\x12"),
		},
		{
			fault: "grpc: {frame: length_too_short}", expected: "a prefix of 1 before 2 bytes, then the status",
			rule: lie(fault.GRPCTooShort), holds: framed("\x00\x00\x00\x00\x01"),
		},
		{
			fault: "grpc: {frame: length_huge}", expected: "a prefix of 4294967295 before 2 bytes, then the status",
			rule: lie(fault.GRPCHuge), holds: all(framed(".{5}"), func(o Observation) bool { return strings.Contains(o.texts(), "\x00\xff\xff\xff\xffhi") }),
		},
		{
			fault: "grpc: {frame: compressed}", expected: "the flag of compression without grpc-encoding, then the status",
			rule: lie(fault.GRPCCompressed), holds: framed("\x01\x00\x00\x00\x02"),
		},
	}
}
