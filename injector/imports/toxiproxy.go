package imports

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Dependency is an injector that passes connections on, in the place of a proxy of Toxiproxy.
type Dependency struct {
	Name      string       // that of the proxy, of letters, digits, - and _
	Listen    string       // a loopback address; port 0 is chosen by the system
	Upstream  string       // host:port
	Undialled fault.Action // ActionClose: what a caller sees when the upstream cannot be reached
	Rules     []fault.Rule
}

// Toxiproxy reads proxies of Toxiproxy (its version 2.12) with their toxics: a list of proxies,
// as for its -config and POST /populate; what it answers to that; what it answers to GET
// /proxies, which has them by name; or a single one. Sizes and times are those of its README:
// KB are 1000 bytes, times are milliseconds, those of a slicer microseconds. The error says
// where the file is no such thing, or what Toxiproxy itself would not take.
func Toxiproxy(file string, src []byte) (Imported, error) {
	docs, err := yamldoc.Properties(file, untabbed(src))
	if err != nil {
		return Imported{}, err
	}
	t := toxiproxy{seen: map[string]yamldoc.Pos{}, ports: map[string]bool{}}
	for _, doc := range docs {
		for _, at := range proxies(doc) {
			t.proxy(doc, at)
		}
		t.leftOver(doc)
	}
	if len(t.seen)+len(t.wrong) == 0 {
		return Imported{}, fmt.Errorf("%s: there is no proxy in it, with listen and upstream", file)
	}
	for _, d := range t.out.Injectors {
		for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{d.Name: d.Rules}}) {
			t.wrong = append(t.wrong, Note{t.seen[d.Name], d.Name, p.Field + ": " + p.Text})
		}
	}
	return t.out, errors.Join(t.problems(file)...)
}

// toxiproxy collects.
type toxiproxy struct {
	notebook

	seen  map[string]yamldoc.Pos // by the name of the injector
	ports map[string]bool
	told  bool // that its server reads no toxics from a file
}

// proxies are the keys below which there is one, in their order.
func proxies(doc []yamldoc.Property) []string {
	var keys []string
	for _, p := range doc {
		above, key := parted(p.Key)
		switch {
		case strings.Contains(above, "toxics["):
		case slices.Contains(proxyKeys(), strings.ToLower(key)) && !slices.Contains(keys, above):
			keys = append(keys, above)
		}
	}
	return slices.DeleteFunc(keys, func(above string) bool {
		_, listens := valueOf(doc, under(above, "listen"))
		_, dials := valueOf(doc, under(above, "upstream"))
		return !listens && !dials
	})
}

func proxyKeys() []string { return []string{"name", "listen", "upstream", "enabled"} }

// parted splits a key into what it is below and itself.
func parted(key string) (above, last string) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}

// valueOf finds a property; the case of a key does not count, as it does not for Toxiproxy.
func valueOf(doc []yamldoc.Property, key string) (yamldoc.Property, bool) {
	i := slices.IndexFunc(doc, func(p yamldoc.Property) bool { return strings.EqualFold(p.Key, key) })
	if i < 0 {
		return yamldoc.Property{Key: key}, false
	}
	return doc[i], true
}

// leftOver tells of what is no part of a proxy.
func (t *toxiproxy) leftOver(doc []yamldoc.Property) {
	all := proxies(doc)
	for _, p := range doc {
		if !slices.ContainsFunc(all, func(above string) bool { return above == "" || len(below([]yamldoc.Property{p}, above)) > 0 }) {
			t.note(p, "is no part of a proxy and is left out")
		}
	}
}

