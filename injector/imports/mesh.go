package imports

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Mesh reads the faults of an Istio VirtualService (networking.istio.io) or of Envoy's HTTP
// fault filter (envoy.extensions.filters.http.fault.v3.HTTPFault), in YAML or JSON, with
// whatever stands around them. Delay and abort are drawn independently there, which three
// exclusive shares express. The error says that the file is not YAML, or has no such fault.
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
	return m.out, errors.Join(m.problems(file)...)
}

// mesh collects.
type mesh struct {
	notebook

	found bool
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

// virtualService reads the routes of one. An earlier route takes its requests from the
// faults of a later one, also where it has no fault.
func (m *mesh) virtualService(doc []yamldoc.Property) {
	for _, route := range items(doc, "spec.http") {
		f := below(doc, route+".fault")
		m.found = m.found || len(f) > 0
		matches := m.matches(doc, route)
		for _, match := range matches {
			if len(f) == 0 {
				m.out.Rules = append(m.out.Rules, fault.Rule{Match: match, Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}})
				continue
			}
			m.fault(match, f, route+".fault", istioNames())
		}
	}
	// What comes last and only lets pass says nothing.
	for n := len(m.out.Rules); n > 0; n-- {
		if r := m.out.Rules[n-1]; r.Action != fault.ActionPass || r.Latency.Longest() > 0 {
			break
		}
		m.out.Rules = m.out.Rules[:n-1]
	}
}

// names are how a dialect calls things.
type names struct {
	delay, status, grpc string
	percentage          func(m *mesh, props []yamldoc.Property, key string) share
}

func istioNames() names {
	return names{delay: "fixedDelay", status: "httpStatus", grpc: "grpcStatus", percentage: (*mesh).istioPercentage}
}

func envoyNames() names {
	return names{delay: "fixed_delay", status: "http_status", grpc: "grpc_status", percentage: (*mesh).envoyPercentage}
}

// fault reads one, whose properties stand below a key.
func (m *mesh) fault(match fault.Match, props []yamldoc.Property, key string, n names) {
	var delay fault.Latency
	delayed, aborted := share{0, 1}, share{0, 1}
	abort := fault.Rule{Action: fault.ActionRespond}
	for _, p := range props {
		switch rest := strings.TrimPrefix(p.Key, under(key, "")); {
		case rest == "delay."+n.delay:
			d, err := yamldoc.ParseDuration(p.Value)
			if err != nil || d < time.Millisecond {
				m.problem(p, "%q is no time of at least 1ms", p.Value)
				continue
			}
			delay, delayed = fault.Latency{Min: d, Max: d}, n.percentage(m, props, under(key, "delay"))
		case rest == "abort."+n.status:
			status, err := strconv.Atoi(p.Value)
			if err != nil || status < 200 || status > 599 {
				m.problem(p, "%q is no status from 200 to 599", p.Value)
				continue
			}
			abort.Respond = fault.Respond{Status: status, Body: "fault filter abort", Headers: map[string]string{"Content-Type": "text/plain"}}
			aborted = n.percentage(m, props, under(key, "abort"))
		case strings.Contains(rest, "percent"): // Read with what it is of.
		case rest == "abort."+n.grpc:
			m.note(p, "a status of gRPC is not imported; write it as a fault by hand")
		default:
			m.note(p, "has no equivalent and is left out")
		}
	}
	m.out.Rules = append(m.out.Rules, independent(match, delay, delayed, abort, aborted)...)
}

// istioPercentage is that of a delay or an abort; without one, it is of all requests.
func (m *mesh) istioPercentage(props []yamldoc.Property, key string) share {
	for _, p := range props {
		if p.Key == key+".percentage.value" || p.Key == key+".percent" {
			s, ok := percent(p.Value)
			if !ok {
				m.problem(p, "%q is no percentage from 0 to 100 with at most six decimals", p.Value)
				return share{0, 1}
			}
			return s
		}
	}
	return always()
}

// envoyPercentage is that of a delay or an abort; without one, it is of no request.
func (m *mesh) envoyPercentage(props []yamldoc.Property, key string) share {
	numerator, denominator := yamldoc.Property{}, ""
	for _, p := range props {
		switch p.Key {
		case key + ".percentage.numerator":
			numerator = p
		case key + ".percentage.denominator":
			denominator = p.Value
		}
	}
	if numerator.Key == "" {
		return share{0, 1}
	}
	s, ok := ofDenominator(numerator.Value, denominator)
	if !ok {
		m.problem(numerator, "%s of %s is no share", numerator.Value, denominator)
		return share{0, 1}
	}
	return s
}

// filters reads Envoy's fault filters, wherever they stand.
func (m *mesh) filters(doc []yamldoc.Property) {
	for _, p := range doc {
		key, typed := strings.CutSuffix(p.Key, ".@type")
		if p.Key == "@type" {
			key, typed = "", true
		}
		if !typed || !strings.HasSuffix(p.Value, "filters.http.fault.v3.HTTPFault") {
			continue
		}
		m.found = true
		props := below(doc, key)
		if key == "" {
			props = doc
		}
		m.filter(props, key)
	}
}

// filter reads one, whose properties stand below a key.
func (m *mesh) filter(props []yamldoc.Property, key string) {
	prefix := under(key, "")
	var faults []yamldoc.Property
	for _, p := range props {
		rest := strings.TrimPrefix(p.Key, prefix)
		switch {
		case strings.HasPrefix(rest, "delay."), strings.HasPrefix(rest, "abort."):
			faults = append(faults, p)
		case rest == "@type", strings.HasPrefix(rest, "headers["):
		default:
			m.note(p, "has no equivalent and is left out")
		}
	}
	match, ok := m.envoyHeaders(props, prefix+"headers")
	if ok {
		m.fault(match, faults, strings.TrimSuffix(prefix, "."), envoyNames())
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
