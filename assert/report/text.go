package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/faultline-go/faultline/assert"
)

// DefaultWidth is the width of text where nobody knows that of the reader's
// terminal.
const DefaultWidth = 100

// TextOptions says how text for people is laid out.
type TextOptions struct {
	Width int  // columns; 0: DefaultWidth
	Color bool // ANSI colours
	ASCII bool // nothing but ASCII in what is drawn
	Quiet bool // only what did not pass, and nothing where all passed
}

// WriteText writes what a run came to for a person: the timeline, the
// load, the table, what
// is to be said of every assertion that did not pass (failures first), breached
// integrity checks, and the verdict as the last line.
func WriteText(w io.Writer, s Summary, opt TextOptions) error {
	if opt.Quiet && s.Verdict == OutcomePass {
		return nil
	}
	if opt.Width <= 0 {
		opt.Width = DefaultWidth
	}
	t := text{Summary: s, opt: opt}
	sections := [][]string{t.header()}
	if !opt.Quiet {
		sections = append(sections, t.timeline(), t.load(), t.table())
	}
	sections = append(sections, t.explanations()...)
	sections = append(sections, t.integrity(), t.trouble(), t.verdict())

	var parts []string
	for _, lines := range sections {
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n")+"\n")
		}
	}
	if _, err := io.WriteString(w, strings.Join(parts, "\n")); err != nil {
		return fmt.Errorf("write report of %s: %w", s.Experiment, err)
	}
	return nil
}

// text writes a summary's sections as lines.
type text struct {
	Summary
	opt TextOptions
}

// header says which run this is.
func (t text) header() []string {
	name := oneLine(t.Experiment)
	if t.File != "" {
		name += " (" + oneLine(t.source()) + ")"
	}
	facts := []string{fmt.Sprintf("seed %d", t.Seed)}
	if t.Rung != "" {
		facts = append(facts, "joined by "+oneLine(t.Rung))
	}
	if t.Calls > 0 || t.Attempts > 0 {
		facts = append(facts, fmt.Sprintf("%s calls sent, %s attempts arrived", thousands(t.Calls), thousands(t.Attempts)))
	}
	if t.Duration > 0 {
		facts = append(facts, span(t.Duration))
	}
	return wrap(name+": "+strings.Join(facts, ", "), t.opt.Width)
}

func (t text) timeline() []string {
	drawing := timeline{phases: t.Phases, breakers: t.Breakers, glyphs: glyphsFor(t.opt.ASCII)}
	return drawing.lines(t.opt.Width, func(s assert.State, piece string) string {
		return t.color(stateColor(s), piece)
	})
}

// table lists every assertion in the order of the experiment's file.
func (t text) table() []string {
	if len(t.Assertions) == 0 {
		return nil
	}
	tab := table{head: []string{"ASSERTION", "VERDICT", "EXPECTED", "OBSERVED", "MARGIN"}}
	for _, v := range t.Assertions {
		tab.rows = append(tab.rows, []string{
			oneLine(v.ID), word(v.Result), oneLine(v.Expected), oneLine(t.cell(v)), oneLine(v.Margin),
		})
	}
	tab.tint = func(r, c int, cell string) string {
		switch {
		case r < 0:
			return t.color(dim, cell)
		case c == 1:
			return t.color(resultColor(t.Assertions[r].Result), cell)
		}
		return cell
	}
	return tab.lines(t.opt.Width)
}

// observed is what was seen, or what kept it from being looked at.
func observed(v assert.Verdict) string {
	if v.Observed == "" && v.BlockedBy != "" {
		return "blocked by " + v.BlockedBy
	}
	return v.Observed
}

// cell is what was observed as the table has room for it.
func (t text) cell(v assert.Verdict) string {
	at := "verdicts.json"
	if (v.Result == assert.Fail || v.Result == assert.Inconclusive) && !explained(t.Summary, v) {
		at = "below"
	}
	return capped(observed(v), at)
}

// mostObserved is how many observations a table's cell lists. Up to one more is
// printed, since saying that it is missing would take as much room.
const mostObserved = 3

// capped cuts a list of observations and says how many are missing and where they
// are. How many of how many they are, which ends the list, stays.
func capped(list, at string) string {
	parts := strings.Split(list, "; ")
	more := len(parts) - mostObserved
	if more <= 1 {
		return list
	}
	tail := ""
	if last := parts[len(parts)-1]; strings.Contains(last, " (") {
		end := last[strings.Index(last, " ("):]
		var n, of int
		if _, err := fmt.Sscanf(end, " (%d of %d", &n, &of); err == nil {
			tail = end
		}
	}
	return fmt.Sprintf("%s; ... and %d more, see %s%s", strings.Join(parts[:mostObserved], "; "), more, at, tail)
}

// word is a result as the table prints it; what is bad stands out also without
// colour.
func word(r assert.Result) string {
	if r == assert.Pass {
		return string(r)
	}
	return strings.ToUpper(string(r))
}

