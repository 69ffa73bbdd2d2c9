package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

var update = flag.Bool("update", false, "write the golden files anew; look at the difference before committing it")

const ms = time.Millisecond

// at is an instant known to within 2 ms on either side.
func at(d time.Duration) assert.Interval { return assert.Interval{Lo: d - 2*ms, Hi: d + 2*ms} }

// exactly is an instant that is known.
func exactly(d time.Duration) assert.Interval { return assert.Interval{Lo: d, Hi: d} }

// lane of a breaker that opened, probed twice and closed.
func recovered() assert.Timeline {
	cuts := []assert.Interval{
		exactly(0), at(4100 * ms), at(6103 * ms), at(6110 * ms), at(8112 * ms), at(8130 * ms), exactly(12400 * ms),
	}
	states := []assert.State{
		assert.StateClosed, assert.StateOpen, assert.StateHalfOpen, assert.StateOpen, assert.StateHalfOpen, assert.StateClosed,
	}
	t := assert.Timeline{Name: "search"}
	for i, s := range states {
		t.Segments = append(t.Segments, assert.Segment{State: s, From: cuts[i], To: cuts[i+1], Last: i == len(states)-1})
	}
	return t
}

func phases() []trace.Phase {
	return []trace.Phase{
		{Name: "warmup", From: 0, To: 2000 * ms},
		{Name: "baseline", From: 2000 * ms, To: 4000 * ms, Measure: true},
		{Name: "trip", From: 4000 * ms, To: 4110 * ms, Measure: true},
		{Name: "outage", From: 4110 * ms, To: 8000 * ms, Measure: true},
		{Name: "recovery", From: 8000 * ms, To: 12400 * ms, Measure: true},
	}
}

func passed() Summary {
	s := Summary{
		Experiment: "quickstart",
		File:       "experiments/quickstart.yaml",
		Policy:     PolicyFail,
		Seed:       1,
		Tool:       "v0.1.0",
		Rung:       "traceparent",
		Started:    time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC),
		Duration:   12400 * ms,
		Calls:      1234,
		Attempts:   870,
		Phases:     phases(),
		Breakers:   []assert.Timeline{recovered()},
		Loads: []assert.Load{
			{Phase: "baseline", OpenLoop: true, Planned: 200, Sent: 199, Dropped: 1, Answered: 199, ServiceP50: 2345 * time.Microsecond, ServiceP99: 9876 * time.Microsecond, PlannedP50: 2500 * time.Microsecond, PlannedP99: 14321 * time.Microsecond},
			{Phase: "trip", Planned: 20, Sent: 10, Answered: 10, ServiceP50: 1100 * time.Microsecond, ServiceP99: 1200 * time.Microsecond},
			{Phase: "outage", OpenLoop: true, Planned: 389, Sent: 380, Answered: 377, Saturated: 9, ServiceP50: 900 * time.Microsecond, ServiceP99: 1999 * time.Microsecond, PlannedP50: ms, PlannedP99: 2 * ms},
		},
		Assertions: []assert.Verdict{
			{ID: "trips", Kind: "breaker.opens", Phase: "trip", Line: 41, Result: assert.Pass, Expected: "opens at outcome 10", Observed: "outcome 10", Margin: "exact"},
			{ID: "no-leak", Kind: "breaker.leak", Phase: "outage", Line: 42, Result: assert.Pass, Expected: "at most 0 admissions while open", Observed: "0 of 388 calls", Margin: "0"},
			{ID: "waits", Kind: "breaker.open_duration", Phase: "outage", Line: 43, Result: assert.Pass, Expected: "2s ± 5 %", Observed: "2.003s to 2.007s", Margin: "93ms", Resolution: "4ms"},
		},
		Integrity: []assert.Check{
			{Name: "dropped", Phase: "outage", OK: true, Expected: "<= 1%", Observed: "0%"},
		},
	}
	s.Verdict, s.ExitCode = Conclude(s.judged(), EndComplete, s.Policy)
	return s
}

