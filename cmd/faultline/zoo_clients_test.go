package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// rewriteClients writes what the clients made of the faults into the page that the docs
// have. Look at the difference before you commit it.
var rewriteClients = flag.Bool("rewrite-clients", false, "rewrite the page of what clients make of faults")

// clientsPage is where the docs say what clients make of faults.
const clientsPage = "../../docs/clients.md"

// TestZooClients asks with the clients that services have. None may take a fault of a
// connection for something else than the docs say: a whole status line before the end was
// an empty 200 to HttpURLConnection.
func TestZooClients(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real clients ask with FAULTLINE_ZOO=1")
	}
	tools := prepareClients(t)
	questions := allQuestions()
	if *rewriteClients {
		if err := os.WriteFile(clientsPage, []byte(page(tools.learn(t, questions))), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, answered := readPage(t), map[cell]int{}
	for try := 1; ; try++ {
		open, lines := compareClients(tools.ask(t, questions), want, questions, answered)
		// A slow machine makes a client lose its patience; to an answer it comes by itself.
		wrong := slices.ContainsFunc(open, func(q question) bool { return answered[q.key()] > 1 })
		const most = 5
		switch {
		case len(open) == 0:
			return
		case wrong || try == most:
			t.Fatalf("not what %s says:\n%s", clientsPage, strings.Join(lines, "\n"))
		}
		t.Logf("asked once more:\n%s", strings.Join(lines, "\n"))
		questions = open
	}
}

// compareClients tells which questions have another answer than is written, and counts those
// that came to an answer of HTTP where none is written.
func compareClients(got map[cell]said, want clientsTable, questions []question, answered map[cell]int) (open []question, lines []string) {
	for _, q := range questions {
		seen, written := got[q.key()], want[q.key()]
		if slices.ContainsFunc(written, func(s said) bool { return seen.same(s, q.section) }) {
			continue
		}
		open = append(open, q)
		lines = append(lines, fmt.Sprintf("%s, %s, %s: %s is written, %s seen", q.section, q.fault.name, q.client, joined(written), seen))
		if seen.kind == saidAnswer && !slices.ContainsFunc(written, func(s said) bool { return s.kind == saidAnswer }) {
			answered[q.key()]++
		}
	}
	return open, lines
}

// learn asks a few times, to see what is a race. What is written stays, as a race may not show
// in a few times: who wants to begin anew removes the page. A patience that was lost only
// sometimes is the machine's.
func (tools clientTools) learn(t *testing.T, questions []question) clientsTable {
	t.Helper()
	table := readPage(t)
	const rounds = 5
	for range rounds {
		got := tools.ask(t, questions)
		for _, q := range questions {
			seen := got[q.key()]
			known := func(s said) bool { return seen.same(s, q.section) }
			if n := slices.IndexFunc(table[q.key()], known); n >= 0 {
				table[q.key()][n] = seen
			} else {
				table[q.key()] = append(table[q.key()], seen)
			}
		}
	}
	for at, all := range table {
		waited := func(s said) bool { return s.kind == saidTimeout || s.kind == saidNone }
		if rest := slices.DeleteFunc(slices.Clone(all), waited); len(rest) > 0 {
			all = rest
		}
		slices.SortFunc(all, func(a, b said) int { return strings.Compare(a.String(), b.String()) })
		table[at] = all
	}
	return table
}

// TestClientsPage holds what the page says on top against its tables. With -rewrite-clients it
// writes it from them.
func TestClientsPage(t *testing.T) {
	if *rewriteClients {
		if err := os.WriteFile(clientsPage, []byte(page(readPage(t))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(clientsPage)
	if err != nil {
		t.Fatal(err)
	}
	if again := page(readPage(t)); again != string(text) {
		t.Errorf("%s is not what follows from its own tables; run TestZooClients with -rewrite-clients", clientsPage)
	}
}

// allQuestions are those that the page answers.
func allQuestions() []question {
	var all []question
	for _, s := range clientSections() {
		for _, c := range s.cases {
			for _, client := range s.clients {
				all = append(all, question{s.title, client, c})
			}
		}
	}
	return all
}
