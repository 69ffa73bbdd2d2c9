package yamldoc

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const setSource = `seed: 1
breakers:
  payments: &numbers { wait: 1s, calls: 3 }
  other: *numbers
phases:
  - { name: trip, duration: 5s }
  - { name: outage, load: { rate: 1/s } }
assert:
  - { id: trips, breaker.opens: payments, at_call: 10 }
tags: [a, b]
empty: {}
nothing:
`

// setRead reads what tests of Set look at, as a reader would.
func setRead(sets ...string) (got map[string]string, problems []string) {
	doc := Parse("f.yaml", []byte(setSource))
	doc.Set(sets...)
	got = map[string]string{}
	m := doc.Root().Map("")
	got["seed"] = m.Get("seed").Text("")
	got["note"] = m.Get("note").Text("")
	for _, e := range m.Get("breakers").Map("").Entries() {
		b := e.Value.Map("")
		got[e.Name] = b.Get("wait").Text("") + " " + b.Get("calls").Text("")
		b.Get("slow").Map("").Get("rate").Share(0)
		b.Done()
	}
	for _, item := range m.Get("phases").List() {
		p := item.Map("")
		got[p.Need("name").Text("")] = FormatDuration(p.Get("duration").Duration(0)) + " " + p.Get("load").Map("").Get("rate").Text("")
		p.Done()
	}
	for _, item := range m.Get("assert").List() {
		a := item.Map("")
		a.Need("id")
		got[a.Get("breaker.opens").Text("")+" opens"] = a.Get("at_call").Text("")
		a.Done()
	}
	for _, item := range m.Get("tags").List() {
		got["tags"] += item.Text("")
	}
	e := m.Get("empty").Map("")
	e.Get("x")
	e.Done()
	n := m.Get("nothing")
	n.Map("").Get("x")
	m.Done()
	if err := doc.Err(); err != nil {
		problems = strings.Split(strings.TrimSuffix(err.Error(), "\nf.yaml:12:1: nothing: is empty; it wants a mapping of keys to values"), "\n")
	}
	return got, problems
}

// TestSet changes one thing each, and nothing else.
func TestSet(t *testing.T) {
	before, _ := setRead()
	for set, want := range map[string][2]string{
		"seed=7":                              {"seed", "7"},
		"note=a=b":                            {"note", "a=b"},
		"breakers.payments.wait=2s":           {"payments", "2s 3"},
		"breakers.other.wait=2s":              {"other", "2s 3"},
		"breakers.payments={calls: 5}":        {"payments", " 5"},
		"breakers.third={wait: 9s}":           {"third", "9s "},
		"phases.outage.duration=20s":          {"outage", "20s 1/s"},
		"phases.1.load.rate=5/s":              {"outage", "0s 5/s"},
		"phases[0].load.rate=5/s":             {"trip", "5s 5/s"},
		"assert.trips.at_call=11":             {"payments opens", "11"},
		"tags.1=c":                            {"tags", "ac"},
		"tags=[x, y, z]":                      {"tags", "xyz"},
		" phases.trip.duration = 7s":          {"trip", "7s "},
		"breakers.payments.wait=null":         {"payments", " 3"},
		"phases.trip.duration=~":              {"trip", "0s "},
		"breakers.payments.slow.rate=50%":     {"", ""},
		"assert.trips.breaker.opens=payments": {"", ""},
	} {
		got, problems := setRead(set)
		after := maps.Clone(before)
		if want[0] != "" {
			after[want[0]] = want[1]
		}
		if diff := cmp.Diff(after, got); diff != "" {
			t.Errorf("--set %s (-want +got):\n%s", set, diff)
		}
		if len(problems) > 1 {
			t.Errorf("--set %s: %q", set, problems)
		}
	}
}

// TestSetProblems tells what is wrong with a path or a value, by the assignment.
func TestSetProblems(t *testing.T) {
	for set, want := range map[string]string{
		"seed":                                   `--set seed: is not path=value, such as breakers.payments.wait=2s`,
		"=5":                                     `--set =5: is not path=value, such as breakers.payments.wait=2s`,
		"a..b=5":                                 `--set a..b=5: a..b has an empty part; it is keys with one dot between them, as breakers.payments.wait`,
		"sede=5":                                 `--set sede=5: sede: unknown key; did you mean "seed"?`,
		"breakers.payment.wait=2s":               `--set breakers.payment.wait=2s: breakers.payment: is not there; did you mean "payments"?`,
		"breakers.payments.wiat=2s":              `--set breakers.payments.wiat=2s: breakers.payments.wiat: unknown key; did you mean "wait"?`,
		"phases.outrage.duration=2s":             `--set phases.outrage.duration=2s: phases: has no item "outrage"; did you mean "outage"?`,
		"phases.2.duration=2s":                   `--set phases.2.duration=2s: phases: has no item "2"; known are outage, trip`,
		"tags.2=x":                               `--set tags.2=x: tags: has no item "2"; it has 0 to 1`,
		"seed.x=1":                               `--set seed.x=1: seed: is a single value, so there is no x in it`,
		"phases.trip.duration=2x":                `--set phases.trip.duration=2x: phases[0].duration: "2x" is not a duration; write it as 5s, 250ms or 1m30s`,
		"phases.trip.duration=":                  `--set phases.trip.duration=: phases[0].duration: is empty; it wants a duration such as 5s`,
		"nota=null":                              `--set nota=null: nota: is not there, so it cannot be taken away`,
		"note={":                                 `--set note={: the value is not YAML: line 1: did not find expected node content`,
		"note=!!str 5":                           `--set note=!!str 5: tags such as !!str are not used here; leave it out`,
		"note=*numbers":                          `--set note=*numbers: the value is not YAML: unknown anchor 'numbers' referenced`,
		"breakers.payments={wait: 1s, wait: 2s}": `--set breakers.payments={wait: 1s, wait: 2s}: breakers.payments: key "wait" is given twice, first in --set breakers.payments={wait: 1s, wait: 2s}`,
	} {
		_, problems := setRead(set)
		if len(problems) == 0 || problems[0] != want || len(problems) > 2 {
			t.Errorf("--set %s:\ngot  %s\nwant %s", set, strings.Join(problems, "\n"), want)
		}
	}
}

// TestSetKeepsPlaces tells problems of the rest of the file where they stand.
func TestSetKeepsPlaces(t *testing.T) {
	doc := Parse("f.yaml", []byte("a: 1\nb:\n  c: x\n  d: y\n"))
	doc.Set("b.c=5", "a=z")
	m := doc.Root().Map("")
	m.Get("a").Count(0, 1)
	b := m.Get("b").Map("")
	b.Get("c").Count(0, 1)
	b.Get("d").Count(0, 1)
	b.Done()
	m.Done()
	want := "--set a=z: a: wants a whole number, not \"z\"\nf.yaml:4:6: b.d: wants a whole number, not \"y\""
	if got := doc.Err(); got == nil || got.Error() != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
}
