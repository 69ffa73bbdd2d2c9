package simulate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// APIVersion and Kind identify a document that describes a simulation.
const (
	APIVersion = "faultline/v1"
	Kind       = "Simulation"
)

// Document is what a file asks for.
type Document struct {
	Model Model
	Seed  *uint64
	// Trials is 0 where the file does not say.
	Trials int
	Vary   []Vary
}

// Vary is a value that is tried out, and what it is set to.
type Vary struct {
	Name   string
	Values []string
}

// Read reads a document of kind Simulation on top of a model, whose values are the
// defaults. It may not be complete. The error has everything that is wrong, with the
// line and column.
func Read(file string, src []byte, base Model) (Document, error) {
	doc := yamldoc.Parse(file, src)
	d := Document{Model: base}
	root := doc.Root().Map("")
	if !root.Has("kind") && bytes.Contains(src, []byte("resilience4j")) {
		return d, fmt.Errorf("%s: this is no simulation but the configuration of an application; give it as --config %s", file, file)
	}
	root.Need("apiVersion").OneOf(APIVersion, APIVersion)
	root.Need("kind").OneOf(Kind, Kind)
	if v := root.Get("seed"); v.Exists() {
		s := v.Uint(0)
		d.Seed = &s
	}
	d.Trials = root.Get("trials").Count(0, 1)
	readSection(root, atTop, &d.Model)
	breaker := root.Get("breaker").Map("{slidingWindowSize: 10}")
	readSection(breaker, inBreaker, &d.Model)
	breaker.Done()
	readTraffic(root.Get("traffic").Map("{rate: 50/s}"), &d.Model)
	d.Vary = readVary(root.Get("vary"))
	root.Done()
	return d, doc.Err()
}

// readSection reads the values of a section.
func readSection(m *yamldoc.Map, section string, model *Model) {
	for _, p := range Params() {
		if p.Section != section || p.Key == "" {
			continue
		}
		v := m.Get(p.Key)
		if text, ok := v.Scalar("a " + p.Kind); ok {
			if err := p.set(model, strings.TrimSpace(text)); err != nil {
				v.Problemf("%v", err)
			}
		}
	}
}

func readTraffic(t *yamldoc.Map, model *Model) {
	if t.Choice("rate", "clients") == "clients" {
		model.Traffic.Rate = 0
	}
	readSection(t, inTraffic, model)
	retry := t.Get("retry").Map("{maxAttempts: 3, waitDuration: 500ms}")
	readSection(retry, inRetry, model)
	retry.Done()
	switch t.Choice("outage", "phases") {
	case "outage":
		readOutage(t.Get("outage"), model)
	case "phases":
		readPhases(t.Get("phases"), model)
	}
	t.Done()
}

// readOutage reads the only phase, or the word none.
func readOutage(v yamldoc.Value, model *Model) {
	if !v.IsMap() {
		if text, ok := v.Scalar("a mapping such as {from: 1m, to: 90s}, or none"); ok {
			if err := setOutage(model, text); err != nil {
				v.Problemf("%v", err)
			}
		}
		return
	}
	m := v.Map("")
	model.Traffic.Phases = []Phase{readSpan(v, m)}
	readSection(m, inOutage, model)
	m.Done()
}

// readSpan reads from and to of a phase in which everything fails.
func readSpan(v yamldoc.Value, m *yamldoc.Map) Phase {
	p := Phase{Failures: [2]float64{1, 1}}
	p.From = m.Need("from").DurationOrZero(0)
	p.To = m.Need("to").Duration(p.From + 1)
	if p.none() {
		v.Problemf("ends before it begins")
	}
	return p
}

func readPhases(v yamldoc.Value, model *Model) {
	model.Traffic.Phases = nil
	for _, item := range v.Items() {
		m := item.Map("{from: 1m, to: 90s, failures: 100%}")
		one := Model{Traffic: Traffic{Phases: []Phase{readSpan(item, m)}}}
		readSection(m, inOutage, &one)
		m.Done()
		model.Traffic.Phases = append(model.Traffic.Phases, one.Traffic.Phases...)
	}
}

// readVary reads values to be tried out.
func readVary(v yamldoc.Value) []Vary {
	var all []Vary
	if !v.Exists() {
		return nil
	}
	for _, e := range v.Map("{minimumNumberOfCalls: [10, 20]}").Entries() {
		one := Vary{Name: e.Name}
		if !slices.Contains(Names(), e.Name) {
			e.Key.Problemf("is not a value of a simulation%s", yamldoc.Hint(e.Name, Names()))
		}
		for _, item := range e.Value.Items() {
			one.Values = append(one.Values, item.NonEmpty())
		}
		all = append(all, one)
	}
	return all
}

// ParseVary reads NAME=VALUE,VALUE.
func ParseVary(text string) (Vary, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok || name == "" || values == "" {
		return Vary{}, fmt.Errorf("%q has no values; write it as minimumNumberOfCalls=10,20,50", text)
	}
	return Vary{Name: strings.TrimSpace(name), Values: strings.Split(values, ",")}, nil
}

// MostRows is how many combinations of varied values are simulated at most.
const MostRows = 100

// Row is a model with some values changed.
type Row struct {
	Changed []string // as name=value
	Model   Model
}

// Rows returns the product of all values: the last name varies fastest. Each model is
// complete.
func Rows(m Model, vary []Vary) ([]Row, error) {
	n := 1
	for _, v := range vary {
		if n *= len(v.Values); n > MostRows {
			return nil, fmt.Errorf("the values that vary make more than %d combinations, which is the limit; leave some out", MostRows)
		}
	}
	rows := []Row{{Model: m}}
	for _, v := range vary {
		var next []Row
		for _, r := range rows {
			more, err := r.with(v)
			if err != nil {
				return nil, err
			}
			next = append(next, more...)
		}
		rows = next
	}
	longest := time.Duration(0) // It serves all that have none of their own.
	for i := range rows {
		longest = max(longest, rows[i].Model.Complete().Duration)
	}
	for i := range rows {
		if rows[i].Model.Duration == 0 {
			rows[i].Model.Duration = longest
		}
	}
	return rows, nil
}

// with returns a row for each of the values.
func (r Row) with(v Vary) ([]Row, error) {
	var rows []Row
	for _, value := range v.Values {
		one := Row{Model: r.Model, Changed: append(slices.Clone(r.Changed), v.Name+"="+strings.TrimSpace(value))}
		one.Model.Traffic.Phases = slices.Clone(r.Model.Traffic.Phases)
		if err := one.Model.Set(v.Name, value); err != nil {
			return nil, err
		}
		rows = append(rows, one)
	}
	return rows, nil
}
