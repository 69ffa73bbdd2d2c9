package calibrate

import (
	"slices"
	"testing"

	"github.com/faultline-go/faultline/breakerref/mutant"
)

// TestTheDozen is twelve mutants, of every part, each with an experiment that has room for it.
func TestTheDozen(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[mutant.Part]bool{}
	for name, where := range dozen() {
		m, ok := mutant.Find(name)
		i := slices.IndexFunc(all, func(x *experiment) bool { return x.name == where })
		if !ok || i < 0 || !fits(m, all[i].plan) {
			t.Errorf("%s does not fit into %s", name, where)
		}
		parts[m.Part] = true
	}
	if n := len(dozen()); n != 12 {
		t.Errorf("the dozen is %d", n)
	}
	for _, m := range mutant.All() {
		if !parts[m.Part] {
			t.Errorf("none of them is of %s", m.Part)
			parts[m.Part] = true
		}
	}
}
