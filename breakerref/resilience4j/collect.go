package resilience4j

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// raw collects what is written below one name before it is known what counts. Names that
// Spring takes for the same, such as myName and my-name, are spellings of one.
type raw struct {
	module    Module
	section   string                  // configs, instances, backends or limiters
	spellings []element               // in the order of the file
	found     map[string][]occurrence // by the uniform name of the key
	at        Pos
}

// occurrence is a property in one of the sources.
type occurrence struct {
	source int // 0 is the one that holds
	prop   prop
	rest   []element // what is below the key
}

// collect sorts the properties of all sources into blocks.
func (f *File) collect() {
	raws := map[string]*raw{}
	var order []*raw
	for i, source := range slices.Backward(f.sources) {
		for _, p := range source.props {
			m, rest, ok := f.module(p)
			if !ok || !f.section(m, p, rest) {
				continue
			}
			id := fmt.Sprintf("%v\x00%s\x00%s", m, rest[0].uniform(), rest[1].uniform())
			b := raws[id]
			if b == nil {
				b = &raw{module: m, section: rest[0].uniform(), found: map[string][]occurrence{}, at: p.pos}
				raws[id] = b
				order = append(order, b)
			}
			if !slices.ContainsFunc(b.spellings, func(e element) bool { return e.original() == rest[1].original() }) {
				b.spellings = append(b.spellings, rest[1])
			}
			key := rest[2].uniform()
			b.found[key] = append(b.found[key], occurrence{i, p, rest[3:]})
			f.check(m, p, rest[2], rest[3:])
		}
	}
	for _, b := range order {
		f.settle(b)
	}
	f.aspects()
}

// module says which module a property is of, and what of its path is left.
func (f *File) module(p prop) (Module, []element, bool) {
	if len(p.path) < 3 || p.path[0].uniform() != "resilience4j" {
		return 0, nil, false
	}
	var names []string
	for _, m := range Modules() {
		if uniform(m.String()) == p.path[1].uniform() {
			return m, p.path[2:], true
		}
		names = append(names, m.String())
	}
	if other := p.path[1].uniform(); other != "micrometer" && other != "scheduled" {
		f.problem(p, Unknown, "%s is not a module of resilience4j%s", p.path[1].text, yamldoc.Hint(p.path[1].text, names))
	}
	return 0, nil, false
}

// section reports whether a path leads into a block.
func (f *File) section(m Module, p prop, rest []element) bool {
	name := rest[0].uniform()
	switch {
	case name == "tags" || name == "metrics" || isOrder(m, name):
		return false // They do not change what a block does.
	case !slices.Contains(sections(m), name):
		f.problem(p, Unknown, "%s is not a key of resilience4j.%v%s", rest[0].text, m, yamldoc.Hint(rest[0].text, sections(m)))
		return false
	case len(rest) < 3:
		f.problem(p, Refused, "%s has names below it, and properties below those", rest[0].text)
		return false
	case rest[1].uniform() == "":
		f.problem(p, Refused, "%q is no name; write it in brackets, as \"[%s]\"", rest[1].text, rest[1].text)
		return false
	}
	return true
}

// check tells of a key that Spring passes over.
func (f *File) check(m Module, p prop, key element, below []element) {
	known, ok := find(m, key.uniform())
	since, instead := removed(m, key.uniform())
	switch {
	case ok && len(below) == 0, ok && known.kind == classes && len(below) == 1 && below[0].bracket:
	case ok:
		f.problem(p, Unknown, "%s is one value, and has nothing below it", key.text)
	case since != "":
		f.problem(p, Removed, "%s is not a property of %s; it was removed in %s: use %s", key.text, m.noun(), since, instead)
	default:
		f.problem(p, Unknown, "%s is not a property of %s%s", key.text, m.noun(), yamldoc.Hint(key.text, keys(m)))
	}
}

