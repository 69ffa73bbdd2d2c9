package assert

import (
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// passage is one that a limiter let through: it decided in [lo, at], which begins at
// forever where that is not known.
type passage struct {
	lo, at time.Duration
	id     string
}

// stream is what came by one key.
type stream struct {
	key    string
	passed []passage       // in the order of at
	sends  []time.Duration // of the calls that asked for it, in order
}

// arrivals are when they passed.
func (s stream) arrivals() []time.Duration {
	at := make([]time.Duration, 0, len(s.passed))
	for _, p := range s.passed {
		at = append(at, p.at)
	}
	return at
}

// within is what passed, each no earlier than so long before it was seen.
func (s stream) within(off time.Duration) []passage {
	out := make([]passage, 0, len(s.passed))
	for _, p := range s.passed {
		if p.lo == forever {
			p.lo = 0
		}
		out = append(out, passage{max(p.lo, p.at-off), p.at, p.id})
	}
	return out
}

// streams are what was asked for and what passed, by key. Problem says why keys are not known.
func (r DownstreamRate) streams(e *evidence, a Assertion) (list []stream, problem string) {
	by := map[string]*stream{}
	keys, problem := r.keys(e, a)
	if problem != "" {
		return nil, problem
	}
	of := func(key string) *stream {
		if by[key] == nil {
			by[key] = &stream{key: key}
		}
		return by[key]
	}
	asks := func(*trace.Call) bool { return true }
	if r.Of != RateAnswers {
		asks = e.asking(r.Injector)
	}
	for _, s := range e.population(a.Phase, r.targets(e), "") {
		if key, ok := keys(s.call); ok && asks(s.call) {
			of(key).sends = append(of(key).sends, s.call.Send)
		}
	}
	if e.aggregate && r.Of != RateAnswers && r.By == "" {
		of("").sends = e.asked(r.Injector, a.Phase)
	}
	r.each(e, a.Phase, func(p passage, c *trace.Call, _ bool) {
		if key, ok := keys(c); ok {
			of(key).passed = append(of(key).passed, p)
		}
	})
	for _, key := range sortedKeys(by) {
		s := by[key]
		slices.Sort(s.sends)
		slices.SortStableFunc(s.passed, func(a, b passage) int { return int(a.at - b.at) })
		list = append(list, *s)
	}
	return list, ""
}

// targets are those whose calls ask the limiter.
func (r DownstreamRate) targets(e *evidence) []string {
	if r.Of == RateAnswers {
		return r.Targets
	}
	names := []string{""} // never all
	for _, t := range e.spec.Targets {
		if t.Depends(r.Injector) {
			names = append(names, t.Name)
		}
	}
	return names
}

// keys tells the key of a call, if it has one: the header as the client sent it. One in which
// the identity of the call stands is another one for each.
func (r DownstreamRate) keys(e *evidence, a Assertion) (of func(*trace.Call) (string, bool), problem string) {
	if r.By == "" {
		return func(*trace.Call) (string, bool) { return "", true }, ""
	}
	values := e.headers(r.By)
	for _, s := range e.population(a.Phase, r.targets(e), "") {
		if s.call.Session != nil {
			return nil, "a step of a session may send another " + r.By + " than its target"
		}
	}
	if len(values) == 0 {
		return nil, "no target of the load has a header " + r.By
	}
	return func(c *trace.Call) (string, bool) {
		if c == nil {
			return "", false
		}
		value, ok := values[c.Target]
		if ok && value.Templated() {
			return r.By + " of " + c.ID, true
		}
		return r.By + " " + value.Expand(""), ok
	}, ""
}

// headers are the values of a header by the targets that have it.
func (e *evidence) headers(name string) map[string]match.Template {
	values := map[string]match.Template{}
	for _, t := range e.spec.Targets {
		for h, value := range t.Headers {
			if parsed, err := match.ParseTemplate(value); strings.EqualFold(h, name) && err == nil {
				values[t.Name] = parsed
			}
		}
	}
	return values
}

// visitor is told of what passed, with its call, if that is known. direct says that nothing
// came between the call and it.
type visitor func(p passage, c *trace.Call, direct bool)

// each visits what passed in a phase, in any of those that are measured if it is empty.
func (r DownstreamRate) each(e *evidence, phase string, visit visitor) {
	if r.Of == RateAnswers {
		r.answers(e, phase, visit)
		return
	}
	in := func(at *trace.Attempt) bool { return at.Phase == phase || phase == "" && e.measured(at.Phase) }
	j := e.joinOf(r.Injector)
	for i := range j.Calls {
		c := &j.Calls[i]
		for k := range c.Attempts {
			if at := &c.Attempts[k]; in(at) {
				visit(passage{decidedFrom(c, k), at.Arr, c.Call.ID}, &c.Call, k == 0 && !at.Late)
			}
		}
	}
	r.strangers(e, j.Orphans, in, visit)
	r.strangers(e, j.NoID, in, visit)
}

// answers visits the calls that the SUT's own limiter let in.
func (r DownstreamRate) answers(e *evidence, phase string, visit visitor) {
	for _, s := range e.population(phase, r.Targets, "") {
		if c := s.call; c.Answered() && !r.rejected(c) {
			visit(passage{c.Send, c.End, c.ID}, c, true)
		}
	}
}

// strangers visits attempts whose calls are not known: each was decided since the oldest call
// was sent that was under way when it arrived.
func (r DownstreamRate) strangers(e *evidence, all []trace.Attempt, in func(*trace.Attempt) bool, visit visitor) {
	targets := r.targets(e)
	under := newUnderWay(e.trace, func(target string) bool { return e.depends(target, r.Injector) })
	for i := range all {
		at := &all[i]
		if !in(at) {
			continue
		}
		crowd := under.at(at.Arr, targets)
		p := passage{crowd.sent, at.Arr, nameOf(at, nil)}
		if at.Late || at.Unread() || crowd.foreign {
			p.lo = forever
		}
		visit(p, nil, p.lo < forever && crowd.calls == 1)
	}
}

// decidedFrom is the earliest instant at which the k-th attempt of a call can have been let
// through, or forever if that is not known. However late a busy machine sends, or notes
// what came, it was let through between then and the arrival as it is noted.
func decidedFrom(c *trace.Joined, k int) time.Duration {
	if c.Attempts[k].Late || c.Attempts[k].Unread() {
		return forever
	}
	return c.Call.Send // Also of a retry: when the attempt before it was over was noted only later.
}

// resolution is by how much arrivals differ in how long after their calls they come, in the
// measured phase in which they differ the least: all but one in a hundred of them.
func (r DownstreamRate) resolution(e *evidence) time.Duration {
	best := forever
	for _, p := range e.trace.Phases {
		var took []time.Duration
		r.each(e, p.Name, func(one passage, _ *trace.Call, direct bool) {
			if direct {
				took = append(took, one.at-one.lo)
			}
		})
		if p.Measure && len(took) >= enough {
			late := quantile(took, 0.99)
			best = min(best, late-took[0]) // quantile has sorted them
		}
	}
	return best
}
