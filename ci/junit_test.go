package ci

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before committing it")

func run() Run {
	return Run{
		Experiment: "quickstart",
		File:       "experiments/quickstart.yaml",
		Tool:       "v0.1.0",
		Seed:       1,
		Rung:       "traceparent",
		Started:    time.Date(2026, 11, 30, 3, 0, 0, 0, time.FixedZone("CET", 3600)),
		Duration:   12400 * time.Millisecond,
		Phases: []trace.Phase{
			{Name: "trip", From: 4 * time.Second, To: 4110 * time.Millisecond},
			{Name: "outage", From: 4110 * time.Millisecond, To: 8 * time.Second},
		},
		Report: assert.Report{
			Verdicts: []assert.Verdict{
				{ID: "trips", Kind: "breaker.opens", Phase: "trip", Line: 41, Result: assert.Pass, Expected: "opens at outcome 10", Observed: "outcome 10", Margin: "exact"},
				{
					ID: "three-probes", Kind: "breaker.half_open_probes", Phase: "outage", Line: 44, Result: assert.Fail,
					Expected: "exactly 3 admissions", Observed: "10 admissions", Margin: "+7", Resolution: "1 call",
					Evidence: []string{"outage/17", "outage/18"}, Reason: "10 calls < 24 \"later\" ones & more", Remedy: "compare the configuration",
				},
				{ID: "fail-fast", Kind: "short.latency", Phase: "outage", Line: 45, Result: assert.Inconclusive, Expected: "p99 <= 50ms", Observed: "61 calls", Reason: "p99 needs at least 100 calls", Remedy: "raise the rate"},
				{ID: "closes", Kind: "breaker.closes", Line: 46, Result: assert.Skipped, BlockedBy: "three-probes", Expected: "closes within 6s"},
				{ID: "odd", Kind: "breaker.leak", Phase: "outage", Result: assert.Fail, Expected: "line\nend", Observed: "\x1b[31m \x00 \xff ]]> <b>"},
				{ID: "later", Kind: "breaker.leak", Phase: "never-reached", Result: "splendid"},
			},
			Integrity: []assert.Check{
				{Name: "dropped", OK: true},
				{Name: "lateness_p99", Phase: "outage", Expected: "<= 10ms", Observed: "31ms"},
			},
		},
	}
}

func unready() Run {
	return Run{
		Experiment: "orders", File: "orders.yaml", Tool: "v0.1.0", Seed: 7,
		Trouble: &Trouble{Type: "precondition", Reason: "the service was not ready within 60s", Remedy: "look into sut.log"},
		Report: assert.Report{Verdicts: []assert.Verdict{
			{ID: "trips", Kind: "breaker.opens", Result: assert.Inconclusive, Expected: "opens at outcome 10", Observed: "not measured"},
		}},
	}
}

func junit(t *testing.T, opt Options, runs ...Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJUnit(&b, runs, opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJUnit(t *testing.T) {
	for name, got := range map[string][]byte{
		"run.xml":     junit(t, Options{}, run()),
		"skip.xml":    junit(t, Options{SkipInconclusive: true}, run()),
		"unready.xml": junit(t, Options{SkipInconclusive: true}, unready()),
		"several.xml": junit(t, Options{}, run(), unready()),
		"none.xml":    junit(t, Options{}),
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

// read is what any reader of JUnit XML takes from the document.
func read(t interface{ Fatalf(string, ...any) }, doc []byte) suites {
	var s suites
	d := xml.NewDecoder(bytes.NewReader(doc))
	if err := d.Decode(&s); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, doc)
	}
	if rest := bytes.TrimSpace(doc[d.InputOffset():]); len(rest) > 0 {
		t.Fatalf("something follows the document: %q", rest)
	}
	return s
}

// Every case has at most one outcome, the counts are those of the cases, and no
// two cases of a suite are taken for retries of one another.
func consistent(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, doc []byte,
) {
	all := read(t, doc)
	var total counts
	for _, s := range all.Suites {
		var c counts
		for _, tc := range s.Cases {
			outcomes := 0
			for _, there := range []bool{tc.Failure != nil, tc.Error != nil, tc.Skipped != nil} {
				if there {
					outcomes++
				}
			}
			if outcomes > 1 {
				t.Errorf("case %q has %d outcomes", tc.Name, outcomes)
			}
			c.add(tc.counts())
		}
		if c != s.counts {
			t.Errorf("suite %q says %+v, its cases are %+v", s.Name, s.counts, c)
		}
		total.add(c)
	}
	if total != all.counts {
		t.Errorf("the document says %+v, its cases are %+v", all.counts, total)
	}
}

func TestJUnitCounts(t *testing.T) {
	for _, opt := range []Options{{}, {SkipInconclusive: true}} {
		consistent(t, junit(t, opt, run(), unready()))
	}
	got := read(t, junit(t, Options{}, run())).counts
	if want := (counts{Tests: 6, Failures: 2, Errors: 2, Skipped: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = read(t, junit(t, Options{SkipInconclusive: true}, run())).counts
	if want := (counts{Tests: 6, Failures: 2, Errors: 1, Skipped: 2}); got != want {
		t.Errorf("skip: got %+v, want %+v", got, want)
	}
}

// A run that was not carried out is an error also where undecided assertions are
// skipped: nobody may take it for a pass.
func TestTroubleIsAlwaysAnError(t *testing.T) {
	got := read(t, junit(t, Options{SkipInconclusive: true}, unready())).counts
	if want := (counts{Tests: 2, Errors: 1, Skipped: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Any text comes back as it was, but for what XML cannot hold.
func TestJUnitHoldsAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		results := []assert.Result{assert.Pass, assert.Fail, assert.Inconclusive, assert.Skipped, "splendid"}
		anything := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		r := Run{Experiment: anything.Draw(t, "experiment"), File: anything.Draw(t, "file")}
		for range rapid.IntRange(0, 4).Draw(t, "verdicts") {
			r.Report.Verdicts = append(r.Report.Verdicts, assert.Verdict{
				ID: anything.Draw(t, "id"), Kind: anything.Draw(t, "kind"), Phase: anything.Draw(t, "phase"),
				Result:   rapid.SampledFrom(results).Draw(t, "result"),
				Expected: anything.Draw(t, "expected"), Observed: anything.Draw(t, "observed"), Reason: anything.Draw(t, "reason"),
			})
		}
		var b bytes.Buffer
		if err := WriteJUnit(&b, []Run{r}, Options{SkipInconclusive: rapid.Bool().Draw(t, "skip")}); err != nil {
			t.Fatal(err)
		}
		consistent(t, b.Bytes())
		for i, tc := range read(t, b.Bytes()).Suites[0].Cases {
			v := r.Report.Verdicts[i]
			if tc.Name != legible(v.ID) {
				t.Errorf("name %q is read as %q", v.ID, tc.Name)
			}
			if (v.Result == assert.Pass) != (tc.counts() == counts{Tests: 1}) {
				t.Errorf("%s is read as %+v", v.Result, tc.counts())
			}
			if tc.Failure != nil && tc.Failure.Message != legible(message(v)) {
				t.Errorf("message %q is read as %q", message(v), tc.Failure.Message)
			}
			// A reader of XML takes every kind of line end for \n.
			want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(detailsOf(v))
			if tc.Failure != nil && tc.Failure.Text != want {
				t.Errorf("details %q are read as %q", want, tc.Failure.Text)
			}
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteJUnitReturnsTheError(t *testing.T) {
	if err := WriteJUnit(brokenWriter{}, []Run{run()}, Options{}); err == nil {
		t.Error("no error from a writer that is broken")
	}
}
