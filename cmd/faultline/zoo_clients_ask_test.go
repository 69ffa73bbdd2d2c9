package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// question is one client that is to ask about one fault.
type question struct {
	section string
	client  string
	fault   clientCase
}

// key is where its answer stands on the page.
func (q question) key() cell { return cell{q.section, q.fault.name, q.client} }

// planned is a line of the plan that clients read.
type planned struct {
	question

	id       int
	patience time.Duration
	injector *injector.Injector
	recorder *trace.Recorder
	ca       string // a file
}

// clientPatience is how long clients are told to wait. Those who do not come back are left
// after six times that.
const clientPatience = time.Second

// clientsAtOnce is how many cases one client is asked at a time.
const clientsAtOnce = 2

// line is what README.md of the clients says.
func (p planned) line() string {
	protocol, calls := "h1", "1"
	if p.fault.h2 {
		protocol = "h2"
	}
	switch {
	case p.fault.again:
		calls = "2"
	case p.fault.twice:
		calls = "1+2"
	}
	return strings.Join([]string{
		strconv.Itoa(p.id), p.client, protocol, strconv.FormatInt(p.patience.Milliseconds(), 10), calls,
		strconv.Itoa(p.fault.body), p.ca, p.injector.URL() + "/prices",
	}, "\t")
}

// requests is how many came to the dependency for the call, or over how many connections two calls
// at once came; once the injector is closed, all are told.
func (p planned) requests() int {
	attempts := p.recorder.Snapshot(trace.Header{}).Attempts
	switch {
	case p.fault.again:
		return len(attempts) - 1
	case p.fault.twice:
		connections := map[string]bool{}
		for _, a := range attempts {
			connections[a.Peer] = true
		}
		return len(connections)
	}
	return len(attempts)
}

