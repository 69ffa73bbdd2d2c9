package report

import (
	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/target/trace"
)

// Draw draws the states of breakers over the phases of a run, as [WriteText] does:
// its lines, or none where there is nothing to draw.
func Draw(phases []trace.Phase, breakers []assert.Timeline, opt TextOptions) []string {
	t := text{Summary: Summary{Phases: phases, Breakers: breakers}, opt: opt.filled()}
	return t.timeline()
}

// Table lays out rows of cells below a head, in aligned columns; cells that do not
// fit are wrapped, and columns without any text left out.
func Table(head []string, rows [][]string, opt TextOptions) []string {
	t := text{opt: opt.filled()}
	safe := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			safe[i] = append(safe[i], oneLine(cell))
		}
	}
	return t.plainTable(head, safe)
}

// plainTable lays out rows whose head alone is tinted.
func (t text) plainTable(head []string, rows [][]string) []string {
	tint := func(r, _ int, cell string) string {
		if r < 0 {
			return t.color(dim, cell)
		}
		return cell
	}
	return table{head: head, rows: rows, tint: tint}.lines(t.opt.Width)
}

// Wrap breaks text at the width, and indents what follows its first line.
func Wrap(s string, opt TextOptions) []string {
	lines := wrap(oneLine(s), max(opt.filled().Width-len(gap), narrowest))
	for i := range lines[1:] {
		lines[i+1] = gap + lines[i+1]
	}
	return lines
}

// Item is one named text of an [Explain].
type Item struct{ Name, Text string }

// Explain writes a heading, coloured as a result is, and what there is to say below
// it, in two columns. Items without text are left out.
func Explain(head, title string, as assert.Result, items []Item, opt TextOptions) []string {
	t := text{opt: opt.filled()}
	lines := t.titled(resultColor(as), head, title)
	facts := make([]fact, 0, len(items))
	for _, i := range items {
		facts = append(facts, fact{i.Name, i.Text})
	}
	return append(lines, t.facts(facts)...)
}

// Thousands prints a number of things, such as 12,345.
func Thousands(n int) string { return thousands(n) }

// filled sets the width that is left to this package.
func (o TextOptions) filled() TextOptions {
	if o.Width <= 0 {
		o.Width = DefaultWidth
	}
	return o
}
