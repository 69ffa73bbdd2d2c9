package lint_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
)

var update = flag.Bool("update", false, "write docs/lint.md anew; look at the difference before committing it")

// The page is what the rules say.
func TestPage(t *testing.T) {
	const path = "../../../docs/lint.md"
	got := lint.Page()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/lint.md is out of date; go test ./breakerref/resilience4j/lint -update writes it (-want +got):\n%s", diff)
	}
}

// All rules say what there is to say.
func TestRulesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		if seen[r.ID] || r.ID == "" || r.Severity < lint.Note || r.Severity > lint.Error {
			t.Errorf("%q, %v: not one rule", r.ID, r.Severity)
		}
		seen[r.ID] = true
		for what, text := range map[string]string{"title": r.Title, "why": r.Why, "source": r.Source, "fix": r.Fix} {
			if text == "" || strings.HasSuffix(text, ".") != (what == "why") {
				t.Errorf("%s: %s is %q", r.ID, what, text)
			}
		}
	}
}

// minimum-above-window is what the comments of these files are about: what %s is, is the
// comment, at the line's end or above it.
func TestSuppression(t *testing.T) {
	const head = "resilience4j.circuitbreaker.instances.payments:\n  permittedNumberOfCallsInHalfOpenState: 3\n  maxWaitDurationInHalfOpenState: 30s\n  slidingWindowSize: 20\n"
	const bad = "  minimumNumberOfCalls: 50"
	const rule = "minimum-above-window"
	for name, tt := range map[string]struct{ src, want string }{
		"none":               {head + bad, rule},
		"at the end":         {head + bad + "  # faultline:ignore " + rule + " until May", ""},
		"above":              {head + "  # faultline:ignore " + rule + " until May\n" + bad, ""},
		"above, not indent":  {head + "# faultline:ignore " + rule + " until May\n" + bad, ""},
		"two above":          {head + "  # faultline:ignore " + rule + " until May\n  # faultline:ignore single-failure-opens never\n" + bad, "suppression-unused"},
		"above a comment":    {head + "  # faultline:ignore " + rule + " until May\n  # it grows\n" + bad, ""},
		"with a blank line":  {head + "  # faultline:ignore " + rule + " until May\n\n" + bad, ""},
		"two lines above":    {head + "  # faultline:ignore " + rule + " until May\n  failureRateThreshold: 50\n" + bad, rule + " suppression-unused"},
		"below":              {head + bad + "\n  # faultline:ignore " + rule + " until May", rule + " suppression-unused"},
		"no reason":          {head + bad + "  # faultline:ignore " + rule, rule + " suppression-without-reason"},
		"one reason of two":  {head + "  # faultline:ignore " + rule + " until May\n" + bad + "  # faultline:ignore " + rule, "suppression-without-reason"},
		"blank reason":       {head + bad + "  # faultline:ignore " + rule + "   ", rule + " suppression-without-reason"},
		"another rule":       {head + bad + "  # faultline:ignore single-failure-opens why not", rule + " suppression-unused"},
		"no rule":            {head + bad + "  # faultline:ignore", rule + " suppression-of-unknown-rule"},
		"unknown rule":       {head + bad + "  # faultline:ignore minimum-above-windw why", rule + " suppression-of-unknown-rule"},
		"not itself":         {head + bad + "  # faultline:ignore " + rule + " until May\n  # faultline:ignore suppression-unused x\n  failureRateThreshold: 50 # faultline:ignore single-failure-opens x", "suppression-unused"},
		"in quotes":          {head + bad + "\n  ignoreExceptionPredicate: \" # faultline:ignore " + rule + " x\"\n\"a # faultline:ignore minimum-above-window x\": 1", rule},
		"no blank before it": {head + "  minimumNumberOfCalls: 50#faultline:ignore " + rule + " x", "refused-value"},
		"in a text":          {head + bad + "\nnote: |\n  # faultline:ignore " + rule + " x\n\n  # faultline:ignore " + rule + " x\nother: it's\n", rule},
		"after a text":       {"note: >-\n  it's \"\nx: 'it''s # no' # yes\n" + head + bad + " # faultline:ignore " + rule + " x", ""},
		"windows":            {strings.ReplaceAll(head+"  # faultline:ignore "+rule+" until May\n"+bad, "\n", "\r\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			rules, told := found(t, "application.yml", tt.src, lint.Options{})
			got := strings.Join(rules, " ")
			if got != tt.want {
				t.Errorf("got %q, want %q\n%s\n%s", got, tt.want, strings.Join(told, "\n"), tt.src)
			}
		})
	}
}

// In properties a comment has a line of its own; what follows a value is part of it.
func TestSuppressionInProperties(t *testing.T) {
	const at = "resilience4j.circuitbreaker.instances.payments."
	const head = at + "permittedNumberOfCallsInHalfOpenState=3\n" + at + "maxWaitDurationInHalfOpenState=30s\n" + at + "slidingWindowSize=20\n"
	const bad = at + "minimumNumberOfCalls=50"
	for name, tt := range map[string]struct{ src, want string }{
		"above":              {head + "# faultline:ignore minimum-above-window until May\n" + bad, ""},
		"above with a !":     {head + "  ! faultline:ignore minimum-above-window until May\n" + bad, ""},
		"part of the value":  {head + bad + " # faultline:ignore minimum-above-window until May", "refused-value"},
		"of a line going on": {head + "text=a\\\n# faultline:ignore minimum-above-window until May\n" + bad, "minimum-above-window"},
	} {
		t.Run(name, func(t *testing.T) {
			if rules, told := found(t, "application.properties", tt.src, lint.Options{}); strings.Join(rules, " ") != tt.want {
				t.Errorf("want %q, got\n%s", tt.want, strings.Join(told, "\n"))
			}
		})
	}
}

// What is suppressed is still there, with its reason.
func TestSuppressedIsKept(t *testing.T) {
	r, _ := lint.Find("suppression-unused")
	res, err := lint.File("application.yml", []byte(r.Good()), lint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Findings) != 1 || res.Findings[0].Suppressed != "the window grows in May" {
		t.Errorf("findings: %+v", res.Findings)
	}
}

func FuzzFile(f *testing.F) {
	for _, r := range lint.Rules() {
		f.Add([]byte(r.Bad()), false)
	}
	f.Add([]byte("resilience4j.circuitbreaker.instances.a.slidingWindowSize=1\\\n#\n! faultline:ignore x y"), true)
	f.Fuzz(func(t *testing.T, src []byte, properties bool) {
		name := "application.yml"
		if properties {
			name = "application.properties"
		}
		res, err := lint.File(name, src, lint.Options{Rate: 3, ClientTimeout: 2e9})
		if err != nil {
			return
		}
		for _, found := range res.Findings {
			if _, known := lint.Find(found.Rule); !known || found.What == "" || found.Why == "" || found.Fix == "" || found.At.Line < 0 {
				t.Errorf("%+v", found)
			}
		}
	})
}
