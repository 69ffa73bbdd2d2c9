package experiments

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// TestEveryKeyCounts takes each key that the reader knows out of a good file, and
// expects another plan or a problem. A key that is read and then ignored makes no
// difference; one that no file has was never tried.
func TestEveryKeyCounts(t *testing.T) {
	counts := map[string]bool{}
	for _, file := range []string{
		"testdata/reference.good.yaml", "testdata/launch.good.yaml", "testdata/shapes.good.yaml", "testdata/routes.good.yaml", "testdata/selection.good.yaml", "testdata/latency.good.yaml", "testdata/match.good.yaml", "testdata/forms.good.yaml", "testdata/websocket.good.yaml", "testdata/tcp.good.yaml",
		"testdata/protocols.good.yaml", "testdata/ramps.good.yaml",
		"testdata/doors.good.yaml", "testdata/probes.good.yaml", "testdata/sessions.good.yaml", "testdata/rates.good.yaml",
		"testdata/policies.good.yaml", "testdata/policies-routes.good.yaml", "testdata/policies-waits.good.yaml", "testdata/policies-drawn.good.yaml",
		"testdata/retries.good.yaml",
		"testdata/aside.good.yaml", "testdata/ejection.good.yaml",
	} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := yamldoc.Parse(file, src)
		plan := compile(doc, file, testSeed)
		if err := doc.Err(); err != nil {
			t.Fatal(err)
		}
		for _, key := range doc.Keys() {
			for _, at := range key.At {
				counts[key.Path] = counts[key.Path] || matters(t, plan, file, without(string(src), at))
			}
			counts[key.Path] = counts[key.Path] || false
		}
	}
	if len(counts) < 100 {
		t.Errorf("only %d keys were asked for", len(counts))
	}
	for path, ok := range counts {
		if !ok {
			t.Errorf("%s: in no good file, or without effect", path)
		}
	}
}

// matters reports whether a source makes another plan than the given one.
func matters(t *testing.T, plan *Plan, file, src string) bool {
	t.Helper()
	other, err := LoadPlan(file, []byte(src), testSeed)
	if err != nil && strings.Contains(err.Error(), "not YAML") {
		t.Fatalf("%v:\n%s", err, src)
	}
	return err != nil || !cmp.Equal(plan, other, samePlan())
}

// without blanks a key with its value, in a file of one key a line. What is below
// it is indented deeper.
func without(src string, at yamldoc.Pos) string {
	lines := strings.Split(src, "\n")
	lines[at.Line-1] = lines[at.Line-1][:at.Col-1]
	for i := at.Line; i < len(lines); i++ {
		if indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " ")); indent < at.Col {
			break
		}
		lines[i] = ""
	}
	return strings.Join(lines, "\n")
}
