package main

import (
	"os"
	"testing"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// zooFile declares what each member of the zoo is and does.
const zooFile = "../../target/zoo/zoo.yaml"

// truth is what zoo.yaml declares of one implementation.
type truth struct {
	name     string // of the member
	title    string // of its row
	version  string
	settings string // its parameters, in its own words
	sources  []source
	folder   string // below target/zoo
	build    [][]string
	install  string            // a list of Python packages, which an environment of their own gets
	command  []string          // {{venv}} is that environment
	env      map[string]string // as in an experiment
	ready    string
	path     string
	others   []string // further injectors that it asks: backup, which answers in the dependency's place, health
	body     string
	primary  string // what the body of an answer from the dependency holds
	fallback string // what the body of one from elsewhere holds
	counts   string // what is a failure to the breaker, and which calls it counts
	breaker  *declaredBreaker
	columns  map[string]declared
	policy   *declaredPolicy
	events   string // where the library's own changes of state are: log, actuator or nothing
	notes    []string
}

// source is where a truth is written down.
type source struct{ url, section string }

// declaredBreaker are the numbers that the judge is given.
type declaredBreaker struct {
	window     string
	minimum    int
	rate       string
	wait       time.Duration
	permitted  int
	warm       bool          // its window holds good calls, too: it is emptied by a close before anything is counted
	empties    time.Duration // its window is of time: after so long without calls it is empty
	concurrent bool          // several calls can be under way in it at once
}

// declared is one cell: what is said to happen.
type declared struct {
	none      string // why there is nothing to judge
	atCall    int
	within    time.Duration
	max       int
	is        time.Duration
	min, most time.Duration // of an open time that is no one number
	tolerance string
	exactly   int
	waiting   bool // the other callers wait for the probe's end
	successes int
	failures  string // what late failures do in half-open: decide or nothing
	lateGood  string // what late successes do there
	differs   string // what the documentation says instead, and why it is not so
}

// zooColumns are the columns of the page, in their order.
func zooColumns() []string {
	return []string{"trip", "leak", "open_time", "probes", "close", "reopen", "late"}
}

// readZoo reads zoo.yaml.
func readZoo(t *testing.T) []truth {
	t.Helper()
	src, err := os.ReadFile(zooFile)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseZoo(zooFile, src)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parseZoo reads a file like zoo.yaml, strictly.
func parseZoo(path string, src []byte) ([]truth, error) {
	doc := yamldoc.Parse(path, src)
	root := doc.Root().Map("")
	members := root.Need("members").Map("")
	var all []truth
	for _, e := range members.Entries() {
		all = append(all, readTruth(e.Name, e.Value))
	}
	root.Done()
	return all, doc.Err()
}

// readTruth reads one member.
func readTruth(name string, v yamldoc.Value) truth {
	m := v.Map("")
	defer m.Done()
	t := truth{name: name, title: m.Need("title").NonEmpty(), version: m.Need("version").NonEmpty(), settings: m.Need("settings").NonEmpty()}
	for _, s := range m.Need("sources").Items() {
		sm := s.Map("")
		t.sources = append(t.sources, source{sm.Need("url").NonEmpty(), sm.Need("section").NonEmpty()})
		sm.Done()
	}
	t.folder = m.Need("folder").NonEmpty()
	for _, b := range m.Get("build").List() {
		t.build = append(t.build, texts(b))
	}
	t.install = m.Get("install").Text("")
	readLaunch(&t, m.Need("launch"))
	t.events = m.Get("events").OneOf("", "log", "actuator")
	for _, n := range m.Get("notes").List() {
		t.notes = append(t.notes, n.NonEmpty())
	}
	switch {
	case m.Choice("breaker", "policy") == "policy":
		t.policy = readPolicy(m.Get("policy"))
	default:
		t.counts = m.Need("counts").NonEmpty()
		t.breaker = readBreaker(m.Need("breaker"))
		t.columns = readColumns(m.Need("declared"))
	}
	return t
}

// readLaunch reads how a member is started and what it answers.
func readLaunch(t *truth, v yamldoc.Value) {
	m := v.Map("")
	defer m.Done()
	t.command = texts(m.Need("command"))
	t.env = map[string]string{}
	env := m.Get("env").Map("")
	for _, e := range env.Entries() {
		t.env[e.Name] = e.Value.NonEmpty()
	}
	t.ready = m.Get("ready").Text("/ready")
	t.path = m.Get("path").Text("/quote")
	for _, o := range m.Get("others").List() {
		t.others = append(t.others, o.OneOf("", "backup", "health"))
	}
	t.body = m.Get("body").Text(`{"source":"dependency"}`)
	t.primary = m.Get("primary").Text(`"source":"dependency"`)
	t.fallback = m.Get("fallback").Text(`"source":"fallback"`)
}

// readBreaker reads the numbers of a breaker.
func readBreaker(v yamldoc.Value) *declaredBreaker {
	m := v.Map("")
	defer m.Done()
	return &declaredBreaker{
		window: m.Need("window").NonEmpty(), minimum: m.Need("minimum_calls").Count(1, 1), rate: m.Need("failure_rate").NonEmpty(),
		wait: m.Need("wait").Duration(time.Second), permitted: m.Need("permitted_calls").Count(1, 1),
		warm: m.Get("warm").Bool(false), empties: m.Get("empties").Duration(0), concurrent: m.Get("concurrent").Bool(true),
	}
}

// readColumns reads all cells of a row: none may be missing.
func readColumns(v yamldoc.Value) map[string]declared {
	m := v.Map("")
	defer m.Done()
	all := map[string]declared{}
	for _, c := range zooColumns() {
		all[c] = readDeclared(c, m.Need(c))
	}
	return all
}

// readDeclared reads a cell.
func readDeclared(column string, v yamldoc.Value) declared {
	m := v.Map("")
	defer m.Done()
	d := declared{differs: m.Get("differs").Text("")}
	if m.Has("none") {
		d.none = m.Get("none").NonEmpty()
		return d
	}
	switch column {
	case "trip":
		d.atCall, d.within = m.Get("at_call").Count(0, 1), m.Get("within").Duration(0)
		if m.Choice("at_call", "within") == "" {
			m.Lacks(v, []string{"at_call", "within"}, "at_call or within is needed")
		}
	case "leak":
		d.max = m.Need("max").Count(0, 0)
	case "open_time":
		readOpenTime(&d, m, v)
	case "probes":
		d.exactly, d.waiting = m.Need("exactly").Count(0, 1), m.Get("others_wait").Bool(false)
	case "close":
		d.successes, d.within = m.Get("after_successes").Count(0, 1), m.Get("within").Duration(0)
		if m.Choice("after_successes", "within") == "" {
			m.Lacks(v, []string{"after_successes", "within"}, "after_successes or within is needed")
		}
	case "reopen":
		m.Need("on").OneOf("", "failed_probe")
	case "late":
		d.failures = m.Need("failures").OneOf("", "decide", "nothing")
		d.lateGood = m.Need("successes").OneOf("", "decide", "nothing")
	}
	return d
}

// readOpenTime reads a duration, or between which ones it is.
func readOpenTime(d *declared, m *yamldoc.Map, v yamldoc.Value) {
	switch m.Choice("is", "min") {
	case "is":
		d.is, d.tolerance = m.Get("is").Duration(0), m.Get("tolerance").Text("10%")
	case "min":
		d.min, d.most = m.Get("min").Duration(0), m.Need("max").Duration(0)
	default:
		m.Lacks(v, []string{"is", "min"}, "is, or min and max, are needed")
	}
}

// texts are the items of a list.
func texts(v yamldoc.Value) []string {
	var all []string
	for _, item := range v.Items() {
		all = append(all, item.NonEmpty())
	}
	return all
}
