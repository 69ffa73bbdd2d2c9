package experiments

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// update rewrites the golden plans, and the wanted problems of bad files. Look at
// the difference before you keep it.
var update = flag.Bool("update", false, "rewrite what testdata expects")

// testSeed is the seed of tests, for files that name none.
const testSeed = 42

// glob returns files by a pattern relative to testdata.
func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

// goodFiles are the experiments that must load: good examples, and the catalogue.
func goodFiles(t testing.TB) []string {
	return append(glob(t, "*.good.yaml"), glob(t, "../*.yaml")...)
}

// TestBadFiles holds each file to the problems that its first comments name, all of
// them and no others.
func TestBadFiles(t *testing.T) {
	for _, file := range glob(t, "*.bad.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				src = rewriteWants(t, file, src)
			}
			want, _ := wants(src)
			got := found(file, src)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems of %s (-want +got):\n%s", file, diff)
			}
			if len(got) == 0 {
				t.Errorf("%s loads", file)
			}
		})
	}
}

// found loads a file and returns its problems without the file's name.
func found(file string, src []byte) []string {
	_, err := LoadPlan(file, src, testSeed)
	var problems Problems
	if !errors.As(err, &problems) {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = strings.TrimPrefix(p.String(), file+":")
	}
	return lines
}

// wants splits a file into the problems that its first comments name and the rest.
func wants(src []byte) (want []string, rest []byte) {
	for {
		line, after, _ := bytes.Cut(src, []byte("\n"))
		text, ok := strings.CutPrefix(string(line), "# want: ")
		if !ok {
			return want, src
		}
		want, src = append(want, text), after
	}
}

// rewriteWants writes what is found into a file. The wants move the problems down,
// so they are as many as there will be before they are counted.
func rewriteWants(t *testing.T, file string, src []byte) []byte {
	t.Helper()
	_, rest := wants(src)
	n := len(found(file, rest))
	padded := append(bytes.Repeat([]byte("# want: \n"), n), rest...)
	var out bytes.Buffer
	for _, line := range found(file, padded) {
		fmt.Fprintf(&out, "# want: %s\n", line)
	}
	out.Write(rest)
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samePlan compares plans but for where they were written.
func samePlan() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(Plan{}, "File"),
		cmpopts.IgnoreFields(PlanAssertion{}, "Line"),
	}
}

// TestGoodFiles holds each plan to its golden form, and the golden form to the
// plan that it was made from.
func TestGoodFiles(t *testing.T) {
	for _, file := range goodFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := LoadPlan(file, src, testSeed)
			if err != nil {
				t.Fatal(err)
			}
			got, err := MarshalPlan(plan)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(file) == "testdata" || filepath.Base(file) == "quickstart.yaml" {
				checkGolden(t, file, got)
			}
			again, err := LoadPlan("plan.yaml", got, 0)
			if err != nil {
				t.Fatalf("the plan cannot be loaded: %v", err)
			}
			if diff := cmp.Diff(plan, again, samePlan()); diff != "" {
				t.Errorf("loaded from its plan (-first +again):\n%s", diff)
			}
		})
	}
}

// checkGolden compares a printed plan with the one that is kept. The rest of the
// catalogue is for its runs to check.
func checkGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	base, _, _ := strings.Cut(filepath.Base(file), ".")
	golden := filepath.Join("testdata", base+".plan.yaml")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("plan of %s (-want +got):\n%s", file, diff)
	}
}