func (s Summary) judged() assert.Report {
	return assert.Report{Verdicts: s.Assertions, Integrity: s.Integrity, Breakers: s.Breakers}
}

func failed() Summary {
	s := passed()
	s.Assertions = append(s.Assertions,
		assert.Verdict{
			ID: "three-probes", Kind: "breaker.half_open_probes", Phase: "outage", Line: 44, Result: assert.Fail,
			Expected: "exactly 3 admissions in a half-open visit", Observed: "10 admissions before the first outcome", Margin: "+7",
			Resolution: "1 call", Evidence: []string{"outage/17", "outage/18", "outage/19"},
			Reason: "the visit at 6.103s admitted 10 calls, 24 later ones were rejected while none of them had ended",
			Remedy: "compare permittedNumberOfCallsInHalfOpenState with what the service was started with",
		},
		assert.Verdict{
			ID: "fail-fast", Kind: "short.latency", Phase: "outage", Line: 45, Result: assert.Inconclusive,
			Expected: "p99 <= 50ms", Observed: "61 short-circuited calls", Reason: "p99 needs at least 100 of them",
			Remedy: "raise the rate to 200/s, or ask for the maximum",
		},
		assert.Verdict{
			ID: "closes", Kind: "breaker.closes", Phase: "recovery", Line: 46, Result: assert.Skipped, BlockedBy: "three-probes",
			Expected: "closes within 6s", Reason: "its visit is not fit for counting",
		},
	)
	s.Integrity = append(s.Integrity, assert.Check{
		Name: "lateness_p99", Phase: "recovery", Expected: "<= 10ms", Observed: "31ms",
		Remedy: "give the load more of this machine, or lower the rate",
	})
	s.Verdict, s.ExitCode = Conclude(s.judged(), EndComplete, s.Policy)
	return s
}

func unmeasured() Summary {
	s := Summary{
		Experiment: "orders", File: "orders.yaml", Policy: PolicyFail, Seed: 7, Tool: "v0.1.0",
		Reason: "the system under test was not ready within 60s: GET /health answered 503",
		Remedy: "look into sut.log",
		Assertions: []assert.Verdict{
			{ID: "trips", Kind: "breaker.opens", Result: assert.Inconclusive, Expected: "opens at outcome 10", Observed: "not measured", Reason: "the system under test was not ready within 60s: GET /health answered 503"},
			{ID: "closes", Kind: "breaker.closes", Result: assert.Skipped, BlockedBy: "trips", Expected: "closes within 6s"},
		},
	}
	s.Verdict, s.ExitCode = Conclude(s.judged(), EndUnmeasured, s.Policy)
	return s
}

// long has names and texts that no column has room for, bytes that no terminal
// should see, and a breaker of which nothing is known.
func long() Summary {
	s := failed()
	s.Assertions[0].ID = strings.Repeat("checkout-payments-and-all-that-depends-on-it.", 2) + "opens"
	s.Assertions[3].Observed = "the answer \x1b[31mred\x1b[0m \xff, a tab\there and a line\nend | pipe <b>"
	s.Assertions[3].Evidence = []string{strings.Repeat("outage-of-the-first-data-centre/", 4) + "17"}
	s.Breakers = append(s.Breakers,
		assert.Timeline{Name: "payments"},
		assert.Timeline{Name: "a-breaker-with-a-name-that-is-long", Instance: "replica-2", Segments: []assert.Segment{
			{State: assert.StateClosed, From: exactly(0), To: assert.Interval{Lo: 5 * time.Second, Hi: 9 * time.Second}},
			{State: assert.StateOpen, From: assert.Interval{Lo: 5 * time.Second, Hi: 9 * time.Second}, To: exactly(12400 * ms), Last: true},
		}},
	)
	return s
}

