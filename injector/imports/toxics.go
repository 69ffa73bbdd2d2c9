package imports

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// toxic is one of a proxy.
type toxic struct {
	at       yamldoc.Property // its type
	down     int              // 1: of what the upstream sends
	toxicity share
	attrs    map[string]int64
}

// attributes are those of each type, and in which unit a time of it is counted.
func attributes() map[string]map[string]time.Duration {
	const size = 0
	return map[string]map[string]time.Duration{
		"latency":    {"latency": time.Millisecond, "jitter": time.Millisecond},
		"bandwidth":  {"rate": size},
		"slow_close": {"delay": time.Millisecond},
		"timeout":    {"timeout": time.Millisecond},
		"reset_peer": {"timeout": time.Millisecond},
		"slicer":     {"average_size": size, "size_variation": size, "delay": time.Microsecond},
		"limit_data": {"bytes": size},
		"noop":       {},
	}
}

// toxics reads those of a proxy, in their order.
func (t *toxiproxy) toxics(doc []yamldoc.Property, list string) []toxic {
	var all []toxic
	names := map[string]bool{}
	for _, at := range items(doc, list) {
		props := below(doc, at)
		if !t.told && strings.HasPrefix(list, "[") {
			t.told = true
			t.note(yamldoc.Property{Key: list, At: props[0].At},
				"Toxiproxy's server reads proxies from a file and ignores their toxics, which clients add; here they are in force")
		}
		x, ok := t.toxic(props, at)
		name := x.at.Value + "_" + []string{"upstream", "downstream"}[x.down]
		if p, named := valueOf(props, under(at, "name")); named && p.Value != "" {
			name = p.Value
		}
		if names[name] {
			t.problem(x.at, "is the second toxic of its proxy with the name %s, which Toxiproxy does not take", name)
		}
		names[name] = true
		if ok {
			all = append(all, x)
		}
	}
	return all
}

// toxic reads one; false: it has no effect, or none that can be had.
func (t *toxiproxy) toxic(props []yamldoc.Property, at string) (toxic, bool) {
	x := toxic{down: 1, toxicity: always(), attrs: map[string]int64{}}
	kind, ok := valueOf(props, under(at, "type"))
	if x.at = kind; !ok {
		x.at.At = props[0].At
		t.problem(x.at, "is missing; Toxiproxy takes no toxic without a type")
		return x, false
	}
	known, ok := attributes()[kind.Value]
	if !ok {
		t.note(kind, "%q is no toxic of Toxiproxy itself; what it does is not known, and it is left out", kind.Value)
		return x, false
	}
	for _, p := range props {
		rest := strings.ToLower(strings.TrimPrefix(p.Key, at+"."))
		name, isAttribute := strings.CutPrefix(rest, "attributes.")
		unit, isKnown := known[name]
		switch {
		case isAttribute && isKnown:
			x.attrs[name] = t.attribute(p, unit)
		case isAttribute:
			t.note(p, "is no attribute of %s; Toxiproxy ignores it, and it is left out", kind.Value)
		case rest == "stream":
			x.down = slices.Index([]string{"upstream", "downstream"}, strings.ToLower(p.Value))
			if x.down < 0 {
				t.problem(p, "%q is neither upstream nor downstream", p.Value)
				x.down = 1
			}
		case rest == "toxicity":
			x.toxicity = t.toxicity(p, kind.Value)
		case rest != "name" && rest != "type":
			t.note(p, "is no key of a toxic; Toxiproxy ignores it, and it is left out")
		}
	}
	return x, t.sensible(x) && !x.toxicity.none()
}

// attribute reads a whole number; one of time is checked to be no longer than a year.
func (t *toxiproxy) attribute(p yamldoc.Property, unit time.Duration) int64 {
	n, err := strconv.ParseInt(p.Value, 10, 64)
	const year = 365 * 24 * time.Hour
	switch {
	case err != nil:
		t.problem(p, "%q is no whole number", p.Value)
	case n < 0:
		t.problem(p, "%d is negative", n)
	case unit > 0 && n > int64(year/unit):
		t.problem(p, "%d is more than a year", n)
	case unit == 0 && n > math.MaxInt64/1000:
		t.problem(p, "%d is more than can be counted", n)
	default:
		return n
	}
	return 1
}

// toxicity reads a probability.
func (t *toxiproxy) toxicity(p yamldoc.Property, kind string) share {
	s, ok := probability(p.Value)
	switch {
	case !ok:
		t.problem(p, "%q is no probability from 0 to 1", p.Value)
		return always()
	case s.none():
		t.note(p, "the toxic hits nothing and is left out")
	case s != always():
		t.note(p, "Toxiproxy draws each connection by chance, and each of its directions by itself; here exactly %d of %d connections are hit, evenly spread", s.num, s.den)
	}
	if kind == "reset_peer" && s != always() {
		t.note(p, "Toxiproxy has every connection end by RST once it has such a toxic, whatever its toxicity (its issue 603); here only those that are hit")
	}
	return s
}

// sensible tells what Toxiproxy itself comes to grief with; false: the toxic is left out.
func (t *toxiproxy) sensible(x toxic) bool {
	switch x.at.Value {
	case "slicer":
		if x.attrs["average_size"] < 1 {
			t.problem(x.at, "needs an average_size of at least 1 byte; Toxiproxy would never end slicing")
		}
	case "slow_close":
		t.note(x.at, "slow_close has no equivalent and is left out: an end of one side is passed on when all before it has been")
		return false
	case "noop":
		t.note(x.at, "noop does nothing, neither there nor here")
		return false
	case "latency":
		return x.attrs["latency"]+x.attrs["jitter"] > 0
	}
	return true
}

// chanced is how many toxics of a proxy may depend on chance: each doubles the faults.
const chanced = 6

// rules are the faults of a proxy: one for each set of toxics that chance may choose.
func (t *toxiproxy) rules(toxics []toxic) []fault.Rule {
	t.compose(toxics, true)
	var parts []part
	for n, x := range toxics {
		if x.toxicity != always() {
			parts = append(parts, part{x.toxicity, n})
		}
	}
	if len(parts) > chanced {
		t.problem(toxics[len(toxics)-1].at, "is one of %d toxics with a toxicity below 1; at most %d can be told apart", len(parts), chanced)
		return nil
	}
	var rules []fault.Rule
	ok := outcomes(parts, func(happen []int, s share) {
		var active []toxic
		for n, x := range toxics {
			if x.toxicity == always() || slices.Contains(happen, n) {
				active = append(active, x)
			}
		}
		if tcp := t.compose(active, false); tcp != (fault.TCP{}) {
			rules = append(rules, fault.Rule{Action: fault.ActionTCP, TCP: &tcp, Select: s.selects()})
		}
	})
	if !ok {
		t.problem(toxics[0].at, "has a proxy whose toxicities together are too fine to be kept exactly; write them with fewer decimals")
	}
	return merged(rules)
}

// compose is what toxics come to that are in force together; aloud: with notes.
func (t *toxiproxy) compose(toxics []toxic, aloud bool) fault.TCP {
	c := composition{tell: func(toxic, string, ...any) {}}
	if aloud {
		c.tell = func(x toxic, format string, args ...any) { t.note(x.at, format, args...) }
	}
	for down := range c.lanes {
		c.lanes[down] = &laneOf{composition: &c}
		for _, x := range toxics {
			if x.down == down {
				c.lanes[down].add(x)
			}
		}
	}
	return fault.TCP{Up: c.lanes[0].stream(), Down: c.lanes[1].stream(), Life: c.life}
}
