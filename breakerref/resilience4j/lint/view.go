package lint

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// view is a file as the rules look at it.
type view struct {
	file     *resilience4j.File
	blocks   []resilience4j.Block
	written  []written
	problems []resilience4j.Problem
	subjects []*subject
}

// subject is an instance, or a config that no instance of the file is based on: the
// instances of such a config are made where a method's annotation names them.
type subject struct {
	module resilience4j.Module
	name   string
	config bool
	chain  []resilience4j.Block // what it is made of, the most general first
	values map[string]setting
}

// setting is a property of a subject. It is in doubt if what is written cannot be read,
// or is a placeholder: then nothing may be said of it, nor of its absence.
type setting struct {
	resilience4j.Setting
	doubt bool
}

// look reads a file.
func look(name string, src []byte, opt Options) (*view, error) {
	file, err := resilience4j.Read(name, src, resilience4j.Options{Profiles: opt.Profiles, Env: opt.Env})
	if err != nil {
		return nil, err
	}
	v := &view{file: file, blocks: file.Blocks(), problems: file.Problems()}
	if v.written, err = everything(name, src); err != nil {
		return nil, err
	}
	doubt := map[resilience4j.Pos]bool{}
	for _, p := range v.problems {
		doubt[p.Pos] = true
	}
	used := map[resilience4j.Pos]bool{}
	for _, b := range v.blocks {
		if !b.Config {
			v.subject(b, doubt, used)
		}
	}
	for _, b := range v.blocks {
		if b.Config && !used[b.At] {
			v.subject(b, doubt, used)
		}
	}
	return v, nil
}

// subject adds what a block makes, if all of what it is based on is there.
func (v *view) subject(own resilience4j.Block, doubt, used map[resilience4j.Pos]bool) {
	chain, whole := v.chain(own)
	s := &subject{module: own.Module, name: own.Name, config: own.Config, chain: chain, values: map[string]setting{}}
	for _, b := range chain {
		used[b.At] = true
		for _, w := range b.Settings {
			whole = whole && (w.Key != "baseConfig" || !doubt[w.Origin.Pos])
		}
	}
	effective := v.effective(s)
	if !whole || effective == nil {
		return
	}
	for _, e := range effective {
		s.values[e.Key] = setting{Setting: e}
	}
	for _, b := range chain {
		for _, w := range b.Settings {
			e := s.values[w.Key]
			e.doubt = doubt[w.Origin.Pos]
			s.values[w.Key] = e
		}
	}
	v.subjects = append(v.subjects, s)
}

// effective returns the properties of a subject; nil if it cannot be made. A config has
// them as the library would give them to an instance: the reader only knows instances,
// so one is made up that has nothing of its own.
func (v *view) effective(s *subject) []resilience4j.Setting {
	if !s.config {
		all, err := v.file.Effective(s.module, s.name)
		if err != nil {
			return nil
		}
		return all
	}
	all := defaults(s.module)
	for _, b := range s.chain {
		for _, w := range b.Settings {
			if i := slices.IndexFunc(all, func(e resilience4j.Setting) bool { return e.Key == w.Key }); i >= 0 {
				all[i] = w
			}
		}
	}
	return all
}

// defaults are the properties of an instance of which nothing is said.
func defaults(m resilience4j.Module) []resilience4j.Setting {
	const none = "instances.none.baseConfig:"
	f, err := resilience4j.Read("defaults.yml", []byte("resilience4j."+m.String()+"."+none+"\n"), resilience4j.Options{})
	if err != nil {
		return nil
	}
	all, err := f.Effective(m, "none")
	if err != nil {
		return nil
	}
	return all
}

// chain returns what a block is based on, the most general first and itself last, and
// whether all of it is there. The rules of inheritance are the library's: a circuit
// breaker's config does not inherit default, a config of any other module does.
func (v *view) chain(own resilience4j.Block) ([]resilience4j.Block, bool) {
	chain := []resilience4j.Block{own}
	for range len(v.blocks) + 1 {
		next, found, whole := v.base(chain[0], len(chain) == 1)
		if !found {
			return chain, whole
		}
		chain = append([]resilience4j.Block{next}, chain...)
		if _, based := said(own, "baseConfig"); len(chain) == 2 && !own.Config && !based && next.Name == own.Name && own.Module == resilience4j.CircuitBreaker {
			return chain, true // A config of the instance's own name is not followed further.
		}
	}
	return chain, false // It is based on itself.
}

