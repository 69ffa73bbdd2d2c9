package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
)

func TestTemplate(t *testing.T) {
	const id, uuid = "0123456789abcdef0001000000000007", "01234567-89ab-cdef-0001-000000000007"
	for _, tc := range []struct{ text, want, wrong string }{
		{"", "", ""},
		{"/orders", "/orders", ""},
		{"{{.ID}}", id, ""},
		{"/orders/{{.ID}}/x", "/orders/" + id + "/x", ""},
		{`{"id":"{{.UUID}}","again":"{{.ID}}"}`, `{"id":"` + uuid + `","again":"` + id + `"}`, ""},
		{"{{.ID}}{{.UUID}}", id + uuid, ""},
		{"{{{.ID}}}", "{" + id + "}", ""},
		{`{"a":{"b":{}}}`, `{"a":{"b":{}}}`, ""},
		{"{{", "{{", ""},
		{"{{.", "{{.", ""},
		{"{{.}}", "{{.}}", ""},
		{"{{ID}}", "{{ID}}", ""},
		{"{{.ID}", "{{.ID}", ""},
		{"{{ x }} {{#each}} {{.a b}}", "{{ x }} {{#each}} {{.a b}}", ""},
		{"{{.Id}}", "", "{{.Id}} is not a template; known are {{.ID}} and {{.UUID}}"},
		{"{{.ORDER_1}}", "", "{{.ORDER_1}} is not"},
		{"{{ .ID }}", "", "{{ .ID }} is not"},
		{"{{.ID}} {{.A}} {{.B}}", "", "{{.A}} is not a template; known are {{.ID}} and {{.UUID}}\n{{.B}} is not"},
	} {
		got, err := match.ParseTemplate(tc.text)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q: error %v, want %q", tc.text, err, tc.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
		}
		if diff := cmp.Diff(tc.want, got.Expand(id)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.text, diff)
		}
		if got.Templated() != (tc.want != tc.text) {
			t.Errorf("%q is templated: %t", tc.text, got.Templated())
		}
	}
	if got := (match.Template{}).Expand(id); got != "" {
		t.Errorf("the zero template is %q", got)
	}
}

// A text without braces is itself; what stands around templates stays.
func TestTemplateKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "{", "}", "{{", "}}", ".", " ", "é", match.TemplateID, match.TemplateUUID})).Draw(t, "parts")
		text := strings.Join(parts, "")
		got, err := match.ParseTemplate(text)
		if err != nil {
			t.Skip("it holds another template")
		}
		const id = "0123456789abcdef0001000000000007"
		want := strings.NewReplacer(match.TemplateID, id, match.TemplateUUID, match.UUID(id)).Replace(text)
		if got.Expand(id) != want {
			t.Errorf("%q became %q, want %q", text, got.Expand(id), want)
		}
	})
}
