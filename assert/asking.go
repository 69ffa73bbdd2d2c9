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

// asked are when the calls of a phase were sent that asked for a dependency, in order.
func (e *evidence) asked(injector, phase string) []time.Duration {
	if e.aggregate {
		return e.askedAtLeast(injector, phase)
	}
	return e.sends(injector, phase, e.asking(injector))
}

// askedAtLeast are so many of those as can be told where attempts are joined with no call: those
// that were not served well, as each either came to the dependency or was kept away; or, where
// there are more of them, the attempts, which stand for their calls, and the calls that were
// refused while nothing arrived, which made none.
func (e *evidence) askedAtLeast(injector, phase string) []time.Duration {
	var arrived, at []time.Duration
	for i := range e.trace.Attempts { // They are in the order of arrival.
		if a := &e.trace.Attempts[i]; a.Injector == injector {
			arrived = append(arrived, a.Arr)
		}
	}
	e.attemptsOf(injector, phase, func(a *trace.Attempt) { at = append(at, a.Arr) })
	at = append(at, e.sends(injector, phase, func(c *trace.Call) bool {
		i, _ := slices.BinarySearch(arrived, c.Send)
		return refused(c) && (i == len(arrived) || arrived[i] > c.End)
	})...)
	slices.Sort(at)
	unwell := e.sends(injector, phase, func(c *trace.Call) bool { return !contented(c) })
	if len(unwell) > len(at) {
		return unwell
	}
	return at
}

// refused reports whether a call was answered that it is not served. One that is put off, with a
// fallback, may be asked for later; one that is refused is done with.
func refused(c *trace.Call) bool {
	return c.Answered() && !contented(c) && c.Class != match.ClassFallback
}

// sends are when the calls of a phase that need a dependency were sent, in order, of those that
// are asked for.
func (e *evidence) sends(injector, phase string, which func(*trace.Call) bool) []time.Duration {
	var at []time.Duration
	for _, s := range e.population(phase, nil, "") {
		if e.depends(s.call.Target, injector) && which(s.call) {
			at = append(at, s.call.Send)
		}
	}
	slices.Sort(at)
	return at
}
