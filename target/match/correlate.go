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

// CarrierTemplate is the carrier that a target's own text is: the token of a
// [Template], sought in path, query, headers and body. With a colon and a name
// behind it, only the query parameter, form field or JSON member of that name
// counts.
const CarrierTemplate = "template"

// Correlator gives every call of a run an identity that fits into a W3C
// trace-id and reads it back from what reaches the dependency. The 16 bytes of
// a trace-id are: 8 of the run, 2 of the phase's index, 6 of the call's number,
// so reading needs no table and foreign traffic is told apart by the first 8.
// A call's number is below 2^48; what is above that does not fit and is cut off.
type Correlator struct {
	Run    uint64   // never 0: an all-zero trace-id is invalid
	Phases []string // names by index, each once, at most MaxPhases
	// Carriers is what Identify looks at, in order: traceparent, header:NAME,
	// template, template:NAME; others are passed over. Empty: traceparent,
	// header:x-request-id.
	Carriers []string
}

// MaxPhases is how many phases the two bytes of a trace-id can tell apart.
const MaxPhases = 1 << 16

// seqMask covers the six bytes of a call's number.
const seqMask = 1<<48 - 1

// idBytes is the length of a trace-id.
const idBytes = 16

// HeaderPrefix starts the name of a carrier that is a plain header.
const HeaderPrefix = "header:"

// usual is the order where none is declared. It is an array, so that who asks it for every
// request need not allocate one.
func usual() [2]string { return [...]string{Traceparent, HeaderPrefix + RequestID} }

// ID is the call's name in the trace: phase/seq.
func (c Correlator) ID(phase int, seq uint64) string {
	return c.Phases[phase] + "/" + strconv.FormatUint(seq, 10)
}

// TraceID is the 32 lower-case hex digits that stand for a call.
func (c Correlator) TraceID(phase int, seq uint64) string {
	var b [idBytes]byte
	binary.BigEndian.PutUint64(b[:8], c.Run)
	binary.BigEndian.PutUint64(b[8:], uint64(phase)<<48|seq&seqMask)
	return hex.EncodeToString(b[:])
}

// Carry sets every carrier of a call's identity that is a header: traceparent and
// x-request-id always, and each declared header. The sampled flag is 01, so that a
// tracing SUT passes the header on.
func (c Correlator) Carry(set func(key, value string), phase int, seq uint64) {
	id := c.TraceID(phase, seq)
	for _, by := range c.Carriers { // The usual ones are set below.
		if h, ok := strings.CutPrefix(by, HeaderPrefix); ok {
			set(h, id)
		}
	}
	set(RequestID, id)
	set(Traceparent, "00-"+id+"-"+spanID(seq)+"-01") // last, as header:traceparent would spoil it
}

// spanID makes a parent-id that is never all zero.
func spanID(seq uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seq+1)
	return hex.EncodeToString(b[:])
}

// Identify finds the call that a request at the dependency belongs to, and the
// carrier that told. Carriers are asked in their order. Of a traceparent only the
// trace-id counts: the SUT's tracer replaces the span, and what it does to the
// version or to upper and lower case does not make the call another one. A plain
// header is the token and nothing else, in the form of a UUID or not. A request
// in which the carrier template sees tokens of two calls belongs to neither.
func (c Correlator) Identify(r Request) (id, by string, ok bool) {
	known, order := usual(), c.Carriers
	if len(order) == 0 {
		order = known[:]
	}
	for _, by := range order {
		if id, ok := c.ask(by, r); ok {
			return id, by, true
		}
	}
	return "", "", false
}

// ask asks one carrier.
func (c Correlator) ask(by string, r Request) (string, bool) {
	if h, plain := strings.CutPrefix(by, HeaderPrefix); plain {
		return c.parse(r.header(h))
	}
	if field, ok := templateField(by); ok {
		return c.search(field, r)
	}
	if by != Traceparent {
		return "", false
	}
	if parent := r.header(Traceparent); parent != "" {
		if p := strings.Split(parent, "-"); len(p) == 4 {
			return c.parse(p[1])
		}
	}
	return "", false
}

// parse reads a trace-id of this run, in either form. With more phases than it can
// tell apart nothing is recognised: an attempt without a call is seen to be
// missing, one with a wrong call is not.
func (c Correlator) parse(token string) (string, bool) {
	if len(token) == uuidLen && token[8] == '-' && token[13] == '-' && token[18] == '-' && token[23] == '-' {
		token = token[:8] + token[9:13] + token[14:18] + token[19:23] + token[24:]
	}
	if len(c.Phases) > MaxPhases || len(token) != 2*idBytes {
		return "", false
	}
	var b [idBytes]byte
	if _, err := hex.Decode(b[:], []byte(token)); err != nil || binary.BigEndian.Uint64(b[:8]) != c.Run {
		return "", false
	}
	rest := binary.BigEndian.Uint64(b[8:])
	phase := int(rest >> 48)
	if phase >= len(c.Phases) {
		return "", false
	}
	return c.ID(phase, rest&seqMask), true
}
