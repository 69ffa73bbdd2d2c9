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
	got := tools.ask(t, questions)
	if *rewriteClients {
		if err := os.WriteFile(clientsPage, []byte(page(got)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := readPage(t)
	for try := 1; ; try++ {
		var open []question
		var wrong, slow []string
		for _, q := range questions {
			seen, documented := got[q.key()], want[q.key()]
			if seen.same(documented, q.section) {
				continue
			}
			open = append(open, q)
			line := fmt.Sprintf("%s: %s\n\tsaid %s\n\tseen %s", q.section, q.fault.name+" to "+q.client, documented, seen)
			// On a machine that stalls, a client can lose its patience; it does not come to an answer.
			if seen.kind == saidAnswer && documented.kind != saidAnswer {
				wrong = append(wrong, line)
			} else {
				slow = append(slow, line)
			}
		}
		switch {
		case len(open) == 0:
			return
		case len(wrong) > 0 || try == 3:
			t.Fatalf("not what %s says:\n%s", clientsPage, strings.Join(slices.Concat(wrong, slow), "\n"))
		}
		t.Logf("asked once more:\n%s", strings.Join(slow, "\n"))
		questions = open
		got = tools.ask(t, open)
	}
}

// TestClientsPage holds what the page says on top against its tables.
func TestClientsPage(t *testing.T) {
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
