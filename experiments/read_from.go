package experiments

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// largestConfig is the most that is read of a service's configuration, in bytes.
const largestConfig = 4 << 20

// numberKeys are the keys that say what a breaker is.
func numberKeys() []string {
	return []string{"window", "minimum_calls", "failure_rate", "wait", "permitted_calls", "slow_calls", "half_open"}
}

// from reads a breaker out of the configuration of the service that has it.
func (r *reader) from(m *yamldoc.Map, v yamldoc.Value) breakerref.Config {
	for _, key := range numberKeys() {
		if m.Get(key); m.Has(key) {
			m.Key(key).Problemf("stands beside from, which says all of the breaker; leave one of them out")
		}
	}
	fm := v.Map("{resilience4j: application.yml, instance: payments}")
	defer fm.Done()
	at := fm.Need("resilience4j")
	file := r.configured(fm, at)
	which := fm.Get("instance").NonEmpty()
	if file == nil {
		return breakerref.Default()
	}
	switch all := file.Instances(resilience4j.CircuitBreaker); {
	case len(all) == 0:
		at.Problemf("there is no instance of resilience4j.circuitbreaker in it")
		return breakerref.Default()
	case !fm.Has("instance") && len(all) > 1:
		fm.Lacks(at, []string{"instance"}, "it has several breakers; add instance: with one of %s", yamldoc.FlowList(all))
		return breakerref.Default()
	case which == "":
		which = all[0]
	}
	c, err := file.CircuitBreaker(which)
	if err != nil && len(file.Problems()) == 0 {
		at.Problemf("%v", err)
	}
	if err == nil && c.Initial != breakerref.Closed {
		at.Problemf("it begins %s; only a breaker that begins closed can be judged", c.Initial)
	}
	return c
}

// configured reads the file that from names, and tells what is wrong with it; nil if it
// cannot be read.
func (r *reader) configured(fm *yamldoc.Map, at yamldoc.Value) *resilience4j.File {
	opt := resilience4j.Options{}
	for _, p := range fm.Get("profiles").List() {
		opt.Profiles = append(opt.Profiles, p.NonEmpty())
	}
	env := map[string]string{}
	for _, e := range fm.Get("env").Map("{WAIT: 5s}").Entries() {
		env[e.Name] = e.Value.Text("")
	}
	opt.Env = func(name string) (string, bool) { said, ok := env[name]; return said, ok }
	name := at.NonEmpty()
	if name == "" {
		return nil
	}
	file, err := readConfig(filepath.Dir(r.path), name, opt)
	if err != nil {
		at.Problemf("%v", err)
		return nil
	}
	for _, p := range file.Problems() {
		if p.Kind == resilience4j.Unresolved {
			fm.Lacks(at, []string{"env"}, "%v", p)
		} else if p.Kind.StopsSpring() || strings.HasPrefix(p.Key, "resilience4j."+resilience4j.CircuitBreaker.String()) {
			at.Problemf("%v", p)
		}
	}
	return file
}

// readConfig reads a Resilience4j file, whose path is relative to the experiment's folder.
func readConfig(dir, name string, opt resilience4j.Options) (*resilience4j.File, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path) //nolint:gosec // Whoever writes the experiment says which file.
	if err != nil {
		return nil, fmt.Errorf("open the configuration, whose path is relative to the experiment's folder: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largestConfig {
		return nil, fmt.Errorf("%q is not a file of at most %d bytes", name, largestConfig)
	}
	src, err := io.ReadAll(io.LimitReader(f, largestConfig))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file, err := resilience4j.Read(name, src, opt)
	if err != nil {
		return nil, err //nolint:wrapcheck // It tells file, line and what is wrong.
	}
	return file, nil
}
