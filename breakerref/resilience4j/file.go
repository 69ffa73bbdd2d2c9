package resilience4j

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// File is what a file says of circuit breakers.
type File struct {
	name      string
	instances map[string]block
	configs   map[string]block
	unread    map[string][]string // other modules by the instances that they speak of
	problems  []error
}

// block is what stands below one name. Values by the plain form of their keys.
type block map[string]yamldoc.Property

// Options say which parts of a file count and what it refers to.
type Options struct {
	Profiles []string                         // the active ones; documents for others are left out
	Env      func(name string) (string, bool) // what ${NAME} stands for; nil: nothing is set
}

// Read reads a file. The error has everything that is wrong with it, one problem a
// line: it is not YAML, or has keys that are not known, or placeholders without a value.
func Read(name string, src []byte, opt Options) (*File, error) {
	docs, err := yamldoc.Properties(name, src)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, instances: map[string]block{}, configs: map[string]block{}, unread: map[string][]string{}}
	for _, doc := range docs {
		if !f.active(doc, opt.Profiles) {
			continue
		}
		for _, p := range doc {
			f.add(p, doc, opt)
		}
	}
	return f, errors.Join(f.problems...)
}

// active reports whether a document is for one of the profiles, or for all. The
// expressions of Spring are not read: a wrong guess would verify another service.
func (f *File) active(doc []yamldoc.Property, profiles []string) bool {
	for _, p := range doc {
		key := plain(strings.ReplaceAll(p.Key, ".", ""))
		switch {
		case key != "springconfigactivateonprofile" && key != "springprofiles":
		case strings.ContainsAny(p.Value, "!&|()"):
			f.problem(p, "profile expressions are not read; name the profile in a document of its own")
			return false
		default:
			return slices.ContainsFunc(strings.Split(p.Value, ","), func(s string) bool {
				return slices.Contains(profiles, strings.TrimSpace(s))
			})
		}
	}
	return true
}

// add puts a property where it belongs, if it is one of circuit breakers.
func (f *File) add(p yamldoc.Property, doc []yamldoc.Property, opt Options) {
	path := segments(p.Key)
	switch {
	case len(path) < 3 || plain(path[0]) != "resilience4j":
		return
	case plain(path[1]) != "circuitbreaker":
		f.leave(path)
		return
	}
	into := f.instances
	switch plain(path[2]) {
	case "instances", "backends":
	case "configs":
		into = f.configs
	case "circuitbreakeraspectorder", "tags", "metrics":
		return // They do not change what a breaker does.
	default:
		f.problem(p, "%s is not a key of resilience4j.circuitbreaker%s", path[2], yamldoc.Hint(path[2], []string{"instances", "configs", "backends"}))
		return
	}
	if len(path) < 5 {
		f.problem(p, "%s has names below it, and properties below those", path[2])
		return
	}
	value, err := expand(p.Value, doc, opt.Env)
	if err != nil {
		f.problem(p, "%v", err)
		return
	}
	p.Value = value
	name, key := path[3], path[4]
	if !known(plain(key)) {
		f.problem(p, "%s is not a property of a circuit breaker%s%s", key, yamldoc.Hint(key, names()), replaced(plain(key)))
		return
	}
	if len(path) > 5 {
		f.problem(p, "%s is one value, and has nothing below it", key)
		return
	}
	if into[name] == nil {
		into[name] = block{}
	}
	into[name][plain(key)] = p
}

// leave notes that another module has something of an instance.
func (f *File) leave(path []string) {
	section := plain(path[2])
	if len(path) < 4 || section != "instances" && section != "backends" {
		return
	}
	module, instance := path[0]+"."+path[1], path[3]
	if !slices.Contains(f.unread[instance], module) {
		f.unread[instance] = append(f.unread[instance], module)
	}
}

// Unread returns what else the file has of an instance, such as resilience4j.retry, in
// the order of the file. It is not read so far.
func (f *File) Unread(instance string) []string { return f.unread[instance] }

func (f *File) problem(p yamldoc.Property, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s:%d:%d: %s: %s", f.name, p.At.Line, p.At.Col, p.Key, fmt.Sprintf(format, args...)))
}

// Instances returns the names of the instances, sorted.
func (f *File) Instances() []string { return sorted(f.instances) }

// CircuitBreaker returns what an instance is configured to, by the file and the
// library's defaults, and its name. The error has every value that cannot be.
func (f *File) CircuitBreaker(instance string) (breakerref.Config, error) {
	blocks, err := f.blocks(instance)
	if err != nil {
		return breakerref.Config{}, err
	}
	r := reader{file: f.name, cfg: breakerref.Default()}
	r.cfg.Name = instance
	for _, b := range blocks {
		r.overlay(b)
	}
	if len(r.problems) > 0 {
		return breakerref.Config{}, errors.Join(r.problems...)
	}
	return r.cfg, r.cfg.Validate()
}

// blocks returns what an instance is made of, the most general first.
func (f *File) blocks(instance string) ([]block, error) {
	own, found := f.instances[instance]
	if !found {
		return nil, fmt.Errorf("%s: resilience4j.circuitbreaker.instances has no %q%s", f.name, instance, yamldoc.Hint(instance, f.Instances()))
	}
	base, said := own["baseconfig"]
	switch {
	case said:
		return f.chain(base, []block{own}, []string{instance})
	case f.configs[instance] != nil:
		return f.more(f.configs[instance], []block{own}, []string{instance})
	case f.configs["default"] != nil:
		return f.more(f.configs["default"], []block{own}, []string{"default"})
	}
	return []block{own}, nil
}

// chain puts a config, and what it is based on, before other blocks.
func (f *File) chain(base yamldoc.Property, blocks []block, seen []string) ([]block, error) {
	config, found := f.configs[base.Value]
	if !found {
		return nil, fmt.Errorf("%s:%d:%d: there is no config %q%s", f.name, base.At.Line, base.At.Col, base.Value, yamldoc.Hint(base.Value, sorted(f.configs)))
	}
	if slices.Contains(seen, base.Value) {
		return nil, fmt.Errorf("%s:%d:%d: the config %q is based on itself", f.name, base.At.Line, base.At.Col, base.Value)
	}
	return f.more(config, blocks, append(seen, base.Value))
}

func (f *File) more(config block, blocks []block, seen []string) ([]block, error) {
	blocks = append([]block{config}, blocks...)
	if base, said := config["baseconfig"]; said {
		return f.chain(base, blocks, seen)
	}
	return blocks, nil
}