// plan starts an injector for each question, so that what comes to it is of this one call.
// Before come questions whose answers nobody wants: a runtime that has not asked before is slow.
func plan(t *testing.T, questions []question) []planned {
	t.Helper()
	var all []planned
	warm := map[string]bool{}
	var first []question
	for _, q := range questions {
		kind := fmt.Sprint(q.client, q.fault.tls != nil, q.fault.h2)
		if !warm[kind] {
			warm[kind] = true
			first = append(first, question{client: q.client, fault: clientCase{rules: []fault.Rule{{Action: fault.ActionPass}}, tls: q.fault.tls, h2: q.fault.h2, grpc: q.fault.grpc}})
		}
	}
	for n, q := range slices.Concat(first, questions) {
		p := planned{question: q, id: n, patience: clientPatience}
		if q.section == "" {
			p.patience = 20 * clientPatience
		}
		all = append(all, p)
	}
	folder := t.TempDir()
	var wait sync.WaitGroup
	next := make(chan *planned)
	for range 8 {
		wait.Go(func() {
			for p := range next {
				p.start(t, folder)
			}
		})
	}
	for n := range all {
		next <- &all[n]
	}
	close(next)
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// start starts its injector.
func (p *planned) start(t *testing.T, folder string) {
	p.recorder = trace.NewRecorder(time.Now())
	stub := injector.Stub{Respond: fault.Respond{Status: 200, Body: `{"charged":"twenty"}`}}
	if p.fault.grpc {
		healthy := priced()
		stub.Respond = fault.Respond{GRPC: &healthy}
	}
	in, err := injector.Start(context.Background(), injector.Config{
		Name: "dependency", Addr: "127.0.0.1:0", Recorder: p.recorder, Seed: 1, TLS: p.fault.tls, Stub: stub, Phase: "asked",
		Correlator: match.Correlator{Run: 1, Phases: []string{"asked"}},
		Script:     fault.Script{Phases: map[string][]fault.Rule{"asked": p.fault.hits()}},
	})
	if err != nil {
		t.Errorf("%s, %s: %v", p.section, p.fault.name, err)
		return
	}
	p.injector = in
	if pem := in.CA(); pem != nil {
		p.ca = filepath.Join(folder, strconv.Itoa(p.id)+".pem")
		if err := os.WriteFile(p.ca, pem, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// ask has all clients say what they make of the faults, side by side.
func (tools clientTools) ask(t *testing.T, questions []question) map[cell]said {
	t.Helper()
	all := plan(t, questions)
	var lines strings.Builder
	for _, p := range all {
		lines.WriteString(p.line() + "\n")
	}
	file := filepath.Join(t.TempDir(), "plan.tsv")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make([]string, len(tools.commands))
	byID := map[int]said{}
	var mu sync.Mutex
	var wait, warm sync.WaitGroup
	begin := make(chan struct{})
	for n, command := range tools.commands {
		warm.Add(1)
		wait.Go(func() { heard[n] = tools.hear(t, append(command, file), sync.OnceFunc(warm.Done), begin) })
	}
	for name, ask := range map[string]func(context.Context, planned) said{"go net/http": askGo, "curl": askCurl} {
		turns := make(chan planned, len(all))
		for _, p := range all {
			if p.client == name {
				turns <- p
			}
		}
		close(turns)
		for range clientsAtOnce {
			wait.Go(func() {
				<-begin
				for p := range turns {
					s := ask(t.Context(), p)
					mu.Lock()
					byID[p.id] = s
					mu.Unlock()
				}
			})
		}
	}
	warm.Wait()
	close(begin)
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for line := range strings.Lines(strings.Join(heard, "")) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		id, err := strconv.Atoi(cells[0])
		if err != nil || len(cells) != 3 {
			t.Fatalf("a client said %q", line)
		}
		byID[id] = said{kind: saidKind(cells[1]), detail: cells[2]}
	}
	return gather(t, all, byID)
}

// gather closes the injectors, and tells what was said with what came to them.
func gather(t *testing.T, all []planned, byID map[int]said) map[cell]said {
	t.Helper()
	table := map[cell]said{}
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() {
			if err := p.injector.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, p := range all {
		s, ok := byID[p.id]
		switch {
		case !ok:
			t.Errorf("%s did not say what it makes of %s", p.client, p.fault.name)
		case p.section != "":
			s.times = times(p.requests())
			table[p.key()] = s
		}
	}
	return table
}

// clientTools are the processes that ask.
type clientTools struct {
	folder   string
	commands [][]string
}

// prepareClients builds them, side by side.
func prepareClients(t *testing.T) clientTools {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	built := t.TempDir()
	venv, grpcGo := filepath.Join(built, "venv"), filepath.Join(built, "grpc-go")
	python := filepath.Join(venv, "bin", "python")
	tools := clientTools{folder: folder, commands: [][]string{{"java", "-jar", "target/clients.jar"}, {"node", "clients.js"}, {python, "clients.py"}, {grpcGo}}}
	var wait sync.WaitGroup
	for _, steps := range [][][]string{
		{{"mvn", "-q", "-B", "-DskipTests", "package"}},
		{{"npm", "ci", "--silent"}},
		{{"python3", "-m", "venv", venv}, {python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"}},
		{{"go", "-C", "grpc-go", "build", "-o", grpcGo, "."}},
	} {
		wait.Go(func() {
			for _, step := range steps {
				tools.run(t, step)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return tools
}

// hear runs a client, which says when it is warm and then waits for the others. It returns
// what else it says.
func (tools clientTools) hear(t *testing.T, command []string, warm func(), begin <-chan struct{}) string {
	defer warm()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = tools.folder
	var complaints, heard bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return ""
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return ""
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return ""
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() != "ready" {
			heard.WriteString(lines.Text() + "\n")
			continue
		}
		warm()
		<-begin
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, complaints.String())
	} else if complaints.Len() > 0 {
		t.Logf("%s said:\n%s", command[0], complaints.String())
	}
	return heard.String()
}

// run runs a command among the clients.
func (tools clientTools) run(t *testing.T, command []string) {
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = tools.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}
