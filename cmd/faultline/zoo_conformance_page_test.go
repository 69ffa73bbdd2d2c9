package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// conformancePage is where the docs say what implementations do.
const conformancePage = "../../docs/conformance.md"

// TestConformancePage holds the page against zoo.yaml: it is what follows from what is
// declared there and from what the page itself says was observed, and no row is missing.
// With -rewrite-conformance it is written anew from the two.
func TestConformancePage(t *testing.T) {
	members := readZoo(t)
	rows, when := readConformance(t)
	if *rewriteConformance {
		writeConformance(t, members, rows, when)
	}
	text, err := os.ReadFile(conformancePage)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		for _, column := range m.cells() {
			if rows[m.name].observed[column] == "" {
				t.Errorf("%s: nothing is said to have been observed of %s", m.name, column)
			}
		}
	}
	if again := conformance(members, rows, when); again != string(text) {
		t.Errorf("%s is not what follows from %s; run TestZooConformance with -rewrite-conformance", conformancePage, zooFile)
	}
}

// rewritePage writes the page with what was seen of some members; the others keep their rows.
func rewritePage(t *testing.T, seen map[string]row) {
	t.Helper()
	rows, _ := readConformance(t)
	maps.Copy(rows, seen)
	writeConformance(t, readZoo(t), rows, machineLoad())
}

func writeConformance(t *testing.T, members []truth, rows map[string]row, when string) {
	t.Helper()
	if err := os.WriteFile(conformancePage, []byte(conformance(members, rows, when)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// machineLoad is how busy this machine is, as far as it tells.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(text))[:3], ", ")
}

// cells are the columns of a member's row that hold something observed.
func (m truth) cells() []string {
	if m.policy != nil {
		return []string{"policy"}
	}
	var all []string
	for _, c := range zooColumns() {
		if m.columns[c].none == "" {
			all = append(all, c)
		}
	}
	return all
}

// loadLine begins the line that says how busy the machine was.
const loadLine = "Load average of the machine (2 cores shared with other work) when this page was written: "

// readConformance reads what was observed from the page; nothing if there is none.
func readConformance(t *testing.T) (map[string]row, string) {
	t.Helper()
	rows, when := map[string]row{}, "not known"
	text, err := os.ReadFile(conformancePage)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`^\| \[[^]]*\]\(#([^)]*)\) `)
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, loadLine); ok {
			when = strings.TrimSuffix(rest, ".")
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		name := first.FindStringSubmatch(line)
		if name == nil {
			continue
		}
		r, ok := rows[name[1]]
		if !ok {
			r = row{observed: map[string]string{}}
		}
		readRow(&r, section, strings.Split(strings.TrimSuffix(line, " |"), " | ")[1:])
		rows[name[1]] = r
	}
	return rows, when
}

// readRow reads the cells of one line.
func readRow(r *row, section string, cells []string) {
	seen := func(cell string) string {
		_, text, _ := strings.Cut(cell, " / ")
		return text
	}
	switch section {
	case breakersTitle:
		for n, c := range zooColumns() {
			r.observed[c] = seen(cells[n])
		}
	case policiesTitle:
		r.observed["policy"] = seen(cells[1])
	case instantsTitle:
		r.open, r.half = cells[0], cells[1]
	}
}

// The sections of the page that have tables.
const (
	breakersTitle = "Circuit breakers"
	policiesTitle = "Around the breaker"
	instantsTitle = "How near the inferred instants are"
)

