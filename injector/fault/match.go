package fault

import (
	"maps"
	"net/netip" //nolint:depguard // It reads addresses and opens nothing.
	"regexp"
	"slices"
	"strings"
)

// matcher is a match, ready to be compared with requests.
type matcher struct {
	Match
	path    *regexp.Regexp // of PathRegex, or of a Path with more than a * at its end
	headers []headerExpression
	nodes   []node
	peer    netip.Prefix
}

type headerExpression struct {
	name string
	re   *regexp.Regexp
}

// Matches reports whether m selects r. A player prepares its matches once; here it
// is done each time.
func (m Match) Matches(r Request) bool {
	var ps problems
	c := m.compile(&ps)
	return len(ps) == 0 && c.matches(r)
}

// MayMatch reports whether a request with this method and path can be one that m
// selects, whatever is not known of it.
func (m Match) MayMatch(method, path string) bool {
	known := Match{Method: m.method(), Path: m.pattern(), PathRegex: m.PathRegex}
	return known.Matches(Request{Method: method, Path: path})
}

// ByMethodAndPath reports whether nothing else of a request matters to m.
func (m Match) ByMethodAndPath() bool {
	return m.GRPC == "" && len(m.Query)+len(m.Header)+len(m.HeaderRegex)+len(m.JSONPath) == 0 && m.Peer == "" && m.SNI == "" && !m.WebSocket
}

// Everything reports whether m matches every request.
func (m Match) Everything() bool {
	return m.ByMethodAndPath() && m.Method == "" && m.Path == "" && m.PathRegex == ""
}

// String says which requests m matches; empty for all.
func (m Match) String() string {
	var parts []string
	add := func(cond bool, text string) {
		if cond {
			parts = append(parts, text)
		}
	}
	pairs := func(kind, sign string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			parts = append(parts, kind+" "+key+sign+values[key])
		}
	}
	add(m.Method != "", m.Method)
	add(m.Path != "", m.Path)
	add(m.PathRegex != "", "path ~ "+m.PathRegex)
	add(m.GRPC != "", "grpc "+m.GRPC)
	pairs("query", "=", m.Query)
	pairs("header", "=", m.Header)
	pairs("header", " ~ ", m.HeaderRegex)
	for _, query := range slices.Sorted(maps.Keys(m.JSONPath)) {
		parts = append(parts, "body "+query+"="+jsonText(m.JSONPath[query]))
	}
	add(m.Peer != "", "peer "+m.Peer)
	add(m.WebSocket, "websocket")
	add(m.SNI != "", "sni "+m.SNI)
	return strings.Join(parts, " ")
}

// matches compares what is cheap first, and reads the body last.
func (m *matcher) matches(r Request) bool {
	switch {
	case m.Method != "" && !strings.EqualFold(m.Method, r.Method):
		return false
	case m.path != nil && !m.path.MatchString(r.Path):
		return false
	case m.path == nil && !pathMatches(m.Path, r.Path):
		return false
	case m.GRPC != "" && !m.isGRPC(r):
		return false
	case m.Peer != "" && !m.isPeer(r), m.SNI != "" && !isSNI(m.SNI, r.SNI), m.WebSocket && !AsksForWebSocket(r):
		return false
	}
	if len(m.Header)+len(m.headers) > 0 && !m.hasHeaders(r) || len(m.Query) > 0 && !hasAll(m.Query, r.query) {
		return false
	}
	return len(m.nodes) == 0 || r.Body != nil && holds(m.nodes, r.Body())
}

// hasHeaders reports whether r has the headers.
func (m *matcher) hasHeaders(r Request) bool {
	if len(m.Header) > 0 && (r.Header == nil || !hasAll(m.Header, r.Header)) {
		return false
	}
	return !slices.ContainsFunc(m.headers, func(h headerExpression) bool {
		value := r.header(h.name)
		return value == "" || !h.re.MatchString(value)
	})
}

// hasAll reports whether all values are those that r has.
func hasAll(want map[string]string, of func(key string) string) bool {
	for key, value := range want {
		if of(key) != value {
			return false
		}
	}
	return true
}

// isPeer reports whether r comes from the address or network.
func (m *matcher) isPeer(r Request) bool {
	ip, ok := r.peer()
	return ok && m.peer.Contains(ip.WithZone(""))
}

