package resilience4j

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// layers is what an instance or a config is made of: values by the uniform names of the
// properties.
type layers map[string]held

// outcome is an instance that was created, or why it cannot be.
type outcome struct {
	layers
	err error
}

// deepest is how many configs may be based on one another before it is a cycle, which
// overflows the library's stack.
const deepest = 100

// creation plays how a starting application creates all configs, and then all instances,
// of a module. That leaves traces: some properties are filled in, from what a block is
// based on into the block itself, where whoever comes later finds them.
type creation struct {
	module Module
	file   *File
	mod    *module
	state  map[*block]map[string]held
	depth  int
	failed []Problem
}

// createAll creates everything, and notes what keeps the application from starting, and
// what would be otherwise in another order.
func (f *File) createAll() {
	for _, m := range Modules() {
		mod := f.modules[m]
		if mod == nil {
			continue
		}
		var others []map[string]outcome
		for i, order := range mod.sequences() {
			c := creation{module: m, file: f, mod: mod, state: map[*block]map[string]held{}}
			created := c.all(order)
			if i == 0 {
				mod.created = created
				f.problems = append(f.problems, c.failed...)
				continue
			}
			others = append(others, created)
		}
		f.undecided(m, others)
	}
}

// sequence is an order of creation.
type sequence struct{ configs, instances []string }

// sequences returns the order in which Java 17 creates, and others that are possible.
func (m *module) sequences() []sequence {
	configs, instances := slices.Sorted(maps.Keys(m.configs)), slices.Sorted(maps.Keys(m.instances))
	of, by := hashMapSizes(len(configs)), hashMapSizes(len(instances))
	java17 := sequence{hashOrder(configs, of[0]), hashOrder(instances, by[0])}
	java21 := sequence{hashOrder(configs, of[1]), hashOrder(instances, by[1])}
	back := sequence{slices.Clone(java17.configs), slices.Clone(java17.instances)}
	slices.Reverse(back.configs)
	slices.Reverse(back.instances)
	return []sequence{java17, java21, back, {java17.configs, back.instances}, {back.configs, java17.instances}}
}

// all creates in an order.
func (c *creation) all(order sequence) map[string]outcome {
	for _, name := range order.configs {
		_, err := c.create(name, c.mod.configs[name])
		c.note(err)
	}
	out := map[string]outcome{}
	for _, name := range order.instances {
		b := c.mod.instances[name]
		if c.module == ThreadPoolBulkhead {
			c.fill(b, c.mod.configs["default"]) // This module alone looks it up before, too.
		}
		l, err := c.create(name, b)
		c.note(err)
		if err == nil {
			c.fill(b, c.mod.configs["default"]) // As it is looked up for its events and its health.
			for _, p := range properties(c.module) {
				if h, ok := c.state[b][uniform(p.key)]; ok && p.merge && !slices.Contains(intervals(c.module), uniform(p.key)) {
					l[uniform(p.key)] = h
				}
			}
		}
		out[name] = outcome{l, err}
	}
	return out
}

func (c *creation) note(err error) {
	if p, ok := errors.AsType[Problem](err); ok {
		c.failed = append(c.failed, p)
	}
}

// of returns what a block has by now.
func (c *creation) of(b *block) map[string]held {
	if c.state[b] == nil {
		c.state[b] = maps.Clone(b.held)
	}
	return c.state[b]
}

// fill fills in what the library merges in place.
func (c *creation) fill(b, from *block) {
	if from == nil {
		return
	}
	to, has := c.of(b), c.of(from)
	for _, p := range properties(c.module) {
		key := uniform(p.key)
		if _, own := to[key]; p.merge && !own {
			if h, ok := has[key]; ok {
				to[key] = h
			}
		}
	}
}

