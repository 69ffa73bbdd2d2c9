package experiments

import (
	"path/filepath"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// Problems are all that is wrong with an experiment, sorted by position; each
// prints as file:line:col: path: message.
type Problems = yamldoc.Problems

// Problem is one thing that is wrong with an experiment.
type Problem = yamldoc.Problem

// LoadPlan compiles the source of an experiment. The path is for messages and for
// Plan.File; nothing is opened. The seed is taken when the file names none;
// nothing else depends on it, so a caller may set Plan.Seed afterwards. The error,
// if any, is of type [Problems], and there is no plan then.
func LoadPlan(path string, src []byte, seed uint64) (*Plan, error) {
	doc := yamldoc.Parse(filepath.ToSlash(path), src)
	plan := compile(doc, seed)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	plan.File = path
	return plan, nil
}

// reader reads the sections of an experiment into a plan. Whatever their order in
// the file, they are read so that names are known before they are referred to.
type reader struct {
	doc       *yamldoc.Doc
	plan      *Plan
	injectors *names
	targets   *names
	breakers  *names
	phases    *names
	ids       *names
	rate      yamldoc.Value // load.rate, which phases inherit
	listens   []listen
	at        []yamldoc.Value // of the injectors, in order
	noRate    bool            // load.rate could not be read, so that it is absent proves nothing
	noClasses bool            // likewise load.classify
}

// flawed returns a function that reports whether a problem was noted since. What
// follows from a part of the file that has problems may be wrong itself: only the
// cause is told.
func (r *reader) flawed() func() bool {
	before := r.doc.Noted()
	return func() bool { return r.doc.Noted() > before }
}

// compile reads the whole document, problems or not.
func compile(doc *yamldoc.Doc, seed uint64) *Plan {
	r := &reader{
		doc:       doc,
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
	r.readBreakers(m.Need("breakers"))
	r.sut(m.Need("sut"))
	r.readPhases(m.Need("phases"))
	r.maxInFlight(load)
	r.integrity(m.Get("integrity"))
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

// correlate reads how attempts are joined with calls.
func (r *reader) correlate(v yamldoc.Value) {
	m := v.Map("{order: [traceparent, single_flight]}")
	defer m.Done()
	c := Correlate{MinJoin: m.Get("min_join").Share(0)}
	if order := m.Get("order"); order.Exists() {
		c.Order = carriers(order)
	} else {
		c.Order = []string{"traceparent", "header:x-request-id", "single_flight"}
	}
	r.plan.Correlate = c
}

// carriers reads the order in which carriers of a call's identity are tried.
func carriers(v yamldoc.Value) []string {
	seen := &names{kind: "carrier"}
	var order []string
	for _, item := range v.Items() {
		text := item.NonEmpty()
		header, isHeader := strings.CutPrefix(text, "header:")
		switch {
		case isHeader && strings.EqualFold(header, match.Traceparent):
			item.Problemf("write traceparent: the header is read for the trace-id in it, not as a whole")
			continue
		case isHeader && isToken(header):
			text = "header:" + strings.ToLower(header)
		case text == "traceparent" || text == "single_flight" || text == "":
		default:
			item.Problemf("%q is not a carrier; known are traceparent, header:NAME and single_flight", text)
			continue
		}
		seen.declare(item, text)
		order = append(order, text)
	}
	return order
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
