package experiments

import (
	"net/netip"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// requestMatch reads whom a rule hits.
func requestMatch(v yamldoc.Value) fault.Match {
	m := v.Map("{method: POST, path: /charges*}")
	defer m.Done()
	var out fault.Match
	method, path, grpc := m.Get("method"), m.Get("path"), m.Get("grpc")
	out.Method = methodOf(method)
	out.Path, out.PathRegex = requestPath(path)
	out.GRPC = grpcMethod(grpc)
	for _, beside := range []yamldoc.Value{method, path} {
		if grpc.Exists() && beside.Exists() {
			beside.Problemf("does not go with grpc, which says it itself")
		}
	}
	out.Query = query(m.Get("query"))
	out.Header, out.HeaderRegex = headerMatch(m.Get("header"))
	if body := m.Get("jsonpath"); body.Exists() {
		out.JSONPath = queries(body)
	}
	out.Peer = peer(m.Get("peer"))
	out.WebSocket = asksForWebSocket(m)
	out.SNI = serverName(m.Get("sni"))
	return out
}

func methodOf(v yamldoc.Value) string { return method(v, "") }

// requestPath reads a path with its stars, or an expression.
func requestPath(v yamldoc.Value) (path, regex string) {
	if v.IsMap() {
		m := v.Map("")
		defer m.Done()
		return "", expression(m.Need("regex"))
	}
	s := v.NonEmpty()
	if s != "" && s[0] != '/' {
		v.Problemf("%q is not a path; it begins with /", s)
		return "", ""
	}
	if strings.ContainsAny(s, "?#") {
		v.Problemf("%q has more than a path; what is behind the ? stands in query", s)
		return "", ""
	}
	return s, ""
}

// grpcMethod reads a method of gRPC, or all of a service.
func grpcMethod(v yamldoc.Value) string {
	s := v.NonEmpty()
	service, method, ok := strings.Cut(s, "/")
	if s == "" || ok && service != "" && method != "" && !strings.Contains(method, "/") && !strings.Contains(strings.TrimSuffix(s, "/*"), "*") {
		return s
	}
	v.Problemf("%q is not a method of gRPC; write pkg.Service/Method, or pkg.Service/* for all of them", s)
	return ""
}

// query reads parameters with their values.
func query(v yamldoc.Value) map[string]string {
	var out map[string]string
	for _, e := range v.Map("{plan: gold}").Entries() {
		if out == nil {
			out = map[string]string{}
		}
		out[e.Name] = e.Value.Text("")
	}
	return out
}

// headerMatch reads what headers must be: a text, or an expression.
func headerMatch(v yamldoc.Value) (exact, regex map[string]string) {
	seen := &names{kind: "header"}
	for _, e := range v.Map("{X-Kind: card}").Entries() {
		if !isToken(e.Name) {
			e.Key.Problemf("%q is not a header's name", e.Name)
			continue
		}
		seen.declare(e.Key, strings.ToLower(e.Name))
		if e.Value.IsMap() {
			m := e.Value.Map("")
			if regex == nil {
				regex = map[string]string{}
			}
			regex[e.Name] = expression(m.Need("regex"))
			m.Done()
			continue
		}
		if exact == nil {
			exact = map[string]string{}
		}
		exact[e.Name] = headerValue(e.Value)
	}
	return exact, regex
}

// peer reads the address of callers, or their network.
func peer(v yamldoc.Value) string {
	s := v.NonEmpty()
	if s == "" {
		return ""
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return s
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		v.Problemf("%q is neither an address nor a network; write 10.0.0.7 or 10.0.0.0/8", s)
		return ""
	case p != p.Masked():
		v.Problemf("%s is not the beginning of a network; did you mean %s, or %s alone?", s, p.Masked(), p.Addr())
		return ""
	}
	return s
}
