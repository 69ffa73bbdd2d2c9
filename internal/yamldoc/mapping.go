package yamldoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Map is a mapping with the keys that its reader knows.
type Map struct {
	Value
	names []string // in the order of the file
	keys  map[string]*yaml.Node
	vals  map[string]*yaml.Node
	asked []string          // known keys
	hints []string          // those of them that may be suggested for an unknown one
	lacks map[string][]int  // by key, problems that follow from its absence
	named map[string]string // schematic forms of keys with a user's name in them
	wrong int               // one above the problem that this is no mapping; 0: it is one, or absent
}

// Entry is a key with its value, of a mapping whose keys are the user's.
type Entry struct {
	Name  string
	Key   Value // stands at the key
	Value Value
}

// Map returns the mapping that the value is. When it is absent or something else
// (which is a problem), all keys are absent and none is missed. The example is a
// right value, for that problem; it may be empty.
func (v Value) Map(example string) *Map {
	m := &Map{
		Value: v,
		keys:  map[string]*yaml.Node{}, vals: map[string]*yaml.Node{}, lacks: map[string][]int{},
	}
	if v.node == nil {
		return m
	}
	if v.node.Kind != yaml.MappingNode {
		want := "a mapping of keys to values"
		if example != "" {
			want = "a mapping such as " + example
		}
		v.wants(want)
		m.node, m.wrong = nil, len(v.doc.problems)
		return m
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		m.put(v.node.Content[i], v.node.Content[i+1])
	}
	return m
}

func (m *Map) put(key, val *yaml.Node) {
	at := m.Value
	at.at = Pos{key.Line, key.Column}
	first, twice := m.keys[key.Value]
	switch {
	case key.Kind != yaml.ScalarNode:
		at.Problemf("a key must be plain text, not %s", describe(key))
	case key.Tag == "!!merge":
		at.Problemf("merge keys (<<) are not part of YAML 1.2; write the keys out, or give the whole value as an alias")
	case twice:
		at.Problemf("key %q is given twice, first in %s", key.Value, m.doc.place(Pos{first.Line, first.Column}))
	default:
		m.names = append(m.names, key.Value)
		m.keys[key.Value], m.vals[key.Value] = key, val
	}
}

// Has reports whether the mapping has a key. It does not ask for it.
func (m *Map) Has(key string) bool { return m.vals[key] != nil }

// Get returns the value of a key, which the mapping may have.
func (m *Map) Get(key string) Value {
	m.ask(key)
	m.hints = append(m.hints, key)
	return m.value(key, m.schematic(key))
}

// Named says that names which the user chose are part of a key, so that the paths of
// [Doc.Keys] have another one in its place, such as *.share for primary.share.
func (m *Map) Named(key, schema string) {
	if m.named == nil {
		m.named = map[string]string{}
	}
	m.named[key] = schema
}

// schematic is a key as it stands in the paths of Doc.Keys.
func (m *Map) schematic(key string) string {
	if schema, ok := m.named[key]; ok {
		return schema
	}
	return key
}

// ask makes a key known.
func (m *Map) ask(key string) {
	m.asked = append(m.asked, key)
	path := join(m.schema, m.schematic(key))
	k := m.doc.keys[path]
	k.Path = path
	if n := m.keys[key]; n != nil && !slices.Contains(k.At, Pos{n.Line, n.Column}) {
		k.At = append(k.At, Pos{n.Line, n.Column})
	}
	m.doc.keys[path] = k
}

// Need returns the value of a key that the mapping must have.
func (m *Map) Need(key string) Value {
	v := m.Get(key)
	if m.node != nil && v.node == nil {
		v.Problemf("is missing")
	}
	return v
}

// Choice asks for keys of which the mapping may have one, and returns which one it
// has, or nothing. More than one is a problem, and the first in the file counts.
func (m *Map) Choice(keys ...string) string {
	var chosen string
	for _, name := range m.names {
		switch {
		case !slices.Contains(keys, name):
		case chosen == "":
			chosen = name
		default:
			m.Key(name).Problemf("%s and %s exclude each other", chosen, name)
		}
	}
	for _, key := range keys {
		m.ask(key)
		if chosen == "" || key == chosen {
			m.hints = append(m.hints, key)
		}
	}
	return chosen
}

// Key returns a value that stands at a key of the mapping, for problems with the
// key itself.
func (m *Map) Key(key string) Value {
	v := m.value(key, m.schematic(key))
	if n := m.keys[key]; n != nil {
		v.at = Pos{n.Line, n.Column}
	}
	return v
}

// Lacks notes a problem at a value that follows from the absence of keys. It is
// taken back if one of them turns out to be misspelt, see [Map.Done].
func (m *Map) Lacks(at Value, keys []string, format string, args ...any) {
	i := m.doc.add(at.at, at.path, fmt.Sprintf(format, args...))
	for _, key := range keys {
		m.lack(i, key)
	}
}

// lack remembers that the i-th problem follows from the absence of a key.
func (m *Map) lack(i int, key string) { m.lacks[key] = append(m.lacks[key], i) }

// Done notes the keys that were not asked for. One that is near a key whose absence
// was a problem is taken for it, misspelt: then that problem is not told, as it
// has no cause of its own. Where something else stands instead of the mapping,
// Done adds the known keys to that problem.
func (m *Map) Done() { m.done(Hint) }

// DoneListing is Done for keys that are so much alike that the nearest one says
// little: all of them are listed for an unknown one.
func (m *Map) DoneListing() { m.done(listed) }

func (m *Map) done(hint func(string, []string) string) {
	if m.wrong > 0 {
		m.doc.problems[m.wrong-1].Message += keysAre(m.hints)
	}
	for _, name := range m.Unknown() {
		near := Nearest(name, slices.Sorted(maps.Keys(m.lacks)))
		if near == "" {
			m.Key(name).Problemf("unknown key%s", hint(name, m.hints))
			continue
		}
		m.Key(name).Problemf("unknown key; did you mean %q?", near)
		for _, i := range m.lacks[near] {
			m.doc.problems[i].Message = "" // taken back
		}
	}
}

// keysAre continues a sentence with the keys of a mapping.
func keysAre(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "; its keys are " + list(keys)
}

// Unknown returns the keys that were not asked for, in the order of the file.
func (m *Map) Unknown() []string {
	var names []string
	for _, name := range m.names {
		if !slices.Contains(m.asked, name) {
			names = append(names, name)
		}
	}
	return names
}

// Misspelt reports whether an unknown key is near to one that is absent. It is asked
// after all keys.
func (m *Map) Misspelt(key string) bool {
	return !m.Has(key) && slices.ContainsFunc(m.Unknown(), func(name string) bool { return Nearest(name, []string{key}) != "" })
}

// Entries returns what is in a mapping whose keys are names that the user chose,
// in the order of the file. A path of [Doc.Set] leads to names that are there.
func (m *Map) Entries() []Entry {
	var entries []Entry
	for i, name := range m.names {
		if m.doc.onWay[m.keys[name]] {
			m.Key(name).Problemf("is not there%s", Hint(name, m.names[:i]))
			continue
		}
		entries = append(entries, Entry{Name: name, Key: m.Key(name), Value: m.value(name, "*")})
	}
	return entries
}

func (m *Map) value(key, schema string) Value {
	return Value{
		doc: m.doc, node: m.vals[key], at: m.at,
		path:   join(m.path, key),
		schema: join(m.schema, schema),
		in:     m, key: key,
	}.here()
}

func join(path, key string) string {
	return strings.TrimPrefix(path+"."+key, ".")
}
