package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/faultline-go/faultline/assert"
)

// WriteMarkdown writes what a run came to as a short page for a pull request or a
// CI system's summary.
func WriteMarkdown(w io.Writer, s Summary) error {
	m := markdown{Summary: s, out: &strings.Builder{}}
	m.head()
	m.table()
	m.explanations()
	m.integrity()
	m.load()
	m.timeline()
	if _, err := io.WriteString(w, m.out.String()); err != nil {
		return fmt.Errorf("write summary of %s: %w", s.Experiment, err)
	}
	return nil
}

// markdown writes the parts of a page.
type markdown struct {
	Summary
	out *strings.Builder
}

func (m markdown) head() {
	fmt.Fprintf(m.out, "## %s %s\n\n", strings.ToUpper(string(m.Verdict)), inline(m.Experiment))
	fmt.Fprintf(m.out, "%s.\n", inline(sentence(m.Summary)))
	if len(m.Sets) > 0 {
		fmt.Fprintf(m.out, "\n**Run as:** %s\n", inline(m.source()))
	}
	if m.Reason != "" {
		fmt.Fprintf(m.out, "\n**%s:** %s\n", shortfall(m.Summary), inline(m.Reason))
		if text := judged(m.Summary); text != "" {
			fmt.Fprintf(m.out, "\n**Judged:** %s\n", inline(text))
		}
	}
	if m.Remedy != "" {
		fmt.Fprintf(m.out, "\n**To do:** %s\n", inline(m.Remedy))
	}
}

func (m markdown) table() {
	if len(m.Assertions) == 0 {
		return
	}
	fmt.Fprint(m.out, "\n| assertion | verdict | expected | observed | margin |\n| --- | --- | --- | --- | --- |\n")
	for _, v := range m.Assertions {
		result := string(v.Result)
		if v.Result != assert.Pass {
			result = "**" + result + "**"
		}
		fmt.Fprintf(m.out, "| %s | %s | %s | %s | %s |\n",
			inline(v.ID), result, inline(v.Expected), inline(capped(observed(v), "verdicts.json")), inline(v.Margin))
	}
}

func (m markdown) explanations() {
	for _, r := range []assert.Result{assert.Fail, assert.Inconclusive, assert.Skipped} {
		for _, v := range m.Assertions {
			if v.Result == r && !explained(m.Summary, v) {
				m.explain(v)
			}
		}
	}
}

func (m markdown) explain(v assert.Verdict) {
	fmt.Fprintf(m.out, "\n### %s %s\n\n", strings.ToUpper(string(v.Result)), inline(v.ID))
	for _, f := range []fact{
		{"rule", where(m.Summary, v)},
		{"observed", cutInTable(v)},
		{"blocked by", v.BlockedBy},
		{"why", v.Reason},
		{"resolution", v.Resolution},
		{"calls", strings.Join(v.Evidence, " ")},
		{"to do", v.Remedy},
	} {
		if f.text != "" {
			fmt.Fprintf(m.out, "- %s: %s\n", f.name, inline(f.text))
		}
	}
}

func (m markdown) integrity() {
	list := breaches(m.Summary)
	if len(list) == 0 {
		return
	}
	fmt.Fprint(m.out, "\n### Not intact\n\n")
	for _, b := range list {
		fmt.Fprintf(m.out, "- %s\n", inline(b))
	}
	for _, remedy := range remedies(m.Integrity) {
		fmt.Fprintf(m.out, "- to do: %s\n", inline(remedy))
	}
}

// cutInTable is what was observed where the table shows only the first of it.
func cutInTable(v assert.Verdict) string {
	if capped(v.Observed, "") == v.Observed {
		return ""
	}
	return v.Observed
}

// timeline puts the drawing into a code block, where its columns stay aligned.
func (m markdown) timeline() {
	drawing := timeline{phases: m.Phases, breakers: m.Breakers, glyphs: glyphsFor(false)}
	lines := drawing.lines(DefaultWidth, func(_ assert.State, piece string) string { return piece })
	if len(lines) > 0 {
		fmt.Fprintf(m.out, "\n```text\n%s\n```\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintf(m.out, "\nseed %d, %s calls sent, %s attempts arrived, %s",
		m.Seed, thousands(m.Calls), thousands(m.Attempts), span(m.Duration))
	if m.Rung != "" {
		fmt.Fprintf(m.out, ", joined by %s", inline(m.Rung))
	}
	fmt.Fprintf(m.out, ", faultline %s\n", inline(m.Tool))
}

// inline is text that Markdown shows as it is: on one line, its marks escaped.
func inline(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '>':
			b.WriteString("&gt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_[]|~#!", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
