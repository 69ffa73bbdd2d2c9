package predict

import (
	"fmt"
	"math"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// waits says how often each declared breaker is waited for, and how often its wait
// fits into the phases in which its dependency fails.
func waits(plan *experiments.Plan, ran []played) []string {
	out := []string{}
	for _, b := range plan.Breakers {
		if !b.Declared {
			continue
		}
		if n := waited(ran, b.Name); n > 0 && b.Config.WaitMultiplier <= 1 {
			out = append(out, fmt.Sprintf("%s of %s for breaker %s, %s together, cannot be had faster", plural(n, "wait"), b.Config.Wait, b.Name, time.Duration(n)*b.Config.Wait))
		}
		for _, p := range plan.Phases {
			if p.Duration > 0 && len(p.Faults[b.Injector]) > 0 && !pause(p) {
				out = append(out, fit(p, b))
			}
		}
	}
	return out
}

// waited is how often a breaker (of the first instance) waits to the end.
func waited(ran []played, breaker string) int {
	n := 0
	for _, p := range ran {
		for _, c := range own(p.changes, breaker) {
			if c.to == breakerref.HalfOpen {
				n++
			}
		}
	}
	return n
}

// fit says how many waits of a breaker a phase can see.
func fit(p experiments.Phase, b assert.Breaker) string {
	if n := int(p.Duration / b.Config.Wait); n > 0 {
		return fmt.Sprintf("%s lasts %s and sees at most %s of %s", p.Name, p.Duration, plural(n, "open interval"), b.Config.Wait)
	}
	return fmt.Sprintf("%s lasts %s, less than the %s that breaker %s stays open: no interval is seen whole", p.Name, p.Duration, b.Config.Wait, b.Name)
}

// warnings are what a run may stumble over although each part of the plan is valid.
func warnings(plan *experiments.Plan, phases []Phase) []Warning {
	out := []Warning{}
	for i, p := range plan.Phases {
		out = append(out, crowd(plan, p)...)
		out = append(out, holds(plan, p)...)
		out = append(out, storms(plan, p)...)
		out = append(out, overtaking(plan, p, phases[i])...)
	}
	return out
}

// crowd compares the calls that may be under way with those that are allowed.
func crowd(plan *experiments.Plan, p experiments.Phase) []Warning {
	most := p.Peak(min(plan.Timeout, max(p.Duration, 1)))
	if most > plan.MaxInFlight {
		return []Warning{{
			Phase: p.Name,
			What: fmt.Sprintf("up to %d calls may be under way when nobody answers before load.timeout (%s); load.max_in_flight allows %d, and what is above that is not sent",
				most, plan.Timeout, plan.MaxInFlight),
			Remedy: fmt.Sprintf("set load.max_in_flight to %d", most),
		}}
	}
	if by := carrier(plan); by == trace.BySingleFlight && (p.Calls == nil || p.Calls.Concurrency > 1) && !pause(p) {
		return []Warning{{
			Phase: p.Name, What: "more than one call may be under way, so that single_flight cannot join attempts with calls, and the run refuses to start",
			Remedy: "use load: {calls: ..., concurrency: 1}, or let the service pass traceparent on",
		}}
	}
	return nil
}

// holds compares how long probes are held with everybody's patience, and with how
// many calls come meanwhile.
func holds(plan *experiments.Plan, p experiments.Phase) []Warning {
	var out []Warning
	for _, in := range plan.Injectors {
		for _, r := range p.Faults[in.Name] {
			if r.Hold == nil {
				continue
			}
			limit, whose := patience(plan, in.Name)
			late := min(r.Latency.Longest(), fault.Never-r.Hold.Max)
			if took := r.Hold.Max + late; took > limit/5*3 {
				out = append(out, Warning{
					Phase:  p.Name,
					What:   fmt.Sprintf("a request is held for up to %s, more than 0.6 of %s (%s): held for so long it may fail, or be slow, by that alone", took, limit, whose),
					Remedy: fmt.Sprintf("set hold.max to %s at most", limit/5*3-late),
				})
			}
			if most := p.Peak(r.Hold.Max); !p.ClosedLoop() && most < r.Hold.Probes+r.Hold.Rejected {
				out = append(out, Warning{
					Phase:  p.Name,
					What:   fmt.Sprintf("%s come while probes are held for up to %s; it takes %d probes and %d rejected calls to let them go", plural(most, "call"), r.Hold.Max, r.Hold.Probes, r.Hold.Rejected),
					Remedy: "raise the rate of the phase, or hold.max",
				})
			}
		}
	}
	return out
}

// patience is the shortest time after which a late answer of an injector counts
// against it, and whose it is.
func patience(plan *experiments.Plan, injector string) (time.Duration, string) {
	limit, whose := plan.Timeout, "load.timeout"
	shorter := func(d time.Duration, name string) {
		if d > 0 && d < limit {
			limit, whose = d, name
		}
	}
	for _, b := range plan.Breakers {
		if b.Injector == injector && b.Declared {
			shorter(b.Config.SlowDuration, "slow_calls.over of "+b.Name)
			shorter(b.Failure.Slow, "slow> of "+b.Name)
		}
	}
	if ref := plan.SUT.Reference; ref != nil {
		shorter(ref.Timeout, "the reference service's timeout")
	}
	for _, a := range plan.Assertions {
		if r, ok := a.Rule.(assert.AbandonedAfter); ok && r.Injector == injector {
			shorter(max(r.Equals, r.Max), "the timeout that "+a.ID+" asks for")
		}
	}
	return limit, whose
}

// overtaking warns where a breaker is to stay closed just below its threshold while
// several calls are under way: outcomes that overtake one another may put one
// failure more into its window than the fault's ratio.
func overtaking(plan *experiments.Plan, p experiments.Phase, ph Phase) []Warning {
	var out []Warning
	atOnce := ph.AtOnce
	if p.Calls != nil {
		atOnce = p.Calls.Concurrency
	}
	for _, a := range plan.Assertions {
		r, ok := a.Rule.(assert.StaysClosed)
		if !ok || a.Phase != p.Name || atOnce < 2 {
			continue
		}
		for _, b := range plan.Breakers {
			c := b.Config
			if b.Name != r.Breaker || !b.Declared || c.WindowType != breakerref.CountBased {
				continue
			}
			window := min(c.Window, max(c.MinimumCalls, 1))
			needs := int(math.Ceil(float64(c.FailureRate) / 100 * float64(window)))
			has := densest(p.Faults[b.Injector], window, plan.Seed)
			if spare := needs - has; has > 0 && spare > 0 && spare < atOnce {
				out = append(out, Warning{
					Phase: p.Name,
					What: fmt.Sprintf("%s holds only as long as outcomes keep their order: %d of any %d fail, %d open the breaker, and up to %d calls are under way",
						a.ID, has, window, needs, atOnce),
					Remedy: "use load: {calls: ..., concurrency: 1}, or a lower ratio",
				})
			}
		}
	}
	return out
}

// densest is the most requests in a row of some length that a ratio hits.
func densest(rules []fault.Rule, length int, seed uint64) int {
	const p = "alone"
	most := 0
	for _, r := range rules {
		if !r.Select.Kind.Draws() {
			continue
		}
		r.Match, r.Select.Sticky = fault.Match{}, fault.Sticky{}
		r.Select.Num, r.Select.Den = r.Select.Peak()
		r.Select.Ramp = nil
		alone, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{p: {r}}}, seed)
		if err != nil {
			continue // It was told when the experiment was loaded.
		}
		phase, hits := alone.Phase(p), make([]int, densestOf+length)
		for i := 1; i < len(hits); i++ {
			hits[i] = hits[i-1]
			if phase.Decide(fault.Request{}).Rule != nil {
				hits[i]++
			}
			most = max(most, hits[i]-hits[max(0, i-length)])
		}
	}
	return most
}

// densestOf is in how many requests the densest row is looked for.
const densestOf = 1000