// create makes the configuration of a block, after that of what it is based on.
func (c *creation) create(name string, b *block) (layers, error) {
	c.depth++
	defer func() { c.depth-- }()
	base, from, err := c.base(name, b)
	if err != nil {
		return nil, err
	}
	l := layers{}
	if from != nil {
		c.fill(b, from)
		if c.module == CircuitBreaker && base == name && b.held["baseconfig"].text == "" {
			err = c.lay(l, from) // A config of the block's own name is not followed further.
		} else {
			l, err = c.create(base, from)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, c.lay(l, b)
}

// base returns the config that a block is based on, or nothing.
func (c *creation) base(name string, b *block) (string, *block, error) {
	configs := c.mod.configs
	if said := b.held["baseconfig"]; said.text != "" {
		config := configs[said.text]
		at := Problem{Pos: said.origin.Pos, Key: said.key}
		switch {
		case c.module == CircuitBreaker && said.text == name, config != nil && c.depth > deepest:
			at.Kind, at.Text = Cycle, fmt.Sprintf("the config %q is based on itself", said.text)
			return "", nil, at
		case config == nil:
			at.Kind, at.Text = Missing, fmt.Sprintf("there is no config %q%s", said.text, yamldoc.Hint(said.text, slices.Sorted(maps.Keys(configs))))
			return "", nil, at
		}
		return said.text, config, nil
	}
	switch {
	case c.module == CircuitBreaker && configs[name] != nil:
		return name, configs[name], nil
	case c.module == CircuitBreaker && b.config:
		return "default", configs["default"], nil
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

// lay lays a block over what is there. What is merged in place is no part of it, but for
// what makes the interval function.
func (c *creation) lay(l layers, b *block) error {
	has, group := c.of(b), intervals(c.module)
	for _, p := range properties(c.module) {
		key := uniform(p.key)
		if h, ok := has[key]; ok && !p.merge && !slices.Contains(group, key) && c.counts(p, h) {
			l[key] = h
		}
	}
	if len(group) > 0 {
		if err := c.interval(l, has); err != nil {
			return err
		}
	}
	return c.whole(l)
}

// counts reports whether a value is one: a size of a thread pool that is too small is none.
func (c *creation) counts(p property, h held) bool {
	if c.module != ThreadPoolBulkhead || p.kind != integer {
		return true
	}
	return h.num > 0 || h.num == 0 && p.key == "queueCapacity"
}

// interval makes the interval function of a block. Without a wait of its own, a block
// leaves the function as it is.
func (c *creation) interval(l layers, has map[string]held) error {
	names := intervals(c.module)
	random := has[names[4]]
	if c.module == CircuitBreaker && random.yes && has[names[1]].yes {
		return refused(random, "enableRandomizedWait and enableExponentialBackoff as well: a circuit breaker takes one of them")
	}
	wait, said := has[names[0]]
	if !said {
		return nil
	}
	for _, key := range names {
		delete(l, key)
		if h, ok := has[key]; ok {
			l[key] = h
		}
	}
	most := l[names[3]]
	g := l.growth(c.module)
	switch {
	case g.multiplier == 0 && g.random == 0:
	case g.bounded && most.dur.Milliseconds() < 1:
		return refused(most, "%s is %q, must be at least 1ms", last(most.key), most.text)
	case !g.bounded && wait.dur.Milliseconds() < 1:
		return refused(wait, "%s is %q, must be at least 1ms where it grows or varies", last(wait.key), wait.text)
	}
	return nil
}

// whole checks what the library checks of a configuration as a whole.
func (c *creation) whole(l layers) error {
	if c.module != ThreadPoolBulkhead {
		return nil
	}
	core, said := l["corethreadpoolsize"]
	if most, ok := l["maxthreadpoolsize"]; ok && said && most.num < core.num {
		return refused(most, "maxThreadPoolSize is %q, must be at least coreThreadPoolSize, %s", most.text, core.text)
	}
	return nil
}

func refused(h held, format string, args ...any) error {
	return Problem{Pos: h.origin.Pos, Kind: Refused, Key: h.key, Text: fmt.Sprintf(format, args...)}
}

// last returns the last part of a key.
func last(key string) string {
	path := elements(key)
	return path[len(path)-1].text
}

// undecided notes what would be otherwise in another order of creation.
func (f *File) undecided(m Module, others []map[string]outcome) {
	for _, name := range f.Instances(m) {
		mine := f.modules[m].created[name]
		for _, p := range properties(m) {
			key := uniform(p.key)
			if slices.ContainsFunc(others, func(o map[string]outcome) bool {
				return o[name].err == nil && o[name].layers[key].text != mine.layers[key].text
			}) {
				b := f.modules[m].instances[name]
				f.problems = append(f.problems, Problem{
					Pos: b.at, Kind: Undecided, Key: "resilience4j." + m.String() + ".instances." + name,
					Text: fmt.Sprintf("%s depends on the order in which the library creates its configs and instances; say it in the instance", p.key),
				})
			}
		}
	}
}

// Effective returns all properties of an instance, in a fixed order, each with its origin.
// Where the order of creation decides (see [Undecided]), it is that of Java 17. The error says
// that there is no such instance, or why it cannot be.
func (f *File) Effective(m Module, instance string) ([]Setting, error) {
	l, err := f.resolve(m, instance)
	if err != nil {
		return nil, err
	}
	var out []Setting
	for _, p := range properties(m) {
		h, said := l[uniform(p.key)]
		if !said {
			h.text = p.def
		}
		out = append(out, Setting{Key: p.key, Value: h.text, Origin: h.origin})
	}
	return l.inForce(m, out), nil
}

// inForce corrects the settings of the interval function to what the library makes of them.
func (l layers) inForce(m Module, all []Setting) []Setting {
	names := intervals(m)
	if len(names) == 0 {
		return all
	}
	g, wait := l.growth(m), l[names[0]].origin
	for i, s := range all {
		switch key := uniform(s.Key); {
		case (key == names[1] || key == names[4]) && s.Origin.Source == FromLibrary:
			all[i].Origin = wait // The wait's block decides it.
		case key == names[2]:
			all[i] = effective(s, g.multiplier != 0, number(g.multiplier))
		case key == names[3]:
			all[i] = effective(s, g.bounded, s.Value)
		case key == names[5]:
			all[i] = effective(s, g.random != 0 || l[names[4]].yes, number(g.random))
		}
	}
	return all
}

// effective is a setting that is in force with a value, which may be the library's in
// place of the one that is written, or is not.
func effective(s Setting, in bool, value string) Setting {
	switch {
	case !in:
		return Setting{Key: s.Key}
	case s.Value != value:
		return Setting{Key: s.Key, Value: value}
	}
	return s
}

// resolve returns what an instance is made of.
func (f *File) resolve(m Module, instance string) (layers, error) {
	if mod := f.modules[m]; mod != nil {
		if o, ok := mod.created[instance]; ok {
			return o.layers, o.err
		}
	}
	return nil, fmt.Errorf("%s: resilience4j.%v.instances has no %q%s", f.name, m, instance, yamldoc.Hint(instance, f.Instances(m)))
}
