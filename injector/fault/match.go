package fault

import "strings"

// Matches reports whether m selects r.
func (m Match) Matches(r Request) bool {
	if m.Method != "" && !strings.EqualFold(m.Method, r.Method) {
		return false
	}
	if !pathMatches(m.Path, r.Path) {
		return false
	}
	for key, value := range m.Header {
		if r.Header == nil || r.Header(key) != value {
			return false
		}
	}
	return true
}

// pathMatches reports whether path is the pattern, or begins with it when it
// ends in *; an empty pattern matches every path.
func pathMatches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == "" || pattern == path
}

// covers reports whether every request that n matches is certainly matched by m.
func (m Match) covers(n Match) bool {
	if m.Method != "" && !strings.EqualFold(m.Method, n.Method) {
		return false
	}
	// The text of a longer prefix, "/ab*", begins with a shorter one, "/a", as
	// all its paths do: one comparison serves for both.
	if !pathMatches(m.Path, n.Path) {
		return false
	}
	for key, value := range m.Header {
		if v, ok := n.Header[key]; !ok || v != value {
			return false
		}
	}
	return true
}

// overlaps reports whether some request may match both; false is certain.
func (m Match) overlaps(n Match) bool {
	if m.Method != "" && n.Method != "" && !strings.EqualFold(m.Method, n.Method) {
		return false
	}
	if !pathsOverlap(m.Path, n.Path) {
		return false
	}
	for key, value := range m.Header {
		for other, v := range n.Header {
			if strings.EqualFold(key, other) && v != value {
				return false
			}
		}
	}
	return true
}

// pathsOverlap reports whether some path may match both patterns.
func pathsOverlap(a, b string) bool {
	return a == "" || b == "" || pathMatches(a, strings.TrimSuffix(b, "*")) || pathMatches(b, strings.TrimSuffix(a, "*"))
}
