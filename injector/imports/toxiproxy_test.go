package imports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/imports"
)

const ms = time.Millisecond

// passed is a fault of all connections.
func passed(t fault.TCP) fault.Rule {
	return fault.Rule{Action: fault.ActionTCP, TCP: &t, Select: fault.Select{Kind: fault.SelectAll}}
}

// some is one of a share of them.
func some(num, den uint64, t fault.TCP) fault.Rule {
	r := passed(t)
	r.Select = fault.Select{Kind: fault.SelectRatio, Num: num, Den: den}
	return r
}

func down(s fault.Stream) fault.TCP { return fault.TCP{Down: &s} }
func up(s fault.Stream) fault.TCP   { return fault.TCP{Up: &s} }

func end(by fault.Action, after int64) *fault.StreamEnd {
	return &fault.StreamEnd{By: by, After: after}
}

func fixed(d time.Duration) fault.Latency { return fault.Latency{Min: d, Max: d} }

// proxyWith is a list of one proxy with these toxics.
func proxyWith(toxics string) string {
	return "[{\"name\": \"db\", \"listen\": \"127.0.0.1:1\", \"upstream\": \"127.0.0.1:2\", \"toxics\": [\n" + toxics + "]}]"
}

// What each toxic, and some together, become, and what is said about it.
func TestToxics(t *testing.T) {
	const (
		closed, reset, hang = fault.ActionClose, fault.ActionReset, fault.ActionHang
		drawn               = "is drawn once for each connection"
		late                = `{"type": "latency", "attributes": {"latency": 100}}`
		most                = `{"type": "limit_data", "attributes": {"bytes": 10}}`
	)
	uniform := func(least, most time.Duration) fault.Latency { return fault.Latency{Min: least, Max: most} }
	for text, want := range map[string]struct {
		rules []fault.Rule
		notes []string
	}{
		late: {rules: []fault.Rule{passed(down(fault.Stream{Latency: fixed(100 * ms)}))}},
		`{"type": "latency", "stream": "Upstream", "attributes": {"latency": 100, "jitter": 20}}`: {
			[]fault.Rule{passed(up(fault.Stream{Latency: uniform(80*ms, 120*ms)}))}, []string{drawn},
		},
		`{"type": "latency", "attributes": {"latency": 100, "jitter": 400}}`: {
			[]fault.Rule{passed(down(fault.Stream{Latency: fault.Latency{
				Table: &fault.Table{Points: []fault.Point{{}, {Quantile: .375}, {Quantile: 1, At: 500 * ms}}},
			}}))}, []string{drawn},
		},
		late + `, {"type": "latency", "name": "more", "attributes": {"latency": 50, "jitter": 5}}`: {
			[]fault.Rule{passed(down(fault.Stream{Latency: uniform(145*ms, 155*ms)}))}, []string{drawn},
		},
		late + `, {"type": "latency", "name": "more", "attributes": {"latency": 50}}`: {
			rules: []fault.Rule{passed(down(fault.Stream{Latency: fixed(150 * ms)}))},
		},
		late + `, {"type": "bandwidth", "attributes": {"rate": 5}}, {"type": "bandwidth", "name": "b", "attributes": {"rate": 4}}, {"type": "bandwidth", "name": "c", "attributes": {"rate": 6}}`: {
			[]fault.Rule{passed(down(fault.Stream{Latency: fixed(100 * ms), Bandwidth: 4000}))}, []string{"the smaller one counts", "the smaller one counts"},
		},
		`{"type": "slicer", "attributes": {"average_size": 7}}, {"type": "slicer", "name": "b", "attributes": {"average_size": 3}}`: {
			[]fault.Rule{passed(down(fault.Stream{Slice: &fault.Slice{Size: 7}}))}, []string{"give or take", "a second slicer"},
		},
		most + `, {"type": "limit_data", "name": "b", "attributes": {"bytes": 3}}, {"type": "limit_data", "name": "c", "attributes": {"bytes": 0}}`: {
			[]fault.Rule{passed(down(fault.Stream{End: end(closed, 0)}))}, []string{"smaller one counts", "as soon as it is made", "smaller one counts"},
		},
		`{"type": "latency", "attributes": {"latency": 100, "jitter": 20}}, {"type": "latency", "name": "b", "attributes": {"latency": 10, "jitter": 20}}`: {
			[]fault.Rule{passed(down(fault.Stream{Latency: uniform(80*ms, 150*ms)}))}, []string{drawn, drawn, "as often of every length"},
		},
		`{"type": "bandwidth", "attributes": {"rate": 5}}, ` + late: {
			[]fault.Rule{passed(down(fault.Stream{Bandwidth: 5000, Latency: fixed(100 * ms)}))}, []string{"here it comes on top"},
		},
		`{"type": "bandwidth", "attributes": {"rate": 0}}`: {
			[]fault.Rule{passed(down(fault.Stream{End: end(hang, 0)}))}, []string{"lets nothing through"},
		},
		`{"type": "slicer", "attributes": {"average_size": 7, "size_variation": 2, "delay": 1500}}`: {
			[]fault.Rule{passed(down(fault.Stream{Slice: &fault.Slice{Size: 7, Gap: 1500 * time.Microsecond}}))}, []string{"give or take size_variation (2)"},
		},
		most: {rules: []fault.Rule{passed(down(fault.Stream{End: end(closed, 10)}))}},
		most + `, {"type": "limit_data", "stream": "upstream", "attributes": {"bytes": 3}}`: {
			rules: []fault.Rule{passed(fault.TCP{Down: &fault.Stream{End: end(closed, 10)}, Up: &fault.Stream{End: end(closed, 3)}})},
		},
		`{"type": "timeout", "attributes": {"timeout": 0}}`: {rules: []fault.Rule{passed(down(fault.Stream{End: end(hang, 0)}))}},
		`{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 250}}, ` + late: {
			[]fault.Rule{passed(fault.TCP{
				Up: &fault.Stream{End: end(hang, 0)}, Down: &fault.Stream{Latency: fixed(100 * ms)}, Life: &fault.Life{For: 250 * ms, By: closed},
			})}, []string{"begins anew"},
		},
		`{"type": "timeout", "attributes": {"timeout": 250}}, ` + late: {
			[]fault.Rule{passed(fault.TCP{Down: &fault.Stream{End: end(hang, 0)}, Life: &fault.Life{For: 250 * ms, By: closed}})},
			[]string{"begins anew", "nothing gets to it"},
		},
		`{"type": "reset_peer"}`: {[]fault.Rule{passed(down(fault.Stream{End: end(reset, 0)}))}, []string{"as soon as it is made"}},
		`{"type": "reset_peer", "attributes": {"timeout": 30}}, {"type": "timeout", "stream": "upstream", "attributes": {"timeout": 20}}`: {
			[]fault.Rule{passed(fault.TCP{Up: &fault.Stream{End: end(hang, 0)}, Down: &fault.Stream{End: end(hang, 0)}, Life: &fault.Life{For: 20 * ms, By: closed}})},
			[]string{"begins anew", "with the connection here", "ends nothing"},
		},
		`{"type": "slow_close", "attributes": {"delay": 5}}, {"type": "noop"}`: {notes: []string{"slow_close has no equivalent", "noop does nothing"}},
		`{"type": "corrupt", "attributes": {"rate": 5}}`:                       {notes: []string{`"corrupt" is no toxic of Toxiproxy itself`}},
		`{"type": "limit_data", "attributes": {"bytes": 10, "byte": 5}, "enabled": true}`: {
			[]fault.Rule{passed(down(fault.Stream{End: end(closed, 10)}))}, []string{"is no attribute of limit_data", "is no key of a toxic"},
		},
		`{"type": "limit_data", "toxicity": 0.25, "attributes": {"bytes": 10}}`: {
			[]fault.Rule{some(1, 4, down(fault.Stream{End: end(closed, 10)}))}, []string{"exactly 1 of 4 connections"},
		},
		late + `, {"type": "limit_data", "toxicity": 2e-1, "attributes": {"bytes": 10}}, {"type": "timeout", "toxicity": 0.5}`: {
			[]fault.Rule{
				some(1, 2, down(fault.Stream{End: end(hang, 0)})), // With limit_data or without it.
				some(1, 10, down(fault.Stream{Latency: fixed(100 * ms), End: end(closed, 10)})),
				some(2, 5, down(fault.Stream{Latency: fixed(100 * ms)})),
			}, []string{"exactly 1 of 5", "exactly 1 of 2", "the limit_data before it counts for nothing"},
		},
		`{"type": "reset_peer", "toxicity": 0}`: {notes: []string{"hits nothing", "issue 603"}},
	} {
		got, err := imports.Toxiproxy("toxiproxy.json", []byte(proxyWith(text)))
		if err != nil || len(got.Injectors) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want.rules, got.Injectors[0].Rules, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		notes := got.Notes[1:] // The first is about the server.
		for n, note := range notes {
			if n >= len(want.notes) || !strings.Contains(note.String(), want.notes[n]) {
				t.Errorf("%s: noted is %v", text, note)
			}
		}
		if len(notes) < len(want.notes) {
			t.Errorf("%s: noted is %v, want %v", text, notes, want.notes)
		}
	}
}

