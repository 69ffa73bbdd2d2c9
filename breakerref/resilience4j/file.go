package resilience4j

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// File is what a file says of Resilience4j.
type File struct {
	name     string
	sources  []source // the active documents, the last one first: what it says holds
	env      func(name string) (string, bool)
	modules  map[Module]*module
	blocks   []Block
	orders   []Aspect
	problems []Problem
}

// Options say which parts of a file count and what it refers to.
type Options struct {
	Profiles []string                         // the active ones, documents for others are left out; none: those that the file makes active, or default
	Env      func(name string) (string, bool) // what ${NAME} stands for; nil: nothing is set
}

// source is a document: its properties in their order, and by their comparable names.
type source struct {
	props  []prop
	byName map[string][]prop
}

// prop is a property as it is written.
type prop struct {
	key  string
	path []element
	raw  scalar
	pos  Pos
	dup  bool   // it stands a second time where it may stand once
	tag  string // of YAML, that Spring does not know
}

// module is what is said of one kind of policy. An instance's name may be spelt in several
// ways; all of them then share a block.
type module struct {
	instances map[string]*block
	configs   map[string]*block
	created   map[string]outcome // of the instances
}

// block is what stands below one name, by the uniform names of the properties.
type block struct {
	config  bool
	section string
	name    string
	dashed  string // the path to it, as Spring asks for it
	at      Pos
	held    map[string]held
}

// held is a value and where it came from.
type held struct {
	value
	key    string // as written
	origin Origin
}

// Read reads a file: YAML, or properties if its name ends in .properties. The error says
// that it is not YAML, or cannot be read as properties. What is wrong with what it says is told by
// [File.Problems] and [File.Err].
func Read(name string, src []byte, opt Options) (*File, error) {
	docs, err := documents(name, src)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, env: opt.Env, modules: map[Module]*module{}}
	profiles := profilesOf(docs, opt.Profiles)
	for _, doc := range docs {
		f.readable(doc)
		if f.active(doc, profiles) {
			f.sources = append(f.sources, newSource(doc))
		}
	}
	slices.Reverse(f.sources)
	f.collect()
	f.createAll()
	slices.SortStableFunc(f.problems, func(a, b Problem) int { return a.Pos.compare(b.Pos) })
	f.problems = slices.Compact(f.problems)
	return f, nil
}

// documents reads the properties of each document.
func documents(name string, src []byte) ([][]prop, error) {
	if strings.HasSuffix(strings.ToLower(name), ".properties") {
		return readProperties(name, src)
	}
	docs, err := yamldoc.SpringProperties(name, src)
	if err != nil {
		return nil, err
	}
	out := make([][]prop, len(docs))
	for i, doc := range docs {
		for _, p := range doc {
			if len(elements(p.Key)) == 0 {
				continue
			}
			s := scalar{text: p.Value, yaml: p.Type}
			out[i] = append(out[i], prop{key: p.Key, path: elements(p.Key), raw: s, pos: Pos{name, p.At.Line, p.At.Col}, dup: p.Again, tag: foreign(p.Tag)})
		}
	}
	return out, nil
}

// readable tells of what keeps Spring from reading the file at all, wherever it stands.
func (f *File) readable(doc []prop) {
	for _, p := range doc {
		switch {
		case p.dup:
			f.problem(p, Refused, "%s is given twice, or something above it is", p.key)
		case p.tag != "":
			f.problem(p, Refused, "%s has the tag %s, which Spring does not know; put the value in quotes", p.key, p.tag)
		}
	}
}

// foreign returns a tag unless it is one of YAML's own types.
func foreign(tag string) string {
	switch tag {
	case "", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return ""
	}
	return tag
}

func newSource(doc []prop) source {
	s := source{byName: map[string][]prop{}}
	for _, p := range doc {
		// A key that is written twice is one, with the last value.
		if i := slices.IndexFunc(s.props, func(q prop) bool { return q.key == p.key }); i >= 0 {
			s.props[i] = p
		} else {
			s.props = append(s.props, p)
		}
	}
	for _, p := range s.props {
		s.byName[join(p.path)] = append(s.byName[join(p.path)], p)
	}
	return s
}

// Problems returns everything that is wrong with the file or surprising, by position.
func (f *File) Problems() []Problem { return slices.Clone(f.problems) }

// Err returns nil, or all problems joined, one a line. That a value depends on the order
// of creation is none of them.
func (f *File) Err() error {
	var all []error
	for _, p := range f.problems {
		if p.Kind != Undecided {
			all = append(all, p)
		}
	}
	return errors.Join(all...)
}

func (f *File) problem(p prop, k ProblemKind, format string, args ...any) {
	f.problems = append(f.problems, Problem{Pos: p.pos, Kind: k, Key: p.key, Text: fmt.Sprintf(format, args...)})
}

// Blocks returns what is said of each instance and each config, in the order of the file.
func (f *File) Blocks() []Block { return slices.Clone(f.blocks) }

// Instances returns the names of a module's instances, sorted.
func (f *File) Instances(m Module) []string { return f.names(m, false) }

// Configs returns the names of a module's configs, sorted.
func (f *File) Configs(m Module) []string { return f.names(m, true) }

func (f *File) names(m Module, configs bool) []string {
	mod := f.modules[m]
	switch {
	case mod == nil:
		return nil
	case configs:
		return slices.Sorted(maps.Keys(mod.configs))
	}
	return slices.Sorted(maps.Keys(mod.instances))
}

// Unread returns which other modules have an instance of the same name, such as
// resilience4j.retry, in the order of the file: what is around the breaker, or in it.
func (f *File) Unread(instance string) []string {
	var out []string
	for _, b := range f.blocks {
		name := "resilience4j." + b.Module.String()
		if b.Module != CircuitBreaker && !b.Config && b.Name == instance && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