// proxy reads one.
func (t *toxiproxy) proxy(doc []yamldoc.Property, at string) {
	upstream, ok := valueOf(doc, under(at, "upstream"))
	if !ok {
		listen, _ := valueOf(doc, under(at, "listen"))
		t.problem(listen, "belongs to a proxy without an upstream, which Toxiproxy does not take")
		return
	}
	if host, port, err := net.SplitHostPort(upstream.Value); err != nil || host == "" || port == "" {
		t.problem(upstream, "%q is not of the form host:port", upstream.Value)
	}
	d := Dependency{Name: t.name(doc, at, upstream), Listen: t.listen(doc, at), Upstream: upstream.Value, Undialled: fault.ActionClose}
	enabled := true
	props := doc
	if at != "" {
		props = below(doc, at)
	}
	for _, p := range props {
		switch key := strings.ToLower(strings.TrimPrefix(p.Key, under(at, ""))); {
		case key == "enabled":
			enabled = p.Value != "false"
			if p.Value != "true" && p.Value != "false" {
				t.problem(p, "%q is neither true nor false", p.Value)
			}
		case slices.Contains(proxyKeys(), key), strings.HasPrefix(key, "toxics["):
		default:
			t.note(p, "is no key of a proxy; Toxiproxy ignores it, and it is left out")
		}
	}
	toxics := t.toxics(doc, under(at, "toxics"))
	d.Rules = t.rules(toxics)
	if !enabled {
		for _, x := range toxics {
			t.note(x.at, "has no effect: the proxy is not enabled, so nobody gets a connection")
		}
		d.Rules = []fault.Rule{{Action: fault.ActionRefuse, Select: always().selects()}}
	}
	t.out.Injectors = append(t.out.Injectors, d)
}

// name is what an experiment can call a proxy.
func (t *toxiproxy) name(doc []yamldoc.Property, at string, upstream yamldoc.Property) string {
	p, ok := valueOf(doc, under(at, "name"))
	if !ok || p.Value == "" {
		t.problem(upstream, "belongs to a proxy without a name, which Toxiproxy does not take")
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if letter := r|0x20 >= 'a' && r|0x20 <= 'z'; letter || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, p.Value)
	name = strings.TrimLeft(name, "-_")
	if name == "" {
		name = "proxy"
	}
	if name != p.Value {
		t.note(p, "the injector is called %s; names of an experiment have letters, digits, - and _", name)
	}
	if first, twice := t.seen[name]; twice {
		t.problem(p, "%s is the name of the proxy in line %d, too", name, first.Line)
	}
	t.seen[name] = p.At
	return name
}

// listen is the loopback address that an injector has in the place of a proxy's.
func (t *toxiproxy) listen(doc []yamldoc.Property, at string) string {
	const anyPort = "127.0.0.1:0"
	p, ok := valueOf(doc, under(at, "listen"))
	if !ok || p.Value == "" {
		p.At = t.lastSeen()
		t.note(p, "is not said; as with Toxiproxy, the system chooses a port, which faultline tells at the start")
		return anyPort
	}
	host, port, err := net.SplitHostPort(p.Value)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil {
		t.problem(p, "%q is not of the form host:port", p.Value)
		return anyPort
	}
	port = strconv.FormatUint(n, 10)
	own := net.JoinHostPort(host, port)
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
		own = net.JoinHostPort("127.0.0.1", port)
		t.note(p, "becomes %s: an injector misbehaves for whoever reaches it, so it listens on loopback only", own)
	}
	if n > 0 && t.ports[port] {
		t.note(p, "becomes %s, so that no two injectors listen on port %s; the port is told at the start", anyPort, port)
		return anyPort
	}
	t.ports[port] = true
	return own
}

// lastSeen is where the proxy stands that was named last.
func (t *toxiproxy) lastSeen() (last yamldoc.Pos) {
	for _, at := range t.seen {
		if at.Line > last.Line || at.Line == last.Line && at.Col > last.Col {
			last = at
		}
	}
	return last
}

// probability reads a toxicity: that of a float of JSON.
func probability(text string) (share, bool) {
	const long = 40 // of a number that says something
	r, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > long || strings.ContainsAny(text, "/_") || strings.ContainsAny(text, "eE") && len(text) > len("1.234567e-06") {
		return share{}, false
	}
	one := big.NewRat(1, 1)
	switch {
	case r.Sign() <= 0:
		return share{0, 1}, true
	case r.Cmp(one) >= 0:
		return always(), true
	case !r.Denom().IsUint64():
		return share{}, false
	}
	return share{r.Num().Uint64(), r.Denom().Uint64()}, true
}

// untabbed has blanks for the tabs between the tokens of JSON, which YAML does not take.
func untabbed(src []byte) []byte {
	out := slices.Clone(src)
	if s := strings.TrimSpace(string(src)); s == "" || s[0] != '{' && s[0] != '[' {
		return out
	}
	for i, b := range out {
		if b == '\t' {
			out[i] = ' '
		}
	}
	return out
}
