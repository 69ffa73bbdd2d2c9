package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
	"github.com/faultline-go/faultline/ci"
)

// writeLint writes what was found as it was asked for.
func (a app) writeLint(f lintFlags, all []linted) error {
	switch f.format.word {
	case formatJSON:
		return writeLintJSON(a.stdout, all)
	case formatSARIF:
		return ci.WriteSARIF(a.stdout, inspected(all))
	case formatGitHub:
		found := inspected(all).Findings
		slices.SortStableFunc(found, func(a, b ci.Finding) int { return cmp.Compare(weight(b.Level), weight(a.Level)) })
		return ci.WriteGitHub(a.stdout, found)
	}
	_, err := io.WriteString(a.stdout, lintText(all, a.textOptions(f)))
	return err
}

// weight orders levels, the heaviest last.
func weight(l ci.Level) int {
	return slices.Index([]ci.Level{ci.LevelNote, ci.LevelWarning, ci.LevelError}, l)
}

// textOptions are how text is laid out for standard output.
func (a app) textOptions(f lintFlags) report.TextOptions {
	s := a.screenOf(a.stdout, f.noColor)
	opt := report.TextOptions{Width: s.width, Color: s.color, ASCII: s.ascii}
	if !s.terminal {
		opt.Width = planWidth
	}
	return opt
}

// resultOf is the result whose colour a severity has.
func resultOf(s lint.Severity) assert.Result {
	switch s {
	case lint.Error:
		return assert.Fail
	case lint.Warning:
		return assert.Inconclusive
	case lint.Note:
	}
	return assert.Skipped
}

// lintText writes findings for a person: why and what to do of a rule once, where it is
// first told.
func lintText(all []linted, opt report.TextOptions) string {
	var b strings.Builder
	told := map[string]bool{}
	counts, taken := map[lint.Severity]int{}, 0
	for _, f := range found(all) {
		if f.Suppressed != "" {
			taken++
			continue
		}
		counts[f.Severity]++
		var items []report.Item
		if !told[f.Rule] {
			items = []report.Item{{Name: "why", Text: f.Why}, {Name: "to do", Text: f.Fix}}
		} else if r, _ := lint.Find(f.Rule); r.Fix != f.Fix {
			items = []report.Item{{Name: "to do", Text: f.Fix}}
		}
		told[f.Rule] = true
		for _, line := range headline(f, items, opt) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(summed(counts, taken) + "\n")
	return b.String()
}

// found returns the findings of all files that could be read.
func found(all []linted) []lint.Finding {
	var out []lint.Finding
	for _, l := range all {
		if l.err == nil {
			out = append(out, l.result.Findings...)
		}
	}
	return out
}

// headline writes a finding. Its first line is kept whole, because editors and greps
// take it apart.
func headline(f lint.Finding, items []report.Item, opt report.TextOptions) []string {
	lines := report.Explain(f.Severity.String(), "", resultOf(f.Severity), items, opt)
	lines[0] = strings.Replace(oneLine(f.String()), f.Severity.String()+":", strings.TrimSpace(lines[0])+":", 1)
	return lines
}

// oneLine keeps what a file has in its names and values from breaking, or colouring, the
// report.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}

// summed counts findings in words.
func summed(counts map[lint.Severity]int, taken int) string {
	var parts []string
	for _, s := range []lint.Severity{lint.Error, lint.Warning, lint.Note} {
		if n := counts[s]; n == 1 {
			parts = append(parts, "1 "+s.String())
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %vs", n, s))
		}
	}
	suppressed := ""
	if taken > 0 {
		suppressed = fmt.Sprintf("; %d suppressed", taken)
	}
	if len(parts) == 0 {
		return "nothing found" + suppressed
	}
	return enumerated(parts) + suppressed
}

// inspected puts findings into the terms of CI systems. Of the rules, it has those that
// found something.
func inspected(all []linted) ci.Inspection {
	in := ci.Inspection{Tool: toolVersion()}
	used := map[string]bool{}
	for _, l := range all {
		name := filepath.ToSlash(l.name)
		if l.err != nil {
			in.Unread = append(in.Unread, ci.Finding{File: name, Message: l.err.Error()})
			continue
		}
		for _, f := range l.result.Findings {
			used[f.Rule] = true
			message := f.What
			if f.About != "" {
				message = f.About + ": " + f.What
			}
			in.Findings = append(in.Findings, ci.Finding{
				Rule: f.Rule, Level: ci.Level(f.Severity.String()), File: name, Line: f.At.Line, Column: f.At.Col,
				Message: sentence(message) + "\n" + f.Why + "\nTo do: " + f.Fix + ".", Suppressed: f.Suppressed,
			})
		}
	}
	for _, r := range lint.Rules() {
		if used[r.ID] {
			in.Checks = append(in.Checks, ci.Check{
				ID: r.ID, Level: ci.Level(r.Severity.String()), Title: r.Title, Text: r.Why,
				Help: r.Why + "\n\nTo do: " + r.Fix + ".", Markdown: r.Markdown(),
			})
		}
	}
	return in
}

// sentence ends a text as one.
func sentence(s string) string {
	if strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// The report of lint in JSON.
type (
	lintReport struct {
		Tool   string                `json:"tool"`
		Counts map[lint.Severity]int `json:"counts"` // without what is suppressed
		Files  []lintedFile          `json:"files"`
	}
	lintedFile struct {
		File       string        `json:"file"`
		Unreadable string        `json:"unreadable,omitempty"`
		Findings   []findingJSON `json:"findings"`
	}
	findingJSON struct {
		lint.Finding
		Line   int `json:"line"`
		Column int `json:"column"`
	}
)

func writeLintJSON(w io.Writer, all []linted) error {
	r := lintReport{Tool: toolVersion(), Counts: map[lint.Severity]int{}, Files: []lintedFile{}}
	for _, l := range all {
		file := lintedFile{File: l.name, Findings: []findingJSON{}}
		if l.err != nil {
			file.Unreadable = l.err.Error()
		} else {
			for _, f := range l.result.Findings {
				file.Findings = append(file.Findings, findingJSON{f, f.At.Line, f.At.Col})
				if f.Suppressed == "" {
					r.Counts[f.Severity]++
				}
			}
		}
		r.Files = append(r.Files, file)
	}
	return writeJSON(w, r)
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error {
	out, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Write(append(out, '\n'))
	}
	return err
}