func cases() map[string]Summary {
	interrupted := failed()
	interrupted.Reason = "interrupted by Ctrl-C"
	interrupted.Verdict, interrupted.ExitCode = Conclude(interrupted.judged(), EndInterrupted, PolicyFail)

	skip := failed()
	skip.Policy = PolicySkip
	skip.Assertions = append(skip.Assertions[:3:3], skip.Assertions[4:]...)
	skip.Verdict, skip.ExitCode = Conclude(skip.judged(), EndComplete, PolicySkip)

	empty := passed()
	empty.Breakers, empty.Phases, empty.Assertions = nil, nil, nil
	empty.Verdict, empty.ExitCode = Conclude(empty.judged(), EndComplete, PolicyFail)

	// Phases too short for their names, at the end of the axis too.
	short := passed()
	short.Phases = nil
	for i, name := range []string{"warmup", "one", "two", "three", strings.Repeat("a-very-long-phase-", 9), "last", "really-last"} {
		from := []time.Duration{0, 5, 5.01e3, 5.1e3, 9e3, 12.2e3, 12.399e3, 12.4e3}
		short.Phases = append(short.Phases, trace.Phase{Name: name, From: from[i] * ms, To: from[i+1] * ms, Measure: i > 0})
	}

	return map[string]Summary{
		"phases": short,
		"pass":   passed(), "fail": failed(), "inconclusive": unmeasured(), "long": long(),
		"interrupted": interrupted, "skip": skip, "empty": empty, "breached": breachedRun(), "waits": manyWaits(),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
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

func TestText(t *testing.T) {
	for name, s := range cases() {
		for suffix, opt := range map[string]TextOptions{
			"":        {},
			".narrow": {Width: 80, ASCII: true},
			".quiet":  {Quiet: true},
			".color":  {Color: true, Width: 120},
		} {
			if suffix != "" && name != "fail" && name != "long" && name != "pass" {
				continue
			}
			var b bytes.Buffer
			if err := WriteText(&b, s, opt); err != nil {
				t.Fatal(err)
			}
			golden(t, name+suffix+".txt", b.Bytes())
		}
	}
}

func TestMarkdown(t *testing.T) {
	for name, s := range cases() {
		var b bytes.Buffer
		if err := WriteMarkdown(&b, s); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", b.Bytes())
	}
}

func TestJSON(t *testing.T) {
	for name, s := range cases() {
		var b bytes.Buffer
		if err := WriteJSON(&b, s); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", b.Bytes())

		var back Summary
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := WriteJSON(&again, back); err != nil {
			t.Fatal(err)
		}
		// A byte that is no text is written as an escape and read as a rune.
		if diff := cmp.Diff(strings.ReplaceAll(b.String(), `\ufffd`, "\ufffd"), again.String()); diff != "" {
			t.Errorf("%s: what was written is not what is read (-wrote +read):\n%s", name, diff)
		}
		if strings.Contains(b.String(), "null") {
			t.Errorf("%s: a list is null:\n%s", name, b.String())
		}
	}
}

// No line is wider than asked, at any width that the columns can be squeezed to.
func TestTextFitsItsWidth(t *testing.T) {
	for name, s := range cases() {
		for width := 80; width <= 160; width++ {
			var b bytes.Buffer
			if err := WriteText(&b, s, TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at width %d: %d columns: %q", name, width, n, line)
				}
			}
		}
	}
}

// What a system under test answered cannot move the cursor of whoever reads it.
func TestTextHasNoControlCharacters(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, long(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&b, long()); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == utf8.RuneError }); i >= 0 {
		t.Errorf("a control character at %d: %q", i, b.String()[max(0, i-40):i+5])
	}
}

// brokenWriter fails as a full disk does.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWritersReturnTheError(t *testing.T) {
	for name, write := range map[string]func() error{
		"text":     func() error { return WriteText(brokenWriter{}, failed(), TextOptions{}) },
		"markdown": func() error { return WriteMarkdown(brokenWriter{}, failed()) },
		"json":     func() error { return WriteJSON(brokenWriter{}, failed()) },
	} {
		if err := write(); err == nil {
			t.Errorf("%s: no error from a writer that is broken", name)
		}
	}
}
