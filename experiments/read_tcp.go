package experiments

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// tcpFault is the key of the fault of a connection that is passed on.
const tcpFault = "tcp"

// passedOn reads a dependency whose connections are passed on.
func (r *reader) passedOn(v yamldoc.Value) *TCP {
	m := v.Map("{upstream: 127.0.0.1:5432}")
	defer m.Done()
	t := &TCP{Undialled: endBy(m.Get("undialled"), fault.ActionReset, fault.ActionClose)}
	at := m.Need("upstream")
	r.dialled = append(r.dialled, at)
	t.Upstream = at.NonEmpty()
	if t.Upstream == "" {
		return t
	}
	host, port, err := net.SplitHostPort(t.Upstream)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 || host == "" {
		at.Problemf("%q is not host:port, such as 127.0.0.1:5432", t.Upstream)
		t.Upstream = ""
	}
	return t
}

// endBy reads how a connection ends; the first way is meant where none is given.
func endBy(v yamldoc.Value, ways ...fault.Action) fault.Action {
	var words []string
	for _, w := range ways {
		words = append(words, string(w))
	}
	return fault.Action(v.OneOf(words[0], words...))
}

// passesTCP reports whether an injector is known to pass connections on.
func (r *reader) passesTCP(injector string) bool {
	return slices.ContainsFunc(r.plan.Injectors, func(in Injector) bool { return in.Name == injector && in.TCP != nil })
}

// onlyTCP reports whether all injectors pass connections on, so that there is no breaker to
// speak of.
func (r *reader) onlyTCP() bool {
	return len(r.plan.Injectors) > 0 && !slices.ContainsFunc(r.plan.Injectors, func(in Injector) bool { return in.TCP == nil })
}

// breakersOf is the section of the breakers, which an experiment must have if some injector is
// known to see requests.
func (r *reader) breakersOf(m *yamldoc.Map) yamldoc.Value {
	if slices.ContainsFunc(r.plan.Injectors, func(in Injector) bool { return in.Stub != nil || in.Upstream != "" }) {
		return m.Need("breakers")
	}
	v := m.Get("breakers")
	if !m.Has("injectors") && !v.Exists() && m.Exists() {
		m.Lacks(v, []string{"breakers", "injectors"}, "is missing")
	}
	return v
}

// unjoined is why nothing that needs attempts can be asked of such an injector.
const unjoined = "injector %s passes TCP connections on: which calls a connection serves cannot be told, so %s; assert what clients get (CLASS.share, error.share, latency)"

// refuseUnjoined notes what needs attempts at an injector that sees none.
func (r *reader) refuseUnjoined(v yamldoc.Value, injector, what string) {
	if r.passesTCP(injector) {
		v.Problemf(unjoined, injector, what)
	}
}

// tcp reads what becomes of a connection.
func (r *reader) tcp(v yamldoc.Value) *fault.TCP {
	m := v.Map("{down: {latency: {fixed: 50ms}}}")
	defer m.Done()
	up, down, life := m.Get("up"), m.Get("down"), m.Get("life")
	t := &fault.TCP{Up: r.stream(up), Down: r.stream(down)}
	if life.Exists() {
		lm := life.Map("{for: 10s, by: reset}")
		t.Life = &fault.Life{For: lm.Need("for").Duration(1), By: endBy(lm.Get("by"), fault.ActionReset, fault.ActionClose)}
		lm.Done()
	}
	if m.Exists() && t.Up == nil && t.Down == nil && t.Life == nil {
		m.Lacks(m.Value, []string{"up", "down", "life"}, "says none of up (to the upstream), down (to the caller) and life")
	}
	return t
}

