package yamldoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

func TestSpringProperties(t *testing.T) {
	got, err := yamldoc.SpringProperties("application.yml", []byte(`a.b:
  c: 1
  d: [x, "y z"]
  e:
  f: []
"[f.g]": &anchor {h: true}
i: *anchor
---
# Nothing but a comment is no document of its own.
a: {"b.c": 2}
---
- &m {a: 1, b: {c: 2}}
- {b: 3, <<: [*m, {a: 4, d: 5}]}
- {a: 1, "a": {b: 2}}
---
{010: .5, on: 1_0.0, "010": 0x1F, a: -1:30, b: ~, c: 1e3, d: 1.5e10, e: !!str 5, f: !x 5}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]yamldoc.Property{{
		{Key: "a.b.c", Value: "1", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 2, Col: 6}},
		{Key: "a.b.d[0]", Value: "x", At: yamldoc.Pos{Line: 3, Col: 7}},
		{Key: "a.b.d[1]", Value: "y z", At: yamldoc.Pos{Line: 3, Col: 10}},
		{Key: "a.b.e", At: yamldoc.Pos{Line: 4, Col: 5}},
		{Key: "a.b.f", At: yamldoc.Pos{Line: 5, Col: 6}},
		{Key: "[f.g].h", Value: "true", Type: yamldoc.TypeBool, At: yamldoc.Pos{Line: 6, Col: 22}},
		{Key: "i.h", Value: "true", Type: yamldoc.TypeBool, At: yamldoc.Pos{Line: 6, Col: 22}},
	}, {
		{Key: "a.b.c", Value: "2", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 10, Col: 12}},
	}, {
		{Key: "[0].a", Value: "1", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 12, Col: 10}},
		{Key: "[0].b.c", Value: "2", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 12, Col: 20}},
		{Key: "[1].b", Value: "3", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 13, Col: 7}},
		{Key: "[1].a", Value: "1", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 12, Col: 10}},
		{Key: "[1].d", Value: "5", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 13, Col: 29}},
		{Key: "[2].a", Value: "1", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 14, Col: 7}},
		{Key: "[2].a.b", Value: "2", Type: yamldoc.TypeInt, Again: true, At: yamldoc.Pos{Line: 14, Col: 19}},
	}, {
		{Key: "[8]", Value: "0.5", Type: yamldoc.TypeFloat, At: yamldoc.Pos{Line: 16, Col: 7}},
		{Key: "[true]", Value: "10.0", Type: yamldoc.TypeFloat, At: yamldoc.Pos{Line: 16, Col: 15}},
		{Key: "010", Value: "31", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 16, Col: 29}},
		{Key: "a", Value: "-90", Type: yamldoc.TypeInt, At: yamldoc.Pos{Line: 16, Col: 38}},
		{Key: "b", At: yamldoc.Pos{Line: 16, Col: 48}},
		{Key: "c", Value: "1000.0", Type: yamldoc.TypeFloat, At: yamldoc.Pos{Line: 16, Col: 54}},
		{Key: "d", Value: "1.5e+10", Type: yamldoc.TypeFloat, At: yamldoc.Pos{Line: 16, Col: 62}},
		{Key: "e", Value: "5", Tag: "!!str", At: yamldoc.Pos{Line: 16, Col: 73}},
		{Key: "f", Value: "5", Type: yamldoc.TypeInt, Tag: "!x", At: yamldoc.Pos{Line: 16, Col: 85}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}

func TestSpringPropertiesRefuses(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'g'; c++ {
		bomb += strings.ReplaceAll("X: &X [*Y, *Y, *Y, *Y, *Y, *Y, *Y, *Y, *Y, *Y]\n", "X", string(c))
		bomb = strings.ReplaceAll(bomb, "Y", string(c-1))
	}
	for src, want := range map[string]string{
		"a:\n\tb: 1\n": "application.yml:2:1: a tab indents this line; YAML wants spaces",
		bomb:           "application.yml:1:1: aliases make this document expand to more than 100000 values",
	} {
		if _, err := yamldoc.SpringProperties("application.yml", []byte(src)); err == nil || err.Error() != want {
			t.Errorf("%.20q...: error %v, want %s", src, err, want)
		}
	}
}

func TestProperties(t *testing.T) {
	got, err := yamldoc.Properties("application.yml", []byte(`a.b:
  c: 1
  d: [x, "y z"]
  e:
"[f.g]": &anchor {h: true}
i: *anchor
---
# Nothing but a comment is no document of its own.
a: {"b.c": 2}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]yamldoc.Property{{
		{Key: "a.b.c", Value: "1", At: yamldoc.Pos{Line: 2, Col: 6}},
		{Key: "a.b.d[0]", Value: "x", At: yamldoc.Pos{Line: 3, Col: 7}},
		{Key: "a.b.d[1]", Value: "y z", At: yamldoc.Pos{Line: 3, Col: 10}},
		{Key: "[f.g].h", Value: "true", At: yamldoc.Pos{Line: 5, Col: 22}},
		{Key: "i.h", Value: "true", At: yamldoc.Pos{Line: 5, Col: 22}},
	}, {
		{Key: "a.b.c", Value: "2", At: yamldoc.Pos{Line: 9, Col: 12}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}
