package experiments

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// TestReadme holds the reference of the format to the reader: each key that the
// reader knows has its row, below the heading of its section, and no row is left
// of a key that it does not know.
func TestReadme(t *testing.T) {
	src, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readerKeys(t), documented(string(src))); diff != "" {
		t.Errorf("keys of the reader (-) and of README.md (+):\n%s", diff)
	}
}

// readerKeys returns the paths of all keys that the reader asks for in good files.
func readerKeys(t *testing.T) []string {
	t.Helper()
	known := map[string]bool{}
	for _, file := range goodFiles(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := yamldoc.Parse(file, src)
		compile(doc, file, testSeed)
		for _, key := range doc.Keys() {
			known[strings.ReplaceAll(key.Path, "*", "NAME")] = true
		}
	}
	return sortedSet(known)
}

// documented returns the paths of the rows that begin with a key. The names in the
// heading above a row are where the key stands.
func documented(readme string) []string {
	code := regexp.MustCompile("`([^`]+)`")
	rows := map[string]bool{}
	sections := []string(nil)
	for line := range strings.Lines(readme) {
		switch {
		case strings.HasPrefix(line, "## The file"):
			sections = []string{""}
		case strings.HasPrefix(line, "#"):
			sections = nil
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				sections = append(sections, m[1]+".")
			}
		case strings.HasPrefix(line, "| `"):
			key := code.FindStringSubmatch(line)[1]
			for _, section := range sections {
				rows[section+key] = true
			}
		}
	}
	return sortedSet(rows)
}

func sortedSet(set map[string]bool) []string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}
