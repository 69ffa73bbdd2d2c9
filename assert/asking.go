package assert

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// contented reports whether a call was answered as if the dependency had been asked, so that
// without an attempt a cache, or the answer to another call, has served it.
func contented(c *trace.Call) bool {
	const bad = 400
	return c.Answered() && c.Status < bad && c.Class != match.ClassFallback && c.Class != match.ClassRejected
}

// asking tells which calls have asked for a dependency: those that made an attempt, and those
// that were not served well without one.
func (e *evidence) asking(injector string) func(*trace.Call) bool {
	idle := map[string]bool{}
	j := e.joinOf(injector)
	for i := range j.Calls {
		if c := &j.Calls[i]; c.Kind == trace.Short && contented(&c.Call) {
			idle[c.Call.ID] = true
		}
	}
	return func(c *trace.Call) bool { return !idle[c.ID] }
}

// asked are when the calls of a phase were sent that asked for a dependency, in order. Where
// attempts are joined with no call, they stand for themselves, and beside them are the calls
// that were not served well.
func (e *evidence) asked(injector, phase string) []time.Duration {
	var at []time.Duration
	asks := e.asking(injector)
	if e.aggregate {
		e.attemptsOf(injector, phase, func(a *trace.Attempt) { at = append(at, a.Arr) })
		asks = func(c *trace.Call) bool { return !contented(c) }
	}
	for _, s := range e.population(phase, nil, "") {
		if e.depends(s.call.Target, injector) && asks(s.call) {
			at = append(at, s.call.Send)
		}
	}
	slices.Sort(at)
	return at
}