// Each form in which Toxiproxy shows its proxies is read, and their addresses become ours.
func TestToxiproxyForms(t *testing.T) {
	const one = `"listen": "[::]:6379", "upstream": "redis:6379", "enabled": true, "toxics": [{"type": "limit_data", "stream": "downstream", "attributes": {"bytes": 10}}]`
	want := imports.Dependency{
		Name: "cache-1", Listen: "127.0.0.1:6379", Upstream: "redis:6379", Undialled: fault.ActionClose, Rules: []fault.Rule{passed(down(fault.Stream{End: end(fault.ActionClose, 10)}))},
	}
	for text, notes := range map[string][]string{
		`[{"name": "cache.1", ` + one + `}]`:                             {"[0].name: the injector is called cache-1", "becomes 127.0.0.1:6379: an injector misbehaves", "ignores their toxics"},
		`{"proxies": [{"name": "cache.1", ` + one + `}], "status": 201}`: {"is called cache-1", "becomes 127.0.0.1:6379", "status: is no part of a proxy"},
		`{"cache.1": {"name": "cache.1", ` + one + `}}`:                  {"cache.1.name: the injector is called cache-1", "becomes 127.0.0.1:6379"},
		"{\n\t\"NAME\": \"cache.1\",\n\t\"Logger\": 1,\t" + one + "\n}":  {"2:10: NAME: the injector is called cache-1", "becomes 127.0.0.1:6379", "Logger: is no key of a proxy"},
	} {
		got, err := imports.Toxiproxy("p.json", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff([]imports.Dependency{want}, got.Injectors); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		for n, note := range got.Notes {
			if n >= len(notes) || !strings.Contains(note.String(), notes[n]) {
				t.Errorf("%s: noted is %v", text, note)
			}
		}
		if len(got.Notes) < len(notes) {
			t.Errorf("%s: noted is %v", text, got.Notes)
		}
	}
}

// A proxy that is off refuses; addresses that cannot be had are replaced.
func TestToxiproxyDoors(t *testing.T) {
	got, err := imports.Toxiproxy("p.json", []byte(`[
		{"name": "a", "listen": "10.0.0.1:80", "upstream": "u:1", "enabled": false, "toxics": [{"type": "timeout"}]},
		{"name": "b", "listen": "localhost:80", "upstream": "u:2"},
		{"name": "c", "upstream": "u:3"}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []imports.Dependency{
		{Name: "a", Listen: "127.0.0.1:80", Upstream: "u:1", Undialled: fault.ActionClose, Rules: []fault.Rule{{Action: fault.ActionRefuse, Select: fault.Select{Kind: fault.SelectAll}}}},
		{Name: "b", Listen: "127.0.0.1:0", Upstream: "u:2", Undialled: fault.ActionClose},
		{Name: "c", Listen: "127.0.0.1:0", Upstream: "u:3", Undialled: fault.ActionClose},
	}
	if diff := cmp.Diff(want, got.Injectors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n, note := range []string{"becomes 127.0.0.1:80", "ignores their toxics", "the proxy is not enabled", "listen on port 80", "4:12: [2].listen: is not said"} {
		if n >= len(got.Notes) || !strings.Contains(got.Notes[n].String(), note) {
			t.Errorf("noted is %v, want %s", got.Notes, note)
		}
	}
}

// What Toxiproxy itself does not take, or cannot survive, is refused.
func TestToxiproxyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                               "p.json: there is no proxy in it",
		`[{"name": "a"}]`:                  "there is no proxy in it",
		`[{"name": "a", "listen": "x:1"}]`: "p.json:1:26: [0].listen: belongs to a proxy without an upstream",
		`[{"listen": "127.0.0.1:1", "upstream": "u:1"}]`:                         "belongs to a proxy without a name",
		`[{"name": "a", "upstream": "u"}]`:                                       `"u" is not of the form host:port`,
		`[{"name": "a", "listen": "x", "upstream": "u:1"}]`:                      `"x" is not of the form host:port`,
		`[{"name": "a.", "upstream": "u:1"}, {"name": "a-", "upstream": "u:1"}]`: "a- is the name of the proxy in line 1, too",
		`[{"name": "a", "upstream": "u:1", "enabled": 1}]`:                       `"1" is neither true nor false`,
		proxyWith(`{"name": "x"}`):                                               "Toxiproxy takes no toxic without a type",
		proxyWith(`{"type": "noop"}, {"type": "noop"}`):                          "the name noop_downstream",
		proxyWith(`{"type": "noop", "stream": "sideways"}`):                      `"sideways" is neither upstream nor downstream`,
		proxyWith(`{"type": "noop", "toxicity": "often"}`):                       `"often" is no probability`,
		proxyWith(`{"type": "timeout", "toxicity": 1e-999999999}`):               `is no probability`,
		proxyWith(`{"type": "bandwidth", "attributes": {"rate": -1}}`):           "-1 is negative",
		proxyWith(`{"type": "latency", "attributes": {"latency": 1.5}}`):         `"1.5" is no whole number`,
		proxyWith(`{"type": "latency", "attributes": {"latency": 99999999999}}`): "is more than a year",
		proxyWith(`{"type": "slicer", "attributes": {"delay": 1}}`):              "needs an average_size of at least 1",
		proxyWith(strings.Repeat(`{"type": "timeout", "toxicity": 0.123456789123456789, "name": "a"}, `, 1) +
			`{"type": "timeout", "stream": "upstream", "toxicity": 0.123456789123456789}`): "too fine",
	} {
		if _, err := imports.Toxiproxy("p.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %q", text, err, want)
		}
	}
}

func FuzzToxiproxy(f *testing.F) {
	f.Add(proxyWith(`{"type": "latency", "toxicity": 0.3, "attributes": {"latency": 100, "jitter": 300}}, {"type": "reset_peer", "toxicity": 0.1}`))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := imports.Toxiproxy("f.json", []byte(text))
		if err != nil {
			return
		}
		for _, d := range got.Injectors {
			if problems := fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": d.Rules}}); len(problems) > 0 {
				t.Errorf("%s is no script: %v", text, problems)
			}
		}
	})
}
