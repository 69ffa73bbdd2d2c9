package fault

import "time"

// Script is the faults of one injector, phase by phase.
type Script struct {
	Phases map[string][]Rule `json:"phases" yaml:"phases"` // by the phase's name; none: a healthy dependency
}

// Rule is one fault: whom it hits and what happens to them. Rules are tried in
// order; the first one that matches a request and selects it decides alone. A
// rule counts the requests that match it and that no earlier rule took.
type Rule struct {
	ID      string  `json:"id" yaml:"id"` // phase/number, as the trace names it
	Match   Match   `json:"match" yaml:"match"`
	Select  Select  `json:"select" yaml:"select"`
	Hold    *Hold   `json:"hold,omitempty" yaml:"hold,omitempty"`
	Latency Latency `json:"latency" yaml:"latency"` // added before the action
	Action  Action  `json:"action" yaml:"action"`
	Respond Respond `json:"respond" yaml:"respond"` // for ActionRespond
	// Stealth sends a connection fault before the first byte. Clients that
	// resend a request whose reused connection died (Go's does) then hide it.
	Stealth bool `json:"stealth,omitempty" yaml:"stealth,omitempty"`
	Form    Form `json:"form" yaml:"form"`                           // of the answer, for ActionRespond and ActionPass
	Garbage int  `json:"garbage,omitempty" yaml:"garbage,omitempty"` // bytes, for ActionGarbage
	// ReadRate is how many bytes of the request's body are read in a second, before the
	// latency begins; 0: as they come.
	ReadRate int64       `json:"read_rate,omitempty" yaml:"read_rate,omitempty"`
	H2       *H2         `json:"h2,omitempty" yaml:"h2,omitempty"`
	Settings *H2Settings `json:"settings,omitempty" yaml:"settings,omitempty"` // for ActionSettings
}

// Match selects requests; empty parts match everything.
type Match struct {
	Method string            `json:"method,omitempty" yaml:"method,omitempty"`
	Path   string            `json:"path,omitempty" yaml:"path,omitempty"`     // exact, or a prefix when it ends in *
	Header map[string]string `json:"header,omitempty" yaml:"header,omitempty"` // exact values; an empty one is also that of a request without the header
}

// SelectKind says how a rule picks among the requests that match it.
type SelectKind string

// How a rule picks.
const (
	SelectAll    SelectKind = "all"
	SelectRatio  SelectKind = "ratio"  // Num of Den, evenly spaced by error diffusion: |hit - n*ratio| < 1 at every n
	SelectFirst  SelectKind = "first"  // the first First
	SelectScript SelectKind = "script" // Pattern, one letter a request: X is hit, . is not; after its end nothing is hit
)

// Select picks requests by their index among those that the rule saw.
type Select struct {
	Kind    SelectKind `json:"kind" yaml:"kind"`
	Num     uint64     `json:"num,omitempty" yaml:"num,omitempty"`
	Den     uint64     `json:"den,omitempty" yaml:"den,omitempty"`
	First   uint64     `json:"first,omitempty" yaml:"first,omitempty"`
	Pattern string     `json:"pattern,omitempty" yaml:"pattern,omitempty"`
}

// Action is what happens to a request that a rule hit.
type Action string

// The actions.
const (
	ActionPass    Action = "pass"    // answered as a healthy dependency would (after latency and hold)
	ActionRespond Action = "respond" // Respond is sent, the upstream is not asked
	ActionReset   Action = "reset"   // RST on the wire
	ActionClose   Action = "close"   // FIN without a complete answer
	ActionHang    Action = "hang"    // nothing, until the caller leaves or the phase ends
	ActionGarbage Action = "garbage" // random bytes that are no HTTP, then FIN

	// What becomes of all that connect, as long as the phase lasts. Connections that idle
	// are closed as it begins, others when their request is through.
	ActionRefuse      Action = "refuse"      // nobody listens: connections are refused
	ActionUnreachable Action = "unreachable" // connections are not answered, and run into the caller's timeout; on Linux
	ActionDeaf        Action = "deaf"        // connections are accepted, and not read from until the phase ends

	// ActionSettings is for connections of HTTP/2, and leaves requests to the other rules: they
	// begin with Settings. It selects connections, and Match has no meaning.
	ActionSettings Action = "settings"
)

// Door reports whether the action is one of all that connect, and of no request.
func (a Action) Door() bool {
	return a == ActionRefuse || a == ActionUnreachable || a == ActionDeaf
}

// Actions are all of them.
func Actions() []Action {
	return []Action{ActionPass, ActionRespond, ActionReset, ActionClose, ActionHang, ActionGarbage, ActionRefuse, ActionUnreachable, ActionDeaf, ActionSettings}
}

// Respond is a canned answer.
type Respond struct {
	Status  int               `json:"status,omitempty" yaml:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	Body    string            `json:"body,omitempty" yaml:"body,omitempty"`

	Fill       int64       `json:"fill,omitempty" yaml:"fill,omitempty"`               // bytes of text that follow Body
	HeaderFill int64       `json:"header_fill,omitempty" yaml:"header_fill,omitempty"` // bytes of a header X-Faultline-Fill
	RetryAfter *RetryAfter `json:"retry_after,omitempty" yaml:"retry_after,omitempty"`

	GRPC *GRPC `json:"grpc,omitempty" yaml:"grpc,omitempty"` // the answer of a gRPC server; Headers are added to it
}

// RetryAfter is the header of that name: a number of seconds or, with Date, an HTTP-date
// so long after the answer, by the injector's clock (RFC 9110, section 10.2.3).
type RetryAfter struct {
	In   time.Duration `json:"in" yaml:"in"` // in whole seconds
	Date bool          `json:"date,omitempty" yaml:"date,omitempty"`
}

// Latency is uniform in [Min, Max]; equal ends make it fixed.
type Latency struct {
	Min time.Duration `json:"min,omitempty" yaml:"min,omitempty"`
	Max time.Duration `json:"max,omitempty" yaml:"max,omitempty"`
}

// Hold parks arrivals until the SUT has rejected Rejected calls that were sent
// after the Probes-th parked arrival, or until Max has passed since the
// request's own arrival. Parking beyond the Probes-th arrival is what tells a
// breaker that admits ten from one that admits three. With OneByOne, parked
// requests are let go one at a time, each after Rejected further rejections.
type Hold struct {
	Probes   int           `json:"probes" yaml:"probes"`
	Rejected int           `json:"rejected" yaml:"rejected"`
	Max      time.Duration `json:"max" yaml:"max"`
	OneByOne bool          `json:"one_by_one,omitempty" yaml:"one_by_one,omitempty"`
}

// Request is what a rule may look at.
type Request struct {
	Method string
	Path   string
	Header func(key string) string
}

// Verdict is what a script decided for one request. The zero value lets it pass.
type Verdict struct {
	Rule    *Rule         // nil: no rule hit it
	Index   uint64        // among the requests that the rule saw
	Latency time.Duration // drawn from Rule.Latency by (seed, rule, index)

	hash uint64 // of seed and rule
}

// Draw returns the n-th of the random numbers that are this verdict's own, by (seed, rule,
// index). It must be one of a rule.
func (v Verdict) Draw(n uint64) uint64 { return mix(mix(v.hash+(v.Index+1)*golden) + (n+1)*golden) }
