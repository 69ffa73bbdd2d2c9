package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// waitingProbes looks at the visits of a breaker that lets a probe through and has all other
// callers wait for its end: while it was held, nobody else may have come to the dependency, and
// nobody may have been answered.
func waitingProbes(t *trace.Trace, want int) finding {
	visits, fewest, most := 0, 0, 0
	for _, a := range t.Attempts {
		if !strings.HasPrefix(a.ID, "probes/") || a.Done()-a.Arr < 200*time.Millisecond {
			continue
		}
		at, waiting, refused := underWay(t, a)
		most = max(most, at)
		if refused > 0 {
			return finding{observed: fmt.Sprintf("%d calls were refused while a probe was under way", refused), wrong: true}
		}
		if visits == 0 || waiting < fewest {
			fewest = waiting
		}
		visits++
	}
	return finding{
		observed: fmt.Sprintf("%d at a time in %d visits, at least %d other callers waited", most, visits, fewest),
		wrong:    most > want,
		open:     visits < 2 || fewest < 10,
	}
}

// underWay counts the attempts at the dependency while one was held, itself included, and what
// became meanwhile of the calls that were sent then.
func underWay(t *trace.Trace, held trace.Attempt) (attempts, waiting, refused int) {
	const room = 50 * time.Millisecond
	reached := map[string]bool{}
	for _, a := range t.Attempts {
		if a.Arr >= held.Arr && a.Arr < held.Done() {
			attempts++
			reached[a.ID] = true
		}
	}
	for _, c := range t.Calls {
		switch {
		case c.Send < held.Arr || c.Send > held.Done()-room || reached[c.ID]:
		case c.End < held.Done():
			refused++
		default:
			waiting++
		}
	}
	return attempts, waiting, refused
}
