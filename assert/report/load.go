package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
)

// loadTable shows what was sent in each phase and how long answers took. The
// latency since a call was due stands beside the one since it was sent: where they
// differ, the generator was late.
func loadTable(loads []assert.Load) (head []string, rows [][]string) {
	head = []string{"PHASE", "SENT", "SHORTFALL", "P50", "P99", "P99 SINCE DUE"}
	for _, l := range loads {
		row := []string{oneLine(l.Phase), thousands(l.Sent), lacking(l), took(l, l.ServiceP50), took(l, l.ServiceP99), ""}
		if l.OpenLoop {
			row[5] = took(l, l.PlannedP99)
		}
		rows = append(rows, row)
	}
	return head, rows
}

// lacking says what of the load was not sent, and what was sent and never answered
// completely.
func lacking(l assert.Load) string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{l.Dropped, "dropped"}, {l.Saturated, "saturated"}, {l.Sent - l.Answered, "unanswered"}} {
		if part.n > 0 {
			parts = append(parts, thousands(part.n)+" "+part.word)
		}
	}
	return strings.Join(parts, ", ")
}

// took prints a latency with three digits, which is more than any is worth.
func took(l assert.Load, d time.Duration) string {
	if l.Answered == 0 {
		return ""
	}
	for unit := 10 * time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// load is the table on a terminal.
func (t text) load() []string {
	head, rows := loadTable(t.Loads)
	if len(rows) == 0 {
		return nil
	}
	return t.plainTable(head, rows)
}

// load is the table on a page. A column that says nothing in any row is left out.
func (m markdown) load() {
	head, rows := loadTable(m.Loads)
	if len(rows) == 0 {
		return
	}
	cols := table{head: head, rows: rows}.filled()
	line := func(cell func(c int) string) {
		for _, c := range cols {
			fmt.Fprintf(m.out, "| %s ", cell(c))
		}
		fmt.Fprint(m.out, "|\n")
	}
	fmt.Fprint(m.out, "\n")
	line(func(c int) string { return strings.ToLower(head[c]) })
	line(func(int) string { return "---" })
	for _, row := range rows {
		line(func(c int) string { return inline(row[c]) })
	}
}
