package fault

import (
	"encoding/base64"
	"slices"
)

// GRPC is an answer of a gRPC server (its protocol over HTTP/2), as a rule's or a stub's Respond:
// HEADERS with :status 200 and content-type application/grpc, a DATA of each message with its five
// bytes before it, and HEADERS with grpc-status and END_STREAM. Without messages it is one HEADERS
// with all of that, called trailers-only. A caller who speaks HTTP/1.1 is told by a 501 that it has no
// meaning there.
type GRPC struct {
	Status   GRPCCode `json:"status,omitempty" yaml:"status,omitempty"`     // empty: OK
	Message  string   `json:"message,omitempty" yaml:"message,omitempty"`   // any UTF-8; percent-encoded on the wire
	Details  string   `json:"details,omitempty" yaml:"details,omitempty"`   // base64 of a google.rpc.Status, for grpc-status-details-bin
	Messages []string `json:"messages,omitempty" yaml:"messages,omitempty"` // base64 of each, without its prefix
	End      GRPCEnd  `json:"end,omitempty" yaml:"end,omitempty"`           // empty: by a status
	Code     ErrCode  `json:"code,omitempty" yaml:"code,omitempty"`         // of RST_STREAM, for GRPCReset
	// Frame spoils the last message.
	Frame GRPCFrame `json:"frame,omitempty" yaml:"frame,omitempty"`
}

// GRPCEnd is how an answer ends that has no status.
type GRPCEnd string

// The ends.
const (
	GRPCNoTrailers GRPCEnd = "no_trailers" // END_STREAM after the messages
	GRPCReset      GRPCEnd = "reset"       // RST_STREAM after the messages
)

// GRPCFrame is a way in which a message's prefix lies.
type GRPCFrame string

// The lies.
const (
	GRPCTooLong    GRPCFrame = "length_too_long"  // 16 bytes more are announced than are sent
	GRPCTooShort   GRPCFrame = "length_too_short" // half of the bytes are announced; the next prefix is read from the rest
	GRPCHuge       GRPCFrame = "length_huge"      // 2^32-1 bytes are announced
	GRPCCompressed GRPCFrame = "compressed"       // the flag says so, and there is no grpc-encoding
)

// GRPCCode is a status by its name.
type GRPCCode string

// GRPCCodes are all of them; the index of each is its number.
func GRPCCodes() []GRPCCode {
	return []GRPCCode{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
}

// Number is what goes over the wire; an empty code is OK.
func (c GRPCCode) Number() int { return max(0, slices.Index(GRPCCodes(), c)) }

// clone copies what the caller might change.
func (g *GRPC) clone() *GRPC {
	c := copied(g)
	if c != nil {
		c.Messages = slices.Clone(c.Messages)
	}
	return c
}

func (g *GRPC) check(ps *problems) {
	if g.Status != "" && !slices.Contains(GRPCCodes(), g.Status) {
		ps.add("respond.grpc.status", "%q is none of %s", g.Status, words(GRPCCodes()))
	}
	if _, err := base64.StdEncoding.DecodeString(g.Details); err != nil {
		ps.add("respond.grpc.details", "is no base64: %v", err)
	}
	for n, m := range g.Messages {
		if _, err := base64.StdEncoding.DecodeString(m); err != nil {
			ps.add("respond.grpc.messages", "message %d is no base64: %v", n+1, err)
		}
	}
	g.checkEnd(ps)
	if lies := []GRPCFrame{GRPCTooLong, GRPCTooShort, GRPCHuge, GRPCCompressed}; g.Frame != "" && !slices.Contains(lies, g.Frame) {
		ps.add("respond.grpc.frame", "%q is none of %s", g.Frame, words(lies))
	} else if g.Frame != "" && len(g.Messages) == 0 {
		ps.add("respond.grpc.frame", "spoils the last message, and there is none")
	}
}

// checkEnd looks at what goes with an end.
func (g *GRPC) checkEnd(ps *problems) {
	switch g.End {
	case "":
	case GRPCNoTrailers, GRPCReset:
		if g.Status != "" || g.Message != "" || g.Details != "" {
			ps.add("respond.grpc.end", "%s sends no status; leave status, message and details out", g.End)
		}
	default:
		ps.add("respond.grpc.end", "%q is none of no_trailers, reset", g.End)
	}
	if g.End == GRPCReset {
		g.Code.check("respond.grpc.code", ps)
	} else if g.Code != "" {
		ps.add("respond.grpc.code", "has no meaning without end: reset")
	}
}

// checkGRPC looks at what a gRPC answer says by itself.
func (r Respond) checkGRPC(ps *problems) {
	r.GRPC.check(ps)
	if r.Status != 0 && r.Status != 200 {
		ps.add("respond.status", "%d has no meaning with grpc, whose answers are 200; write respond.grpc.status", r.Status)
	}
	if r.Body != "" || r.Fill != 0 || r.RetryAfter != nil {
		ps.add("respond.body", "has no meaning with grpc; write respond.grpc.messages")
	}
}
