package fault

import (
	"regexp"
	"strings"
)

// method is the method that a request must have, if there is one.
func (m Match) method() string {
	switch {
	case m.GRPC != "":
		return methodOfGRPC
	case m.WebSocket:
		return methodOfWebSocket
	}
	return m.Method
}

// pattern is what the path must match, beside an expression.
func (m Match) pattern() string {
	if m.GRPC != "" {
		return "/" + m.GRPC
	}
	return m.Path
}

// exact is the one path that a request must have, if there is one.
func (m Match) exact() (path string, ok bool) {
	p := m.pattern()
	return p, p != "" && !strings.Contains(p, "*")
}

// onPath reports whether a path is one of m.
func (m Match) onPath(path string) bool {
	expr := m.PathRegex
	if p := m.pattern(); isGlob(p) {
		expr = glob(p)
	} else if expr == "" {
		return pathMatches(p, path)
	}
	re, err := regexp.Compile(expr)
	return err == nil && re.MatchString(path)
}

// covers reports whether every request that n matches is certainly matched by m.
func (m Match) covers(n Match) bool {
	if m.GRPC != "" && (n.GRPC == "" || !pathMatches(m.GRPC, n.GRPC)) {
		return false // Only a call of gRPC is surely one.
	}
	if m.WebSocket && !n.WebSocket {
		return false
	}
	return (m.Method == "" || strings.EqualFold(m.Method, n.method())) &&
		m.coversPath(n) && coversValues(m.Header, n.Header, strings.EqualFold) &&
		coversValues(m.Query, n.Query, func(a, b string) bool { return a == b }) &&
		m.coversExpressions(n) && m.coversBody(n) && m.coversPeer(n) && m.coversSNI(n)
}

// coversPath reports whether every path of n is one of m.
func (m Match) coversPath(n Match) bool {
	if path, ok := n.exact(); ok {
		return m.onPath(path)
	}
	switch {
	case m.PathRegex != "":
		return m.PathRegex == n.PathRegex
	case isGlob(m.pattern()):
		return m.pattern() == n.pattern()
	}
	// The text of a longer prefix, "/ab*", begins with a shorter one, "/a", as
	// all its paths do, and so does that of any other pattern: before its first *
	// stands what they begin with.
	return pathMatches(m.pattern(), n.pattern())
}

// coversValues reports whether each value that must be there must be there for n.
func coversValues(m, n map[string]string, same func(a, b string) bool) bool {
	for key, value := range m {
		found := false
		for other, v := range n {
			found = found || same(key, other) && v == value
		}
		if !found {
			return false
		}
	}
	return true
}

// coversExpressions reports whether each header that must match an expression does
// in all requests of n.
func (m Match) coversExpressions(n Match) bool {
	for key, expr := range m.HeaderRegex {
		found := false
		for other, e := range n.HeaderRegex {
			found = found || strings.EqualFold(key, other) && e == expr
		}
		for other, value := range n.Header {
			found = found || strings.EqualFold(key, other) && fits(expr, value)
		}
		if !found {
			return false
		}
	}
	return true
}

// fits reports whether a header with this value matches an expression.
func fits(expr, value string) bool {
	re, err := regexp.Compile(expr)
	return err == nil && value != "" && re.MatchString(value)
}

func (m Match) coversBody(n Match) bool {
	for query, want := range m.JSONPath {
		if v, ok := n.JSONPath[query]; !ok || !sameScalar(v, want) {
			return false
		}
	}
	return true
}

func (m Match) coversPeer(n Match) bool {
	if m.Peer == "" {
		return true
	}
	a, ok := network(m.Peer)
	b, known := network(n.Peer)
	return ok && known && a.Bits() <= b.Bits() && a.Contains(b.Addr())
}

// overlaps reports whether some request may match both; false is certain.
func (m Match) overlaps(n Match) bool {
	a, b := m.method(), n.method()
	return (a == "" || b == "" || strings.EqualFold(a, b)) && m.overlapsPath(n) &&
		agree(m.Header, n.Header, strings.EqualFold) && agree(m.Query, n.Query, func(a, b string) bool { return a == b }) &&
		m.mayFit(n) && n.mayFit(m) && m.overlapsPeer(n) && m.overlapsSNI(n)
}

// overlapsPath reports whether some path may be one of both.
func (m Match) overlapsPath(n Match) bool {
	if path, ok := n.exact(); ok {
		return m.onPath(path)
	}
	if path, ok := m.exact(); ok {
		return n.onPath(path)
	}
	a, _, _ := strings.Cut(m.pattern(), "*")
	b, _, _ := strings.Cut(n.pattern(), "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// agree reports whether no key has to have two values.
func agree(m, n map[string]string, same func(a, b string) bool) bool {
	for key, value := range m {
		for other, v := range n {
			if same(key, other) && v != value {
				return false
			}
		}
	}
	return true
}

// mayFit reports whether the exact headers of n match the expressions of m.
func (m Match) mayFit(n Match) bool {
	for key, expr := range m.HeaderRegex {
		for other, value := range n.Header {
			if strings.EqualFold(key, other) && !fits(expr, value) {
				return false
			}
		}
	}
	return true
}

func (m Match) overlapsPeer(n Match) bool {
	a, ok := network(m.Peer)
	b, known := network(n.Peer)
	return !ok || !known || a.Overlaps(b)
}
