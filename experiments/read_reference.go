package experiments

import (
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Defects are the words of sut.reference.defect: the mutants that the reference service can
// be, for experiments that must fail.
func Defects() []string { return mutant.Names() }

// reference reads faultline's own service.
func (r *reader) reference(v yamldoc.Value) *Reference {
	m := v.Map("{timeout: 1s}")
	defer m.Done()
	ref := r.service(m, "reference")
	ref.Workers = m.Get("workers").Count(0, 1)
	for _, item := range m.Get("routes").List() {
		ref.Routes = append(ref.Routes, r.route(item, ref.Routes))
	}
	return ref
}

// service reads how the reference service treats one dependency.
func (r *reader) service(m *yamldoc.Map, name string) *Reference {
	ref := &Reference{
		Injector: r.injectors.referOr(m.Get("injector")),
		Failure:  httpFailure(m.Get("failure")),
		Timeout:  m.Get("timeout").Duration(2 * time.Second),
		Cancels:  m.Get("cancels").Bool(false),
		Pool:     m.Get("pool").Count(0, 1),
		Defect:   m.Get("defect").OneOf("", Defects()...),
		Model:    readModel(m),
		Cache:    readCache(m),
		Policies: policies(m),
	}
	b := m.Get("breaker").Map("{window: 10, wait: 5s}")
	ref.Breaker, _ = r.breakerConfig(b)
	ref.Breaker.Name = name
	b.Done()
	if ref.Ejection = eject(m.Get("ejection")); ref.Ejection != nil && b.Exists() {
		m.Key("breaker").Problemf("breaker and ejection exclude each other: a host that is ejected comes back without half-open")
	}
	if fallback := m.Get("fallback"); fallback.Exists() {
		fm := fallback.Map("{status: 200, body: QUEUED}")
		answer := respond(fm, fm.Get("status"))
		ref.Fallback = &answer
		fm.Done()
	}
	ref.Paging = paging(m, m.Get("paging"))
	ref.refuseNoDefect(m)
	return ref
}

// refuseNoDefect notes a defect that could not show.
func (ref *Reference) refuseNoDefect(m *yamldoc.Map) {
	v := m.Get("defect")
	d, _ := mutant.Find(ref.Defect)
	for _, n := range []struct {
		needed, there bool
		key           string
	}{
		{d.Needs.Retry, ref.Retry != nil, "retry"},
		{d.Needs.TimeLimiter, ref.TimeLimiter != nil, "time_limiter"},
		{d.Needs.Bulkhead, ref.Bulkhead != nil, "bulkhead"},
		{d.Needs.Limiter, ref.RateLimiter != nil, "rate_limiter"},
		{d.Needs.Order, ref.Order != nil, "order"},
		{d.Needs.Cache, ref.Cache != nil, "cache"},
		{d.Needs.Paging, ref.Paging != nil, "paging"},
		{d.Needs.Cancels, ref.Cancels, "cancels"},
	} {
		if n.needed && !n.there {
			m.Lacks(v, []string{n.key}, "%s needs %s to go wrong with", ref.Defect, n.key)
		}
	}
	switch {
	case ref.Fallback == nil && d.Needs.Fallback:
		m.Lacks(v, []string{"fallback"}, "%s needs a fallback to go wrong with", ref.Defect)
	case ref.Model != nil:
		ref.refuseNoModel(v, d)
	case d.Base == mutant.Gobreaker:
		m.Lacks(v, []string{"model"}, "%s breaks a rule of gobreaker, which Resilience4j does not have; add model: gobreaker", ref.Defect)
	case d.Needs.TimeWindow && ref.Breaker.WindowType != breakerref.TimeBased:
		m.Lacks(v, []string{"breaker"}, "%s needs a breaker with a window of time, such as 10s", ref.Defect)
	case d.Needs.CallWindow && ref.Breaker.WindowType != breakerref.CountBased:
		m.Lacks(v, []string{"breaker"}, "%s needs a breaker with a window of calls, such as 10", ref.Defect)
	}
}

// route reads a path of the reference service that is served otherwise.
func (r *reader) route(v yamldoc.Value, earlier []Route) Route {
	m := v.Map("{path: /pay*, injector: payments}")
	defer m.Done()
	at := m.Need("path")
	route := Route{Path: pathPattern(at)}
	for _, e := range earlier {
		if route.Path != "" && covers(e.Path, route.Path) {
			at.Problemf("could never be served: %s before it takes every such request", e.Path)
			break
		}
	}
	answer := m.Get("respond")
	if !m.Exists() || m.Misspelt("respond") { // And not a route to the only injector.
		for _, key := range serviceKeys() {
			m.Get(key)
		}
		return route
	}
	if !answer.Exists() {
		route.Service = r.service(m, "reference "+route.Path)
		return route
	}
	am := answer.Map("{status: 200}")
	canned := respond(am, am.Get("status"))
	am.Done()
	route.Respond = &canned
	for _, key := range serviceKeys() {
		if m.Get(key).Exists() {
			m.Key(key).Problemf("respond and %s exclude each other; a route with respond has no dependency", key)
		}
	}
	return route
}

// serviceKeys are the keys that service reads.
func serviceKeys() []string {
	return []string{
		"injector", "breaker", "model", "failure", "timeout", "cancels", "fallback", "cache", "pool",
		"retry", "rate_limiter", "time_limiter", "bulkhead", "ejection", "order", "rejections_fail", "paging", "defect",
	}
}

// services are all dependencies of the reference service, each with its settings.
func (s SUT) services() []*Reference {
	if s.Reference == nil {
		return nil
	}
	all := []*Reference{s.Reference}
	for _, route := range s.Reference.Routes {
		if route.Service != nil {
			all = append(all, route.Service)
		}
	}
	return all
}

// pathPattern reads a path that may end in a *.
func pathPattern(v yamldoc.Value) string {
	s := v.NonEmpty()
	if s != "" && (!strings.HasPrefix(s, "/") || strings.Contains(strings.TrimSuffix(s, "*"), "*")) {
		v.Problemf("%q is not a path; it begins with /, and a * may stand at its end only", s)
		return ""
	}
	return s
}

// covers reports whether a path, or one that ends in a *, takes all of another.
func covers(pattern, path string) bool {
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, rest)
	}
	return pattern == path
}
