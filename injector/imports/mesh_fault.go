package imports

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// virtualService reads the routes of one. An earlier route takes its requests from the
// faults of a later one, also those that its own faults do not hit.
func (m *mesh) virtualService(doc []yamldoc.Property) {
	for _, route := range items(doc, "spec.http") {
		f := below(doc, route+".fault")
		m.found = m.found || len(f) > 0
		for _, match := range m.matches(doc, route) {
			m.route(match, route, f)
		}
	}
	// What comes last and only lets pass says nothing.
	for n := len(m.out.Rules); n > 0; n-- {
		if r := m.out.Rules[n-1]; r.Action != fault.ActionPass || r.Latency.Longest() > 0 || r.Form != (fault.Form{}) {
			break
		}
		m.out.Rules = m.out.Rules[:n-1]
	}
}

// route adds what becomes of the requests that one of a route's matches takes.
func (m *mesh) route(match fault.Match, route string, props []yamldoc.Property) {
	rest := passes(match)
	if fault.Against(m.out.Rules, rest, func(int) string { return "" }) != "" {
		if len(props) > 0 {
			m.note(props[0], "is never reached, as earlier routes take all its requests; it is left out")
		}
		return
	}
	var rules []fault.Rule
	if len(props) > 0 {
		rules = m.fault(match, props, route+".fault", istioNames())
		m.add(props[0], rules...)
	}
	if n := len(rules); n == 0 || rules[n-1].Select.Kind != fault.SelectAll {
		m.add(yamldoc.Property{Key: route}, rest)
	}
}

// passes lets all that match pass.
func passes(match fault.Match) fault.Rule {
	return fault.Rule{Match: match, Action: fault.ActionPass, Select: always().selects()}
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
		if m.found {
			m.note(p, "Envoy has a request meet each filter by itself; here it meets one fault at most, of the first filter that hits it")
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
		first, _, _ := strings.Cut(rest, ".")
		switch {
		case slices.Contains([]string{"delay", "abort", "response_rate_limit"}, first):
			faults = append(faults, p)
		case rest == "@type", strings.HasPrefix(rest, "headers["):
		case rest == "max_active_faults":
			m.note(p, "is no part of a fault; faultline inject --max-active %s keeps it", p.Value)
		default:
			m.note(p, "has no equivalent and is left out")
		}
	}
	match, ok := m.envoyHeaders(props, prefix+"headers")
	if ok && len(faults) > 0 {
		m.add(faults[0], m.fault(match, faults, strings.TrimSuffix(prefix, "."), envoyNames())...)
	}
}

// names are how a dialect calls things.
type names struct {
	delay, status, grpc, rate string
	percentage                func(m *mesh, props []yamldoc.Property, key string) share
	code                      func(text string) (fault.GRPCCode, bool)
}

func istioNames() names {
	return names{
		delay: "fixedDelay", status: "httpStatus", grpc: "grpcStatus", percentage: (*mesh).istioPercentage,
		code: func(text string) (fault.GRPCCode, bool) {
			c := fault.GRPCCode(text)
			return c, slices.Contains(fault.GRPCCodes(), c)
		},
	}
}

func envoyNames() names {
	return names{
		delay: "fixed_delay", status: "http_status", grpc: "grpc_status", rate: "response_rate_limit.fixed_limit.limit_kbps", percentage: (*mesh).envoyPercentage,
		code: func(text string) (fault.GRPCCode, bool) {
			n, err := strconv.Atoi(text)
			if codes := fault.GRPCCodes(); err == nil && n >= 0 && n < len(codes) {
				return codes[n], true
			}
			return "", false
		},
	}
}

// meshFault is what a mesh does to a request, each part by chance and by itself.
type meshFault struct {
	delay, limit, abort share
	late                fault.Latency
	rate                int64
	respond             fault.Respond
}

// abortText is the body of Envoy's answer, or its grpc-message.
const abortText = "fault filter abort"

