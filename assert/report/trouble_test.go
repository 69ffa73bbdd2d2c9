package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
)

// breachedRun is a run on a busy machine: late in every phase, and of one check
// that did not hold some verdicts depended.
func breachedRun() Summary {
	s := passed()
	for i, p := range s.Phases {
		s.Integrity = append(s.Integrity, assert.Check{
			Name: "lateness_p99", Phase: p.Name, Expected: "<= 10ms", Observed: fmt.Sprintf("%dms", 11+i), Remedy: "lower the rate",
		})
	}
	s.Integrity[3].Affects = []string{"trips", "waits"}
	s.Integrity = append(s.Integrity,
		assert.Check{Name: "join", Expected: ">= 99%", Observed: "12% of the attempts at engine joined a call", Remedy: "pass traceparent on"})
	return s
}

// manyWaits is a run whose breaker opened so often that the table has no room for
// what was observed.
func manyWaits() Summary {
	s := passed()
	waits := make([]string, 0, 19)
	for i := range 19 {
		waits = append(waits, fmt.Sprintf("%dms to %dms", 500+i, 504+i))
	}
	list := strings.Join(waits, "; ") + " (19 of 20 open intervals), the others do not tell"
	s.Assertions[2].Observed = list
	s.Assertions = append(s.Assertions, assert.Verdict{
		ID: "waits-1s", Kind: "breaker.open_duration", Phase: "outage", Line: 44, Result: assert.Fail, Expected: "1s ± 5 %", Observed: list,
	})
	s.Verdict, s.ExitCode = Conclude(s.judged(), EndComplete, s.Policy)
	return s
}

// written is what people are given of a summary, on one line each, by format.
func written(t *testing.T, s Summary) map[string]string {
	t.Helper()
	var text, page bytes.Buffer
	if err := WriteText(&text, s, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&page, s); err != nil {
		t.Fatal(err)
	}
	flat := func(b bytes.Buffer) string {
		return strings.NewReplacer(`\`, "", "&lt;", "<", "&gt;", ">").Replace(strings.Join(strings.Fields(b.String()), " "))
	}
	return map[string]string{"text": flat(text), "markdown": flat(page)}
}

// A breach says which verdicts it cost. What cost none is said once a kind.
func TestBreachesSayWhatTheyCost(t *testing.T) {
	for format, got := range written(t, breachedRun()) {
		for _, want := range []string{
			"lateness_p99, phase trip: expected <= 10ms, observed 13ms; made inconclusive: trips, waits",
			"lateness_p99: expected <= 10ms, observed 11ms in phase warmup, 12ms in phase baseline, 14ms in phase outage, " +
				"15ms in phase recovery; no further verdict depends on it",
			"join: expected >= 99%, observed 12% of the attempts at engine joined a call; no further verdict depends on it",
		} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s does not say once %q:\n%s", format, want, got)
			}
		}
		if n := strings.Count(got, "lateness_p99"); n != 2 {
			t.Errorf("%s names lateness_p99 %d times, want 2:\n%s", format, n, got)
		}
	}
	harmless := breachedRun()
	harmless.Integrity[3].Affects = nil
	for format, got := range written(t, harmless) {
		if n := strings.Count(got, "; no verdict depends on it"); n != 2 {
			t.Errorf("%s says %d times that no verdict depends on a breach, want 2:\n%s", format, n, got)
		}
	}
}

// Where nothing was decided because the run was not carried out, no breach is to
// blame, nor cleared.
func TestBreachesOfARunThatWasNotCarriedOut(t *testing.T) {
	s := unmeasured()
	s.Integrity = breachedRun().Integrity
	for format, got := range written(t, s) {
		if strings.Contains(got, "depends on it") || strings.Contains(got, "made inconclusive") || !strings.Contains(strings.ToLower(got), "not carried out") {
			t.Errorf("%s:\n%s", format, got)
		}
	}
}

// The table shows the first of many observations, how many more there are and
// where; nothing is lost.
func TestTableCutsLongLists(t *testing.T) {
	s := manyWaits()
	full := s.Assertions[2].Observed
	const cut = "500ms to 504ms; 501ms to 505ms; 502ms to 506ms; ... and 16 more, see verdicts.json (19 of 20 open intervals), the others do not tell"
	if got := capped(full, "verdicts.json"); got != cut {
		t.Errorf("cell: %q", got)
	}
	for format, got := range written(t, s) {
		if n := strings.Count(got, full); n != 1 {
			t.Errorf("%s has the full list %d times, want once, to explain the failure:\n%s", format, n, got)
		}
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	var back Summary
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Assertions[2].Observed != full {
		t.Errorf("verdicts.json: %q", back.Assertions[2].Observed)
	}
	for list, want := range map[string]string{
		"":                            "",
		"outcome 10":                  "outcome 10",
		"1; 2; 3":                     "1; 2; 3",
		"1; 2; 3; 4 (4 of 4 visits)":  "1; 2; 3; 4 (4 of 4 visits)",
		"1; 2; 3; 4; 5":               "1; 2; 3; ... and 2 more, see below",
		"1; 2; 3; 4; 5 (10 of them)":  "1; 2; 3; ... and 2 more, see below",
		"1; 2; 3; 4; 5 (5 of 9 sets)": "1; 2; 3; ... and 2 more, see below (5 of 9 sets)",
	} {
		if got := capped(list, "below"); got != want {
			t.Errorf("%q is cut to %q, want %q", list, got, want)
		}
	}
}

// A run that was cut short was carried out as far as it went.
func TestInterruptedIsNotNotCarriedOut(t *testing.T) {
	s := cases()["interrupted"]
	before := unmeasured()
	before.Verdict, before.ExitCode, before.Reason = OutcomeInterrupted, ExitInterrupted, "interrupted by Ctrl-C before the first phase"
	for _, tt := range []struct {
		s    Summary
		want []string
	}{
		{s, []string{"interrupted by Ctrl-C", "what was recorded until then, up to phase recovery; it decides 4 of 6 assertions"}},
		{before, []string{"interrupted by Ctrl-C before the first phase", "nothing: no phase had begun"}},
	} {
		for format, got := range written(t, tt.s) {
			for _, want := range append(tt.want, map[string]string{"text": "INTERRUPTED why", "markdown": "**Interrupted:**"}[format]) {
				if !strings.Contains(got, want) {
					t.Errorf("%s lacks %q:\n%s", format, want, got)
				}
			}
			if strings.Contains(strings.ToLower(got), "not carried out") {
				t.Errorf("%s says that the run was not carried out:\n%s", format, got)
			}
		}
	}
}

// A lane's name that is wider than the text is wrapped as all else.
func TestLongLaneNameIsWrapped(t *testing.T) {
	s := passed()
	s.Breakers[0].Name = strings.Repeat("payments-", 9)
	var b bytes.Buffer
	if err := WriteText(&b, s, TextOptions{Width: 60}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 60 {
			t.Errorf("%d columns of 60: %q", n, line)
		}
	}
}
