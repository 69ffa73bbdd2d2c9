package experiments

import (
	"net"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// The protocols that are spoken over TLS, as ALPN calls them (RFC 7301).
const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"
)

// secured reads how an injector speaks TLS; nil: it does not.
func secured(v yamldoc.Value) *TLS {
	t := &TLS{Protocols: []string{protocolHTTP1}}
	switch {
	case !v.Exists():
		return nil
	case !v.IsMap():
		onlyTrue(v)
		return t
	}
	m := v.Map("")
	defer m.Done()
	for _, item := range m.Get("names").List() {
		name := item.NonEmpty()
		if name != "" && net.ParseIP(name) == nil && strings.ContainsAny(name, " :/") {
			item.Problemf("%q is not the name or the address of a host, without a port", name)
			continue
		}
		t.Names = append(t.Names, name)
	}
	if list := m.Get("protocols"); list.Exists() {
		seen := &names{kind: "protocol"}
		t.Protocols = nil
		for _, item := range list.Items() {
			p := item.OneOf("", protocolHTTP2, protocolHTTP1)
			seen.declare(item, p)
			t.Protocols = append(t.Protocols, p)
		}
	}
	t.CAFile = m.Get("ca_file").NonEmpty()
	return t
}

// handshake reads what becomes of a connection with TLS.
func handshake(v yamldoc.Value) *fault.TLS {
	if v.IsMap() {
		m := v.Map("")
		defer m.Done()
		alert := m.Need("alert")
		code := alert.Count(0, 0)
		if code > mostAlert {
			alert.Problemf("%d is not the code of an alert; it is from 0 to %d", code, mostAlert)
			code = 0
		}
		return &fault.TLS{Do: fault.TLSAlert, Alert: code}
	}
	if s, ok := v.Scalar("one of " + strings.Join(handshakeWords(), ", ")); ok && s == string(fault.TLSAlert) {
		v.Problemf("needs its code, as {alert: 40} for handshake_failure")
		return &fault.TLS{Do: fault.TLSStall}
	}
	return &fault.TLS{Do: fault.TLSDo(v.OneOf(string(fault.TLSStall), handshakeWords()...))}
}

// mostAlert is the greatest code of an alert.
const mostAlert = 255

// handshakeWords are what may become of a connection, but for an alert, which has a code.
func handshakeWords() []string { return minus(wordsOf(fault.TLSDos()), string(fault.TLSAlert)) }

// serverName reads the name that a caller asks for.
func serverName(v yamldoc.Value) string {
	s := v.NonEmpty()
	rest := strings.TrimPrefix(s, "*.")
	if s != "" && (rest == "" || strings.ContainsAny(rest, "*:/ ")) {
		v.Problemf("%q is not the name of a host; write api.example.com, or *.example.com for all below that", s)
		return ""
	}
	return s
}

// connections checks a rule for connections: of those nobody knows what a request has.
func connections(rule *fault.Rule, m *yamldoc.Map) {
	match := m.Get("match")
	if rule.Action != fault.ActionTLS && rule.Match.SNI != "" {
		m.Lacks(match, []string{"tls"}, "has sni, which only a TLS handshake has; it goes with tls")
		rule.Match.SNI = ""
	}
	if layer := rule.Action.Layer(); layer != fault.LayerTLS && layer != fault.LayerH2 {
		return
	}
	rest := rule.Match
	rest.SNI, rest.Peer = "", ""
	if !rest.Everything() {
		match.Problemf("is of requests, and %s is for connections, of which peer is known, and with tls sni", rule.Action)
	}
	only := []string{"sticky", "hold", "read"}
	if rule.Action == fault.ActionSettings {
		only = append(only, "latency")
	}
	for _, key := range only {
		if v := m.Get(key); v.Exists() {
			v.Problemf("is of requests, and %s is for connections; leave one of them out", rule.Action)
		}
	}
	slow(*rule, m)
}

// slow checks that a slow handshake is one.
func slow(rule fault.Rule, m *yamldoc.Map) {
	l := rule.Latency
	switch {
	case rule.TLS == nil || rule.TLS.Do != fault.TLSSlow || l.Longest() > 0:
	case !m.Has("latency"):
		m.Lacks(m.Get("tls"), []string{"latency"}, "slow is a sound handshake after a latency; give it latency")
	case l.Table != nil || len(l.Trace) > 0: // Else it is none because of a problem.
		m.Get("latency").Problemf("is never above 0s, so that the handshake would not be slow")
	}
}
