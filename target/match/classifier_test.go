package match_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
)

// TestClassifyBody shows what each way of looking into a body takes for a match.
func TestClassifyBody(t *testing.T) {
	path := func(query string, want any) match.Class { return match.Class{JSONPath: map[string]any{query: want}} }
	state := path("$.state", "PAID")
	for _, tc := range []struct {
		name  string
		class match.Class
		body  string
		want  bool
	}{
		{"regex", match.Class{Regex: []string{`"total":\s*\d+`}}, `{"total": 12}`, true},
		{"regex, elsewhere", match.Class{Regex: []string{`"total":\s*\d+`}}, `{"total": "x"}`, false},
		{"regex, anchored", match.Class{Regex: []string{`^PAID$`}}, "PAID\n", false},
		{"regex, lines", match.Class{Regex: []string{`(?m)^PAID$`}}, "a\nPAID\n", true},
		{"both expressions", match.Class{Regex: []string{"a", "b"}}, "ab", true},
		{"one of the expressions", match.Class{Regex: []string{"a", "b"}}, "a", false},
		{"regex of bytes that are no text", match.Class{Regex: []string{"PAID"}}, "\xff\xfePAID", true},

		{"member", state, `{"state":"PAID","n":1}`, true},
		{"member, spaces around", state, " \n{\"state\" : \"PAID\"}\n ", true},
		{"member of another value", state, `{"state":"QUEUED"}`, false},
		{"member in another case", state, `{"state":"Paid"}`, false},
		{"member that is not there", state, `{"status":"PAID"}`, false},
		{"member deeper", state, `{"order":{"state":"PAID"}}`, false},
		{"member anywhere", path("$..state", "PAID"), `{"order":[{"state":"NEW"},{"state":"PAID"}]}`, true},
		{"any node of a list", path("$.items[*].state", "PAID"), `{"items":[{"state":"NEW"},{"state":"PAID"}]}`, true},
		{"a filter", path(`$.items[?@.id==7].state`, "PAID"), `{"items":[{"id":7,"state":"PAID"}]}`, true},
		{"a filter on a number with a point", path(`$.items[?@.id==7].state`, "PAID"), `{"items":[{"id":7.0,"state":"PAID"}]}`, true},
		{"a filter that drops it", path(`$.items[?@.id==8].state`, "PAID"), `{"items":[{"id":7,"state":"PAID"}]}`, false},
		{"root", path("$", "PAID"), `"PAID"`, true},
		{"escapes", state, `{"st\u0061te":"PAI\u0044"}`, true},
		{"the last of two members", state, `{"state":"NEW","state":"PAID"}`, true},

		{"integer and point", path("$.n", 1.0), `{"n":1.0}`, true},
		{"point and integer", path("$.n", 1.0), `{"n":1}`, true},
		{"exponent", path("$.n", 100.0), `{"n":1e2}`, true},
		{"an int of Go", path("$.n", 1), `{"n":1}`, true},
		{"minus zero", path("$.n", 0.0), `{"n":-0}`, true},
		{"another number", path("$.n", 1.0), `{"n":1.5}`, false},
		{"number and text", path("$.n", 1.0), `{"n":"1"}`, false},
		{"text and number", path("$.n", "1"), `{"n":1}`, false},
		{"more than a double", path("$.n", math.MaxFloat64), `{"n":1e999}`, false},
		{"more than a double, elsewhere", state, `{"n":1e999,"state":"PAID"}`, true},
		{"true", path("$.ok", true), `{"ok":true}`, true},
		{"false is not true", path("$.ok", true), `{"ok":false}`, false},
		{"true and text", path("$.ok", true), `{"ok":"true"}`, false},
		{"null", path("$.err", nil), `{"err":null}`, true},
		{"null is not absent", path("$.err", nil), `{}`, false},
		{"null is not false", path("$.err", nil), `{"err":false}`, false},
		{"empty text", path("$.err", ""), `{"err":""}`, true},
		{"an object is no value", path("$.o", ""), `{"o":{}}`, false},
		{"a list is no value", path("$.o", nil), `{"o":[]}`, false},

		{"no JSON", state, `state=PAID`, false},
		{"empty", state, ``, false},
		{"cut off", state, `{"state":"PAID"`, false},
		{"more behind it", state, `{"state":"PAID"}{"state":"PAID"}`, false},
		{"rubbish behind it", state, `{"state":"PAID"} x`, false},
		{"a list of no member", state, `["state"]`, false},

		{"all queries", match.Class{JSONPath: map[string]any{"$.a": 1.0, "$.b": true}}, `{"a":1,"b":true}`, true},
		{"one of the queries", match.Class{JSONPath: map[string]any{"$.a": 1.0, "$.b": true}}, `{"a":1,"b":false}`, false},
		{"text, expression and query", match.Class{Contains: []string{"PAID"}, Regex: []string{"P.ID"}, JSONPath: map[string]any{"$.state": "PAID"}}, `{"state":"PAID"}`, true},
		{"not the text", match.Class{Contains: []string{"QUEUED"}, Regex: []string{"P.ID"}, JSONPath: map[string]any{"$.state": "PAID"}}, `{"state":"PAID"}`, false},
		{"not the expression", match.Class{Contains: []string{"PAID"}, Regex: []string{"Q"}, JSONPath: map[string]any{"$.state": "PAID"}}, `{"state":"PAID"}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.class.Name = "it"
			c := compiled(t, match.Classes{tc.class})
			if got := c.Classify(200, http.Header{}.Get, []byte(tc.body)) == "it"; got != tc.want {
				t.Errorf("%q matches: %t, want %t", tc.body, got, tc.want)
			}
			if !c.NeedBody() || tc.class.StatusOnly() {
				t.Error("a class that looks into the body does not say so")
			}
		})
	}
}

// What is wrong with classes is said before any answer is looked at, all of it.
func TestCompile(t *testing.T) {
	_, err := match.Classes{
		{Name: "good", Regex: []string{"a"}, JSONPath: map[string]any{"$.a": 1.0}},
		{Name: "bad", Regex: []string{"(", "a(?=b)"}, JSONPath: map[string]any{"state": "PAID", "$.a": []any{}, "$.b": math.NaN()}},
	}.Compile()
	if err == nil {
		t.Fatal("bad classes were compiled")
	}
	for _, part := range []string{
		"class bad: ", `"(" is not a regular expression of RE2: missing closing )`, `"a(?=b)"`,
		`"state" is not a path of JSON such as $.state (RFC 9535)`, "jsonpath $.a: [] is neither text", "jsonpath $.b: JSON has no number NaN",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "good") {
		t.Errorf("%q blames a good class", err)
	}
	if got := (match.Classifier{}).Classify(200, http.Header{}.Get, nil); got != match.Unclassified {
		t.Errorf("the zero classifier says %s", got)
	}
}

func TestCheckExpressions(t *testing.T) {
	for expr, ok := range map[string]bool{"": true, "a|b": true, "(?i)paid": true, "(": false, `\1`: false, "(?!a)": false, "a{1001}": false} {
		if err := match.CheckRegex(expr); (err == nil) != ok {
			t.Errorf("%q: %v", expr, err)
		}
	}
	for query, ok := range map[string]bool{
		"$": true, "$.state": true, "$['a b']": true, "$..x[?@.n>1]": true, "$[0,1:3]": true,
		"": false, "state": false, ".state": false, "$.": false, "$.a b": false, "$[": false, "$[?(@.x=1)]": false, " $": false,
	} {
		if err := match.CheckJSONPath(query); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// The body is decoded into a state of the call's own, so calls do not disturb one
// another.
func TestClassifyConcurrently(t *testing.T) {
	c := compiled(t, match.Classes{{Name: "big", Regex: []string{"n"}, JSONPath: map[string]any{"$..[?@.n>=500].big": true}}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := i; n < 1000; n += 8 {
				body := `{"a":{"n":` + strconv.Itoa(n) + `,"big":true}}`
				if got := c.Classify(200, http.Header{}.Get, []byte(body)); (got == "big") != (n >= 500) {
					t.Errorf("%s is %s", body, got)
				}
			}
		})
	}
	wg.Wait()
}

// A member is found with the value that encoding/json wrote, however deep, and not
// with another.
func TestClassifyWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return strings.ToValidUTF8(s, "?") }),
			rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Just(any(nil)),
		)
		value, other := scalar.Draw(t, "value"), scalar.Draw(t, "other")
		var doc any = map[string]any{"it": value, "x": 1}
		query := "$"
		for range rapid.IntRange(0, 5).Draw(t, "depth") {
			if rapid.Bool().Draw(t, "list") {
				doc, query = []any{nil, doc}, "$[1]"+query[1:]
				continue
			}
			doc, query = map[string]any{"in": doc}, "$.in"+query[1:]
		}
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []any{value, other} {
			class := match.Class{Name: "it", JSONPath: map[string]any{query + ".it": want}}
			got := compiled(t, match.Classes{class}).Classify(200, http.Header{}.Get, body) == "it"
			if got != (want == value) {
				t.Errorf("%s at %s.it is %v: %t", body, query, want, got)
			}
		}
	})
}

// Nothing that an answer or a file may hold makes classification panic.
func FuzzClassify(f *testing.F) {
	f.Add(`"total":\s*\d+`, "$.state", "PAID", `{"state":"PAID","total": 1}`)
	f.Add("(a|b)*", "$..[?@.n > 1 && match(@.s, 'a.*')]", "", `[{"n":2,"s":"ab"},[[[]]]]`)
	f.Add("", "$[-1:0:-1]", "null", "[1,2,{}]")
	f.Add("(", "$[?length(@.a)>1e999]", "1", "\xff{\"a\":\"\\ud800\"}")
	f.Fuzz(func(t *testing.T, expr, query, value, body string) {
		for _, want := range []any{value, nil, true, 1.0} {
			class := match.Class{Name: "it", Regex: []string{expr}, JSONPath: map[string]any{query: want}}
			c, err := match.Classes{class}.Compile()
			if (err == nil) != (match.CheckRegex(expr) == nil && match.CheckJSONPath(query) == nil) {
				t.Fatalf("compiling says %v, checking %v and %v", err, match.CheckRegex(expr), match.CheckJSONPath(query))
			}
			if got := c.Classify(200, http.Header{}.Get, []byte(body)); got != "it" && got != match.Unclassified {
				t.Fatalf("class %q", got)
			}
		}
	})
}
