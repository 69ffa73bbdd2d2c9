package probe_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline-go/faultline/target/probe"
)

func TestParseText(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []probe.Sample
	}{
		"empty": {"", nil},
		"plain": {"up 1\n", []probe.Sample{{Name: "up", Value: 1}}},
		"comments": {
			"# HELP up It is up.\n# TYPE up gauge\n#nothing\n#\n\n  \nup 1\n", []probe.Sample{{Name: "up", Value: 1}},
		},
		"labels":       {"a:b_1{x=\"1\",y=\"two\"} 3.5\n", []probe.Sample{{Name: "a:b_1", Labels: map[string]string{"x": "1", "y": "two"}, Value: 3.5}}},
		"comma at end": {"a{x=\"1\",} 3\n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": "1"}, Value: 3}}},
		"spaces":       {"\t a { x = \"1\" , y=\"2\" } \t 3  \n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": "1", "y": "2"}, Value: 3}}},
		"no label":     {"a{} 3\n", []probe.Sample{{Name: "a", Labels: map[string]string{}, Value: 3}}},
		"escapes":      {`a{x="\\\"\n}{,="} 1` + "\n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": "\\\"\n}{,="}, Value: 1}}},
		"empty value":  {"a{x=\"\"} 1\n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": ""}, Value: 1}}},
		"numbers":      {"a 1.0E9\na -0\na +Inf\na -Inf\na 1e-3\n", []probe.Sample{{Name: "a", Value: 1e9}, {Name: "a"}, {Name: "a", Value: math.Inf(1)}, {Name: "a", Value: math.Inf(-1)}, {Name: "a", Value: 0.001}}},
		"not a number": {"a NaN\n", []probe.Sample{{Name: "a", Value: math.NaN()}}},
		"timestamp":    {"a 1 1395066363000\na 2 -3982045\n", []probe.Sample{{Name: "a", Value: 1}, {Name: "a", Value: 2}}},
		"UTF-8":        {"a{x=\"größe\"} 1\n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": "größe"}, Value: 1}}},
		"no space":     {"a{x=\"1\"}3\n", []probe.Sample{{Name: "a", Labels: map[string]string{"x": "1"}, Value: 3}}},
		"CRLF is not a line's end, but a blank before the value's end is": {"a 1 \n", []probe.Sample{{Name: "a", Value: 1}}},
	} {
		got, err := probe.ParseText(c.page)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateNaNs()); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestParseTextRefuses(t *testing.T) {
	for page, want := range map[string]string{
		"up 1":                               "line 1: it has no end; the page was cut off",
		"up 1\nup":                           "line 2: it has no end; the page was cut off",
		"up\n":                               `line 1: "up" has no value`,
		"up \n":                              `line 1: "up" has no value`,
		"up{} \n":                            `line 1: up: "" is no number`,
		"1up 1\n":                            `line 1: "1up" is no name of a metric`,
		"ok 1\nup one\n":                     `line 2: up: "one" is no number`,
		"up 0x1p4\n":                         `line 1: up: "0x1p4" is no number`,
		"up 1_000\n":                         `line 1: up: "1_000" is no number`,
		"up 1 soon\n":                        `line 1: up: "soon" is no timestamp in milliseconds`,
		"up 1 2 3\n":                         `line 1: up: "3" follows the timestamp`,
		"up 1 # {a=\"b\"} 1\n":               `line 1: up: "#" is no timestamp in milliseconds`,
		"up{x} 1\n":                          "line 1: up: the labels have no end",
		"up{x=\"1\" 1\n":                     "line 1: up: label x: a comma or a brace must follow its value",
		"up{x=\"1\n":                         "line 1: up: label x: the value has no end",
		"up{x=1} 1\n":                        "line 1: up: label x: the value is not in quotes",
		"up{x=\"\\t\"} 1\n":                  `line 1: up: label x: a backslash is followed by \, " or n`,
		"up{x=\"1\",x=\"2\"} 1\n":            "line 1: up: label x stands there twice",
		"up{a:b=\"1\"} 1\n":                  `line 1: up: "a:b" is no name of a label`,
		"up{,x=\"1\"} 1\n":                   `line 1: up: ",x" is no name of a label`,
		"# TYPE up gauge\n# TYPE up gauge\n": "line 2: the type of up is said twice",
		"# TYPE up number\n":                 `line 1: "number" is no type of a metric`,
		"# HELP 1 x\n":                       `line 1: HELP of "1", which is no name of a metric`,
		"<html>\n":                           `line 1: "<html>" has no value`,
	} {
		got, err := probe.ParseText(page)
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("%q: %v %v, want %s", page, got, err, want)
		}
	}
}

// FuzzParseText holds what is read to what it reads like when it is written again.
func FuzzParseText(f *testing.F) {
	f.Add("# TYPE up gauge\nup 1\n")
	f.Add("a{x=\"1\",y=\"\\\\\\\"\\n\"} +Inf 17\nb NaN\n")
	f.Add("a{x=\"1\"} 3")
	f.Fuzz(func(t *testing.T, page string) {
		got, err := probe.ParseText(page)
		if err != nil {
			if got != nil || !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("%v beside the error %v", got, err)
			}
			return
		}
		again, err := probe.ParseText(written(got))
		if diff := cmp.Diff(got, again, cmpopts.EquateNaNs()); err != nil || diff != "" {
			t.Fatalf("%q is read otherwise when it is written again: %v %s", page, err, diff)
		}
	})
}

func written(all []probe.Sample) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.Name)
		if s.Labels != nil {
			b.WriteString("{")
			for k := range maps.Keys(s.Labels) {
				b.WriteString(k + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s.Labels[k]) + `",`)
			}
			b.WriteString("}")
		}
		b.WriteString(" " + number(s.Value) + "\n")
	}
	return b.String()
}
