package resilience4j

import (
	"fmt"
	"slices"
	"strings"
)

// expand fills in the placeholders of a value: from the environment, from the active
// documents, or with their default.
func (f *File) expand(s scalar) (scalar, error) {
	if s.yaml != yamlText || !strings.Contains(s.text, "${") {
		return s, nil
	}
	out, err := f.fill(s.text, nil)
	return scalar{text: out}, err
}

// fill replaces the placeholders of a text. Their names, defaults and values may have
// placeholders in turn; within are the names of those that the text stands for.
func (f *File) fill(s string, within []string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		end := closing(rest)
		if end < 0 {
			return "", fmt.Errorf("%q has a placeholder that is not closed", s)
		}
		with, err := f.placeholder(rest[:end], within)
		if err != nil {
			return "", err
		}
		out.WriteString(with)
		s = rest[end+1:]
	}
}

// closing returns where the brace is that closes a placeholder.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			depth++
		case s[i] == '}' && depth == 0:
			return i
		case s[i] == '}':
			depth--
		}
	}
	return -1
}

func (f *File) placeholder(inner string, within []string) (string, error) {
	name, fallback, hasDefault := cutDefault(inner)
	name, err := f.fill(name, within)
	if err != nil {
		return "", err
	}
	if slices.Contains(within, name) {
		return "", fmt.Errorf("the placeholder %s refers to itself", name)
	}
	with, ok := f.lookup(name)
	switch {
	case ok:
		return f.fill(with, append(within, name))
	case hasDefault:
		return f.fill(fallback, within)
	}
	return "", fmt.Errorf("%s is not set and has no default; set it, or write ${%s:VALUE}", name, name)
}

// cutDefault cuts at the first colon that is not within a placeholder.
func cutDefault(s string) (name, fallback string, found bool) {
	depth := 0
	for i := range len(s) {
		switch {
		case strings.HasPrefix(s[i:], "${"):
			depth++
		case s[i] == '}':
			depth--
		case s[i] == ':' && depth == 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func (f *File) lookup(name string) (string, bool) {
	if f.env != nil {
		if v, ok := f.env(name); ok {
			return v, true
		}
	}
	for _, s := range f.sources {
		if all := s.byName[join(elements(name))]; len(all) > 0 {
			return all[0].raw.text, true
		}
	}
	return "", false
}