// fault reads one, whose properties stand below a key.
func (m *mesh) fault(match fault.Match, props []yamldoc.Property, key string, n names) []fault.Rule {
	none := share{0, 1}
	f := meshFault{delay: none, limit: none, abort: none}
	for _, p := range props {
		switch rest := strings.TrimPrefix(p.Key, under(key, "")); {
		case rest == "delay."+n.delay:
			d, err := yamldoc.ParseDuration(p.Value)
			if err != nil || d < time.Millisecond {
				m.problem(p, "%q is no time of at least 1ms", p.Value)
				continue
			}
			f.late, f.delay = fault.Latency{Min: d, Max: d}, n.percentage(m, props, under(key, "delay"))
		case rest == "abort."+n.status, rest == "abort."+n.grpc:
			if m.abort(&f, p, rest == "abort."+n.grpc, n) {
				f.abort = n.percentage(m, props, under(key, "abort"))
			}
		case n.rate != "" && rest == n.rate:
			kib, err := strconv.ParseUint(p.Value, 10, 32)
			if err != nil || kib == 0 {
				m.problem(p, "%q is no number of KiB a second above 0", p.Value)
				continue
			}
			f.rate, f.limit = int64(kib)<<10, n.percentage(m, props, under(key, "response_rate_limit"))
		case strings.Contains(rest, "percent"): // Read with what it is of.
		case rest == "abort.http2Error":
			m.note(p, "is left out: Istio itself refuses it, and says no more of what it would do")
		default:
			m.note(p, "has no equivalent and is left out")
		}
	}
	return m.play(match, f)
}

// abort reads the answer of one.
func (m *mesh) abort(f *meshFault, p yamldoc.Property, grpc bool, n names) bool {
	if grpc {
		code, ok := n.code(p.Value)
		if !ok {
			m.problem(p, "%q is no status of gRPC", p.Value)
			return false
		}
		m.note(p, "is answered to callers of gRPC alone; any other caller gets 200 and the text %q from Envoy, and passes here", abortText)
		f.respond = fault.Respond{GRPC: &fault.GRPC{Status: code, Message: abortText}}
		return true
	}
	status, err := strconv.Atoi(p.Value)
	if err != nil || status < 200 || status > 599 {
		m.problem(p, "%q is no status from 200 to 599", p.Value)
		return false
	}
	f.respond = fault.Respond{Status: status, Headers: map[string]string{"Content-Type": "text/plain"}, Body: abortText}
	if status == 204 || status == 304 {
		f.respond = fault.Respond{Status: status} // Neither has a body, though Envoy gives it a length.
	}
	return true
}

// play makes the rules of a fault.
func (m *mesh) play(match fault.Match, f meshFault) []fault.Rule {
	if f.respond.GRPC == nil {
		return m.outcomes(match, f)
	}
	grpc := match
	if _, ok := match.Header["content-type"]; !ok && match.HeaderRegex["content-type"] == "" {
		grpc.HeaderRegex = with(maps.Clone(match.HeaderRegex), "content-type", `^application/grpc(\+.*)?$`)
	}
	rules := m.outcomes(grpc, f)
	f.abort = share{0, 1}
	others := m.outcomes(match, f)
	if n := len(rules); len(others) > 0 && n > 0 && rules[n-1].Select.Kind != fault.SelectAll {
		rules = append(rules, passes(grpc)) // Or they would be drawn for a second time.
	}
	return append(rules, others...)
}

// outcomes are the rules for all that may happen together. Each happens as often as chance
// would have it, and the shares are exact.
func (m *mesh) outcomes(match fault.Match, f meshFault) []fault.Rule {
	const delay, limit, abort = 0, 1, 2
	var parts []part
	for id, s := range []share{f.delay, f.limit, f.abort} {
		if !s.none() {
			parts = append(parts, part{s, id})
		}
	}
	var rules []fault.Rule
	ok := outcomes(parts, func(happen []int, s share) {
		r := passes(match)
		if r.Select = s.selects(); slices.Contains(happen, delay) {
			r.Latency = f.late
		}
		switch {
		case slices.Contains(happen, abort):
			r.Action, r.Respond = fault.ActionRespond, f.respond
		case slices.Contains(happen, limit):
			r.Form.Bandwidth = f.rate
		}
		if len(happen) > 0 {
			rules = append(rules, r)
		}
	})
	if !ok {
		m.problem(yamldoc.Property{Key: "percentage"}, "the shares together are too fine to be kept exactly; write them with fewer decimals")
	}
	return merged(rules)
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

// envoyPercentage is that of a delay, an abort or a limit; without one, it is of no request.
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
