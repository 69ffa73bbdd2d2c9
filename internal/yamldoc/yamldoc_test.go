package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// read is a reader of a small format, as experiments has one of a larger.
func read(src string) (string, error) {
	doc := yamldoc.Parse("x.yaml", []byte(src))
	m := doc.Root().Map("")
	name := m.Need("name").NonEmpty()
	wait := m.Get("wait").Duration(5 * time.Second)
	n := m.Get("n").Count(1, 1)
	on := m.Get("on").Bool(true)
	mode := m.Get("mode").OneOf("fast", "fast", "slow")
	share := m.Get("share").Bound("<=").Share(0.5)
	var words []string
	for _, item := range m.Get("words").Items() {
		words = append(words, item.Text("?"))
	}
	inner := m.Get("inner").Map("")
	gap := inner.Get("gap").DurationOrZero(time.Second)
	inner.Choice("a", "b")
	inner.Done()
	m.Done()
	return fmt.Sprintf("%v %v %v %v %v %v %v %v", name, wait, n, on, mode, share, words, gap), doc.Err()
}

func TestRead(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"defaults", "name: x", "x 5s 1 true fast 0.5 [] 1s"},
		{"all", "{name: x, wait: 2s, n: 3, on: false, mode: slow, share: <= 1%, words: [a, 010], inner: {gap: 0s, b: 1}}", "x 2s 3 false slow 0.01 [a 010] 0s"},
		{"one of a list", "{name: 010, words: w}", "010 5s 1 true fast 0.5 [w] 1s"},
		{"alias", "{name: &n x, mode: slow, words: [*n, *n]}", "x 5s 1 true slow 0.5 [x x] 1s"},
		{"quoted units", `{name: "x", wait: "2s", share: "<=1%"}`, "x 2s 1 true fast 0.01 [] 1s"},
		{"byte order mark and CRLF", "\ufeffname: x\r\nn: 2\r\n", "x 5s 2 true fast 0.5 [] 1s"},
		{"end of document", "name: x\n...\n", "x 5s 1 true fast 0.5 [] 1s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("read %q, want %q", got, tc.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"empty", "", "1:1: the file is empty"},
		{"comment", "# x\n", "1:1: the file is empty"},
		{"null", "~\n", "1:1: the file is empty"},
		{"missing", "n: 2", "1:1: name: is missing"},
		{"scalar", "x", `1:1: wants a mapping of keys to values, not "x"; its keys are inner, mode, n, name, on, share, wait, words`},
		{"two at once, sorted", "n: 0\nname:\n", "1:4: n: 0 is too small; it is at least 1\n2:6: name: is empty; it wants text"},
		{"empty text", `name: ""`, "1:7: name: is empty"},
		{"quoted number", `{name: x, n: "2"}`, "1:14: n: wants a whole number without quotes, not quoted text"},
		{"negative", "{name: x, n: -1}", "1:14: n: -1 is too small; it is at least 1"},
		{"minus only", "{name: x, n: -}", `1:14: n: wants a whole number, not "-"`},
		{"share without a unit", "{name: x, share: 50}", "1:18: share: 50 has no unit; a share is written in percent: 50%"},
		{"needed key misspelt", "nam: x", `1:1: nam: unknown key; did you mean "name"?`},
		{"needed key misspelt and another one missing", "{nam: x, inner: 5, far: 1}", "1:2: nam: unknown key; did you mean \"name\"?\n1:17: inner: wants a mapping of keys to values, not \"5\"; its keys are a, b, gap\n1:20: far: unknown key; known are inner, mode, n, name, on, share, wait, words"},
		{"needed key present beside one like it", "{name: x, names: y}", `1:11: names: unknown key; did you mean "name"?`},
		{"list for a number", `{name: x, n: [2]}`, "1:14: n: wants a whole number, not a list"},
		{"octal", "{name: x, n: 010}", "1:14: n: 010 begins with a zero, which makes an octal number in YAML; leave the zero out"},
		{"large", "{name: x, n: 2147483648}", "1:14: n: 2147483648 is too large; it is at most 2147483647"},
		{"yes", "{name: x, on: yes}", `1:15: on: wants true or false, not "yes"`},
		{"zero", "{name: x, wait: 0s}", "1:17: wait: must be above zero"},
		{"word", "{name: x, mode: fats}", `1:17: mode: "fats" is not known here; did you mean "fast"?`},
		{"wrong bound", `{name: x, share: ">= 1%"}`, "1:18: share: >= makes no sense here; the value is a bound with <="},
		{"empty list", "{name: x, words: []}", "1:18: words: is an empty list; it needs at least one item"},
		{"choice", "{name: x, inner: {b: 1, a: 2}}", "1:25: inner.a: b and a exclude each other"},
		{"unknown after a choice", "{name: x, inner: {b: 1, c: 2}}", "1:25: inner.c: unknown key; known are b, gap"},
		{"inside an alias", "{name: x, words: &w [{}], inner: *w}", "1:18: inner: wants a mapping of keys to values, not a list; its keys are a, b, gap\n1:22: words[0]: wants text, in quotes, not a mapping"},
		{"twice through an alias", "{name: x, words: [&w {}, *w]}", "1:19: words[0]: wants text, in quotes, not a mapping\n1:19: words[1]: wants text, in quotes, not a mapping"},
		{"duplicate", "name: x\nname: y\n", `2:1: key "name" is given twice, first in line 1`},
		{"merge", "inner: &i {gap: 1s}\nname: x\n<<: *i\n", "3:1: merge keys (<<) are not part of YAML 1.2; write the keys out, or give the whole value as an alias"},
		{"tag", "name: !!str x", "1:7: tags such as !!str are not used here; leave it out"},
		{"second document", "name: x\n---\n", "2:1: a second document begins here; a file holds one"},
		{"bad second document", "name: x\n---\na: [\n", "3:1: this is not YAML: did not find expected node content"},
		{"tab", "name: x\ninner:\n\tgap: 1s\n", "3:1: a tab indents this line; YAML wants spaces"},
		{"tab after blanks", "name: x\ninner:\n  b: 1\n \tgap: 1s\n", "4:2: a tab indents this line; YAML wants spaces"},
		{"open bracket", "name: x\nwords: [a,\n  b\nn: 2\n", "2:1: this is not YAML: did not find expected ',' or ']'"},
		{"open bracket after others", "name: x\nwords: [a,\n  b]\ninner: {\n  b: 1\n}\nmode: [\n", "7:1: this is not YAML: did not find expected node content"},
		{"open quote", "name: 'x\nn: 2\n", "1:1: this is not YAML: found unexpected end of stream"},
		{"indentation", "name: x\n  n: 2\n", "2:3: this is not YAML: mapping values are not allowed in this context"},
		{"anchor", "name: x\nn: *m\n", "2:1: this is not YAML: unknown anchor 'm' referenced"},
		{"not UTF-8", "name: x\nmode: \xff\n", "2:1: this is not YAML: invalid leading UTF-8 octet"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := read(tc.src)
			if err == nil {
				t.Fatalf("no problem with %q", tc.src)
			}
			got := strings.ReplaceAll(err.Error(), "x.yaml:", "")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLongFile sees the error behind many lists that look unfinished.
func TestLongFile(t *testing.T) {
	const lines = 500
	src := strings.Repeat("- [a,\n  b]\n", lines) + "- 'x\n" + strings.Repeat("- c\n", lines)
	_, err := read(src)
	want := fmt.Sprintf("x.yaml:%d:1: this is not YAML: found unexpected end of stream", 2*lines+1)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"duration", "max_in_flight", "minimum_calls", "rate", "name"}
	for word, want := range map[string]string{
		"durration":    "duration",
		"maxInFlight":  "max_in_flight",
		"MINIMUM-CALL": "minimum_calls",
		"raet":         "rate",
		"weather":      "",
		"x":            "",
		"":             "",
	} {
		if got := yamldoc.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	doc := yamldoc.Parse("x.yaml", []byte("list:\n  - a: 1\n  - {b: 2, a: 3}\nmap: {x: {c: 1}}\n"))
	m := doc.Root().Map("")
	for _, item := range m.Get("list").List() {
		item.Map("").Get("a")
	}
	for _, e := range m.Get("map").Map("").Entries() {
		e.Value.Map("").Get("c")
		e.Value.Map("").Get("d")
	}
	want := []yamldoc.Key{
		{Path: "list", At: []yamldoc.Pos{{Line: 1, Col: 1}}},
		{Path: "list[].a", At: []yamldoc.Pos{{Line: 2, Col: 5}, {Line: 3, Col: 12}}},
		{Path: "map", At: []yamldoc.Pos{{Line: 4, Col: 1}}},
		{Path: "map.*.c", At: []yamldoc.Pos{{Line: 4, Col: 11}}},
		{Path: "map.*.d"},
	}
	if diff := cmp.Diff(want, doc.Keys()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLacks takes a problem back when any of the keys that it lacks is misspelt,
// and keeps it otherwise, wherever it stands.
func TestLacks(t *testing.T) {
	for src, want := range map[string]string{
		"{at: 1}":          "x.yaml:1:6: at: says neither rate nor calls",
		"{at: 1, raet: 1}": `x.yaml:1:9: raet: unknown key; did you mean "rate"?`,
		"{at: 1, cals: 1}": `x.yaml:1:9: cals: unknown key; did you mean "calls"?`,
		"{at: 1, far: 1}":  "x.yaml:1:6: at: says neither rate nor calls\nx.yaml:1:9: far: unknown key; known are at, calls, gap, rate",
		"{at: 1, gpa: 1}":  "x.yaml:1:6: at: says neither rate nor calls\nx.yaml:1:9: gpa: unknown key; known are at, calls, gap, rate",
	} {
		doc := yamldoc.Parse("x.yaml", []byte(src))
		m := doc.Root().Map("")
		at := m.Get("at")
		m.Get("gap")
		if m.Choice("rate", "calls") == "" {
			m.Lacks(at, []string{"rate", "calls"}, "says neither rate nor calls")
		}
		before := doc.Noted()
		m.DoneListing()
		if unknown := len(m.Unknown()); doc.Noted() != before+unknown {
			t.Errorf("%s: %d problems noted by Done, want %d", src, doc.Noted()-before, unknown)
		}
		if got := doc.Err().Error(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", src, got, want)
		}
	}
}

// TestMapExample shows how text in place of a mapping is answered.
func TestMapExample(t *testing.T) {
	doc := yamldoc.Parse("x.yaml", []byte("latency: 5ms"))
	m := doc.Root().Map("")
	latency := m.Get("latency").Map("{fixed: 5ms}")
	latency.Choice("fixed", "uniform")
	latency.Done()
	m.Done()
	want := `x.yaml:1:10: latency: wants a mapping such as {fixed: 5ms}, not "5ms"; its keys are fixed, uniform`
	if got := doc.Err().Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFlowList(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, words := range [][]string{{"python3", "svc.py"}, {"-p", "{{sut.port}}", "a, b", "", "x: y", "#", "010"}, {long, long}, {"a\nb"}} {
		text := yamldoc.FlowList(words)
		doc := yamldoc.Parse("x.yaml", []byte("list: "+text))
		var got []string
		for _, item := range doc.Root().Map("").Get("list").List() {
			got = append(got, item.Text(""))
		}
		if diff := cmp.Diff(words, got); diff != "" || doc.Err() != nil || strings.Contains(text, "\n") {
			t.Errorf("%s (%v):\n%s", text, doc.Err(), diff)
		}
	}
	if got := yamldoc.FlowList([]string{"python3", "svc.py"}); got != "[python3, svc.py]" {
		t.Errorf("got %s", got)
	}
}
