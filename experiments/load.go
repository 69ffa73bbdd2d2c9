package experiments

import (
	"path/filepath"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Problems are all that is wrong with an experiment, sorted by position; each
// prints as file:line:col: path: message.
type Problems = yamldoc.Problems

// Problem is one thing that is wrong with an experiment.
type Problem = yamldoc.Problem

// LoadPlan compiles the source of an experiment. The path is for messages and for
// Plan.File; nothing is opened but the files of traces, which lie in its folder or
// below. The seed is taken when the file names none;
// nothing else depends on it, so a caller may set Plan.Seed afterwards. Each of
// sets is path=value, as breakers.payments.wait=2s or phases.outage.duration=20s,
// and changes what the file says, see [yamldoc.Doc.Set]. The error, if any, is of
// type [Problems], and there is no plan then.
func LoadPlan(path string, src []byte, seed uint64, sets ...string) (*Plan, error) {
	doc := yamldoc.Parse(filepath.ToSlash(path), src)
	doc.Set(sets...)
	plan := compile(doc, path, seed)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	plan.File, plan.Sets = path, sets
	return plan, nil
}

// reader reads the sections of an experiment into a plan. Whatever their order in
// the file, they are read so that names are known before they are referred to.
type reader struct {
	doc       *yamldoc.Doc
	path      string // of the file, which traces lie beside
	plan      *Plan
	injectors *names
	targets   *names
	breakers  *names
	phases    *names
	ids       *names
	rate      yamldoc.Value // load.rate, which phases inherit
	listens   []listen
	at        []yamldoc.Value // of the injectors, in order
	dialled   []yamldoc.Value // upstreams whose connections are passed on
	order     yamldoc.Value   // correlate.order
	tokens    bool            // a target holds the identity of its call
	noTimeout bool            // load.timeout could not be read
	noRate    bool            // load.rate could not be read, so that it is absent proves nothing
	noClasses bool            // likewise load.classify
	shared    []yamldoc.Value // where breakers are said to be shared
	noTargets bool            // likewise load.targets
	noPhases  bool            // likewise phases
	noSUT     bool            // likewise sut
}

// flawed returns a function that reports whether a problem was noted since. What
// follows from a part of the file that has problems may be wrong itself: only the
// cause is told.
func (r *reader) flawed() func() bool {
	before := r.doc.Noted()
	return func() bool { return r.doc.Noted() > before }
}

// compile reads the whole document, problems or not.
func compile(doc *yamldoc.Doc, path string, seed uint64) *Plan {
	r := &reader{
		doc:       doc,
		path:      path,
		plan:      &Plan{},
		injectors: &names{kind: "injector"},
		targets:   &names{kind: "target"},
		breakers:  &names{kind: "breaker"},
		phases:    &names{kind: "phase"},
		ids:       &names{kind: "assertion"},
	}
	m := doc.Root().Map("")
	defer m.Done()
	m.Need("apiVersion").OneOf("", "faultline/v1")
	m.Need("kind").OneOf("", "Experiment")
	r.metadata(m.Need("metadata"))
	r.plan.Seed = m.Get("seed").Uint(seed)
	r.readInjectors(m.Need("injectors"))
	r.correlate(m.Get("correlate"))
	load := m.Need("load").Map("{rate: 100/s, targets: [{name: checkout, path: /checkout}]}")
	r.load(load)
	r.readBreakers(r.breakersOf(m))
	flawed := r.flawed()
	r.sut(m.Need("sut"))
	r.noSUT = flawed() || len(m.Unknown()) > 0 && !m.Has("sut")
	r.refuseShared()
	r.referenceSpeaks()
	flawed = r.flawed()
	r.readPhases(m.Need("phases"))
	r.noPhases = flawed()
	r.maxInFlight(load)
	r.integrity(m.Get("integrity"))
	r.steadyState(m.Get("steady_state"))
	r.assertions(m.Need("assert"))
	return r.plan
}

// metadata reads what the experiment is called. The name becomes part of file
// names, so it is a plain word.
func (r *reader) metadata(v yamldoc.Value) {
	m := v.Map("{name: checkout}")
	defer m.Done()
	r.plan.Name = word(m.Need("name"), "._-")
	r.plan.Description = m.Get("description").Text("")
	for _, tag := range m.Get("tags").List() {
		r.plan.Tags = append(r.plan.Tags, word(tag, "._-"))
	}
}

// integrity reads the floors below which rules are void.
func (r *reader) integrity(v yamldoc.Value) {
	m := v.Map("{dropped: 1%}")
	defer m.Done()
	def := assert.DefaultIntegrity()
	r.plan.Integrity = assert.Integrity{
		Dropped:  m.Get("dropped").Bound("<=").Share(def.Dropped),
		Lateness: m.Get("lateness_p99").Bound("<=").Duration(def.Lateness),
		Join:     m.Get("join").Bound(">=").Share(def.Join),
	}
}
