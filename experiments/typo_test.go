package experiments

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// TestTypoIsOneProblem misspells each key of good files, one at a time: the only
// problem told is that key. What is missing because of it, and what follows from
// that anywhere else, would bury it.
func TestTypoIsOneProblem(t *testing.T) {
	for _, file := range append(goodFiles(t), "testdata/typo.base.yaml") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := yamldoc.Parse(file, src)
		compile(doc, file, testSeed)
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		for _, key := range doc.Keys() {
			for _, at := range key.At {
				name, bad := misspelt(string(src), at)
				got := found(file, []byte(bad))
				if other := slices.DeleteFunc(slices.Clone(got), tells(name)); len(got) == 0 || len(other) > 0 {
					t.Errorf("%s: %s misspelt in line %d:\n%s", file, key.Path, at.Line, strings.Join(got, "\n"))
				}
			}
		}
	}
}

// tells returns whether a problem is that a key is unknown, as it is misspelt. Below
// an alias it is told for each use.
func tells(key string) func(string) bool {
	return func(problem string) bool {
		return strings.Contains(problem, "."+key+"x: unknown key; ") || strings.Contains(problem, ": "+key+"x: unknown key; ")
	}
}

// misspelt puts an x behind the key at a position.
func misspelt(src string, at yamldoc.Pos) (key, bad string) {
	lines := strings.Split(src, "\n")
	line := lines[at.Line-1]
	key, rest, _ := strings.Cut(line[at.Col-1:], ":")
	lines[at.Line-1] = line[:at.Col-1] + key + "x:" + rest
	return key, strings.Join(lines, "\n")
}

// TestBadSectionIsOneProblem leaves out each section that must be given, and writes
// a number in its place: nothing else is told.
func TestBadSectionIsOneProblem(t *testing.T) {
	const file = "testdata/typo.base.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc := yamldoc.Parse(file, src)
	compile(doc, file, testSeed)
	for _, key := range doc.Keys() {
		if strings.Contains(key.Path, ".") || len(key.At) == 0 {
			continue
		}
		gone := without(string(src), key.At[0])
		if got := found(file, []byte(gone)); len(got) != 1 || !strings.Contains(got[0], key.Path+": is missing") {
			t.Errorf("without %s:\n%s", key.Path, strings.Join(got, "\n"))
		}
		if got := found(file, []byte(gone+key.Path+": 5\n")); len(got) != 1 || !strings.Contains(got[0], ": "+key.Path+": ") {
			t.Errorf("%s is 5:\n%s", key.Path, strings.Join(got, "\n"))
		}
	}
}
