package lint

import (
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
