package assert

import (
	"slices"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// depends reports whether calls to a target reach an injector.
func (e *evidence) depends(target, injector string) bool {
	return slices.ContainsFunc(e.spec.Targets, func(t match.Target) bool { return t.Name == target && t.Depends(injector) })
}

// measured reports whether a phase is measured.
func (e *evidence) measured(phase string) bool {
	return slices.ContainsFunc(e.trace.Phases, func(p trace.Phase) bool { return p.Name == phase && p.Measure })
}

// attemptsOf visits the attempts that arrived at an injector in a phase (in any
// measured phase, if it is empty), in the order of arrival.
func (e *evidence) attemptsOf(injector, phase string, visit func(*trace.Attempt)) {
	for i := range e.trace.Attempts {
		at := &e.trace.Attempts[i]
		if at.Injector == injector && (at.Phase == phase || phase == "" && e.measured(at.Phase)) {
			visit(at)
		}
	}
}

// eachAttempt visits the same with their calls; nil stands for an unknown one.
func (e *evidence) eachAttempt(injector, phase string, visit func(*trace.Attempt, *trace.Call)) {
	j := e.joinOf(injector)
	see := func(at *trace.Attempt, c *trace.Call) {
		if at.Phase == phase || phase == "" && e.measured(at.Phase) {
			visit(at, c)
		}
	}
	for i := range j.Calls {
		c := &j.Calls[i]
		for k := range c.Attempts {
			see(&c.Attempts[k], &c.Call)
		}
	}
	for _, rest := range [][]trace.Attempt{j.Orphans, j.NoID} {
		for i := range rest {
			see(&rest[i], nil)
		}
	}
}

// joinOf joins the attempts at an injector with all calls that depend on it.
func (e *evidence) joinOf(injector string) *trace.Join {
	if j := e.joins[injector]; j != nil {
		return j
	}
	for _, b := range e.spec.Breakers {
		all := !slices.ContainsFunc(e.spec.Targets, func(t match.Target) bool { return t.Depends(injector) && !slices.Contains(b.Targets, t.Name) })
		if b.Injector == injector && all && len(e.views[b.Name]) > 0 {
			e.joins[injector] = &e.views[b.Name][0].join
			return e.joins[injector]
		}
	}
	j := e.trace.Join(injector, func(target string) bool { return e.depends(target, injector) })
	e.joins[injector] = &j
	return &j
}
