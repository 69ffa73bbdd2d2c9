package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// rewriteClients writes what the clients made of the faults into the table that the docs
// have. Look at the difference before you commit it.
var rewriteClients = flag.Bool("rewrite-clients", false, "rewrite the table of what clients make of faults")

// clientsTable is where the docs say what clients make of faults.
const clientsTable = "../../docs/clients.md"

// connectionFaults are those that a client may see, by the path that has them.
func connectionFaults() (paths []string, rules []fault.Rule) {
	add := func(path string, r fault.Rule) {
		r.ID, r.Match.Path, r.Select.Kind = path, "/"+path, fault.SelectAll
		paths, rules = append(paths, path), append(rules, r)
	}
	pass := func(f fault.Form) fault.Rule { return fault.Rule{Action: fault.ActionPass, Form: f} }
	add("healthy", fault.Rule{Action: fault.ActionPass})
	add("reset", fault.Rule{Action: fault.ActionReset})
	add("reset-stealth", fault.Rule{Action: fault.ActionReset, Stealth: true})
	add("close", fault.Rule{Action: fault.ActionClose})
	add("close-stealth", fault.Rule{Action: fault.ActionClose, Stealth: true})
	add("hang", fault.Rule{Action: fault.ActionHang})
	add("garbage", fault.Rule{Action: fault.ActionGarbage, Garbage: 200})
	for _, by := range []fault.Action{fault.ActionReset, fault.ActionClose, fault.ActionHang} {
		for _, at := range []fault.CutAt{fault.CutHead, fault.CutBody} {
			cut := fault.Cut{At: at, By: by}
			if at == fault.CutBody {
				cut.Bytes = 7
			}
			add(fmt.Sprintf("cut-%s-%s", at, by), pass(fault.Form{Cut: &cut}))
		}
	}
	for _, m := range fault.Malformations() {
		add("malformed-"+string(m), pass(fault.Form{Malformed: m}))
	}
	return paths, rules
}

// TestZooClients asks with the clients that services have. None may take a fault of a
// connection for something else than the docs say: a whole status line before the end was
// an empty 200 to HttpURLConnection.
func TestZooClients(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("real clients ask with FAULTLINE_ZOO=1")
	}
	folder := filepath.Join("..", "..", "target", "zoo", "clients")
	build := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "-DskipTests", "package")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the clients for Java: %v\n%s", err, out)
	}
	paths, rules := connectionFaults()
	url := faulty(t, rules)
	var urls []string
	for _, p := range paths {
		urls = append(urls, url+"/"+p)
	}
	got := clientsDocument(t, paths, strings.ReplaceAll(clientsSay(t, folder, urls), url+"/", ""))
	if *rewriteClients {
		if err := os.WriteFile(clientsTable, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(clientsTable)
	if err != nil {
		t.Fatal(err)
	}
	// On a machine that stalls, a client can lose its patience with an answer: it is asked
	// once more. An answer where an error was to come is one too many at any time.
	for try := 1; ; try++ {
		missing, extra := answersIn(string(want)), answersIn(got)
		diff := cmp.Diff(missing, extra)
		maps.DeleteFunc(extra, func(line, _ string) bool { return missing[line] != "" })
		switch {
		case diff == "":
			return
		case len(extra) > 0 || try == 3:
			t.Fatalf("answers in %s (-said +seen):\n%s", clientsTable, diff)
		}
		t.Logf("once more, because of (-said +seen):\n%s", diff)
		got = clientsDocument(t, paths, strings.ReplaceAll(clientsSay(t, folder, urls), url+"/", ""))
	}
}

// answersIn are the answers of a table, by fault and client. What an error is called may be
// another thing in another version of a client; whether there is one may not.
func answersIn(table string) map[string]string {
	answers, section := map[string]string{}, ""
	for line := range strings.Lines(table) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(name)
		}
		client, said, ok := strings.Cut(strings.TrimSpace(line), ": answer ")
		if ok {
			answers[section+" "+client] = said
		}
	}
	return answers
}

