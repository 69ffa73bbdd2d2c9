package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/model"
)

// replayPreset is a preset whose library runs elsewhere than in Go.
type replayPreset struct {
	name    string
	library string
	draw    func(*rand.Rand) replaySetup
	shown   func(model.Counts) []int // the counts that the library shows
	// seen are the states and answers that the plays must have met, besides CLOSED,
	// OPEN, admitted and rejected.
	seen  []string
	looks bool // plays ask the library for its state in its own words
	// wrong are ways to misread the library, each of which a replay has to notice.
	wrong []replayMistake
}

type replayMistake struct {
	name string
	make func(*model.Config)
}

// replaySetup is a breaker, in the words of the model and of the library.
type replaySetup struct {
	cfg     model.Config
	options map[string]any
	waits   []int64 // in the runtime's unit; those at which something may be about to happen
}

// oneOf draws one of several.
func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// runtime is a program that replays cases on the libraries themselves.
type runtime struct {
	dir     string
	command []string
	unit    time.Duration // of times
	deep    int           // operations of each library with FAULTLINE_DEEP=1
}

// needsZoo skips a test that needs more than Go without FAULTLINE_ZOO=1; with it a
// missing tool fails the test.
func needsZoo(t *testing.T) {
	t.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the libraries themselves are asked with FAULTLINE_ZOO=1")
	}
}

// prepare runs a command in a directory that what follows needs.
func prepare(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s in %s: %v\n%s", strings.Join(command, " "), dir, err, out)
	}
}

// replays plays random cases on the machine and has the libraries replay them; then
// cases of machines that misread them, which they have to notice. FAULTLINE_SEED
// repeats a run, FAULTLINE_DEEP=1 makes it long.
func replays(t *testing.T, rt runtime, presets []replayPreset) {
	t.Helper()
	seed := replaySeed(t)
	t.Logf("FAULTLINE_SEED=%d", seed)
	operations := 20_000
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		operations = rt.deep
	}
	byLibrary := map[string][]replayPreset{}
	for _, p := range presets {
		byLibrary[p.library] = append(byLibrary[p.library], p)
	}
	for _, library := range slices.Sorted(maps.Keys(byLibrary)) {
		t.Run(library, func(t *testing.T) { agrees(t, rt, seed, operations, byLibrary[library]) })
	}
	for _, p := range presets {
		for _, m := range p.wrong {
			t.Run(p.name+" with "+m.name, func(t *testing.T) { noticed(t, rt, p, m) })
		}
	}
}

// agrees replays so many operations of a library, or a few more, and wants all of
// them replayed and none of them different.
func agrees(t *testing.T, rt runtime, seed uint64, operations int, presets []replayPreset) {
	t.Helper()
	w := startReplay(t, rt)
	sent := replayReport{}
	for i, p := range presets {
		one, seen := w.send(t, rand.New(rand.NewPCG(seed, uint64(i))), p, nil, operations/len(presets))
		sent.Operations += one.Operations
		sent.Cases += one.Cases
		for _, s := range append([]string{"CLOSED", "OPEN", "admitted", "rejected"}, p.seen...) {
			if seen[s] == 0 {
				t.Errorf("%s: no play has seen %s", p.name, s)
			}
		}
		t.Logf("%s: after an operation there was %v", p.name, seen)
	}
	got, err := w.finish(t, presets[0].library)
	if diff := cmp.Diff(sent, got); diff != "" || err != nil {
		t.Errorf("%s: %v; sent (-) and replayed (+) of seed %d:\n%s%s%s", rt.command[0], err, seed, diff, w.report.String(), w.differences.String())
	}
	t.Log(strings.TrimSpace(w.report.String()))
}

// noticed replays what a machine does that misreads its library: the replay has to
// tell. The cases are always the same: that one of them meets the mistake is not
// left to chance.
func noticed(t *testing.T, rt runtime, p replayPreset, m replayMistake) {
	t.Helper()
	w := startReplay(t, rt)
	sent, _ := w.send(t, rand.New(rand.NewPCG(1, 0)), p, &m, 8000)
	got, err := w.finish(t, p.library)
	if err == nil || got.Differences == 0 || got.Cases != sent.Cases || !strings.Contains(w.differences.String(), "library: ") {
		t.Errorf("%s ended with %v; the report does not tell the mistake:\n%s%s", rt.command[0], err, w.report.String(), w.differences.String())
	}
	t.Log(strings.TrimSpace(w.report.String()))
}

func replaySeed(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("FAULTLINE_SEED")
	if given == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatalf("FAULTLINE_SEED is %q, must be a whole number", given)
	}
	return n
}

// replayReport is what the replay says of a library at the end.
type replayReport struct{ Operations, Cases, Differences int }

// replay is a replay that runs.
type replay struct {
	unit                time.Duration
	cmd                 *exec.Cmd
	in                  io.WriteCloser
	cases               *json.Encoder
	report, differences bytes.Buffer
}

func startReplay(t *testing.T, rt runtime) *replay {
	t.Helper()
	w := &replay{unit: rt.unit, cmd: exec.CommandContext(t.Context(), rt.command[0], rt.command[1:]...)}
	w.cmd.Dir, w.cmd.Stdout, w.cmd.Stderr = rt.dir, &w.report, &w.differences
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.in, w.cases = in, json.NewEncoder(in)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// send draws cases and sends them, at least so many operations. With a mistake it is
// the machine that has it.
func (w *replay) send(t *testing.T, r *rand.Rand, p replayPreset, m *replayMistake, operations int) (sent replayReport, seen map[string]int) {
	t.Helper()
	seen = map[string]int{}
	for sent.Operations < operations {
		setup := p.draw(r)
		if m != nil {
			m.make(&setup.cfg)
		}
		c, err := playCase(r, p, setup, w.unit, 200)
		if err == nil {
			err = w.cases.Encode(c)
		}
		if err != nil {
			t.Errorf("send a case: %v", err) // If the program has ended, finish tells why.
			break
		}
		sent.Cases++
		sent.Operations += len(c.Operations)
		for _, op := range c.Operations {
			seen[op.Model.State]++
			for _, a := range op.Model.Answers {
				_, answer, _ := strings.Cut(a, " ")
				seen[answer]++
			}
			seen["waits"] += len(op.Model.Waiting)
		}
	}
	return sent, seen
}

// finish waits for the report. The error is that of the program's exit.
func (w *replay) finish(t *testing.T, library string) (replayReport, error) {
	t.Helper()
	if err := w.in.Close(); err != nil {
		t.Error(err)
	}
	err := w.cmd.Wait()
	var r replayReport
	_, scan := fmt.Sscanf(w.report.String(), library+": replayed %d operations of %d cases, %d differences\n", &r.Operations, &r.Cases, &r.Differences)
	if scan != nil {
		t.Fatalf("the replay ended with %v and no report: %v\n%s%s", err, scan, w.report.String(), w.differences.String())
	}
	return r, err
}
