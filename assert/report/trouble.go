package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
)

// integrity lists the checks that did not hold, what came of it, and what to do,
// each once.
func (t text) integrity() []string {
	var lines []string
	for _, b := range breaches(t.Summary) {
		lines = append(lines, t.titled(yellow, "NOT INTACT", b)...)
	}
	for _, remedy := range remedies(t.Integrity) {
		lines = append(lines, t.facts([]fact{{"to do", remedy}})...)
	}
	return lines
}

func breached(checks []assert.Check) []assert.Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c assert.Check) bool { return c.OK })
}

// breaches words the checks that did not hold, one a sentence. Those that ask the
// same and affect nothing share one: a busy machine breaches the same check in
// every phase, and what matters must not drown in that.
func breaches(s Summary) []string {
	broken := breached(s.Integrity)
	harm := slices.ContainsFunc(broken, func(c assert.Check) bool { return len(c.Affects) > 0 })
	var out []string
	for i, c := range broken {
		same := func(d assert.Check) bool {
			return len(c.Affects) == 0 && len(d.Affects) == 0 && d.Name == c.Name && d.Expected == c.Expected
		}
		if slices.ContainsFunc(broken[:i], same) {
			continue
		}
		title, seen := c.Name, c.Observed
		group := slices.DeleteFunc(slices.Clone(broken), func(d assert.Check) bool { return !same(d) })
		switch {
		case len(group) > 1:
			seen = observations(group)
		case c.Phase != "":
			title += ", phase " + c.Phase
		}
		out = append(out, fmt.Sprintf("%s: expected %s, observed %s%s", title, c.Expected, seen, consequence(s, c, harm)))
	}
	return out
}

// observations lists what several checks of one kind observed.
func observations(checks []assert.Check) string {
	var list []string
	for _, c := range checks {
		text := c.Observed
		if c.Phase != "" {
			text += " in phase " + c.Phase
		}
		list = append(list, text)
	}
	return some(list)
}

// consequence says which verdicts a breach cost. A verdict that several breaches
// void is named at the first one only, so where some verdict was lost the others
// can but say that they cost no further one.
func consequence(s Summary, c assert.Check, harm bool) string {
	switch {
	case s.Reason != "" && s.Verdict == OutcomeInconclusive:
		return "" // Nothing was decided, whatever was intact.
	case len(c.Affects) > 0:
		return "; made inconclusive: " + strings.Join(c.Affects, ", ")
	case harm:
		return "; no further verdict depends on it"
	}
	return "; no verdict depends on it"
}

// remedies lists what to do about breached checks, each once.
func remedies(checks []assert.Check) []string {
	var todo []string
	for _, c := range breached(checks) {
		if c.Remedy != "" && !slices.Contains(todo, c.Remedy) {
			todo = append(todo, c.Remedy)
		}
	}
	return todo
}

// trouble says why the run was not carried out, or not to its end.
func (t text) trouble() []string {
	if t.Reason == "" {
		return nil
	}
	return append(t.titled(yellow, strings.ToUpper(shortfall(t.Summary)), ""),
		t.facts([]fact{{"why", t.Reason}, {"judged", judged(t.Summary)}, {"to do", t.Remedy}})...)
}

// shortfall says in what way a run was not carried out.
func shortfall(s Summary) string {
	switch s.Verdict {
	case OutcomeInterrupted:
		return "Interrupted"
	case OutcomeAborted:
		return "Aborted"
	case OutcomePass, OutcomeFail, OutcomeInconclusive:
	}
	return "Not carried out"
}

// judged says of a run that ended early how far it went.
func judged(s Summary) string {
	if s.Verdict != OutcomeInterrupted && s.Verdict != OutcomeAborted {
		return ""
	}
	if len(s.Phases) == 0 {
		return "nothing: no phase had begun"
	}
	n := Tally(s.Assertions)
	return fmt.Sprintf("what was recorded until then, up to phase %s; it decides %d of %d assertions",
		s.Phases[len(s.Phases)-1].Name, n.Pass+n.Fail, n.Total())
}
