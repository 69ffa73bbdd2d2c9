package experiments

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// listen is where an injector listens, and where that is written.
type listen struct {
	at   yamldoc.Value
	host string
	port int // 0: chosen by the system
}

// readInjectors reads the dependencies that faultline plays.
func (r *reader) readInjectors(v yamldoc.Value) {
	m := v.Map("{NAME: {stub: {status: 200}}}")
	var upstreams []yamldoc.Value
	for _, e := range m.Entries() {
		flawed := r.flawed()
		in := e.Value.Map("{stub: {status: 200}}")
		r.injectors.declare(e.Key, checkWord(e.Key, e.Name, "_-"))
		r.injector(e.Name, in)
		r.at = append(r.at, e.Key)
		upstreams = append(upstreams, in.Get("upstream"))
		in.Done()
		if flawed() {
			r.injectors.doubt(e.Name)
		}
	}
	r.injectors.end(v, m.Exists())
	r.refuseLoops(append(upstreams, r.dialled...))
}

func (r *reader) injector(name string, m *yamldoc.Map) {
	in := Injector{Name: name, Listen: r.listen(m.Get("listen")), TLS: secured(m.Get("tls"))}
	switch m.Choice("upstream", "stub", "tcp") {
	case "upstream":
		in.Upstream = upstreamURL(m.Get("upstream"))
	case "stub":
		in.Stub = stub(m.Get("stub"))
	case "tcp":
		in.TCP = r.passedOn(m.Get("tcp"))
		if in.TLS != nil {
			m.Get("tls").Problemf("is not spoken where bytes are passed on as they are; leave it out, as the caller and the upstream agree on their own")
		}
	default:
		if m.Exists() {
			m.Lacks(m.Value, []string{"upstream", "stub", "tcp"}, "says none of upstream, stub and tcp; how does %s answer when it is healthy?", name)
		}
	}
	in.EnvoyHeaders = envoyHeaders(m.Get("envoy_headers"), in)
	r.plan.Injectors = append(r.plan.Injectors, in)
}

// stub reads what a healthy dependency answers.
func stub(v yamldoc.Value) *Stub {
	m := v.Map("{status: 200}")
	defer m.Done()
	if m.Get("grpc").Exists() {
		return &Stub{Respond: grpcStub(m), Latency: m.Get("latency").DurationOrZero(0)}
	}
	return &Stub{
		Respond: filled(m, respond(m, m.Get("status"))),
		Latency: m.Get("latency").DurationOrZero(0),

		WebSocket: webSocketStub(m.Get("websocket")),
	}
}

// listen reads where an injector listens. It must be a loopback address: an
// injector answers what it is told to, to anybody, and is not protected.
func (r *reader) listen(v yamldoc.Value) string {
	const def = "127.0.0.1:0"
	if !v.Exists() {
		return def
	}
	addr := v.NonEmpty()
	if addr == "" {
		return def
	}
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || perr != nil || port != strconv.FormatUint(n, 10):
		v.Problemf("%q is not host:port, such as 127.0.0.1:9901, or 127.0.0.1:0 for any free port", addr)
		return def
	case !isLoopback(host):
		v.Problemf("%q is not a loopback address; an injector misbehaves for whoever reaches it, so it listens on 127.0.0.0/8, ::1 or localhost only", addr)
		return def
	}
	l := listen{at: v, host: host, port: int(n)}
	for i, other := range r.listens {
		if n > 0 && l.same(other.host, other.port) {
			v.Problemf("%s is taken by the injector in %s", addr, r.listens[i].at.Place())
		}
	}
	r.listens = append(r.listens, l)
	return addr
}

// isLoopback reports whether a host can only be reached from this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// same reports whether two addresses are one socket. The name localhost is taken
// for 127.0.0.1.
func (l listen) same(host string, port int) bool {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	own := l.host
	if own == "localhost" {
		own = "127.0.0.1"
	}
	return own == host && l.port == port
}

// refuseLoops notes upstreams that are injectors.
func (r *reader) refuseLoops(upstreams []yamldoc.Value) {
	for _, v := range upstreams {
		rest := v.Text("")
		if _, behind, ok := strings.Cut(rest, "://"); ok {
			rest = behind
		}
		authority, _, _ := strings.Cut(rest, "/")
		host, port, err := net.SplitHostPort(authority)
		n, perr := strconv.Atoi(port)
		if err != nil || perr != nil {
			continue
		}
		for _, l := range r.listens {
			if l.same(host, n) {
				v.Problemf("%s is an injector of this experiment, in %s", authority, l.at.Place())
			}
		}
	}
}
