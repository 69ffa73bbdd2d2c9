package fault

import "time"

// Script is the faults of one injector, phase by phase.
type Script struct {
	Phases map[string][]Rule `json:"phases" yaml:"phases"` // by the phase's name; none: a healthy dependency
}

// Rule is one fault: whom it hits and what happens to them. Rules are tried in
// order; the first one that matches a request and selects it decides alone. A
// rule counts the requests that match it and that no earlier rule took; for one
// with a ratio, see [SelectKind.Draws], what earlier ratios took counts as well.
type Rule struct {
	ID      string  `json:"id" yaml:"id"` // phase/number, as the trace names it
	Match   Match   `json:"match" yaml:"match"`
	Select  Select  `json:"select" yaml:"select"`
	Hold    *Hold   `json:"hold,omitempty" yaml:"hold,omitempty"`
	Latency Latency `json:"latency" yaml:"latency"` // added before the action, or see [Latency.Late]
	Action  Action  `json:"action" yaml:"action"`
	Respond Respond `json:"respond" yaml:"respond"` // for ActionRespond
	// Stealth sends a connection fault before the first byte. Clients that
	// resend a request whose reused connection died (Go's does) then hide it.
	Stealth bool `json:"stealth,omitempty" yaml:"stealth,omitempty"`
	Form    Form `json:"form" yaml:"form"`                           // of the answer, for ActionRespond and ActionPass
	Garbage int  `json:"garbage,omitempty" yaml:"garbage,omitempty"` // bytes, for ActionGarbage
	// ReadRate is how many bytes of the request's body are read in a second, before the
	// latency begins; 0: as they come.
	ReadRate int64 `json:"read_rate,omitempty" yaml:"read_rate,omitempty"`
	// WebSocket is what becomes of one, for ActionPass and a match of WebSocket.
	WebSocket *WebSocket  `json:"websocket,omitempty" yaml:"websocket,omitempty"`
	TLS       *TLS        `json:"tls,omitempty" yaml:"tls,omitempty"` // for ActionTLS
	TCP       *TCP        `json:"tcp,omitempty" yaml:"tcp,omitempty"` // for ActionTCP
	H2        *H2         `json:"h2,omitempty" yaml:"h2,omitempty"`
	Settings  *H2Settings `json:"settings,omitempty" yaml:"settings,omitempty"` // for ActionSettings
}

// Match selects requests; empty parts match everything.
type Match struct {
	Method string `json:"method,omitempty" yaml:"method,omitempty"`
	// Path is exact unless it has a *. One at the end stands for any rest, one
	// before for characters other than /, ** for any characters, and /**/ for any
	// number of segments, none included.
	Path        string            `json:"path,omitempty" yaml:"path,omitempty"`
	PathRegex   string            `json:"path_regex,omitempty" yaml:"path_regex,omitempty"`     // of RE2; some part of the path matches it
	GRPC        string            `json:"grpc,omitempty" yaml:"grpc,omitempty"`                 // a method of gRPC, as pkg.Service/Method or pkg.Service/*
	Query       map[string]string `json:"query,omitempty" yaml:"query,omitempty"`               // first values of parameters; an empty one is also that of a request without the parameter
	Header      map[string]string `json:"header,omitempty" yaml:"header,omitempty"`             // exact values; an empty one is also that of a request without the header
	HeaderRegex map[string]string `json:"header_regex,omitempty" yaml:"header_regex,omitempty"` // of RE2, by header; a request without the header matches none
	JSONPath    map[string]any    `json:"jsonpath,omitempty" yaml:"jsonpath,omitempty"`         // a query of RFC 9535 has a node with this text, number, bool or null in the body
	Peer        string            `json:"peer,omitempty" yaml:"peer,omitempty"`                 // the caller's address, or a network such as 10.0.0.0/8
	WebSocket   bool              `json:"websocket,omitempty" yaml:"websocket,omitempty"`       // a GET that asks for an upgrade to WebSocket
	// SNI is the name that a ClientHello asks for, or *.rest for all that end in .rest.
	SNI string `json:"sni,omitempty" yaml:"sni,omitempty"`
}

// SelectKind says how a rule picks among the requests that match it.
type SelectKind string

// How a rule picks.
const (
	SelectAll     SelectKind = "all"
	SelectRatio   SelectKind = "ratio"   // Num of Den, evenly spaced by error diffusion: |hit - n*ratio| < 1 at every n
	SelectShuffle SelectKind = "shuffle" // as many of each Block requests as ratio would hit there, at places drawn by seed
	SelectRandom  SelectKind = "random"  // each by itself with the probability Num/Den; drawn by (seed, rule, index)
	SelectFirst   SelectKind = "first"   // the first First
	SelectAfter   SelectKind = "after"   // all but the first After
	SelectEvery   SelectKind = "every"   // the Every-th, the 2 Every-th and so on
	SelectScript  SelectKind = "script"  // Pattern, one letter a request: X is hit, . is not; after its end nothing is hit
	SelectBurst   SelectKind = "burst"   // stretches that are hit between stretches that are not (Gilbert-Elliott), by seed
)