// conformance is the page.
func conformance(members []truth, rows map[string]row, when string) string {
	var b strings.Builder
	b.WriteString("# What implementations do\n\n" +
		"Real libraries and proxies, each a small service or a configuration in [target/zoo](../target/zoo), judged from outside over real sockets. " +
		"A cell is *declared / observed*: what [zoo.yaml](../target/zoo/zoo.yaml) says that the implementation does with these settings, by its documentation, and what faultline saw. " +
		"The experiments are made from that file; `FAULTLINE_ZOO=1 go test -run TestZooConformance -v ./cmd/faultline/` holds every declared cell against the real thing, and with `-rewrite-conformance` writes this page. " +
		"Where the real thing differs from its documentation, what is declared is what it does, and its section below says what was written.\n\n" +
		loadLine + when + ".\n")
	table(&b, breakersTitle, append([]string{"implementation"}, strings.Split("trip | leak | open time | probes | close | reopen | late results", " | ")...))
	for _, m := range members {
		if m.policy != nil {
			continue
		}
		fmt.Fprintf(&b, "| [%s](#%s) %s |", m.title, m.name, m.version)
		for _, c := range zooColumns() {
			fmt.Fprintf(&b, " %s |", m.cell(c, rows[m.name]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n*trip*: the outcome that opens it, counted from an empty window. *leak*: calls let through while it is open. *open time*: each interval seen. *probes*: calls let through in one half-open visit before any of them ended. " +
		"*late results*: of calls that were let through before the trip, and end when it is half-open.\n")
	conformancePolicies(&b, members, rows)
	conformanceInstants(&b, members, rows)
	b.WriteString("\n## The members\n")
	for _, m := range members {
		m.section(&b)
	}
	return b.String()
}

// table begins a table below its title.
func table(b *strings.Builder, title string, head []string) {
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
}

// conformancePolicies writes what is around breakers.
func conformancePolicies(b *strings.Builder, members []truth, rows map[string]row) {
	table(b, policiesTitle, []string{"implementation", "what", "declared / observed"})
	for _, m := range members {
		if m.policy != nil {
			fmt.Fprintf(b, "| [%s](#%s) %s | %s | %s |\n", m.title, m.name, m.version, m.policy.kind, m.cell("policy", rows[m.name]))
		}
	}
}

// conformanceInstants writes how far the inferred instants are from the libraries' events.
func conformanceInstants(b *strings.Builder, members []truth, rows map[string]row) {
	table(b, instantsTitle, []string{"implementation", "t_open", "t_half"})
	for _, m := range members {
		if m.events != "" {
			fmt.Fprintf(b, "| [%s](#%s) %s | %s | %s |\n", m.title, m.name, m.version, rows[m.name].open, rows[m.name].half)
		}
	}
	b.WriteString("\nThe distance between what is inferred from calls and what the library itself tells of its changes of state: the median, and the largest of so many. " +
		"*t_open* is the middle of the interval in which the opening is inferred; a call every 5 ms of the trip leaves an interval of that length. *t_half* is the middle between the sending of the first probe and its arrival. " +
		"That every event lies inside of the inferred interval (or a millisecond beside it, as it is written down after the fact) is part of the test. The aim is 5 ms for t_open and 1 ms for t_half; who becomes half-open by a timer does so before the first probe arrives.\n")
}

// cell is one cell of a row.
func (m truth) cell(column string, r row) string {
	if m.policy == nil && m.columns[column].none != "" {
		return "n/a"
	}
	return m.declaredText(column) + " / " + r.observed[column]
}

// declaredText says in words what is declared of a column.
func (m truth) declaredText(column string) string {
	d := m.columns[column]
	switch column {
	case "policy":
		return m.policy.text()
	case "trip":
		if d.atCall == 0 {
			return "within " + short(d.within)
		}
		return fmt.Sprintf("at outcome %d", d.atCall)
	case "leak":
		return fmt.Sprintf("at most %d", d.max)
	case "open_time":
		if d.is == 0 {
			return short(d.min) + " to " + short(d.most)
		}
		return short(d.is) + " ± " + d.tolerance
	case "probes":
		if d.waiting {
			return fmt.Sprintf("%d, other callers wait", d.exactly)
		}
		return fmt.Sprint(d.exactly)
	case "close":
		if d.successes == 0 {
			return "within " + short(d.within)
		}
		if d.successes == 1 {
			return "after 1 success"
		}
		return fmt.Sprintf("after %d successes", d.successes)
	case "reopen":
		return "on a failed probe"
	case "late":
		return lateText(d.failures, d.lateGood)
	case "instants":
		return "every event of the library lies inside of the interval that is inferred for it"
	}
	return "no fallback while healthy"
}

// section says of a member where its truth is from, and what is peculiar.
func (m truth) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n%s %s: %s.\n", m.name, m.title, m.version, m.settings)
	if m.counts != "" {
		fmt.Fprintf(b, "\n- What counts: %s.", m.counts)
	}
	for _, s := range m.sources {
		fmt.Fprintf(b, "\n- Source: %s, %s.", s.url, s.section)
	}
	fmt.Fprintf(b, "\n- In [target/zoo/%s](../target/zoo/%s).", m.folder, m.folder)
	for _, n := range m.notes {
		fmt.Fprintf(b, "\n- %s", n)
	}
	if m.policy != nil && m.policy.differs != "" {
		fmt.Fprintf(b, "\n- Differs: %s", m.policy.differs)
	}
	for _, c := range zooColumns() {
		if d := m.columns[c]; d.none != "" {
			fmt.Fprintf(b, "\n- No *%s*: %s", words(c), d.none)
		} else if d.differs != "" {
			fmt.Fprintf(b, "\n- Differs in *%s*: %s", words(c), d.differs)
		}
	}
	b.WriteString("\n")
}

// words is the name of a column on the page.
func words(column string) string {
	if column == "late" {
		return "late results"
	}
	return strings.ReplaceAll(column, "_", " ")
}

// milliseconds is a duration in milliseconds.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }
