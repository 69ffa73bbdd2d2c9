package resilience4j

import (
	"fmt"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// layers is what an instance or a config is made of: by the uniform names of the
// properties.
type layers map[string]held

// resolveAll creates everything once, as a starting application does, and notes what
// keeps it from starting.
func (f *File) resolveAll() {}

// Effective returns all properties of an instance, in a fixed order, each with its origin.
// The error says that there is no such instance, or why it cannot be.
func (f *File) Effective(m Module, instance string) ([]Setting, error) {
	l, err := f.resolve(m, instance)
	if err != nil {
		return nil, err
	}
	var out []Setting
	for _, p := range properties(m) {
		h := l[uniform(p.key)]
		if h.text == "" && h.origin.Source == FromLibrary {
			h.text = p.def
		}
		out = append(out, Setting{Key: p.key, Value: h.text, Origin: h.origin})
	}
	return out, nil
}

// resolve lays the blocks of an instance over one another.
func (f *File) resolve(m Module, instance string) (layers, error) {
	blocks, err := f.chainOf(m, instance)
	if err != nil {
		return nil, err
	}
	l := layers{}
	for _, b := range blocks {
		if err := l.lay(m, b); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// chainOf returns what an instance is made of, the most general first.
func (f *File) chainOf(m Module, instance string) ([]*block, error) {
	mod := f.modules[m]
	if mod == nil || mod.instances[instance] == nil {
		return nil, fmt.Errorf("%s: resilience4j.%v.instances has no %q%s", f.name, m, instance, yamldoc.Hint(instance, f.Instances(m)))
	}
	own := mod.instances[instance]
	out, name, b := []*block{own}, instance, own
	for range len(mod.configs) + 2 {
		next, config, err := f.next(m, name, b)
		if err != nil || config == nil {
			return out, err
		}
		out = append([]*block{config}, out...)
		if m == CircuitBreaker && next == name {
			return out, nil // A config of the instance's own name is not followed further.
		}
		name, b = next, config
	}
	at := b.held["baseconfig"].origin.Pos
	return nil, Problem{Pos: at, Kind: Cycle, Text: fmt.Sprintf("the config %q is based on itself", name)}
}

// next returns the config that a block is based on, or nothing.
func (f *File) next(m Module, name string, b *block) (string, *block, error) {
	configs := f.modules[m].configs
	if base, said := b.held["baseconfig"]; said {
		config := configs[base.text]
		switch {
		case m == CircuitBreaker && base.text == name:
			return "", nil, Problem{Pos: base.origin.Pos, Kind: Cycle, Text: fmt.Sprintf("the config %q is based on itself", name)}
		case config == nil:
			return "", nil, Problem{Pos: base.origin.Pos, Kind: Missing, Text: fmt.Sprintf("there is no config %q%s", base.text, yamldoc.Hint(base.text, f.Configs(m)))}
		}
		return base.text, config, nil
	}
	switch {
	case m == CircuitBreaker && b.config:
		return "", nil, nil
	case m == CircuitBreaker && configs[name] != nil:
		return name, configs[name], nil
	case name != "default" && configs["default"] != nil:
		return "default", configs["default"], nil
	}
	return "", nil, nil
}

// intervals are the properties that make an interval function together, the wait first.
func intervals(m Module) []string {
	switch m {
	case CircuitBreaker:
		return []string{"waitdurationinopenstate", "enableexponentialbackoff", "exponentialbackoffmultiplier", "exponentialmaxwaitdurationinopenstate", "enablerandomizedwait", "randomizedwaitfactor"}
	case Retry:
		return []string{"waitduration", "enableexponentialbackoff", "exponentialbackoffmultiplier", "exponentialmaxwaitduration", "enablerandomizedwait", "randomizedwaitfactor"}
	case Bulkhead, ThreadPoolBulkhead, RateLimiter, TimeLimiter:
	}
	return nil
}

// lay lays a block over what is there.
func (l layers) lay(m Module, b *block) error {
	group := map[string]bool{}
	for _, key := range intervals(m) {
		group[key] = true
	}
	for key, h := range b.held {
		if !group[key] {
			l[key] = h
		}
	}
	if len(group) > 0 {
		return l.interval(m, b)
	}
	return nil
}

// interval makes the interval function of a block. Without a wait of its own, a block
// leaves the function as it is.
func (l layers) interval(m Module, b *block) error {
	names := intervals(m)
	random := b.held["enablerandomizedwait"]
	if m == CircuitBreaker && random.yes && b.held["enableexponentialbackoff"].yes {
		return Problem{Pos: random.origin.Pos, Kind: Refused, Text: "enableRandomizedWait and enableExponentialBackoff as well: a circuit breaker takes one of them"}
	}
	wait, said := b.held[names[0]]
	if !said {
		return nil
	}
	for _, key := range names {
		delete(l, key)
	}
	l[names[0]] = wait
	for _, key := range names[1:] {
		if h, ok := b.held[key]; ok {
			l[key] = h
		}
	}
	return nil
}
