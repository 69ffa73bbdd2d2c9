package simulate

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteText writes the report for a person, in lines of about so many columns.
func (t *Table) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	if len(t.Out) == 1 {
		t.Out[0].writeOne(&b, t, width)
	} else {
		t.writeRows(&b, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// labelled writes lines of which the first has a label, broken into lines that fit.
func labelled(b *strings.Builder, width int, label string, lines ...string) {
	const column = 18
	for _, line := range lines {
		for _, part := range wrapped(line, max(width-column, 30)) {
			fmt.Fprintf(b, "%-*s%s\n", column, label, part)
			label = ""
		}
	}
}

// wrapped breaks a text at its spaces.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// head says what was simulated.
func (t *Table) head(b *strings.Builder, width int, m *Model, r *Result, calls int64) {
	labelled(b, width, "breaker", m.breakerWords()...)
	labelled(b, width, "traffic", append(m.trafficWords(), t.Notes...)...)
	what := fmt.Sprintf("%d trials of %s, and %s without the outage", r.Trials, timeText(int64(m.Duration)), longText(r.Quiet.Time))
	if m.outage().none() {
		what = longText(r.Quiet.Time)
	}
	labelled(b, width, "simulated", fmt.Sprintf("%s: %s calls, seed %d", what, countText(calls), r.Seed))
}

// writeOne writes what one model comes to.
func (r *Result) writeOne(b *strings.Builder, t *Table, width int) {
	r.answers(b, width)
	b.WriteByte('\n')
	t.head(b, width, &r.Model, r, r.Calls)
	if !r.Model.outage().none() {
		b.WriteByte('\n')
		r.spreads(b)
	}
	b.WriteByte('\n')
	r.timeline(b)
}

// answers says in a few lines what the breaker will do.
func (r *Result) answers(b *strings.Builder, width int) {
	for _, a := range r.Advice {
		labelled(b, width, strings.ToUpper(string(a.Kind)), a.Text)
	}
	if !r.Model.outage().none() {
		labelled(b, width, "opens", r.opensWords())
		labelled(b, width, "in the outage", r.duringWords())
		if s := r.recoversWords(); s != "" {
			labelled(b, width, "recovers", s)
		}
		labelled(b, width, "on its return", r.returnWords())
	}
	q := r.Quiet
	labelled(b, width, "false openings", q.words())
	if q.Openings > 0 {
		labelled(b, width, "", fmt.Sprintf("and rejects %s of all calls while the dependency is well", percentText(q.Rejected)))
	}
	if r.Cut > 0 {
		labelled(b, width, "STOPPED", fmt.Sprintf("%d of %d trials had more than %s calls and were not simulated to their end", r.Cut, r.Trials, countText(mostCalls)))
	}
}

// outages says of how many there is talk.
func (r *Result) outages(n int) string {
	all := r.Opened + r.Never
	what := "outages"
	if r.Model.Traffic.Replicas > 1 {
		what = fmt.Sprintf("breakers (%d trials of %d)", r.Trials, r.Model.Traffic.Replicas)
	}
	if n == all {
		return fmt.Sprintf("in all of %d %s", all, what)
	}
	return fmt.Sprintf("in %d of %d %s", n, all, what)
}

func (r *Result) opensWords() string {
	all := r.Opened + r.Never
	var s string
	switch {
	case all == 0:
		return "not to be told: no breaker was closed when the outage began"
	case r.Opened == 0:
		s = fmt.Sprintf("NEVER in %d outages", all)
	default:
		s = fmt.Sprintf("%s, %s after the beginning (median; 90%% within %s, slowest %s), at outcome %d of the outage (median)",
			r.outages(r.Opened), timeText(r.ToOpen.P50), timeText(r.ToOpen.P90), timeText(r.ToOpen.Max), r.Outcomes.P50)
	}
	if r.NotClosed > 0 {
		s += fmt.Sprintf("; %d more were not closed when it began", r.NotClosed)
	}
	return s
}

func (r *Result) duringWords() string {
	n := float64(r.During.Calls())
	if n == 0 {
		return "no call came"
	}
	return fmt.Sprintf("%s of calls are rejected (fallback), %s fail, %s are answered; the dependency gets %s of its usual load",
		percentText(float64(r.During.Rejected)/n), percentText(float64(r.During.Failed)/n), percentText(float64(r.During.Answered)/n), times(r.LoadDuring, r.LoadBefore))
}

func (r *Result) recoversWords() string {
	all := r.Settled.N + r.Unsettled
	if all == 0 {
		return ""
	}
	first := fmt.Sprintf("%s after the end (median; 90%% within %s, slowest %s)", timeText(r.Recovered.P50), timeText(r.Recovered.P90), timeText(r.Recovered.Max))
	switch {
	case r.Recovered.N == 0:
		return "NEVER within the trial"
	case r.Late == 0 && r.Unsettled == 0:
		return "closed again " + first
	case r.Late == 0:
		return fmt.Sprintf("closed again %s; %d of %d were not within the trial", first, r.Unsettled, all)
	}
	s := fmt.Sprintf("closed first %s, but opened anew %s times in %d trials; ", first, countText(r.Late), r.Trials)
	if r.Settled.N == 0 {
		return s + "NEVER closed for good within the trial"
	}
	return s + fmt.Sprintf("closed for good %s after the end (median) in %d of %d", timeText(r.Settled.P50), r.Settled.N, all)
}

func (r *Result) returnWords() string {
	s := fmt.Sprintf("the dependency gets %s in its busiest second afterwards (median; most %d), %s the busiest before; %s of calls are answered from its return to the end of the trial",
		plural(int(r.PeakAfter.P50), "call"), r.PeakAfter.Max, times(float64(r.PeakAfter.P50), float64(r.PeakBefore.P50)), percentText(float64(r.After.Answered)/max(float64(r.After.Calls()), 1)))
	if r.Comeback > 0 {
		s += fmt.Sprintf("; %s calls of %s came back", countText(r.Comeback), countText(r.Before.Calls()+r.During.Calls()+r.After.Calls()))
	}
	return s
}

// spreads writes the distributions.
func (r *Result) spreads(b *strings.Builder) {
	fmt.Fprintf(b, "%-26s %9s %9s %9s %9s %9s %7s\n", "", "min", "p50", "p90", "p99", "max", "of")
	line := func(name string, s Spread, text func(int64) string) {
		if s.N > 0 {
			fmt.Fprintf(b, "%-26s %9s %9s %9s %9s %9s %7d\n", name, text(s.Min), text(s.P50), text(s.P90), text(s.P99), text(s.Max), s.N)
		}
	}
	plain := func(n int64) string { return fmt.Sprint(n) }
	line("time to open", r.ToOpen, timeText)
	line("outcomes to open", r.Outcomes, plain)
	line("time to recover", r.Recovered, timeText)
	if r.Late > 0 {
		line("time to recover for good", r.Settled, timeText)
	}
	line("busiest second before", r.PeakBefore, plain)
	line("busiest second after", r.PeakAfter, plain)
}

// writeRows writes a table with a line for each model.
func (t *Table) writeRows(b *strings.Builder, width int) {
	head := []string{"opens", "p50", "p99", "outcomes", "rejected", "failed", "recovers", "peak", "false/day"}
	first := []string{}
	for _, c := range t.Rows[0].Changed {
		name, _, _ := strings.Cut(c, "=")
		first = append(first, name)
	}
	table := stacked(append(first, head...))
	calls := int64(0)
	for i, r := range t.Out {
		calls += r.Calls
		var line []string
		for _, c := range t.Rows[i].Changed {
			_, value, _ := strings.Cut(c, "=")
			line = append(line, value)
		}
		table = append(table, append(line, r.cells()...))
	}
	writeTable(b, table)
	b.WriteString("\nopens: share of the outages in which it opened; p50, p99: of the time that took;\n" +
		"outcomes: that it was told of until then (median); rejected, failed: of the calls\n" +
		"in the outage; recovers: from its end to closed for good (median); peak: busiest\n" +
		"second after it over the busiest before; false/day: openings a day without an outage,\n" +
		"< where none was seen (95%, or by calculation). All rows met the same traffic.\n")
	t.advise(b, width)
	b.WriteString("\nThe rest of the first row, as of all:\n")
	t.head(b, width, &t.Out[0].Model, t.Out[0], calls)
}

// advise writes what there is to say of the rows, the same of several only once.
func (t *Table) advise(b *strings.Builder, width int) {
	var order []Advice
	of := map[Advice][]string{}
	for i, r := range t.Out {
		for _, a := range r.Advice {
			if of[a] == nil {
				order = append(order, a)
			}
			of[a] = append(of[a], strings.Join(t.Rows[i].Changed, ", "))
		}
	}
	for _, a := range order {
		who := strings.Join(of[a], "; ")
		if len(of[a]) == len(t.Out) {
			who = "all rows"
		}
		b.WriteByte('\n')
		labelled(b, width, strings.ToUpper(string(a.Kind)), who+": "+a.Text)
	}
}

// cells are the numbers of one line.
func (r *Result) cells() []string {
	if r.Model.outage().none() {
		return []string{"-", "-", "-", "-", "-", "-", "-", "-", r.Quiet.short()}
	}
	all, calls := r.Opened+r.Never, max(float64(r.During.Calls()), 1)
	share := "-"
	if all > 0 {
		share = percentText(float64(r.Opened) / float64(all))
	}
	cells := []string{share, "-", "-", "-"}
	if r.ToOpen.N > 0 {
		cells = []string{share, timeText(r.ToOpen.P50), timeText(r.ToOpen.P99), fmt.Sprint(r.Outcomes.P50)}
	}
	recovers := "-"
	switch {
	case r.Settled.N > r.Unsettled:
		recovers = timeText(r.Settled.P50)
	case r.Unsettled > 0:
		recovers = "never"
	}
	return append(cells, percentText(float64(r.During.Rejected)/calls), percentText(float64(r.During.Failed)/calls), recovers,
		times(float64(r.PeakAfter.P50), float64(r.PeakBefore.P50)), r.Quiet.short())
}

// writeTable writes columns that are as wide as they have to be.
func writeTable(b *strings.Builder, table [][]string) {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, line := range table {
		var text strings.Builder
		for i, cell := range line {
			if i > 0 {
				text.WriteString("  ")
			}
			fmt.Fprintf(&text, "%*s", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// stacked writes long names of columns one part above the other, cut before capitals.
func stacked(names []string) [][]string {
	const wide = 12
	columns, height := make([][]string, len(names)), 1
	for i, name := range names {
		part := ""
		for _, word := range camel(name) {
			if part != "" && len(part)+len(word) > wide {
				columns[i] = append(columns[i], part)
				part = ""
			}
			part += word
		}
		columns[i] = append(columns[i], part)
		height = max(height, len(columns[i]))
	}
	lines := make([][]string, height)
	for y := range lines {
		for _, c := range columns {
			cell := ""
			if at := y - height + len(c); at >= 0 {
				cell = c[at]
			}
			lines[y] = append(lines[y], cell)
		}
	}
	return lines
}

// camel cuts a name before its capitals.
func camel(name string) []string {
	var words []string
	from := 0
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			words = append(words, name[from:i])
			from = i
		}
	}
	return append(words, name[from:])
}