// isGRPC reports whether r calls the method.
func (m *matcher) isGRPC(r Request) bool {
	kind, _, _ := strings.Cut(r.header("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return r.Method == methodOfGRPC && pathMatches("/"+m.GRPC, r.Path) &&
		(kind == typeOfGRPC || strings.HasPrefix(kind, typeOfGRPC+"+"))
}

// What every call of gRPC has.
const (
	methodOfGRPC = "POST"
	typeOfGRPC   = "application/grpc"
)

// query is a parameter of the request, or nothing.
func (r Request) query(key string) string {
	if r.Query == nil {
		return ""
	}
	return r.Query(key)
}

// pathMatches reports whether path is the pattern, or begins with it when it
// ends in *; an empty pattern matches every path.
func pathMatches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == "" || pattern == path
}

// isGlob reports whether a pattern has more than a * at its end.
func isGlob(pattern string) bool { return strings.Contains(strings.TrimSuffix(pattern, "*"), "*") }

// glob is the expression of a pattern.
func glob(pattern string) string {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "/**/"):
			b.WriteString(`/(?:.*/)?`)
			rest = rest[len("/**/"):]
		case strings.HasPrefix(rest, "**"), rest == "*":
			b.WriteString(`.*`)
			rest = strings.TrimLeft(rest, "*")
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	b.WriteString(`)$`)
	return b.String()
}

// compile prepares a match and notes what is wrong with it.
func (m Match) compile(ps *problems) *matcher {
	c := &matcher{Match: m}
	switch {
	case m.PathRegex != "":
		c.path = expression(ps, "match.path_regex", m.PathRegex)
	case isGlob(m.Path):
		c.path = expression(ps, "match.path", glob(m.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(m.HeaderRegex)) {
		for other, value := range m.Header {
			if strings.EqualFold(name, other) {
				ps.add("match.header_regex", "header %s must be %q already", name, value)
			}
		}
		if re := expression(ps, "match.header_regex", m.HeaderRegex[name]); re != nil {
			c.headers = append(c.headers, headerExpression{name, re})
		}
	}
	c.nodes = compileNodes(ps, m.JSONPath)
	if m.Peer != "" {
		var ok bool
		if c.peer, ok = network(m.Peer); !ok {
			ps.add("match.peer", "%q is neither an address nor a network; write 10.0.0.7 or 10.0.0.0/8", m.Peer)
		}
	}
	return c
}

// expression compiles an expression; nil with a problem.
func expression(ps *problems, field, expr string) *regexp.Regexp {
	re, err := regexp.Compile(expr)
	if err != nil {
		ps.add(field, "%q is not a regular expression of RE2: %s", expr, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re
}

// network reads an address, which is a network of one, or a network.
func network(s string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil
}

// check looks at the parts of a match and at whether they go together.
func (m Match) check(ps *problems) {
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(m.Header)), slices.Sorted(maps.Keys(m.HeaderRegex))) {
		if !isToken(key) {
			ps.add("match.header", "%q is not the name of a header", key)
		}
	}
	if m.Path != "" && m.Path[0] != '/' && m.Path[0] != '*' {
		ps.add("match.path", "%q can match no request; a path begins with /", m.Path)
	}
	if m.Path != "" && m.PathRegex != "" {
		ps.add("match.path_regex", "does not go with path; one of them says which paths match")
	}
	if m.GRPC != "" {
		m.checkGRPC(ps)
	}
	if m.WebSocket && (m.GRPC != "" || m.Method != "" && !strings.EqualFold(m.Method, methodOfWebSocket)) {
		ps.add("match.websocket", "is asked for by GET; leave grpc and other methods out")
	}
	m.compile(ps)
}

func (m Match) checkGRPC(ps *problems) {
	service, method, ok := strings.Cut(m.GRPC, "/")
	if !ok || service == "" || method == "" || strings.Contains(method, "/") || strings.Contains(strings.TrimSuffix(m.GRPC, "/*"), "*") {
		ps.add("match.grpc", "%q is not a method of gRPC; write pkg.Service/Method, or pkg.Service/* for all of them", m.GRPC)
	}
	if m.Path != "" || m.PathRegex != "" || m.Method != "" {
		ps.add("match.grpc", "says method and path itself; leave them out")
	}
}

// clone copies what the caller might change.
func (m Match) clone() Match {
	m.Query, m.Header, m.HeaderRegex, m.JSONPath = maps.Clone(m.Query), maps.Clone(m.Header), maps.Clone(m.HeaderRegex), maps.Clone(m.JSONPath)
	return m
}
