package experiments

import (
	"math"
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// mostPhases is how many phases the identity of a call can tell apart.
const mostPhases = math.MaxUint16

// readPhases reads the steps of the experiment.
func (r *reader) readPhases(v yamldoc.Value) {
	items := v.Items()
	if len(items) > mostPhases {
		v.Problemf("has %d phases; a call's identity has room for %d", len(items), mostPhases)
		items = nil
	}
	for _, item := range items {
		r.phase(item)
	}
	r.phases.end(v, false)
	for i := range r.plan.Injectors {
		in := &r.plan.Injectors[i]
		for _, p := range r.plan.Phases {
			if rules := p.Faults[in.Name]; len(rules) > 0 {
				if in.Script.Phases == nil {
					in.Script.Phases = map[string][]fault.Rule{}
				}
				in.Script.Phases[p.Name] = rules
			}
		}
	}
}

func (r *reader) phase(v yamldoc.Value) {
	m := v.Map("{name: outage, duration: 5s}")
	defer m.Done()
	name := m.Need("name")
	p := Phase{Name: word(name, "_-"), Measure: m.Get("measure").Bool(true)}
	if targets := m.Get("targets"); targets.Exists() {
		flawed := r.flawed()
		p.Targets = r.targets.referAll(targets.Items())
		if flawed() {
			p.Targets = nil // Which calls are sent is not known; all may be.
		}
	}
	r.phaseLoad(&p, m)
	r.faults(&p, m.Get("faults"))
	r.phases.declare(name, p.Name)
	r.plan.Phases = append(r.plan.Phases, p)
}

// phaseLoad reads a rate with a duration, or a number of calls without one.
func (r *reader) phaseLoad(p *Phase, m *yamldoc.Map) {
	load, duration := m.Get("load").Map("{rate: 100/s}"), m.Get("duration")
	defer load.Done()
	switch load.Choice("rate", "calls") {
	case "calls":
		p.Calls = r.calls(p, load)
		if duration.Exists() {
			duration.Problemf("is not for a phase of calls, which ends with its last call")
		}
		return
	case "rate":
		rate, _ := load.Get("rate").Rate()
		p.Rate = Rate(rate)
	default:
		rate, _ := r.rate.Rate()
		p.Rate = Rate(rate)
		if m.Exists() && !m.Has("load") && !r.rate.Exists() && !r.noRate {
			m.Get("load").Problemf("is missing; write load: {rate: 100/s} or {calls: 20} here, or a rate for all phases in the file's section load")
			return
		}
	}
	for _, key := range []string{"concurrency", "gap", "until", "breaker"} {
		if v := load.Get(key); v.Exists() {
			load.Lacks(v, []string{"calls"}, "goes with calls, not with a rate")
		}
	}
	if load.Exists() && !load.Has("rate") {
		load.Lacks(load.Value, []string{"rate", "calls"}, "says neither rate nor calls")
		return
	}
	p.Duration = duration.Duration(0)
	if m.Exists() && !duration.Exists() {
		m.Lacks(duration, []string{"duration", "load"}, "is missing; a phase with a rate lasts for a time")
	}
	if p.Duration > 0 && p.Rate.Num > 0 && float64(p.Rate.Num)*float64(p.Duration) < float64(p.Rate.Per) {
		duration.Problemf("%s at %s is not even one call", yamldoc.FormatDuration(p.Duration), yamldoc.Rate(p.Rate))
	}
}

// calls reads a closed loop.
func (r *reader) calls(p *Phase, load *yamldoc.Map) *Calls {
	until, breaker := load.Get("until"), load.Get("breaker")
	c := &Calls{
		N:           load.Get("calls").Count(1, 1),
		Concurrency: load.Get("concurrency").Count(1, 1),
		Gap:         load.Get("gap").DurationOrZero(0),
		Until:       until.OneOf("", "open", "closed"),
	}
	if !until.Exists() {
		if breaker.Exists() {
			load.Lacks(breaker, []string{"until"}, "goes with until, whose state it is")
		}
		return c
	}
	c.Breaker = r.breakers.referOr(breaker)
	if c.Breaker != "" && !r.asks(*p, c.Breaker) {
		until.Problemf("no target of this phase asks breaker %s, so nothing could change its state", c.Breaker)
	}
	return c
}

// pause reports whether a phase is meant to send nothing.
func (p Phase) pause() bool { return p.Calls == nil && p.Rate.Num == 0 && p.Rate.Per > 0 }

// loaded returns the targets that a phase sends calls to.
func (r *reader) loaded(p Phase) []match.Target {
	if len(p.Targets) == 0 {
		return r.plan.Targets
	}
	var some []match.Target
	for _, t := range r.plan.Targets {
		if slices.Contains(p.Targets, t.Name) {
			some = append(some, t)
		}
	}
	return some
}

// asks reports whether calls of a phase ask a breaker, as far as that is known.
func (r *reader) asks(p Phase, breaker string) bool {
	b, ok := r.plan.breaker(breaker)
	return !ok || r.targets.blind || len(b.Targets) == 0 || r.breakers.vague[breaker] ||
		slices.ContainsFunc(r.loaded(p), func(t match.Target) bool { return slices.Contains(b.Targets, t.Name) })
}

// reaches reports whether calls of a phase reach an injector, as far as that is
// known.
func (r *reader) reaches(p Phase, injector string) bool {
	return r.targets.blind || slices.ContainsFunc(r.loaded(p), func(t match.Target) bool { return r.mayReach(t, injector) })
}

// mayReach reports whether calls of a target reach an injector, as far as that is
// known.
func (r *reader) mayReach(t match.Target, injector string) bool {
	return t.Depends(injector) || r.injectors.blind || r.targets.vague[t.Name]
}
