package resilience4j

import (
	"maps"
	"slices"
	"strings"
)

// active reports whether a document holds: it is for no profile, or for one of those.
// Some of what a document may say of itself keeps the application from starting.
func (f *File) active(doc []prop, profiles []string) bool {
	said, holds := false, false
	for _, p := range doc {
		path := p.path
		if n := len(path); path[n-1].index() >= 0 {
			path = path[:n-1]
		}
		switch strings.ReplaceAll(join(path), "\x00", ".") {
		case "spring.profiles":
			f.problem(p, Refused, "spring.profiles was removed in Spring Boot 3: use spring.config.activate.on-profile")
			return false
		case "spring.config.activate.oncloudplatform":
			return false
		case "spring.config.activate.onprofile":
			s, err := f.expand(p.raw)
			if err != nil {
				f.problem(p, Unresolved, "%v", err)
				return false
			}
			is, named := f.matches(p, s.text, profiles)
			said, holds = said || named, holds || is
		}
	}
	return holds || !said
}

// matches reports whether a list of expressions has one that is true, and whether it has
// any.
func (f *File) matches(p prop, list string, profiles []string) (is, named bool) {
	for expression := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(expression) == "" {
			continue
		}
		named = true
		e := expressionReader{tokens: tokens(expression), profiles: profiles}
		holds, ok := e.read(atTop)
		if !ok {
			f.problem(p, Refused, "%q is no expression of profiles; put & and | in parentheses where both are used", strings.TrimSpace(expression))
			return false, named
		}
		is = is || holds
	}
	return is, named
}

// tokens cuts an expression at its signs, which are tokens too.
func tokens(s string) []string {
	var out []string
	word := func(w string) {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	for {
		i := strings.IndexAny(s, "()&|!")
		if i < 0 {
			word(s)
			return out
		}
		word(s[:i])
		out = append(out, s[i:i+1])
		s = s[i+1:]
	}
}

// expressionReader evaluates an expression while it reads it.
type expressionReader struct {
	tokens   []string
	profiles []string
}

// where an expression stands.
const (
	atTop = iota
	negated
	inParentheses
)

// read evaluates up to the end of what it stands in, as leniently as Spring: an operator
// may be missing, then it is an or. It fails where both operators stand side by side, or
// nothing is there to evaluate.
func (e *expressionReader) read(in int) (is, ok bool) {
	var found []bool
	operator := ""
	for len(e.tokens) > 0 {
		token := e.tokens[0]
		e.tokens = e.tokens[1:]
		switch {
		case token == "&", token == "|":
			if operator != "" && operator != token {
				return false, false
			}
			operator = token
		case token != ")":
			one, ok := e.operand(token)
			if !ok || in == negated && token != "!" {
				return one, ok
			}
			found = append(found, one)
		case in == inParentheses:
			return merge(found, operator)
		default: // Spring is not strict about one that closes nothing.
			is, ok = merge(found, operator)
			if !ok {
				return false, false
			}
			found, operator = []bool{is}, ""
		}
	}
	return merge(found, operator)
}

// operand evaluates a name, or what is in parentheses or negated.
func (e *expressionReader) operand(token string) (is, ok bool) {
	switch token {
	case "(":
		return e.read(inParentheses)
	case "!":
		is, ok = e.read(negated)
		return !is, ok
	}
	return slices.Contains(e.profiles, token), true
}

func merge(found []bool, operator string) (is, ok bool) {
	if operator == "&" {
		return !slices.Contains(found, false), len(found) > 0
	}
	return slices.Contains(found, true), len(found) > 0
}

// profilesOf returns the active profiles: the given ones, or those that the file makes
// active, with what it includes and groups. Documents with a condition have no say.
func profilesOf(docs [][]prop, given []string) []string {
	said := map[string][]string{}
	for _, doc := range docs {
		maps.Copy(said, profilesIn(doc)) // A later document overrides.
	}
	out := slices.Clone(given)
	if len(out) == 0 {
		out = slices.Clone(said["active"])
	}
	out = append(out, said["include"]...)
	for i := 0; i < len(out); i++ {
		for _, member := range said["group "+out[i]] {
			if !slices.Contains(out, member) {
				out = append(out, member)
			}
		}
	}
	if len(out) == 0 {
		return []string{"default"}
	}
	return out
}

// profilesIn returns the lists of profiles that a document has.
func profilesIn(doc []prop) map[string][]string {
	here := map[string][]string{}
	if slices.ContainsFunc(doc, func(p prop) bool { return isBelow(p.path, "spring.config.activate") }) {
		return here
	}
	for _, p := range doc {
		key := profileKey(p.path)
		if key == "" {
			continue
		}
		for name := range strings.SplitSeq(p.raw.text, ",") {
			here[key] = append(here[key], strings.TrimSpace(name))
		}
	}
	return here
}

func isBelow(path []element, above string) bool {
	n := len(elements(above))
	return len(path) > n && join(path[:n]) == join(elements(above))
}

// profileKey returns which list of profiles a property is, or an item of: active, include,
// or "group NAME".
func profileKey(path []element) string {
	if !isBelow(path, "spring.profiles") {
		return ""
	}
	switch key := path[2].uniform(); {
	case key == "active", key == "include":
		return key
	case key == "group" && len(path) > 3:
		return "group " + path[3].original()
	}
	return ""
}
