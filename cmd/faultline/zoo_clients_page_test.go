package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// cell is a place on the page.
type cell struct{ section, fault, client string }

// saidKind is how a call ended for the program that made it.
type saidKind string

const (
	saidAnswer  saidKind = "answer"
	saidError   saidKind = "error"
	saidTimeout saidKind = "timeout"
	saidNone    saidKind = "none" // the client did not come back
)

// said is what a client made of a fault.
type said struct {
	kind   saidKind
	detail string // the status and the bytes of an answer, or the name of an error
	times  string // how many requests came for the call: empty for one, or a number, or many
}

// times is a number of requests in a word that is the same on each machine.
func times(n int) string {
	const storm = 10
	switch {
	case n <= 1:
		return ""
	case n > storm:
		return "many"
	}
	return fmt.Sprint(n)
}

// String is the cell of a table.
func (s said) String() string {
	var text string
	switch s.kind {
	case saidAnswer:
		text = "**" + s.detail + "**"
	case saidError:
		text = "`" + s.detail + "`"
	case saidTimeout:
		text = "timeout `" + s.detail + "`"
	case saidNone:
		text = "**waits on**"
	}
	if s.times != "" {
		text += " ×" + s.times
	}
	return text
}

// readSaid reads a cell.
func readSaid(text string) (said, bool) {
	m := regexp.MustCompile("^(?:\\*\\*(.*)\\*\\*|`(.*)`|timeout `(.*)`)(?: ×(\\w+))?$").FindStringSubmatch(text)
	switch {
	case m == nil:
		return said{}, false
	case m[1] == "waits on":
		return said{kind: saidNone, times: m[4]}, true
	case m[1] != "":
		return said{kind: saidAnswer, detail: m[1], times: m[4]}, true
	case m[2] != "":
		return said{kind: saidError, detail: m[2], times: m[4]}, true
	}
	return said{kind: saidTimeout, detail: m[3], times: m[4]}, true
}

// same reports whether two are of one kind. What an error is called may be another thing in
// another version of a client; whether there is one may not. Codes of gRPC are part of its protocol.
func (s said) same(other said, section string) bool {
	if s.kind != other.kind || s.times != other.times {
		return false
	}
	return s.kind != saidAnswer && section != "gRPC" || s.detail == other.detail
}

// or is how the alternatives of a cell are parted.
const or = " or "

// joined is the cell of a table with all that was said.
func joined(all []said) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, or)
}

// readPage reads the tables of the page; there are none if there is no page.
func readPage(t *testing.T) clientsTable {
	t.Helper()
	text, err := os.ReadFile(clientsPage)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	table, section := clientsTable{}, ""
	var clients []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, clients = title, nil
			continue
		}
		row, ok := strings.CutPrefix(line, "| ")
		if !ok {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
		if clients == nil {
			clients = cells
			continue
		}
		name := strings.Split(cells[0], "`")
		if len(name) < 3 || len(cells) != len(clients) {
			continue // The line below the head.
		}
		for n, text := range cells[1:] {
			at := cell{section, name[1], clients[n+1]}
			for one := range strings.SplitSeq(text, or) {
				s, ok := readSaid(one)
				if !ok {
					t.Fatalf("%v has the cell %q", at, text)
				}
				table[at] = append(table[at], s)
			}
		}
	}
	return table
}

// page is the page of the docs.
func page(table clientsTable) string {
	var b strings.Builder
	b.WriteString("# What clients make of faults\n\n" +
		"Each client asks once with a patience of one second; the dependency's healthy answer is `200` and a body of 20 bytes. " +
		"What the names mean on the wire: `faultline selftest`, and the keys of the same names in [experiments/README.md](../experiments/README.md). " +
		"All of this is what the clients themselves said: `FAULTLINE_ZOO=1 go test -run TestZooClients ./cmd/faultline/` holds it against them, but for the names of errors, which another version may change.\n\n" +
		"How to read a cell: **bold** is an answer that the program got, or its waiting without an end, although the client was told to wait for a second (**waits on**); " +
		"`code` is an error by the name that a program sees; `timeout` is that the patience was lost. ×2 tells that the client sent the request twice, and the program does not know; ×many are more than ten: the first fifty requests of a call are hit, and those beyond get nothing. Where a client races with the fault, a cell has both ends. " +
		"All clients are as they come, but for the times that they wait; Apache HttpClient 5 resends after 10 ms instead of a second. Versions are pinned in [target/zoo/clients](../target/zoo/clients); go, curl, java, node and python are the machine's.\n\n")
	b.WriteString(surprises(table))
	for _, s := range clientSections() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| fault | %s |\n|%s\n", s.title, s.intro, strings.Join(s.clients, " | "), strings.Repeat(" --- |", len(s.clients)+1))
		for _, c := range s.cases {
			fmt.Fprintf(&b, "| `%s`: %s |", c.name, c.wire)
			for _, client := range s.clients {
				fmt.Fprintf(&b, " %s |", joined(table[cell{s.title, c.name, client}]))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
