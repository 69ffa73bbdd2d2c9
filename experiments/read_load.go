package experiments

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// mostInFlight is how many calls in flight are assumed without being asked for.
const mostInFlight = 100_000

// load reads what is sent to the SUT, and how answers are told apart.
func (r *reader) load(m *yamldoc.Map) {
	r.rate = m.Get("rate")
	r.rate.Rate()
	r.plan.Timeout = m.Get("timeout").Duration(5 * time.Second)
	r.plan.MaxInFlight = m.Get("max_in_flight").Count(0, 1)
	targets, flawed := m.Need("targets"), r.flawed()
	for _, item := range targets.Items() {
		r.target(item)
	}
	r.noTargets = !m.Exists() || flawed()
	r.targets.end(targets, false)
	r.tokenOrder()
	flawed = r.flawed()
	r.classify(m.Get("classify"))
	r.reasons(m.Get("reasons"))
	m.Done()
	r.noTimeout = !m.Exists() || m.Misspelt("timeout")
	r.noRate = !m.Exists() || m.Misspelt("rate")
	r.noClasses = !m.Exists() || flawed()
}

// target reads one kind of request.
func (r *reader) target(v yamldoc.Value) {
	m := v.Map("{name: checkout, path: /checkout}")
	defer m.Done()
	name := m.Need("name")
	t := match.Target{
		Name:    word(name, "_-"),
		Method:  method(m.Get("method"), http.MethodGet),
		Path:    urlPath(m.Need("path"), r.templated),
		Headers: r.ownHeaders(m.Get("headers"), r.templated),
		Body:    r.templated(m.Get("body"), m.Get("body").Text("")),
		Weight:  m.Get("weight").Count(1, 1),
	}
	flawed := r.flawed()
	if depends := m.Get("depends_on"); depends.Exists() {
		t.DependsOn = r.injectors.referAll(depends.List())
	} else if in := r.injectors.referOr(depends); in != "" {
		t.DependsOn = []string{in}
	}
	if flawed() {
		r.targets.doubt(t.Name)
	}
	r.targets.declare(name, t.Name)
	r.plan.Targets = append(r.plan.Targets, t)
}

// ownHeaders reads headers of a target. Those that carry a call's identity are set
// by faultline. templated reads a value.
func (r *reader) ownHeaders(v yamldoc.Value, templated func(yamldoc.Value, string) string) map[string]string {
	carriers := []string{match.Traceparent, match.RequestID}
	for _, c := range r.plan.Correlate.Order {
		if h, ok := strings.CutPrefix(c, "header:"); ok {
			carriers = append(carriers, h)
		}
	}
	m := v.Map("{X-Kind: card}")
	for _, e := range m.Entries() {
		if slices.Contains(carriers, strings.ToLower(e.Name)) {
			e.Key.Problemf("faultline sets this header itself, to join calls with what reaches the dependency")
		}
	}
	out := headers(v)
	for _, e := range m.Entries() {
		templated(e.Value, out[e.Name])
	}
	return out
}

// maxInFlight fills in how many calls may be under way, which the phases decide:
// as many as the one with the most has when none is answered before the timeout.
func (r *reader) maxInFlight(load *yamldoc.Map) {
	need, atOnce := 100.0, 0
	for _, p := range r.plan.Phases {
		most, once := p.inFlight(r.plan.Timeout)
		need, atOnce = max(need, most), max(atOnce, once)
	}
	given := r.plan.MaxInFlight
	switch {
	case given > 0 && given < atOnce:
		load.Key("max_in_flight").Problemf("%d is below the %d calls (concurrency, clients, users or burst) that a phase sends at once", given, atOnce)
	case given > 0:
	case need > mostInFlight:
		load.Problemf("rate times timeout may have %.0f calls in flight; lower one of them, or say how many in max_in_flight", need)
	default:
		r.plan.MaxInFlight = int(need)
	}
}
