package differential_test

import (
	"bytes"
	"fmt"
	"slices"
)

// answerer plays a case and answers in the words of the harness.
type answerer func(run) ([]byte, error)

// by answers with breakers from a maker.
func by(made maker) answerer {
	return func(r run) ([]byte, error) { return play(nil, made, r, nil) }
}

// lines splits answers, one to an operation.
func lines(answers []byte) [][]byte {
	return slices.Collect(bytes.Lines(answers))
}

// firstDifference returns which line is the first that differs, or -1.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	as, bs := lines(a), lines(b)
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return i
		}
	}
	return min(len(as), len(bs))
}

// pair is two that must answer the same.
type pair struct{ library, machine answerer }

// differ returns at which operation the two differ in a case, or -1.
func (p pair) differ(r run) (int, error) {
	library, err := p.library(r)
	if err != nil {
		return -1, fmt.Errorf("ask the library: %w", err)
	}
	machine, err := p.machine(r)
	if err != nil {
		return -1, fmt.Errorf("ask the machine: %w", err)
	}
	return firstDifference(library, machine), nil
}
