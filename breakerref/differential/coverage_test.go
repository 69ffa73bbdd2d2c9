package differential_test

import (
	"fmt"

	"github.com/faultline-go/faultline/breakerref"
)

// coverage is what was seen to happen. What never happens was not compared.
type coverage struct {
	timeBased, lockFree bool // the window of the case being played

	windows map[windowEvent]int
	moves   map[move]int
	byTime  map[move]int // those that a timer has made
	refused map[breakerref.State]int
	results map[string]int // by the letter of the operation
}

type windowEvent struct {
	timeBased, lockFree bool
	kind                breakerref.EventKind
}

type move struct{ from, to breakerref.State }

func newCoverage() *coverage {
	return &coverage{
		windows: map[windowEvent]int{},
		moves:   map[move]int{},
		byTime:  map[move]int{},
		refused: map[breakerref.State]int{},
		results: map[string]int{},
	}
}

// begin says which case is played. Nobody counts if the coverage is nil.
func (c *coverage) begin(s setting) {
	if c != nil {
		c.timeBased, c.lockFree = s.WindowType == breakerref.TimeBased, s.LockFree
	}
}

func (c *coverage) event(o op, e breakerref.Event) {
	if c == nil {
		return
	}
	c.windows[windowEvent{c.timeBased, c.lockFree, e.Kind}]++
	if e.Kind != breakerref.EventTransition {
		return
	}
	c.moves[move{e.From, e.To}]++
	if o.kind == advance {
		c.byTime[move{e.From, e.To}]++
	}
}

func (c *coverage) answer(o op, result string, state breakerref.State) {
	if c == nil {
		return
	}
	c.results[string(o.kind)+" "+result]++
	if result == "f" {
		c.refused[state]++
	}
}

// missing lists what has to happen and did not. What is rare has to happen in a long
// run only.
func (c *coverage) missing(long bool) []string {
	var missing []string
	want := func(n int, format string, args ...any) {
		if n == 0 {
			missing = append(missing, fmt.Sprintf(format, args...))
		}
	}
	for _, m := range legalMoves() {
		want(c.moves[m], "%v to %v", m.from, m.to)
	}
	for _, m := range []move{
		{breakerref.Open, breakerref.HalfOpen},
		{breakerref.HalfOpen, breakerref.Open},
		{breakerref.HalfOpen, breakerref.Closed},
	} {
		want(c.byTime[m], "%v to %v by a timer", m.from, m.to)
	}
	if long {
		want(c.byTime[move{breakerref.Closed, breakerref.Open}], "CLOSED to OPEN by a timer that a reset has left")
		want(c.results["k !IllegalArgumentException"], "call in the library's hands that it throws out of")
	}
	for k := breakerref.EventSuccess; k <= breakerref.EventReset; k++ {
		for _, timeBased := range []bool{false, true} {
			for _, lockFree := range []bool{false, true} {
				want(c.windows[windowEvent{timeBased, lockFree, k}], "%v with time based %v, lock free %v", k, timeBased, lockFree)
			}
		}
	}
	for _, s := range []breakerref.State{breakerref.Closed, breakerref.Open, breakerref.HalfOpen, breakerref.ForcedOpen} {
		want(c.refused[s], "refusal in %v", s)
	}
	for _, r := range []string{
		"a t", "a f", "A t", "A f", "k t", "k f", "K t", "K f",
		"t !IllegalStateTransitionException", "w !IllegalStateTransitionException", "u !IllegalStateTransitionException",
		"e !IllegalArgumentException", "v !IllegalArgumentException",
		"s !ArithmeticException", "e !ArithmeticException",
		"s !NullPointerException", "e !NullPointerException",
	} {
		want(c.results[r], "operation with the result %q", r)
	}
	return missing
}

func legalMoves() []move {
	var moves []move
	for from := breakerref.Closed; from <= breakerref.ForcedOpen; from++ {
		for to := breakerref.Closed; to <= breakerref.ForcedOpen; to++ {
			illegal := from == breakerref.Closed && to == breakerref.HalfOpen ||
				from == breakerref.MetricsOnly && (to == breakerref.Open || to == breakerref.HalfOpen)
			if from != to && !illegal {
				moves = append(moves, move{from, to})
			}
		}
	}
	return moves
}
