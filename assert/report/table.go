package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// gap stands between two columns.
const gap = "  "

// narrowest is what a column is never squeezed below, unless it needs less.
const narrowest = 10

// table lays out rows of cells in aligned columns. Cells that do not fit are
// wrapped, so that nothing is lost.
type table struct {
	head []string
	rows [][]string
	// tint colours the text of a cell of row r (-1: the head) and column c.
	tint func(r, c int, cell string) string
}

// lines returns the table's lines, at most width runes long where the columns
// can be made so narrow. Columns that are empty in every row are left out.
func (t table) lines(width int) []string {
	cols := t.filled()
	widths := t.fit(cols, width)
	var out []string
	for r := -1; r < len(t.rows); r++ {
		out = append(out, t.row(r, cols, widths)...)
	}
	return out
}

// filled returns the columns in which some row has text.
func (t table) filled() []int {
	var cols []int
	for c := range t.head {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[c] != "" }) {
			cols = append(cols, c)
		}
	}
	return cols
}

// fit returns the width of each column: what it needs, less what the widest
// columns must give up for the table to be at most width runes wide.
func (t table) fit(cols []int, width int) []int {
	widths := make([]int, len(cols))
	room := width - len(gap)*(len(cols)-1)
	for i, c := range cols {
		widths[i] = utf8.RuneCountInString(t.head[c])
		for _, row := range t.rows {
			for line := range strings.SplitSeq(row[c], "\n") {
				widths[i] = max(widths[i], utf8.RuneCountInString(line))
			}
		}
		room -= widths[i]
	}
	for ; room < 0; room++ {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if len(widths) == 0 || widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	return widths
}

// row returns the lines of row r, or of the head for -1.
func (t table) row(r int, cols, widths []int) []string {
	cells := t.head
	if r >= 0 {
		cells = t.rows[r]
	}
	wrapped := make([][]string, len(cols))
	height := 0
	for i, c := range cols {
		wrapped[i] = wrap(cells[c], widths[i])
		height = max(height, len(wrapped[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var line strings.Builder
		room := 0 // spaces that a further cell of this line needs before it
		for i, c := range cols {
			text := ""
			if n < len(wrapped[i]) {
				text = wrapped[i][n]
			}
			if text != "" {
				line.WriteString(strings.Repeat(" ", room) + t.tint(r, c, text))
				room = 0
			}
			room += widths[i] - utf8.RuneCountInString(text) + len(gap)
		}
		lines[n] = line.String()
	}
	return lines
}
