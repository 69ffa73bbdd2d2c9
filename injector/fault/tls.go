package fault

import (
	"slices"
	"strings"
)

// Layer is what a rule decides about. A rule sees what is of its own layer and nothing
// else, so rules of different layers in one phase do not take anything from each other.
type Layer string

// The layers.
const (
	LayerRequest Layer = ""    // HTTP requests
	LayerTLS     Layer = "tls" // connections, when their ClientHello has come; of a Request, SNI and Peer are set
	LayerTCP     Layer = "tcp" // connections that are passed on byte by byte; Peer is set
	LayerH2      Layer = "h2"  // connections of HTTP/2, when their preface has come; Peer is set
)

// Layer is what rules with this action decide about. Those of a door decide about nothing.
func (a Action) Layer() Layer {
	switch a {
	case ActionTLS:
		return LayerTLS
	case ActionTCP:
		return LayerTCP
	case ActionSettings:
		return LayerH2
	default:
		return LayerRequest
	}
}

// TLS is what becomes of a connection when its ClientHello has come. The rule's latency
// passes before, so it is one before the ServerHello. What a connection was drawn for holds
// to its end, also beyond the end of the phase; but a stall ends with the phase, by FIN.
type TLS struct {
	Do TLSDo `json:"do" yaml:"do"`
	// Alert is the code of TLSAlert, 0 to 255 (RFC 8446, section 6).
	Alert int `json:"alert,omitempty" yaml:"alert,omitempty"`
}

// TLSDo is one thing that is done to a connection.
type TLSDo string

// What may be done.
const (
	TLSSlow  TLSDo = "slow"  // the handshake is a sound one after the rule's latency
	TLSStall TLSDo = "stall" // no byte of a ServerHello, until the caller leaves or the phase ends
	TLSReset TLSDo = "reset" // RST instead of a ServerHello
	TLSClose TLSDo = "close" // FIN instead of a ServerHello
	// TLSAlert sends one alert record with the code, 7 bytes in plain, and then FIN. Codes 0,
	// 90 and 100 are warnings, all others fatal.
	TLSAlert      TLSDo = "alert"
	TLSExpired    TLSDo = "expired"     // a certificate of the published CA whose validity ended a day ago
	TLSWrongHost  TLSDo = "wrong_host"  // one of the published CA for wrong.invalid only
	TLSUnknownCA  TLSDo = "unknown_ca"  // one for the right names by another CA
	TLSOldVersion TLSDo = "old_version" // TLS 1.0 and 1.1 are spoken; who offers neither gets the fatal alert protocol_version (70), then FIN
	// TLSNoCloseNotify serves the connection, and ends it by FIN alone, whoever ends it. All
	// other ends by FIN send close_notify first; ends by RST never do.
	TLSNoCloseNotify TLSDo = "no_close_notify"
)

// TLSDos are all of them.
func TLSDos() []TLSDo {
	return []TLSDo{
		TLSSlow, TLSStall, TLSReset, TLSClose, TLSAlert, TLSExpired, TLSWrongHost, TLSUnknownCA, TLSOldVersion, TLSNoCloseNotify,
	}
}

// checkTLS looks at a rule for connections with TLS.
func (r Rule) checkTLS(ps *problems) {
	if r.TLS == nil {
		ps.add("tls", "is missing; write what becomes of the connection: one of %s", words(TLSDos()))
		return
	}
	r.checkConn(ps)
	if !slices.Contains(TLSDos(), r.TLS.Do) {
		ps.add("tls.do", "%q is none of %s", r.TLS.Do, words(TLSDos()))
	}
	switch alert := r.TLS.Do == TLSAlert; {
	case alert && (r.TLS.Alert < 0 || r.TLS.Alert > 255):
		ps.add("tls.alert", "%d is not the code of an alert; write 0 to 255", r.TLS.Alert)
	case !alert && r.TLS.Alert != 0:
		ps.add("tls.alert", "has no meaning with %s", r.TLS.Do)
	}
	if r.TLS.Do == TLSSlow && r.Latency.Longest() == 0 {
		ps.add("latency", "is missing; slow is a sound handshake after a latency")
	}
	if name := strings.TrimPrefix(r.Match.SNI, "*."); strings.Contains(name, "*") || r.Match.SNI != "" && name == "" {
		ps.add("match.sni", "%q is not a name; write api.example.com, or *.example.com for all below that", r.Match.SNI)
	}
}

// checkConn looks at what only requests have.
func (r Rule) checkConn(ps *problems) {
	rest := r.Match
	rest.SNI, rest.Peer = "", ""
	for _, only := range []struct {
		field string
		set   bool
	}{
		{"match", !rest.covers(Match{})},
		{"select.sticky", r.Select.Sticky != Sticky{}},
		{"hold", r.Hold != nil},
		{"respond", !r.Respond.zero()},
		{"read_rate", r.ReadRate != 0},
	} {
		if only.set {
			ps.add(only.field, "has no meaning with action %s, which is for connections: those can be told by sni and peer", r.Action)
		}
	}
}

// isSNI reports whether the name in a ClientHello is that of a match: the same, or for
// *.rest any that ends in .rest. Case does not matter, nor a dot at the end.
func isSNI(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.TrimSuffix(strings.ToLower(name), ".")
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		return len(name) > len(rest) && strings.HasSuffix(name, rest)
	}
	return pattern == name
}

// coversSNI reports whether every name of n is one of m.
func (m Match) coversSNI(n Match) bool { return m.SNI == "" || n.SNI != "" && isSNI(m.SNI, n.SNI) }

// overlapsSNI reports whether some name is one of both.
func (m Match) overlapsSNI(n Match) bool {
	return m.SNI == "" || n.SNI == "" || isSNI(m.SNI, n.SNI) || isSNI(n.SNI, m.SNI)
}

// ofLayer are the rules of a layer, named as they were.
func ofLayer(rules []Rule, layer Layer, name func(int) string) ([]Rule, func(int) string) {
	var (
		same []Rule
		at   []int
	)
	for i, r := range rules {
		if r.Action.Layer() == layer {
			same, at = append(same, r), append(at, i)
		}
	}
	return same, func(i int) string { return name(at[i]) }
}