// clientsSay is what all clients say of all addresses.
func clientsSay(t *testing.T, folder string, urls []string) string {
	t.Helper()
	said := goClient(t, urls) + curl(t, urls)
	for _, command := range [][]string{{"java", "-jar", "target/clients.jar"}, {"node", "clients.js"}, {"python3", "clients.py"}} {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], urls...)...)
		cmd.Dir = folder
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command[0], err, out)
		}
		said += string(out)
	}
	return said
}

// clientsDocument is the page of the docs.
func clientsDocument(t *testing.T, paths []string, said string) string {
	t.Helper()
	table, clients := map[string]map[string]string{}, []string{}
	for line := range strings.Lines(said) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			t.Fatalf("a client said %q", line)
		}
		if table[cells[0]] == nil {
			table[cells[0]] = map[string]string{}
		}
		if !slices.Contains(clients, cells[1]) {
			clients = append(clients, cells[1])
		}
		table[cells[0]][cells[1]] = cells[2]
	}
	var b strings.Builder
	b.WriteString("# What clients make of faults\n\n" +
		"Each client asks once, over a new connection, with a patience of one second; the dependency's healthy answer is `200` and a body of 20 bytes. " +
		"What the names mean on the wire: `faultline selftest`, and the keys of the same names in [experiments/README.md](../experiments/README.md). " +
		"The table is what the clients themselves said: `FAULTLINE_ZOO=1 go test -run TestZooClients ./cmd/faultline/` holds it against them.\n\n" +
		"Mind the answers among the errors: there a client takes a broken answer for a whole one, and only a look at the body would tell.\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "\n## %s\n\n", p)
		for _, c := range clients {
			fmt.Fprintf(&b, "- %s: %s\n", c, table[p][c])
		}
	}
	return b.String()
}

// goClient asks with net/http.
func goClient(t *testing.T, urls []string) string {
	t.Helper()
	var b strings.Builder
	for _, url := range urls {
		fmt.Fprintf(&b, "%s\tgo net/http\t%s\n", url, goSaid(t.Context(), url))
	}
	return b.String()
}

func goSaid(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	var body []byte
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(resp.Body)
	}
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return fmt.Sprintf("answer %d, %d bytes", resp.StatusCode, len(body))
	case errors.Is(err, syscall.ECONNRESET):
		return "error ECONNRESET"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "error io.ErrUnexpectedEOF"
	case errors.Is(err, io.EOF):
		return "error io.EOF"
	case isNet && netErr.Timeout():
		return "error timeout"
	}
	text := err.Error()
	for _, known := range []string{"malformed HTTP response", "malformed HTTP status code", "malformed MIME header", "bad Content-Length", "multiple Content-Length", "invalid byte in chunk length", "gzip: invalid header"} {
		if strings.Contains(text, known) {
			return "error " + known
		}
	}
	return "error " + text
}

// curl asks with curl.
func curl(t *testing.T, urls []string) string {
	t.Helper()
	var b strings.Builder
	for _, url := range urls {
		out, err := exec.CommandContext(t.Context(), "curl", "-s", "-m", "1", "-o", "/dev/null", "-w", "%{http_code}, %{size_download} bytes", url).Output()
		said := "answer " + string(out)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = fmt.Sprintf("error %d", exit.ExitCode())
		} else if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\tcurl\t%s\n", url, said)
	}
	return b.String()
}

// faulty starts a dependency that plays the rules, and returns its address.
func faulty(t *testing.T, rules []fault.Rule) string {
	t.Helper()
	in, err := injector.Start(t.Context(), injector.Config{
		Name: "dependency", Addr: "127.0.0.1:0", Recorder: trace.NewRecorder(time.Now()), Seed: 1,
		Correlator: match.Correlator{Run: 1, Phases: []string{"asked"}},
		Stub:       injector.Stub{Respond: fault.Respond{Status: 200, Body: `{"charged":"twenty"}`}},
		Script:     fault.Script{Phases: map[string][]fault.Rule{"asked": rules}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := in.Enter("asked"); err != nil {
		t.Fatal(err)
	}
	return in.URL()
}
