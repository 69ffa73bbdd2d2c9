package experiments

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzLoad loads anything. What is refused is refused with positions inside the
// file; what is accepted can be printed and loaded again.
func FuzzLoad(f *testing.F) {
	for _, file := range slices.Concat(glob(f, "*.yaml"), glob(f, "../*.yaml")) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		plan, err := LoadPlan("f.yaml", src, testSeed)
		if err != nil {
			checkProblems(t, src, err)
			return
		}
		first, err := MarshalPlan(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadPlan("f.yaml", first, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if diff := cmp.Diff(plan, again, samePlan()); diff != "" {
			t.Fatalf("-first +again:\n%s", diff)
		}
		if second, err := MarshalPlan(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("printed twice (%v):\n%s", err, cmp.Diff(string(first), string(second)))
		}
	})
}

// checkProblems holds an error of LoadPlan to its promise.
func checkProblems(t *testing.T, src []byte, err error) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("error is %T: %v", err, err)
	}
	lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(src)), "\n") + 1
	for i, p := range problems {
		if p.File != "f.yaml" || p.Line < 1 || p.Line > lines || p.Col < 1 || p.Message == "" {
			t.Errorf("problem %+v in a file of %d lines", p, lines)
		}
		if i > 0 && (p.Line < problems[i-1].Line || p.Line == problems[i-1].Line && p.Col < problems[i-1].Col) {
			t.Errorf("%v comes before %v", problems[i-1], p)
		}
	}
}
