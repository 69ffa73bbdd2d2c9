package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// rewriteConformance writes what the members of the zoo were seen to do into the page of the
// docs. Look at the difference before you commit it.
var rewriteConformance = flag.Bool("rewrite-conformance", false, "rewrite the page of what implementations do")

// TestZooConformance holds every member of the zoo to what zoo.yaml declares of it.
//
// It needs more than Go: without FAULTLINE_ZOO=1 it is skipped, with it a missing tool
// fails it.
func TestZooConformance(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real systems are judged with FAULTLINE_ZOO=1")
	}
	bin := filepath.Join(t.TempDir(), "faultline")
	runIn(t, ".", "go", "build", "-o", bin, ".")
	rows := map[string]row{}
	builds := builder{venv: filepath.Join(t.TempDir(), "venv"), done: map[string]bool{}}
	for _, m := range readZoo(t) {
		t.Run(m.name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join(filepath.Dir(zooFile), m.folder))
			if err != nil {
				t.Fatal(err)
			}
			venv := builds.prepare(t, dir, m)
			if r, ok := m.conforms(t, bin, dir, venv); ok {
				rows[m.name] = r
			}
		})
	}
	if *rewriteConformance && !t.Failed() {
		rewritePage(t, rows)
	}
}

// builder builds each thing once, however many members need it.
type builder struct {
	venv string // an environment for the packages of Python
	done map[string]bool
}

// prepare builds a member, and returns its environment of Python packages, if it has one.
func (b builder) prepare(t *testing.T, dir string, m truth) (venv string) {
	t.Helper()
	once := func(in string, command ...string) {
		t.Helper()
		if key := fmt.Sprint(in, command); !b.done[key] {
			runIn(t, in, command...)
			b.done[key] = true
		}
	}
	for _, command := range m.build {
		once(dir, command...)
	}
	if m.install == "" {
		return ""
	}
	once(".", "python3", "-m", "venv", b.venv)
	once(dir, filepath.Join(b.venv, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r", m.install)
	return b.venv
}

// row is what was seen of a member: a text for each column, and how far from the
// library's own events the inferred instants were.
type row struct {
	observed   map[string]string
	open, half string
}

// finding is what a run says of a column.
type finding struct {
	observed string
	wrong    bool // it is not what is declared
	open     bool // the run does not tell
	rough    bool // it was not found by the judge, who knows when the machine is to blame: it counts if found twice
}

// conforms runs a member until every column is decided, at most four times. A machine that
// stalls may leave something undecided.
func (m truth) conforms(t *testing.T, bin, dir, venv string) (row, bool) {
	t.Helper()
	wrong := map[string]int{}
	for range 4 {
		out := t.TempDir()
		text := m.execute(t, bin, dir, venv, out)
		e := readEvidence(t, m, out, text)
		seen := m.findings(t, e)
		r := row{observed: map[string]string{}}
		if m.events != "" {
			var near finding
			r.open, r.half, near = m.eventErrors(t, out, e)
			seen["instants"] = near
		}
		open := 0
		for column, f := range seen {
			r.observed[column] = f.observed
			if f.wrong {
				wrong[column]++
			}
			switch {
			case f.wrong && (!f.rough || wrong[column] > 1):
				t.Errorf("%s: declared: %s; observed: %s", column, m.declaredText(column), f.observed)
			case f.wrong, f.open:
				open++
				t.Logf("%s is not decided: %s", column, f.observed)
			}
		}
		switch {
		case t.Failed():
			t.Logf("%s\n%s", m.experiment(dir, venv), text)
			return r, false
		case open == 0:
			return r, true
		}
		t.Logf("once more; the run said\n%s", text)
	}
	t.Error("four runs left something undecided")
	return row{}, false
}

// execute runs the generated experiment and returns what faultline printed.
func (m truth) execute(t *testing.T, bin, dir, venv, out string) []byte {
	t.Helper()
	file := filepath.Join(out, m.name+".yaml")
	if err := os.WriteFile(file, []byte(m.experiment(dir, venv)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "run", file, "--out", filepath.Join(out, "run"))
	cmd.Env = append(os.Environ(), "STATE_LOG="+filepath.Join(out, "states"), "SCRATCH="+t.TempDir())
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	_ = cmd.Run() // Its exit code follows from verdicts, which are looked at.
	return text.Bytes()
}

// evidence is what a run left.
type zooEvidence struct {
	trace    *trace.Trace
	report   assert.Report
	verdicts map[string]assert.Verdict
}

// readEvidence judges the trace of a run, as faultline did.
func readEvidence(t *testing.T, m truth, out string, text []byte) zooEvidence {
	t.Helper()
	f, err := os.Open(filepath.Join(out, "run", "trace.jsonl"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer func() { _ = f.Close() }() // It was only read.
	tr, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := m.plan(".", "")
	if err != nil {
		t.Fatal(err)
	}
	e := zooEvidence{trace: tr, report: assert.Evaluate(plan.Spec(), tr), verdicts: map[string]assert.Verdict{}}
	for _, v := range e.report.Verdicts {
		e.verdicts[strings.ReplaceAll(v.ID, "-", "_")] = v
	}
	return e
}

// findings tells of each column what a run shows.
func (m truth) findings(t *testing.T, e zooEvidence) map[string]finding {
	t.Helper()
	all := map[string]finding{}
	if m.policy != nil {
		f := m.policy.observe(e.trace)
		f.rough = true
		all["policy"] = f
		return all
	}
	for _, column := range append([]string{"honest"}, zooColumns()...) {
		d := m.columns[column]
		switch {
		case d.none != "":
		case column == "late":
			f := m.late(e)
			f.rough = true
			all[column] = f
		case column == "probes" && d.waiting:
			f := waitingProbes(e.trace, d.exactly)
			f.rough = true
			all[column] = f
		default:
			v, ok := e.verdicts[column]
			if !ok {
				t.Fatalf("nothing was asserted of %s", column)
			}
			f := finding{observed: v.Observed, wrong: v.Result == assert.Fail, open: v.Result == assert.Inconclusive || v.Result == assert.Skipped}
			if f.open {
				f.observed = fmt.Sprintf("%s (%s)", v.Observed, v.Reason)
			}
			all[column] = f
		}
	}
	return all
}