// Select picks requests by their index among those that the rule saw.
type Select struct {
	Kind    SelectKind `json:"kind" yaml:"kind"`
	Num     uint64     `json:"num,omitempty" yaml:"num,omitempty"`
	Den     uint64     `json:"den,omitempty" yaml:"den,omitempty"`
	Block   uint64     `json:"block,omitempty" yaml:"block,omitempty"` // of shuffle
	First   uint64     `json:"first,omitempty" yaml:"first,omitempty"`
	After   uint64     `json:"after,omitempty" yaml:"after,omitempty"`
	Every   uint64     `json:"every,omitempty" yaml:"every,omitempty"`
	Pattern string     `json:"pattern,omitempty" yaml:"pattern,omitempty"`
	Length  uint64     `json:"length,omitempty" yaml:"length,omitempty"` // of burst: mean number of requests in a row that are hit
	Gap     uint64     `json:"gap,omitempty" yaml:"gap,omitempty"`       // and that are not; a phase begins with these
	Sticky  Sticky     `json:"sticky,omitzero" yaml:"sticky,omitempty"`
	Ramp    *Ramp      `json:"ramp,omitempty" yaml:"ramp,omitempty"` // of ratio and random, in place of Num and Den
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

	// ActionRefuse and the two below it are what becomes of all that connect, as long as
	// the phase lasts. Connections that idle are closed as it begins, others when their
	// request is through.
	ActionRefuse      Action = "refuse"      // nobody listens: connections are refused
	ActionUnreachable Action = "unreachable" // connections are not answered, and run into the caller's timeout; on Linux
	ActionDeaf        Action = "deaf"        // connections are accepted, and not read from until the phase ends

	// ActionTLS does what Rule.TLS says to a connection with TLS, and sees no request.
	ActionTLS Action = "tls"

	// ActionTCP does what Rule.TCP says to a connection whose bytes are passed on as they are.
	ActionTCP Action = "tcp"

	// ActionSettings serves a connection of HTTP/2 as Rule.Settings says, and sees no request.
	ActionSettings Action = "settings"
)

// Door reports whether the action is one of all that connect, and of no request.
func (a Action) Door() bool {
	return a == ActionRefuse || a == ActionUnreachable || a == ActionDeaf
}

// Actions are all of them.
func Actions() []Action {
	return []Action{
		ActionPass, ActionRespond, ActionReset, ActionClose, ActionHang, ActionGarbage,
		ActionRefuse, ActionUnreachable, ActionDeaf, ActionTLS, ActionTCP, ActionSettings,
	}
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

// Latency is uniform in [Min, Max], where equal ends make it fixed, or else has one
// law of another kind. See [Latency.Quantile] for how one is drawn.
type Latency struct {
	Min         time.Duration   `json:"min,omitempty" yaml:"min,omitempty"`
	Max         time.Duration   `json:"max,omitempty" yaml:"max,omitempty"`
	Normal      *Normal         `json:"normal,omitempty" yaml:"normal,omitempty"`
	Lognormal   *Lognormal      `json:"lognormal,omitempty" yaml:"lognormal,omitempty"`
	Exponential *Exponential    `json:"exponential,omitempty" yaml:"exponential,omitempty"`
	Pareto      *Pareto         `json:"pareto,omitempty" yaml:"pareto,omitempty"`
	Table       *Table          `json:"table,omitempty" yaml:"table,omitempty"`
	Trace       []time.Duration `json:"trace,omitempty" yaml:"trace,omitempty"` // in this order, and again from the first
	Ramp        *LatencyRamp    `json:"ramp,omitempty" yaml:"ramp,omitempty"`

	At   LatencyAt   `json:"at,omitempty" yaml:"at,omitempty"`     // of a rule's own; for others it has no meaning
	Mode LatencyMode `json:"mode,omitempty" yaml:"mode,omitempty"` // likewise
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
	Header func(key string) string // the first value, or nothing
	Query  func(key string) string // likewise; nil: none
	Peer   string                  // the caller's address, with or without its port
	Body   func() []byte           // asked only if the rest of a rule fits that looks into it; nil: none
	Layer  Layer                   // what it is: rules of other layers do not see it
	SNI    string                  // of LayerTLS; empty: the caller named no host
	At     time.Duration           // when it arrived, since the phase began; only ramps look at it
}

// Verdict is what a script decided for one request. The zero value lets it pass.
type Verdict struct {
	Rule    *Rule         // nil: no rule hit it
	Index   uint64        // among the requests that the rule saw
	Latency time.Duration // drawn from Rule.Latency by (seed, rule, number of the hit), or the instant where it is a ramp

	hash uint64 // of seed and rule
	nth  uint64 // of the hits
	at   time.Duration
}

// Draw returns the n-th of the random numbers that are this verdict's own, by (seed, rule,
// index). It must be one of a rule.
func (v Verdict) Draw(n uint64) uint64 { return mix(mix(v.hash+(v.Index+1)*golden) + (n+1)*golden) }
