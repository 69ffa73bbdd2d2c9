package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/match"
)

func TestTake(t *testing.T) {
	captor, err := match.Compile([]match.Capture{
		{Name: "next", JSONPath: "$.next"},
		{Name: "ids", JSONPath: "$.items[*].id", List: true},
		{Name: "at", Header: "x-at"},
		{Name: "sid", Cookie: "sid"},
	})
	if err != nil || !captor.NeedBody() {
		t.Fatal(err)
	}
	type values = map[string]string
	of := func(v values) func(string) string { return func(name string) string { return v[name] } }
	for _, tc := range []struct {
		name   string
		header values
		cookie values
		body   string
		want   map[string][]string
	}{
		{
			"all",
			values{"x-at": "7"},
			values{"sid": "s3"},
			`{"next":"c/1 +","items":[{"id":1},{"id":"b"},{"id":1.50},{"id":null},{"id":[]},{"id":true}]}`,
			map[string][]string{"next": {"c/1 +"}, "ids": {"1", "b", "1.50", "true"}, "at": {"7"}, "sid": {"s3"}},
		},
		{"a big number", nil, nil, `{"next":12345678901234567890}`, map[string][]string{"next": {"12345678901234567890"}, "ids": {}}},
		{"null", nil, nil, `{"next":null,"items":[]}`, map[string][]string{"ids": {}}},
		{"an empty text", nil, nil, `{"next":""}`, map[string][]string{"ids": {}}},
		{"an object", nil, nil, `{"next":{}}`, map[string][]string{"ids": {}}},
		{"no JSON", nil, nil, `oops`, map[string][]string{}},
	} {
		got, ok := captor.Take(of(tc.header), of(tc.cookie), []byte(tc.body))
		if diff := cmp.Diff(tc.want, got); diff != "" || ok != (tc.body != "oops") {
			t.Errorf("%s: readable %t, want -, got +:\n%s", tc.name, ok, diff)
		}
	}
	if _, err := match.Compile([]match.Capture{{Name: "a", JSONPath: "state"}, {Name: "b", JSONPath: "$["}}); err == nil ||
		!strings.Contains(err.Error(), "capture a: ") || !strings.Contains(err.Error(), "capture b: ") {
		t.Errorf("bad paths: %v", err)
	}
}

func TestFill(t *testing.T) {
	const text = "/a/{{.ID}}?c={{ .next }}&d={{{.x}}&e={{nothing}}"
	if diff := cmp.Diff([]string{"next", "x"}, match.Words(text)); diff != "" {
		t.Error(diff)
	}
	got := match.Fill(text, func(name string) string { return "<" + name + "{{.ID}}>" })
	if want := "/a/{{.ID}}?c=<next{{.ID}}>&d={<x{{.ID}}>&e={{nothing}}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
