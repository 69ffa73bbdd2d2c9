package resilience4j

import (
	"slices"
	"strings"
)

// active reports whether a document holds: it is for no profile, or for one of those.
// Some of what a document may say of itself keeps the application from starting.
func (f *File) active(doc []prop, profiles []string) bool {
	if len(profiles) == 0 {
		profiles = []string{"default"}
	}
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
		switch token {
		case "&", "|":
			if operator != "" && operator != token {
				return false, false
			}
			operator = token
		case ")":
			is, ok = merge(found, operator)
			if in == inParentheses || !ok {
				return is, ok
			}
			found, operator = []bool{is}, ""
		default:
			one, ok := e.operand(token)
			if !ok || in == negated && token != "!" {
				return one, ok
			}
			found = append(found, one)
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

// fromFile returns the profiles that a document without conditions makes active.
func fromFile(docs [][]prop) []string {
	var out []string
	for _, doc := range docs {
		conditional := slices.ContainsFunc(doc, func(p prop) bool {
			return strings.HasPrefix(join(p.path), join(elements("spring.config.activate.")))
		})
		var here []string
		for _, p := range doc {
			path := join(p.path)
			if path == join(elements("spring.profiles.active")) || strings.HasPrefix(path, join(elements("spring.profiles.active"))+"\x00") {
				for s := range strings.SplitSeq(p.raw.text, ",") {
					here = append(here, strings.TrimSpace(s))
				}
			}
		}
		if !conditional && len(here) > 0 {
			out = here
		}
	}
	return out
}
