package experiments

import (
	"fmt"
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
				sections = append(sections, places(m[1])...)
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

// TestReadmeFaults reads each fault that README.md shows in one line, in a phase of its own.
func TestReadmeFaults(t *testing.T) {
	src, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "\n### Faults in one line\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	text := `apiVersion: faultline/v1
kind: Experiment
metadata: { name: readme }
sut: { base_url: "http://127.0.0.1:8080" }
injectors:
  payments: { listen: 127.0.0.1:9901, stub: { body: paid, websocket: {} } }
  rpc: { listen: 127.0.0.1:9902, stub: { grpc: { messages: aGVsbG8= } } }
  secure: { listen: 127.0.0.1:9903, stub: { status: 200 }, tls: true }
  db: { listen: 127.0.0.1:9904, tcp: { upstream: 127.0.0.1:5432 } }
load: { rate: 10/s, targets: [ { name: any, path: /, depends_on: [payments, rpc, secure, db] } ] }
breakers: { payments: { injector: payments, window: 10 } }
assert: [ { id: any, error.share: { max: 50% }, phase: healthy } ]
phases:
  - { name: healthy, duration: 10s }
`
	n := 0
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "- "))
		if !strings.Contains(line, "injector:") {
			line = strings.Replace(line, "{", "{ injector: payments,", 1)
		}
		n++
		text += fmt.Sprintf("  - name: f%d\n    duration: 10s\n    faults:\n      - %s\n", n, line)
	}
	if n < 10 {
		t.Fatalf("README.md shows %d faults in one line", n)
	}
	load(t, "README.md", text)
}

// TestPagesOfExperiments reads the whole experiments that the pages for people show.
func TestPagesOfExperiments(t *testing.T) {
	for _, page := range []string{"../README.md", "../docs/live-faults.md"} {
		src, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```yaml\n(apiVersion:.*?)```").FindAllStringSubmatch(string(src), -1)
		if len(found) != 1 {
			t.Errorf("%s: %d experiments, not 1", page, len(found))
		}
		for _, m := range found {
			load(t, page, m[1])
		}
	}
}

// load reads an experiment that has to be good.
func load(t *testing.T, file, text string) {
	t.Helper()
	if _, err := LoadPlan(file, []byte(text), testSeed); err != nil {
		t.Errorf("%s: %v\n%s", file, err, text)
	}
}
