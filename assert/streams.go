package assert

import (
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// streamed widens when the SUT recorded the outcome of an attempt that became a stream: at its
// first answer, at its end, or at any time between. Which outcome that was, good or bad, only
// the SUT knows.
func (v *view) streamed(a *admission) {
	switch at := a.attempt; {
	case !at.Stream:
		return
	case at.Closed == 0:
		a.settled = forever
	default:
		a.settled = max(a.settled, v.awake(at.Closed))
	}
	a.settle = a.settled
}

// openBefore reports whether connections that are passed on were open at an injector when a
// phase began. A fault is drawn for these, too, and the record of each has only the last one
// that hit it.
func (e *evidence) openBefore(phase, injector string) bool {
	for _, p := range e.trace.Phases {
		if p.Name != phase {
			continue
		}
		return slices.ContainsFunc(e.trace.Attempts, func(a trace.Attempt) bool {
			return a.Injector == injector && a.Stream && a.Arr < p.From && (a.Closed == 0 || a.Closed >= p.From)
		})
	}
	return false
}

// hidden reports whether a fault may have hit what the trace cannot show.
func (e *evidence) hidden(phase, injector string, r fault.Rule) bool {
	return r.Action == fault.ActionTCP && e.openBefore(phase, injector)
}