// settle makes blocks of what was collected, one for each spelling of the name.
func (f *File) settle(r *raw) {
	m := f.modules[r.module]
	if m == nil {
		m = &module{instances: map[string]*block{}, configs: map[string]*block{}}
		f.modules[r.module] = m
	}
	for i, e := range r.spellings {
		b := &block{config: r.section == "configs", section: r.section, name: e.original(), at: r.at, held: map[string]held{}}
		b.dashed = "resilience4j." + r.module.String() + "." + r.section + e.dashed()
		out := Block{Module: r.module, Config: b.config, Name: b.name, At: r.at}
		noted := len(f.problems)
		for _, p := range properties(r.module) {
			if h, written := f.value(b, p, r.found[uniform(p.key)]); written {
				out.Settings = append(out.Settings, Setting{Key: p.key, Value: h.text, Origin: h.origin})
			}
		}
		if i > 0 {
			f.problems = f.problems[:noted] // They were told of the first spelling.
		}
		slices.SortStableFunc(out.Settings, func(a, b Setting) int { return a.Origin.Pos.compare(b.Origin.Pos) })
		f.blocks = append(f.blocks, out)
		if len(b.held) > 0 {
			m.put(b)
		}
	}
}

// put keeps a block under its name. Of two sections that have the same name, Spring keeps
// the block of the one that comes later in the alphabet, and nothing of the other's.
func (m *module) put(b *block) {
	into := m.instances
	if b.config {
		into = m.configs
	}
	if old := into[b.name]; old == nil || old.section <= b.section {
		into[b.name] = b
	}
}

// value converts what holds of a property. It reports whether it is written at all.
func (f *File) value(b *block, p property, found []occurrence) (held, bool) {
	found = slices.DeleteFunc(slices.Clone(found), func(o occurrence) bool {
		return len(o.rest) > 0 && (p.kind != classes || len(o.rest) > 1 || !o.rest[0].bracket)
	})
	if len(found) == 0 {
		return held{}, false
	}
	top := slices.MinFunc(found, func(a, b occurrence) int { return a.source - b.source }).source
	found = slices.DeleteFunc(found, func(o occurrence) bool { return o.source != top })
	dashed := b.dashed + "." + kebab(p.key)
	first := found[max(0, chosen(found, dashed))].prop
	origin := Origin{Source: FromInstance, Pos: first.pos}
	if b.config {
		origin = Origin{Source: FromConfig, Config: b.name, Pos: first.pos}
	}
	v, err := f.one(p, found, dashed)
	switch {
	case err != nil:
		return held{value{text: first.raw.text}, first.key, origin}, true
	case !v.null:
		b.held[uniform(p.key)] = held{v, first.key, origin}
	}
	return held{v, first.key, origin}, true
}

// chosen returns which of several spellings of a key Spring takes: the one with hyphens,
// else the first one in a HashSet of Java; whole values before items of lists.
func chosen(found []occurrence, dashed string) int {
	names := make([]string, 0, len(found))
	for _, o := range found {
		if len(o.rest) == 0 {
			names = append(names, o.prop.key)
		}
	}
	if len(names) == 0 {
		return slices.IndexFunc(found, func(o occurrence) bool { return o.rest[0].index() == 0 })
	}
	first := preferred(names, dashed)
	return slices.IndexFunc(found, func(o occurrence) bool { return len(o.rest) == 0 && o.prop.key == first })
}

// one converts the value of a property in one source, and notes what is wrong with it.
func (f *File) one(p property, found []occurrence, dashed string) (value, error) {
	whole := chosen(found, dashed)
	if whole < 0 || len(found[whole].rest) > 0 {
		return f.list(found)
	}
	at := found[whole].prop
	s, err := f.expand(at.raw)
	if err != nil {
		f.problem(at, Unresolved, "%v", err)
		return value{}, err
	}
	v, err := p.convert(s)
	if err != nil {
		f.problem(at, Refused, "%s is %q, %v", p.key, s.text, err)
	}
	return v, err
}

// list reads the items of a list that stand one by one.
func (f *File) list(found []occurrence) (value, error) {
	items := make([]string, len(found))
	for _, o := range found {
		i := o.rest[0].index()
		if i < 0 || i >= len(items) {
			err := fmt.Errorf("the list has an item [%s], but not all before it", o.rest[0].text)
			f.problem(o.prop, Refused, "%v", err)
			return value{}, err
		}
		s, err := f.expand(o.prop.raw)
		if err != nil {
			f.problem(o.prop, Unresolved, "%v", err)
			return value{}, err
		}
		if items[i] = strings.TrimSpace(s.text); items[i] == "" {
			err := fmt.Errorf("item %d of the list is empty", i)
			f.problem(o.prop, Refused, "%v", err)
			return value{}, err
		}
	}
	return listed(items), nil
}
