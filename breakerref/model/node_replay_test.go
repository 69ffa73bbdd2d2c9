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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodeBreakers plays random cases on the machine and has opossum and cockatiel
// themselves replay them on Node. FAULTLINE_SEED repeats a run, FAULTLINE_DEEP=1
// makes it long.
//
// It needs more than Go: without FAULTLINE_ZOO=1 it is skipped, with it a missing
// tool fails it.
func TestNodeBreakers(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the libraries themselves are asked with FAULTLINE_ZOO=1")
	}
	dir := filepath.Join("..", "..", "target", "zoo", "node-breakers")
	install := exec.CommandContext(t.Context(), "npm", "ci", "--silent")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", dir, err, out)
	}
	seed := nodeSeed(t)
	t.Logf("FAULTLINE_SEED=%d", seed)
	operations := 20_000
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		operations = 500_000
	}
	byLibrary := map[string][]nodePreset{}
	for _, p := range nodePresets() {
		byLibrary[p.library] = append(byLibrary[p.library], p)
	}
	for _, library := range slices.Sorted(maps.Keys(byLibrary)) {
		t.Run(library, func(t *testing.T) { agrees(t, dir, seed, operations, byLibrary[library]) })
	}
	for _, p := range nodePresets() {
		for _, m := range p.wrong {
			t.Run(p.name+" with "+m.name, func(t *testing.T) { noticed(t, dir, p, m) })
		}
	}
}

// agrees replays so many operations of a library, or a few more, and wants all of
// them replayed and none of them different.
func agrees(t *testing.T, dir string, seed uint64, operations int, presets []nodePreset) {
	t.Helper()
	w := newNodeReplay(t, dir)
	sent := nodeReport{}
	for i, p := range presets {
		one, seen := w.send(t, rand.New(rand.NewPCG(seed, uint64(i))), p, nil, operations/len(presets))
		sent.Operations += one.Operations
		sent.Cases += one.Cases
		want := []string{"CLOSED", "OPEN", "HALF_OPEN", "admitted", "rejected"}
		if p.waits {
			want = append(want, "waits")
		}
		for _, s := range want {
			if seen[s] == 0 {
				t.Errorf("%s: no play has seen %s", p.name, s)
			}
		}
		t.Logf("%s: after an operation there was %v", p.name, seen)
	}
	got, err := w.finish(t, presets[0].library)
	if diff := cmp.Diff(sent, got); diff != "" || err != nil {
		t.Errorf("node: %v; sent (-) and replayed (+) of seed %d:\n%s%s%s", err, seed, diff, w.report.String(), w.differences.String())
	}
	t.Log(strings.TrimSpace(w.report.String()))
}

// noticed replays what a machine does that misreads its library: the replay has to
// tell. The cases are always the same: that one of them meets the mistake is not
// left to chance.
func noticed(t *testing.T, dir string, p nodePreset, m nodeMistake) {
	t.Helper()
	w := newNodeReplay(t, dir)
	sent, _ := w.send(t, rand.New(rand.NewPCG(1, 0)), p, &m, 8000)
	got, err := w.finish(t, p.library)
	if err == nil || got.Differences == 0 || got.Cases != sent.Cases || !strings.Contains(w.differences.String(), "library: ") {
		t.Errorf("node ended with %v; the report does not tell the mistake:\n%s%s", err, w.report.String(), w.differences.String())
	}
	t.Log(strings.TrimSpace(w.report.String()))
}

func nodeSeed(t *testing.T) uint64 {
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

// nodeReport is what the replay says of a library at the end.
type nodeReport struct{ Operations, Cases, Differences int }

// nodeReplay is a replay that runs.
type nodeReplay struct {
	cmd                 *exec.Cmd
	in                  io.WriteCloser
	cases               *json.Encoder
	report, differences bytes.Buffer
}

func newNodeReplay(t *testing.T, dir string) *nodeReplay {
	t.Helper()
	w := &nodeReplay{cmd: exec.CommandContext(t.Context(), "node", "replay.js")}
	w.cmd.Dir, w.cmd.Stdout, w.cmd.Stderr = dir, &w.report, &w.differences
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
func (w *nodeReplay) send(t *testing.T, r *rand.Rand, p nodePreset, m *nodeMistake, operations int) (sent nodeReport, seen map[string]int) {
	t.Helper()
	seen = map[string]int{}
	for sent.Operations < operations {
		setup := p.draw(r)
		if m != nil {
			m.make(&setup.cfg)
		}
		c, err := playNode(r, p, setup, 200)
		if err == nil {
			err = w.cases.Encode(c)
		}
		if err != nil {
			t.Errorf("send a case: %v", err) // If node has ended, finish tells why.
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

// finish waits for the report. The error is that of node's exit.
func (w *nodeReplay) finish(t *testing.T, library string) (nodeReport, error) {
	t.Helper()
	if err := w.in.Close(); err != nil {
		t.Error(err)
	}
	err := w.cmd.Wait()
	var r nodeReport
	_, scan := fmt.Sscanf(w.report.String(), library+": replayed %d operations of %d cases, %d differences\n", &r.Operations, &r.Cases, &r.Differences)
	if scan != nil {
		t.Fatalf("node ended with %v and no report: %v\n%s%s", err, scan, w.report.String(), w.differences.String())
	}
	return r, err
}
