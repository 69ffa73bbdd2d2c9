package match

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// Traceparent is the header of the W3C Trace Context recommendation, section
// 3.2: version-traceid-spanid-flags.
const Traceparent = "traceparent"

// RequestID is the widespread request-id header that every call carries too.
const RequestID = "x-request-id"

// Correlator gives every call of a run an identity that fits into a W3C
// trace-id and reads it back from what reaches the dependency. The 16 bytes of
// a trace-id are: 8 of the run, 2 of the phase's index, 6 of the call's number,
// so reading needs no table and foreign traffic is told apart by the first 8.
type Correlator struct {
	Run     uint64   // never 0: an all-zero trace-id is invalid
	Phases  []string // names by index
	Headers []string // further declared headers that carry the trace-id, lower case
}

// ID is the call's name in the trace: phase/seq.
func (c Correlator) ID(phase int, seq uint64) string {
	return c.Phases[phase] + "/" + strconv.FormatUint(seq, 10)
}

// TraceID is the 32 lower-case hex digits that stand for a call.
func (c Correlator) TraceID(phase int, seq uint64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], c.Run)
	binary.BigEndian.PutUint64(b[8:], uint64(phase)<<48|seq&(1<<48-1))
	return hex.EncodeToString(b[:])
}

// Carry sets every carrier of a call's identity. The sampled flag is 01, so
// that a tracing SUT passes the header on.
func (c Correlator) Carry(set func(key, value string), phase int, seq uint64) {
	id := c.TraceID(phase, seq)
	set(Traceparent, "00-"+id+"-"+spanID(seq)+"-01")
	set(RequestID, id)
	for _, h := range c.Headers {
		set(h, id)
	}
}

// spanID makes a parent-id that is never all zero.
func spanID(seq uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seq+1)
	return hex.EncodeToString(b[:])
}

// Identify finds the call that a request at the dependency belongs to, and the
// carrier that told: "traceparent" or "header:NAME". The order is traceparent,
// x-request-id, then the declared headers.
func (c Correlator) Identify(get func(key string) string) (id, by string, ok bool) {
	if p := strings.Split(get(Traceparent), "-"); len(p) == 4 {
		if id, ok := c.parse(p[1]); ok {
			return id, Traceparent, true
		}
	}
	if id, ok := c.parse(get(RequestID)); ok {
		return id, "header:" + RequestID, true
	}
	for _, h := range c.Headers {
		if id, ok := c.parse(get(h)); ok {
			return id, "header:" + h, true
		}
	}
	return "", "", false
}

// parse reads a trace-id of this run.
func (c Correlator) parse(traceID string) (string, bool) {
	b, err := hex.DecodeString(traceID)
	if err != nil || len(b) != 16 || binary.BigEndian.Uint64(b[:8]) != c.Run {
		return "", false
	}
	rest := binary.BigEndian.Uint64(b[8:])
	phase := int(rest >> 48)
	if phase >= len(c.Phases) {
		return "", false
	}
	return c.ID(phase, rest&(1<<48-1)), true
}