// stream reads what becomes of the bytes of one direction.
func (r *reader) stream(v yamldoc.Value) *fault.Stream {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{latency: {fixed: 50ms}}")
	defer m.Done()
	s := &fault.Stream{Latency: r.latency(m.Get("latency")), Slice: slicing(m.Get("slice"))}
	s.Bandwidth, s.Scope = shared(m.Get("bandwidth"))
	if cut := m.Get("cut"); cut.Exists() {
		cm := cut.Map("{after: 4KiB, by: reset}")
		s.End = &fault.StreamEnd{
			After: cm.Get("after").Size(0, 0), By: endBy(cm.Get("by"), fault.ActionReset, fault.ActionClose, fault.ActionHang),
		}
		cm.Done()
	}
	if does := []string{"latency", "bandwidth", "slice", "cut"}; m.Exists() && !slices.ContainsFunc(does, m.Has) {
		m.Lacks(m.Value, does, "does nothing; give it %s", strings.Join(does, ", "))
	}
	return s
}

// The words for who shares a bandwidth.
const (
	sharedByFault = "fault"
	sharedByAll   = "all"
)

// shared reads a bandwidth, and who shares it.
func shared(v yamldoc.Value) (rate int64, scope fault.Scope) {
	if !v.IsMap() {
		return v.Throughput(0), fault.ScopeConnection
	}
	m := v.Map("")
	defer m.Done()
	scope = fault.ScopeRule
	if m.Need("shared").OneOf(sharedByFault, sharedByFault, sharedByAll) == sharedByAll {
		scope = fault.ScopeAll
	}
	return m.Need("rate").Throughput(0), scope
}

// fitsInjector notes a fault that its injector cannot play, as one of them is of HTTP and the
// other one of bytes. What follows from a part of the file that is wrong is not told.
func (r *reader) fitsInjector(m *yamldoc.Map, rule fault.Rule, injector string) {
	raw := rule.Action == fault.ActionTCP
	known := injector != "" && !r.injectors.vague[injector]
	if !raw && (!known || !r.passesTCP(injector) || rule.Action.Door()) {
		r.speaksWebSocket(m, rule, injector)
		return
	}
	if raw && known && !r.passesTCP(injector) {
		m.Get(tcpFault).Problemf("is for connections that are passed on byte by byte, and injector %s speaks HTTP; give it tcp: {upstream: host:port}", injector)
		return
	}
	if !raw {
		m.Lacks(m.Value, []string{tcpFault}, "has no meaning at injector %s, which passes bytes on as they are; give it tcp", injector)
		return
	}
	for _, key := range []string{"latency", "hold", "read"} {
		if v := m.Get(key); v.Exists() {
			v.Problemf("is of requests, and tcp of connections; write what becomes of them below tcp")
		}
	}
	if match := rule.Match; !match.Everything() {
		if match.Peer, match.SNI = "", ""; !match.Everything() {
			m.Get("match").Problemf("looks at requests, and tcp at connections: they are told apart by peer alone")
		}
	}
	if sticky := rule.Select.Sticky; sticky.By != "" {
		m.Get("sticky").Problemf("is of requests, and tcp of connections")
	}
}

// sharedRates notes a second rate for the bandwidth that all connections of a phase share.
func sharedRates(v yamldoc.Value, earlier []fault.Rule, rule fault.Rule) {
	if rule.TCP == nil {
		return
	}
	script := fault.Script{Phases: map[string][]fault.Rule{"p": append(slices.Clone(earlier), rule)}}
	for _, p := range fault.Validate(script) {
		if p.Rule == len(earlier) && p.Field == "tcp.bandwidth" {
			v.Problemf("all connections share one bandwidth where shared: all is said, and this is another rate than before; write the same everywhere")
		}
	}
}

// latenciesOf are those of the directions of a connection.
func latenciesOf(t *fault.TCP) []fault.Latency {
	var all []fault.Latency
	for _, s := range directions(t) {
		all = append(all, s.Latency)
	}
	return all
}

// directions are those of which something is said.
func directions(t *fault.TCP) []*fault.Stream {
	if t == nil {
		return nil
	}
	return slices.DeleteFunc([]*fault.Stream{t.Up, t.Down}, func(s *fault.Stream) bool { return s == nil })
}
