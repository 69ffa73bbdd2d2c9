package resilience4j

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// expand fills in the placeholders of a value: from the environment, from the active
// documents, or with their default.
func (f *File) expand(s scalar) (scalar, error) {
	if s.yaml != yamldoc.TypeText || !strings.Contains(s.text, "${") {
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

// lookup finds what a name stands for: in the environment, then in the documents. A name
// in small letters with hyphens finds every spelling, another one only itself.
func (f *File) lookup(name string) (string, bool) {
	for _, variable := range variables(name) {
		if f.env == nil {
			break
		}
		if v, ok := f.env(variable); ok {
			return v, true
		}
	}
	id, anyhow := join(elements(name)), lowerHyphen(name)
	for _, s := range f.sources {
		all := s.byName[id]
		names := make([]string, len(all))
		for i, p := range all {
			names[i] = p.key
		}
		at := slices.Index(names, name)
		if at < 0 && anyhow && len(names) > 0 {
			at = slices.Index(names, preferred(names, name))
		}
		if at >= 0 {
			return all[at].raw.text, true
		}
	}
	return "", false
}

// variables are the names of environment variables that Spring tries for a name.
func variables(name string) []string {
	dots := strings.NewReplacer(".", "_")
	hyphens := strings.NewReplacer("-", "_")
	all := []string{name, dots.Replace(name), hyphens.Replace(name), hyphens.Replace(dots.Replace(name))}
	if lowerHyphen(name) {
		all = append(all, strings.ReplaceAll(dots.Replace(name), "-", ""))
	}
	for _, v := range slices.Clone(all) {
		all = append(all, strings.ToUpper(v))
	}
	return all
}

// lowerHyphen reports whether a name is spelt as Spring wants a property to be asked for.
func lowerHyphen(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || part[0] == '-' || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-[]") != "" {
			return false
		}
	}
	return true
}