// explanations say why an assertion did not pass, failures first. Each is a
// section; skipped ones share theirs.
func (t text) explanations() [][]string {
	var out [][]string
	for _, r := range []assert.Result{assert.Fail, assert.Inconclusive} {
		for _, v := range t.Assertions {
			if v.Result == r && !explained(t.Summary, v) {
				out = append(out, t.explain(v))
			}
		}
	}
	var skipped []string
	for _, v := range t.Assertions {
		if v.Result == assert.Skipped {
			skipped = append(skipped, t.skipped(v)...)
		}
	}
	return append(out, skipped)
}

// explained reports whether an assertion has nothing to say beyond why the whole
// run could not be carried out.
func explained(s Summary, v assert.Verdict) bool {
	return s.Reason != "" && v.Reason == s.Reason
}

// explain writes all that is known of one assertion.
func (t text) explain(v assert.Verdict) []string {
	lines := t.titled(resultColor(v.Result), word(v.Result), v.ID)
	evidence := make([]string, 0, len(v.Evidence))
	for _, id := range v.Evidence {
		evidence = append(evidence, oneLine(id))
	}
	facts := []fact{
		{"rule", where(t.Summary, v)},
		{"expected", v.Expected},
		{"observed", v.Observed},
		{"margin", v.Margin},
		{"resolution", v.Resolution},
		{"why", v.Reason},
		{"calls", strings.Join(evidence, " ")},
		{"to do", v.Remedy},
	}
	return append(lines, t.facts(facts)...)
}

// where names an assertion's rule, its phase and its line.
func where(s Summary, v assert.Verdict) string {
	text := v.Kind
	if v.Phase != "" {
		text += ", phase " + v.Phase
	}
	if v.Line > 0 && s.File != "" {
		text += fmt.Sprintf(", %s:%d", s.File, v.Line)
	}
	return text
}

// titled writes a coloured word and a text that wraps beside it.
func (t text) titled(code, head, body string) []string {
	indent := utf8.RuneCountInString(head) + len(gap)
	lines := wrap(oneLine(body), max(t.opt.Width-indent, narrowest))
	for i, l := range lines {
		margin := strings.Repeat(" ", indent)
		if i == 0 {
			margin = t.color(code, head) + gap
		}
		lines[i] = strings.TrimRight(margin+l, " ")
	}
	return lines
}

// fact is one line of an explanation; without text it is not printed.
type fact struct{ name, text string }

// facts writes facts in two columns.
func (t text) facts(facts []fact) []string {
	const indent, label = 2, 12
	var lines []string
	for _, f := range facts {
		if f.text == "" {
			continue
		}
		name := f.name
		for _, l := range wrap(plain(f.text), max(t.opt.Width-indent-label, narrowest)) {
			lines = append(lines, strings.TrimRight(strings.Repeat(" ", indent)+pad(name, label)+l, " "))
			name = ""
		}
	}
	return lines
}

func (t text) skipped(v assert.Verdict) []string {
	why := v.Reason
	if v.BlockedBy != "" {
		why = strings.TrimRight("blocked by "+v.BlockedBy+": "+v.Reason, ": ")
	}
	return t.titled(resultColor(v.Result), word(v.Result), v.ID+": "+why)
}

// verdict is the last line, and the only one that most people read.
func (t text) verdict() []string {
	return t.titled(outcomeColor(t.Verdict), strings.ToUpper(string(t.Verdict)), sentence(t.Summary))
}

// sentence says what a run came to, without the outcome's name.
func sentence(s Summary) string {
	n := Tally(s.Assertions)
	parts := []string{fmt.Sprintf("%d of %d passed", n.Pass, n.Total())}
	if n.Total() == 0 {
		parts = []string{"nothing was asserted"}
	}
	for _, r := range []struct {
		result assert.Result
		word   string
		count  int
	}{
		{assert.Fail, "failed", n.Fail},
		{assert.Inconclusive, "could not be decided", n.Inconclusive},
		{assert.Skipped, "skipped", n.Skipped},
	} {
		if r.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", r.count, r.word, ids(s.Assertions, r.result)))
		}
	}
	text := fmt.Sprintf("%s: %s", s.Experiment, strings.Join(parts, ", "))
	if s.Verdict == OutcomeInconclusive && s.ExitCode == ExitPass {
		text += "; counted as passed by --inconclusive skip"
	}
	return fmt.Sprintf("%s (exit %d)", text, s.ExitCode)
}

// mostIDs is how many items a line lists, such as the assertions of the last one.
const mostIDs = 5

func ids(verdicts []assert.Verdict, r assert.Result) string {
	var list []string
	for _, v := range verdicts {
		if v.Result == r {
			list = append(list, v.ID)
		}
	}
	return some(list)
}

// some lists as much as a line has room for, and how many more there are.
func some(list []string) string {
	if len(list) > mostIDs {
		list = append(list[:mostIDs:mostIDs], fmt.Sprintf("and %d more", len(list)-mostIDs))
	}
	return strings.Join(list, ", ")
}
