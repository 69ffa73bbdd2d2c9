package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// written is a property of any kind, as it stands in the file.
type written struct {
	key   string
	value string
	at    resilience4j.Pos
}

// everything reads all properties of a file, also those that are not Resilience4j's.
func everything(name string, src []byte) ([]written, error) {
	if isProperties(name) {
		return lines(name, string(src)), nil
	}
	docs, err := yamldoc.Properties(name, src)
	if err != nil {
		return nil, err
	}
	var out []written
	for _, doc := range docs {
		for _, p := range doc {
			out = append(out, written{p.Key, p.Value, resilience4j.Pos{File: name, Line: p.At.Line, Col: p.At.Col}})
		}
	}
	return out, nil
}

// isProperties reports whether a file has the format of Java's properties.
func isProperties(name string) bool { return strings.EqualFold(path.Ext(name), ".properties") }

// lines reads what stands on one line each of a properties file; the reader knows more
// of the format, and has refused what is none. Places are those of values, as it has them.
func lines(name, src string) []written {
	var out []written
	for i, text := range strings.Split(src, "\n") {
		text = strings.TrimRight(text, "\r")
		from := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(" \t\f", r) })
		if from < 0 || text[from] == '#' || text[from] == '!' {
			continue
		}
		m := pair.FindStringSubmatchIndex(text[from:])
		if m == nil {
			continue
		}
		out = append(out, written{
			key:   strings.ReplaceAll(text[from+m[2]:from+m[3]], `\`, ""),
			value: strings.TrimSpace(text[from+m[4]:]),
			at:    resilience4j.Pos{File: name, Line: i + 1, Col: from + m[4] + 1},
		})
	}
	return out
}

// pair is a key, which ends at a blank, = or : that has no backslash before it, and where
// its value begins.
var pair = regexp.MustCompile(`^((?:\\.|[^\s=:\\])+)[ \t\f]*[=:]?[ \t\f]*(.*)$`)

// as returns what stands at a place.
func (v *view) as(at resilience4j.Pos) (written, bool) {
	i := slices.IndexFunc(v.written, func(w written) bool { return w.at == at })
	if i < 0 {
		return written{}, false
	}
	return v.written[i], true
}

// below returns the properties whose key begins with one of the prefixes, written as
// Spring compares them: a prefix is plain, such as "spring.cloud.circuitbreaker.".
func (v *view) below(prefixes ...string) []written {
	var out []written
	for _, w := range v.written {
		key := plain(w.key)
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			out = append(out, w)
		}
	}
	return out
}

// plain is a key in lower case without dashes and underscores.
func plain(key string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))
}
