package experiments

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// speaks notes a fault that its injector could never play, because what is spoken
// there does not know it.
func (r *reader) speaks(rule fault.Rule, m *yamldoc.Map, injector string) {
	grpcBeside(rule, m)
	key := ofHTTP2(rule)
	if key != "" {
		if form, why := overH2(rule.Form); form != "" {
			m.Get(form).Problemf("has no meaning over HTTP/2, which %s needs: %s", key, why)
		}
	}
	in, known := r.knownInjector(injector)
	if !known || in.TCP != nil { // That it has no requests was told.
		return
	}
	if rule.Action == fault.ActionTLS && in.TLS == nil {
		m.Get("tls").Problemf("needs connections with TLS, which injector %s does not speak; give it injectors.%s.tls", injector, injector)
	}
	if key != "" {
		r.knowsHTTP2(m.Get(key), in)
	}
}

// ofHTTP2 is the key of what only HTTP/2 has in a fault; empty: nothing.
func ofHTTP2(rule fault.Rule) string {
	switch {
	case rule.H2 != nil:
		return "h2"
	case rule.Action == fault.ActionSettings:
		return "settings"
	case rule.Respond.GRPC != nil:
		return "grpc"
	}
	return ""
}

// knownInjector finds an injector of which all is known.
func (r *reader) knownInjector(name string) (Injector, bool) {
	i := slices.IndexFunc(r.plan.Injectors, func(in Injector) bool { return in.Name == name })
	if i < 0 || r.injectors.vague[name] {
		return Injector{}, false
	}
	return r.plan.Injectors[i], true
}

// knowsHTTP2 notes what needs HTTP/2 at an injector whose callers cannot speak it.
func (r *reader) knowsHTTP2(v yamldoc.Value, in Injector) {
	if in.TLS != nil && !slices.Contains(in.TLS.Protocols, protocolHTTP2) {
		v.Problemf("needs HTTP/2, which injector %s does not speak over TLS; add %s to injectors.%s.tls.protocols", in.Name, protocolHTTP2, in.Name)
	}
	for _, s := range r.plan.SUT.services() {
		if s.Injector == in.Name {
			v.Problemf("needs HTTP/2, and the reference service speaks HTTP/1.1 to its dependency %s", in.Name)
			return
		}
	}
}

// referenceSpeaks notes dependencies of the reference service that it cannot talk to.
func (r *reader) referenceSpeaks() {
	for i, in := range r.plan.Injectors {
		at := r.at[i]
		if r.injectors.vague[in.Name] {
			continue
		}
		if in.Stub != nil && in.Stub.GRPC != nil {
			r.knowsHTTP2(at, in)
		}
		for _, s := range r.plan.SUT.services() {
			if s.Injector == in.Name && in.TLS != nil {
				at.Problemf("the reference service speaks plain HTTP to its dependencies; leave tls out, or launch a service of your own")
				break
			}
		}
	}
}

// upstreamURL reads the address of a real dependency, which may speak HTTP/2 in plain.
func upstreamURL(v yamldoc.Value) string {
	const h2c = "h2c://"
	s := v.Text("")
	rest, ok := strings.CutPrefix(s, h2c)
	if !ok {
		return httpURL(v, "")
	}
	authority, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, ':'); i < 0 || authority[i+1:] == "" || strings.HasSuffix(authority, "]") {
		v.Problemf("%q has no port; write it as h2c://127.0.0.1:50051", s)
		return ""
	}
	if checkURL(v, s, "http://"+rest) {
		return s
	}
	return ""
}