// base returns what a block is based on. That of an instance may be a config of its own
// name, with the circuit breaker.
func (v *view) base(b resilience4j.Block, own bool) (base resilience4j.Block, found, whole bool) {
	if name, there := said(b, "baseConfig"); there && name != "" {
		base, found = v.config(b.Module, name)
		return base, found, found
	}
	breaker := b.Module == resilience4j.CircuitBreaker
	if breaker && b.Config {
		return base, false, true
	}
	if breaker && own {
		if base, found = v.config(b.Module, b.Name); found {
			return base, true, true
		}
	}
	if b.Config && b.Name == "default" {
		return base, false, true
	}
	base, found = v.config(b.Module, "default")
	return base, found, true
}

// config returns the block of a config.
func (v *view) config(m resilience4j.Module, name string) (resilience4j.Block, bool) {
	return v.block(m, true, name)
}

func (v *view) block(m resilience4j.Module, config bool, name string) (resilience4j.Block, bool) {
	i := slices.IndexFunc(v.blocks, func(b resilience4j.Block) bool { return b.Module == m && b.Config == config && b.Name == name })
	if i < 0 {
		return resilience4j.Block{}, false
	}
	return v.blocks[i], true
}

// of returns the subjects of a module.
func (v *view) of(m resilience4j.Module) []*subject {
	var out []*subject
	for _, s := range v.subjects {
		if s.module == m {
			out = append(out, s)
		}
	}
	return out
}

// breakers returns the circuit breakers.
func (v *view) breakers() []*subject { return v.of(resilience4j.CircuitBreaker) }

// beside returns the instance of another module that has the same name, and so most
// likely stands at the same method.
func (v *view) beside(s *subject, m resilience4j.Module) (*subject, bool) {
	for _, o := range v.of(m) {
		if !s.config && !o.config && o.name == s.name {
			return o, true
		}
	}
	return nil, false
}

// at is where a subject begins: the most general block that it is made of, because there
// is the place for what all its instances lack.
func (s *subject) at() resilience4j.Pos { return s.chain[0].At }

// own is the block of the subject itself.
func (s *subject) own() resilience4j.Block { return s.chain[len(s.chain)-1] }

// sure reports whether all of these properties are known.
func (s *subject) sure(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return s.values[k].doubt })
}

// set reports whether a property is written, and known.
func (s *subject) set(key string) bool {
	e := s.values[key]
	return e.Origin.Source != resilience4j.FromLibrary && !e.doubt
}

// unset reports whether a property is the library's default.
func (s *subject) unset(key string) bool {
	e := s.values[key]
	return e.Origin.Source == resilience4j.FromLibrary && !e.doubt
}

func (s *subject) text(key string) string { return s.values[key].Value }

func (s *subject) on(key string) bool { return s.values[key].Value == "true" }

func (s *subject) pos(key string) resilience4j.Pos { return s.values[key].Origin.Pos }

// where is the place of a property, or of the subject if the property is not written.
func (s *subject) where(key string) resilience4j.Pos {
	if s.set(key) {
		return s.pos(key)
	}
	return s.at()
}

func (s *subject) num(key string) float64 {
	n, err := strconv.ParseFloat(s.text(key), 64)
	if err != nil {
		return 0
	}
	return n
}

func (s *subject) dur(key string) time.Duration { return duration(s.text(key)) }

// duration reads a normalised duration, which may have several units.
func duration(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	d, err := resilience4j.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// list reads a normalised list.
func (s *subject) list(key string) []string { return items(s.text(key)) }

func items(text string) []string {
	text, ok := strings.CutPrefix(text, "[")
	if text = strings.TrimSuffix(text, "]"); !ok || text == "" {
		return nil
	}
	return strings.Split(text, ", ")
}

// said returns what a block says of a key.
func said(b resilience4j.Block, key string) (string, bool) {
	s, ok := settingIn(b, key)
	return s.Value, ok
}

func settingIn(b resilience4j.Block, key string) (resilience4j.Setting, bool) {
	i := slices.IndexFunc(b.Settings, func(s resilience4j.Setting) bool { return s.Key == key })
	if i < 0 {
		return resilience4j.Setting{}, false
	}
	return b.Settings[i], true
}

// doubtful reports whether a value as it is written could not be read.
func (v *view) doubtful(s resilience4j.Setting) bool {
	return slices.ContainsFunc(v.problems, func(p resilience4j.Problem) bool { return p.Pos == s.Origin.Pos })
}
