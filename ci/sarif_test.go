package ci

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func inspection() Inspection {
	return Inspection{
		Tool: "v0.1.0",
		Checks: []Check{
			{ID: "minimum-unset", Level: LevelWarning, Title: "No minimum", Text: "It is then 100.", Help: "Set it.", Markdown: "Set `it`."},
			{ID: "refused", Level: LevelError, Title: "Refused", Text: "Spring does not start.", Help: "Write another value."},
		},
		Findings: []Finding{
			{Rule: "refused", Level: LevelError, File: "src/main/resources/application.yml", Line: 7, Column: 11, Message: "must be 1 to 100\nwhy: 100%"},
			{Rule: "minimum-unset", Level: LevelNote, File: "/etc/a b.yml", Line: 3, Message: "not set"},
			{Rule: "minimum-unset", Level: LevelWarning, File: "c:d,e.yml", Message: "not set", Suppressed: "little traffic"},
			{Rule: "of no check", Level: LevelWarning, File: `win\dir.yml`, Line: 1, Column: 1, Message: "\x1b \xff"},
		},
		Unread: []Finding{{File: "broken.yml", Line: 2, Column: 3, Message: "is not YAML"}},
	}
}

func sarif(t interface{ Fatal(...any) }, in Inspection) []byte {
	var b bytes.Buffer
	if err := WriteSARIF(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFindings(t *testing.T) {
	var github bytes.Buffer
	if err := WriteGitHub(&github, inspection().Findings); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{
		"findings.sarif": sarif(t, inspection()),
		"empty.sarif":    sarif(t, Inspection{}),
		"findings.txt":   github.Bytes(),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever a file's name and its values hold, a command stays one line, and its
// properties stay what they are.
func TestAnnotationsAreOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Finding{Rule: rapid.String().Draw(t, "rule"), Level: LevelNote, File: rapid.String().Draw(t, "file"), Message: rapid.String().Draw(t, "message")}
		var b bytes.Buffer
		if err := WriteGitHub(&b, []Finding{f}); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(b.String(), "\n")
		if rest != "" || strings.Contains(line, "\r") {
			t.Fatalf("more than a line: %q", b.String())
		}
		head, message, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		back := strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%", "%3A", ":", "%2C", ",")
		if back.Replace(message) != f.Message || head != "notice file="+inProperty(f.File)+",title="+inProperty(f.Rule) {
			t.Fatalf("%q is not %+v", line, f)
		}
		if strings.ContainsAny(inProperty(f.File), ":,\n") {
			t.Fatalf("a property ends early: %q", head)
		}
	})
}

// sarifSchema fetches the schema of SARIF 2.1.0, out of a Go module that has it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the schema of SARIF is fetched with FAULTLINE_ZOO=1")
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/owenrumney/go-sarif/v3@v3.3.1")
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		t.Fatalf("fetch the schema: %v\n%s", err, out)
	}
	src, err := os.ReadFile(filepath.Join(module.Dir, "pkg/report/v210/sarif/schema.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(src), "`")
	text, _, _ = strings.Cut(text, "`")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func fitsSARIF(t interface{ Fatal(...any) }, schema *jsonschema.Schema, doc []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v)
}

func TestSARIFFitsItsSchema(t *testing.T) {
	schema := sarifSchema(t)
	for name, in := range map[string]Inspection{"all": inspection(), "nothing": {}} {
		if err := fitsSARIF(t, schema, sarif(t, in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range [][2]string{
		{`"startLine": 7`, `"startLine": 0`},
		{`"level": "note"`, `"level": "notice"`},
		{`"kind": "inSource"`, `"kind": "comment"`},
		{`"uri": "file:///etc/a%20b.yml"`, `"uri": "/etc/a b.yml:%zz"`},
		{`"columnKind"`, `"columns"`},
	} {
		doc := strings.Replace(string(sarif(t, inspection())), change[0], change[1], 1)
		if doc == string(sarif(t, inspection())) || fitsSARIF(t, schema, []byte(doc)) == nil {
			t.Errorf("%s is not missed when it is %s", change[0], change[1])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		in := Inspection{Findings: []Finding{{
			Rule: text.Draw(t, "rule"), Level: LevelError, File: text.Draw(t, "file"), Message: text.Draw(t, "message"),
			Line: rapid.IntRange(0, 9).Draw(t, "line"), Column: rapid.IntRange(0, 9).Draw(t, "column"), Suppressed: text.Draw(t, "reason"),
		}}}
		if err := fitsSARIF(t, schema, sarif(t, in)); err != nil {
			t.Fatal(err)
		}
	})
}
