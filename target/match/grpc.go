package match

import (
	"fmt"
	"slices"
	"strings"
)

// grpcPrefix is before a code of gRPC among the words of a failure.
const grpcPrefix = "grpc:"

// What an answer has instead of a status of gRPC, as target/trace records it.
const (
	noStatus   = "no_status"
	unreadable = "unreadable"
	noMessage  = "no_message"
)

// GRPCStatuses are the names of all statuses of gRPC (its statuscodes.md); the index of each is
// its number.
func GRPCStatuses() []string {
	return []string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
}

// GRPCCodes are what may come after grpc: among the words of a failure.
func GRPCCodes() []string { return append(GRPCStatuses()[1:], noStatus, unreadable, noMessage) }

// IsGRPC reports whether a Content-Type is that of gRPC over HTTP/2. gRPC-Web is another protocol.
func IsGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(contentType), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// addCode puts what comes after grpc: into the failure.
func (f *Failure) addCode(code string) error {
	known := GRPCCodes()
	if !slices.Contains(known, code) {
		return fmt.Errorf("%q: after grpc: comes one of %s; grpc alone is every status but OK", grpcPrefix+code, strings.Join(known, ", "))
	}
	f.Codes = append(f.Codes, code)
	return nil
}

// Answer reports whether an answer is a failure. status is that of HTTP, grpc what a trace records
// of gRPC, empty where it is not gRPC. May is true and is not, where both are possible: an answer
// that clients may not be able to read, or OK and no message, is a failure to some; and where the failure names statuses,
// which of them a client makes of that, of no status and of a number that is none's, differs
// between libraries.
func (f Failure) Answer(status int, grpc string) (is, may bool) {
	is = f.Status(status)
	switch {
	case grpc == "" || grpc == "OK":
	case slices.Contains(f.Codes, grpc), f.GRPC && grpc != unreadable && grpc != noMessage:
		is = true
	case f.GRPC:
		may = true
	case !slices.Contains(GRPCStatuses(), grpc):
		may = slices.ContainsFunc(f.Codes, func(c string) bool { return slices.Contains(GRPCStatuses(), c) })
	}
	return is, is || may
}
