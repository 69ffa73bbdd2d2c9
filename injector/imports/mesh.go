package imports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Mesh reads the faults of an Istio VirtualService (networking.istio.io) or of Envoy's HTTP
// fault filter (envoy.extensions.filters.http.fault.v3.HTTPFault), in YAML or JSON, with
// whatever stands around them. Delay and abort are drawn independently there, which three
// exclusive shares express. A status of gRPC is answered to callers of gRPC alone. The error
// says that the file is not YAML, or has no such fault.
func Mesh(file string, src []byte) (Imported, error) {
	docs, err := yamldoc.Properties(file, src)
	if err != nil {
		return Imported{}, err
	}
	var m mesh
	for _, doc := range docs {
		m.virtualService(doc)
		m.filters(doc)
	}
	if !m.found {
		return Imported{}, fmt.Errorf("%s: there is no fault in it, neither spec.http[].fault of a VirtualService nor a filter of type HTTPFault", file)
	}
	m.told(src)
	m.check()
	return m.out, errors.Join(m.problems(file)...)
}

// told are the faults that requests ask for themselves. What configures them is empty, so that
// it has no property.
func (m *mesh) told(src []byte) {
	for n, line := range strings.Split(string(src), "\n") {
		for _, key := range []string{"header_abort", "header_delay", "header_limit"} {
			if col := strings.Index(line, key); col >= 0 {
				m.note(yamldoc.Property{Key: key, At: yamldoc.Pos{Line: n + 1, Col: col + 1}},
					"is no fault of an experiment, as each request asks for it; faultline inject --envoy-headers has them do so")
			}
		}
	}
}

// check looks for what cannot be played.
func (m *mesh) check() {
	for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"mesh": m.out.Rules}}) {
		at := yamldoc.Property{}
		if p.Rule >= 0 {
			at = m.from[p.Rule]
		}
		m.problem(at, "%s: %s", p.Field, p.Text)
	}
}

// mesh collects.
type mesh struct {
	notebook

	found bool
	from  []yamldoc.Property // of each rule
}

// add appends rules that come from one place.
func (m *mesh) add(from yamldoc.Property, rules ...fault.Rule) {
	for _, r := range rules {
		m.out.Rules, m.from = append(m.out.Rules, r), append(m.from, from)
	}
}

// below returns the properties under a key, by what follows it.
func below(doc []yamldoc.Property, key string) []yamldoc.Property {
	var out []yamldoc.Property
	for _, p := range doc {
		if rest, ok := strings.CutPrefix(p.Key, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			out = append(out, p)
		}
	}
	return out
}

// under is a key below another; below none it stands alone.
func under(above, key string) string {
	if above == "" {
		return key
	}
	return above + "." + key
}

// items returns the keys of the items of a list, in order.
func items(doc []yamldoc.Property, list string) []string {
	var keys []string
	for n := 0; ; n++ {
		key := list + "[" + strconv.Itoa(n) + "]"
		if len(below(doc, key)) == 0 {
			return keys
		}
		keys = append(keys, key)
	}
}

// envoyHeaders reads whom a filter hits.
func (m *mesh) envoyHeaders(props []yamldoc.Property, list string) (match fault.Match, ok bool) {
	ok = true
	for _, header := range items(props, list) {
		name, how, value := "", "", yamldoc.Property{}
		for _, p := range below(props, header) {
			switch rest := strings.TrimPrefix(p.Key, header+"."); rest {
			case "name":
				name = p.Value
			case "exact_match", "string_match.exact":
				how, value = "exact", p
			case "prefix_match", "string_match.prefix":
				how, value = "prefix", p
			case "safe_regex_match.regex", "string_match.safe_regex.regex":
				how, value = "regex", p
			default:
				m.problem(p, "is no condition that can be kept; without it, other requests would be hit")
				ok = false
			}
		}
		ok = ok && m.condition(&match, name, how, value)
	}
	return match, ok
}

// matches reads whom a route takes: one match for each of its alternatives.
func (m *mesh) matches(doc []yamldoc.Property, route string) []fault.Match {
	list := items(doc, route+".match")
	if len(list) == 0 {
		return []fault.Match{{}}
	}
	var all []fault.Match
	for _, key := range list {
		match, ok := fault.Match{}, true
		for _, p := range below(doc, key) {
			ok = m.istioCondition(&match, strings.TrimPrefix(p.Key, key+"."), p) && ok
		}
		if ok {
			all = append(all, match)
		}
	}
	return all
}

// istioCondition adds one to a match, and reports whether it could.
func (m *mesh) istioCondition(match *fault.Match, rest string, p yamldoc.Property) bool {
	what, how := rest, ""
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		what, how = rest[:i], rest[i+1:]
	}
	header, isHeader := strings.CutPrefix(what, "headers.")
	query, isQuery := strings.CutPrefix(what, "queryParams.")
	switch {
	case rest == "name": // Of the match; for people.
		return true
	case what == "uri":
		return m.condition(match, ":path", how, p)
	case what == "method":
		return m.condition(match, ":method", how, p)
	case isHeader:
		return m.condition(match, header, how, p)
	case isQuery && how == "exact":
		match.Query = with(match.Query, query, p.Value)
		return true
	}
	m.problem(p, "is no condition that can be kept; without it, other requests would be hit")
	return false
}

// condition adds one to a match, and reports whether it could.
func (m *mesh) condition(match *fault.Match, name, how string, p yamldoc.Property) bool {
	quoted := "^" + regexp.QuoteMeta(p.Value)
	expression := map[string]string{"regex": "^(?:" + p.Value + ")$", "prefix": quoted}[how]
	known := slices.Contains([]string{"exact", "prefix", "regex"}, how)
	switch {
	case !known || name == ":method" && how != "exact" || name == ":authority":
		m.problem(p, "is no condition that can be kept; without it, other requests would be hit")
		return false
	case name == ":method":
		match.Method = p.Value
	case name == ":path" && how == "exact" && !strings.Contains(p.Value, "*"):
		match.Path = p.Value
	case name == ":path" && how == "prefix" && !strings.Contains(p.Value, "*"):
		match.Path = p.Value + "*"
	case name == ":path" && how == "exact":
		match.PathRegex = quoted + "$"
	case name == ":path":
		match.PathRegex = expression
	case how == "exact":
		match.Header = with(match.Header, name, p.Value)
	default:
		match.HeaderRegex = with(match.HeaderRegex, name, expression)
	}
	return true
}

// with adds a value to a map that may be nil.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
