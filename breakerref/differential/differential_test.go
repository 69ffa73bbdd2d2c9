package differential_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// TestLiveDifferential plays random cases on the machine and on Resilience4j itself,
// and wants the same answers. FAULTLINE_SEED repeats a run, FAULTLINE_DEEP=1 makes it
// long.
//
// It needs more than Go: without FAULTLINE_ZOO=1 it is skipped, with it a missing tool
// fails it.
func TestLiveDifferential(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the library itself is asked with FAULTLINE_ZOO=1")
	}
	d := &duel{seed: seed(t), operations: 200_000, cases: 500, seen: newCoverage()}
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		d.operations, d.cases = 10_000_000, 20_000
	}
	jar := build(t)
	err := d.fight(start(t, jar))
	fmt.Fprintf(os.Stdout, "%d operations of %d configurations, %d differences, seed %d\n", d.played, d.next, d.differences, d.seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.seen.missing(d.operations > 1_000_000) {
		t.Errorf("there was no %s: it was not compared", m)
	}
	h := start(t, jar)
	for _, r := range d.worst {
		t.Error(explain(t, pair{library: h.ask, machine: by(machine)}, r))
	}
	t.Run("defects", func(t *testing.T) { findDefects(t, h.ask) })
}

func seed(t *testing.T) uint64 {
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

// explain shrinks a case in which the two differ and tells it as a story.
func explain(t *testing.T, p pair, r run) string {
	t.Helper()
	r, err := p.shrink(r)
	if err != nil {
		t.Fatal(err)
	}
	library, err := p.library(r)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := p.machine(r)
	if err != nil {
		t.Fatal(err)
	}
	return "the machine is not the library:\n" + tell(r, library, machine)
}

// duel compares until it has compared enough. The cases follow from the seed.
type duel struct {
	seed              uint64
	operations, cases int // at least

	seen        *coverage
	played      int
	next        int // case
	differences int
	worst       []run // the first few cases with a difference
}

// fight has the harness play ahead while the machine follows.
func (d *duel) fight(h *harness) error {
	ahead := make(chan run, 64)
	enough := make(chan struct{})
	var sent error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(ahead)
		for i := uint64(0); ; i++ {
			select {
			case <-enough:
				return
			default:
			}
			r := generate(d.seed, i)
			if sent = h.send(r); sent != nil {
				return
			}
			ahead <- r
		}
	})
	err := d.follow(h, ahead)
	close(enough)
	if err != nil {
		_ = h.kill() // So that nobody waits for it. It may have ended before.
	}
	for range ahead { // What was sent too much is of no interest.
		if err == nil {
			_, err = h.receive(nil)
		}
	}
	wg.Wait()
	if err == nil {
		err = sent
	}
	return err
}

// follow plays on the machine what the harness was given, and compares.
func (d *duel) follow(h *harness, ahead <-chan run) error {
	var theirs, ours []byte
	for r := range ahead {
		var err error
		if theirs, err = h.receive(theirs[:0]); err != nil {
			return err
		}
		if ours, err = play(ours[:0], machine, r, d.seen); err != nil {
			return fmt.Errorf("case %d of seed %d: %w", d.next, d.seed, err)
		}
		d.played += bytes.Count(theirs, []byte{'\n'})
		d.next++
		if !bytes.Equal(theirs, ours) {
			d.differences++
			if len(d.worst) < 3 {
				d.worst = append(d.worst, r)
			}
		}
		if d.played >= d.operations && d.next >= d.cases {
			return nil
		}
	}
	return nil
}
