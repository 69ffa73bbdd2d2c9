package main

import (
	"fmt"
	"slices"
	"strings"
)

// clientsTable is what was said, by its place on the page. More than one thing is said where
// a client is in a race with the fault.
type clientsTable map[cell][]said

// surprise is a heading of the page's first part, and the lines below it.
type surprise struct {
	text  string
	lines []string
}

// surprises are what the tables say that one would not expect. All of it is read from them.
func surprises(table clientsTable) string {
	var b strings.Builder
	b.WriteString("## What surprises\n")
	for _, s := range []surprise{
		{"A broken answer passes for a whole one. Only a look at the body would tell.", table.rows(func(c clientCase, s said) bool { return c.broken && !c.again && s.kind == saidAnswer })},
		{"A call whose request was hit once on a used connection is answered: the client sent it again, and the program saw nothing.", table.hidden()},
		{"A client sends again, and the program still sees no answer.", table.clientsThat(func(_ clientCase, s said) bool { return s.kind != saidAnswer && s.times != "" && s.times != "many" })},
		{"A client sends again and again, more than ten times in its one second, and would as long as its patience lasts.", table.rows(func(_ clientCase, s said) bool { return s.times == "many" })},
		{"A client was told to wait for one second, and was not back after six.", table.rows(func(_ clientCase, s said) bool { return s.kind == saidNone })},
		{"The call is over at once on the wire, and yet the client waits until its patience is lost.", table.rows(func(c clientCase, s said) bool { return s.kind == saidTimeout && !c.silent && s.times != "many" })},
		{"The call ends without an answer and without an error.", table.rows(func(_ clientCase, s said) bool { return s.detail == withoutWord })},
		{"One stream at a time, as the dependency asks for, is an error to a program that makes two calls at once.", table.rows(func(c clientCase, s said) bool { return c.twice && s.kind != saidAnswer })},
		{"RST and FIN before the first byte have the same name: the program cannot tell them apart.", table.alike()},
		{"A certificate that is not good is taken.", table.taken()},
		{"Clients of gRPC call the same thing by different codes.", table.codes()},
	} {
		fmt.Fprintf(&b, "\n**%s**\n\n", s.text)
		if len(s.lines) == 0 {
			s.lines = []string{"none of the clients"}
		}
		for _, line := range s.lines {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	return b.String()
}

// withoutWord is what clients.js says of a stream that closes and nothing else.
const withoutWord = "'close' without a word"

// rows are the faults with the clients of which something holds.
func (table clientsTable) rows(holds func(clientCase, said) bool) []string {
	var lines []string
	for _, s := range clientSections() {
		for _, c := range s.cases {
			if some := table.in(s, c, holds); len(some) > 0 {
				lines = append(lines, fmt.Sprintf("%s, `%s` (%s): %s", s.title, c.name, c.wire, some))
			}
		}
	}
	return lines
}

// in names the clients of which something holds with one fault; empty: none.
func (table clientsTable) in(s clientSection, c clientCase, holds func(clientCase, said) bool) string {
	var some []string
	for _, client := range s.clients {
		if slices.ContainsFunc(table[cell{s.title, c.name, client}], func(one said) bool { return holds(c, one) }) {
			some = append(some, client)
		}
	}
	if len(some) == len(s.clients) {
		return "**all**"
	}
	return strings.Join(some, ", ")
}

// clientsThat are the clients with the faults of which something holds.
func (table clientsTable) clientsThat(holds func(clientCase, said) bool) []string {
	var lines []string
	for _, s := range clientSections() {
		for _, client := range s.clients {
			var names []string
			for _, c := range s.cases {
				if slices.ContainsFunc(table[cell{s.title, c.name, client}], func(one said) bool { return holds(c, one) }) {
					names = append(names, "`"+c.name+"`")
				}
			}
			const most = 8
			if len(names) > most {
				names = []string{fmt.Sprintf("%d of the %d faults", len(names), len(s.cases))}
			}
			if len(names) > 0 {
				lines = append(lines, fmt.Sprintf("%s, %s: %s", s.title, client, strings.Join(names, ", ")))
			}
		}
	}
	return lines
}

// hidden tells of the faults that a client hides, and of those that none does.
func (table clientsTable) hidden() []string {
	hides := func(c clientCase, s said) bool { return c.again && s.kind == saidAnswer && s.times != "" }
	lines := table.rows(hides)
	var open []string
	for _, s := range clientSections() {
		for _, c := range s.cases {
			if c.again && table.in(s, c, hides) == "" {
				open = append(open, "`"+c.name+"`")
			}
		}
	}
	return append(lines, "hidden by none: "+strings.Join(open, ", "))
}

// alike are the clients with one name for two ends.
func (table clientsTable) alike() []string {
	s := clientSections()[0]
	var some []string
	for _, client := range s.clients {
		rst, fin := table[cell{s.title, "reset-stealth", client}], table[cell{s.title, "close-stealth", client}]
		if slices.ContainsFunc(rst, func(one said) bool {
			return slices.ContainsFunc(fin, func(other said) bool { return one.detail == other.detail })
		}) {
			some = append(some, client)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return []string{strings.Join(some, ", ")}
}

// taken are the clients that go on with a certificate or a version that is not good.
func (table clientsTable) taken() []string {
	return table.rows(func(c clientCase, s said) bool {
		return slices.Contains([]string{"expired", "wrong_host", "unknown_ca", "old_version"}, c.name) && s.kind == saidAnswer
	})
}

// codes are the faults that have more than one code of gRPC.
func (table clientsTable) codes() []string {
	sections := clientSections()
	s := sections[len(sections)-1]
	var lines []string
	for _, c := range s.cases {
		var order []string
		by := map[string][]string{}
		for _, client := range s.clients {
			for _, one := range table[cell{s.title, c.name, client}] {
				if by[one.detail] == nil {
					order = append(order, one.detail)
				}
				by[one.detail] = append(by[one.detail], client)
			}
		}
		if len(order) < 2 {
			continue
		}
		var parts []string
		for _, code := range order {
			parts = append(parts, fmt.Sprintf("%s by %s", code, strings.Join(by[code], ", ")))
		}
		lines = append(lines, fmt.Sprintf("`%s` (%s): %s", c.name, c.wire, strings.Join(parts, "; ")))
	}
	return lines
}
