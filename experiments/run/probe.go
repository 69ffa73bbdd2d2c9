package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// probeTries is how many calls a target gets to reach its dependencies.
const probeTries = 3

// probe sends a call or a few to every target that has a dependency and looks
// at what reaches it: whether anything does, and what it can be recognised by.
func (r *runner) probe(ctx context.Context) error {
	seq := uint64(0)
	rungs := map[string]bool{}
	r.rec.SingleFlight(true) // Probes are made one at a time.
	for _, t := range r.plan.Targets {
		if len(t.DependsOn) == 0 {
			continue
		}
		var last trace.Call
		reached := false
		for try := 0; try < probeTries && !reached; try++ {
			call, err := r.attacker.Once(ctx, 0, seq, t)
			if err != nil {
				return fmt.Errorf("probe target %s: %w", t.Name, err)
			}
			seq++
			last, reached = call, r.sawAll(call, t, rungs)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !reached {
			return r.unreached(t, last)
		}
	}
	return r.choose(rungs)
}

// sawAll reports whether every dependency of a target got an attempt during a
// call, and notes how those attempts were recognised.
func (r *runner) sawAll(c trace.Call, t match.Target, rungs map[string]bool) bool {
	seen := map[string]bool{}
	for _, a := range r.rec.Snapshot(trace.Header{}).Attempts {
		if a.Arr < c.Send || a.Arr > c.End {
			continue
		}
		seen[a.Injector] = true
		if a.ID == c.ID {
			rungs[a.By] = true
		}
	}
	for _, in := range t.DependsOn {
		if !seen[in] {
			return false
		}
	}
	return true
}

// unreached explains that a dependency is not called.
func (r *runner) unreached(t match.Target, c trace.Call) error {
	got := fmt.Sprintf("status %d, class %s", c.Status, c.Class)
	if c.Err != trace.ErrNone {
		got = "no answer: " + string(c.Err) + " " + c.Detail
	}
	if c.Err == trace.ErrRefused {
		return &PreconditionError{
			What:   "nothing listens at " + r.baseURL + ": the calls were refused",
			Remedy: "start the system under test first, let faultline launch it (sut.launch), or correct sut.base_url",
		}
	}
	var where []string
	for i, in := range r.plan.Injectors {
		if t.Depends(in.Name) {
			where = append(where, in.Name+" at "+r.injectors[i].URL())
		}
	}
	return &PreconditionError{
		What: fmt.Sprintf("target %s (%s %s) was called %d times and never reached its dependency %v; last answer: %s",
			t.Name, t.Method, t.Path, probeTries, where, got),
		Remedy: "point the SUT's dependency at the injector's address (sut.launch.env with {{injectors." + t.DependsOn[0] + ".url}}), " +
			"or correct depends_on, and send a request that no cache answers",
	}
}

// choose takes the first rung of the plan's order by which every probe was
// recognised.
func (r *runner) choose(rungs map[string]bool) error {
	if len(rungs) == 0 {
		return nil // No target has a dependency: there is nothing to join.
	}
	for _, by := range r.plan.Correlate.Order {
		if !rungs[by] || by != trace.BySingleFlight && rungs[trace.BySingleFlight] {
			continue
		}
		if by == trace.BySingleFlight {
			if err := r.singleFlight(); err != nil {
				return err
			}
		}
		r.rec.SingleFlight(by == trace.BySingleFlight)
		r.rung = by
		r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkRung, Text: by})
		r.note("attempts are joined with calls by " + by)
		return nil
	}
	return &PreconditionError{
		What:   fmt.Sprintf("what reaches the dependency carries none of %v", r.plan.Correlate.Order),
		Remedy: "let the SUT pass traceparent or x-request-id on, or name the header that it does pass on in correlate.order",
	}
}

// singleFlight refuses joining by containment where more than one call is in
// flight.
func (r *runner) singleFlight() error {
	i := slices.IndexFunc(r.plan.Phases, func(p experiments.Phase) bool { return p.Calls == nil || p.Calls.Concurrency != 1 })
	if i >= 0 {
		return &PreconditionError{
			What: fmt.Sprintf("the SUT passes no known header on, and phase %s has more than one call in flight, so attempts cannot be joined with calls",
				r.plan.Phases[i].Name),
			Remedy: "let the SUT pass traceparent or x-request-id on, or use load: {calls: ..., concurrency: 1} in every phase",
		}
	}
	return nil
}
