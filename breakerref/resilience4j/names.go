package resilience4j

import (
	"strings"
)

// element is a part of a property's name. One in brackets is taken as it stands.
type element struct {
	text    string
	bracket bool
}

// uniform is the form in which Spring compares names: letters and digits of ASCII, in
// lower case.
func uniform(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, name)
}

func (e element) uniform() string {
	if e.bracket {
		return e.text
	}
	return uniform(e.text)
}

// original is the form of a map's key: without what no name may have.
func (e element) original() string {
	if e.bracket {
		return e.text
	}
	first := true
	return strings.Map(func(r rune) rune {
		ok := uniform(string(r)) != "" || r == '_' || r == '-' && !first
		if first = false; ok {
			return r
		}
		return -1
	}, e.text)
}

// dashed is the form that Spring asks sources for, with what stands before it.
func (e element) dashed() string {
	if e.bracket {
		return "[" + e.text + "]"
	}
	return "." + strings.ToLower(strings.ReplaceAll(e.original(), "_", ""))
}

// kebab writes a property's usual name with hyphens.
func kebab(key string) string {
	var out strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('-')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// index returns the number in brackets, or -1.
func (e element) index() int {
	if !e.bracket || e.text == "" || len(e.text) > 9 || strings.Trim(e.text, "0123456789") != "" {
		return -1
	}
	n := 0
	for _, d := range e.text {
		n = 10*n + int(d-'0')
	}
	return n
}

// elements splits a key at its dots. What stands in brackets is one element, with the
// dots and the pairs of brackets that are in it.
func elements(key string) []element {
	var out []element
	depth, from := 0, 0
	cut := func(to int, bracket bool) {
		if bracket || to > from {
			out = append(out, element{key[from:to], bracket})
		}
		from = to + 1
	}
	for i, r := range key {
		switch {
		case r == '[' && depth == 0:
			cut(i, false)
			depth++
		case r == '[':
			depth++
		case r == ']' && depth == 1:
			cut(i, true)
			depth--
		case r == ']' && depth > 0:
			depth--
		case r == '.' && depth == 0:
			cut(i, false)
		}
	}
	if from < len(key) {
		out = append(out, element{key[from:], false})
	}
	return out
}

// join makes one comparable text of uniform elements.
func join(path []element) string {
	parts := make([]string, len(path))
	for i, e := range path {
		parts[i] = e.uniform()
	}
	return strings.Join(parts, "\x00")
}
