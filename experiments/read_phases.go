package experiments

import (
	"math"
	"slices"
	"time"

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
	p := Phase{Name: word(name, "_-"), Align: m.Get("align").Duration(0)}
	if pause := m.Get("pause"); pause.Exists() {
		p.rest(m, pause)
	} else {
		r.work(&p, m)
	}
	r.faults(&p, m.Get("faults"))
	r.untilDoor(p, m)
	r.phases.declare(name, p.Name)
	r.plan.Phases = append(r.plan.Phases, p)
}

// rest reads a phase that sends nothing and is not measured.
func (p *Phase) rest(m *yamldoc.Map, pause yamldoc.Value) {
	p.Duration, p.Rate = pause.Duration(0), Rate{Per: time.Second}
	for _, key := range []string{"measure", "duration", "targets", "load"} {
		if m.Get(key).Exists() {
			m.Key(key).Problemf("pause and %s exclude each other; a pause sends nothing for its time and is not measured", key)
		}
	}
}

// work reads a phase that sends calls.
func (r *reader) work(p *Phase, m *yamldoc.Map) {
	p.Measure = m.Get("measure").Bool(true)
	if targets := m.Get("targets"); targets.Exists() {
		flawed := r.flawed()
		p.Targets = r.targets.referAll(targets.Items())
		if flawed() {
			p.Targets = nil // Which calls are sent is not known; all may be.
		}
	}
	r.phaseLoad(p, m)
}

// pause reports whether a phase is meant to send nothing.
func (p Phase) pause() bool { return p.Calls == nil && p.Rate.Num == 0 && p.Rate.Per > 0 }

// asks reports whether calls of a phase ask a breaker, as far as that is known.
func (r *reader) asks(p Phase, breaker string) bool {
	b, ok := r.plan.breaker(breaker)
	return !ok || r.targets.blind || len(b.Targets) == 0 || r.breakers.vague[breaker] ||
		slices.ContainsFunc(r.plan.Sends(p), func(t match.Target) bool { return slices.Contains(b.Targets, t.Name) })
}

// reaches reports whether calls of a phase reach an injector, as far as that is
// known.
func (r *reader) reaches(p Phase, injector string) bool {
	return r.targets.blind || slices.ContainsFunc(r.plan.Sends(p), func(t match.Target) bool { return r.mayReach(t, injector) })
}

// mayReach reports whether calls of a target reach an injector, as far as that is
// known.
func (r *reader) mayReach(t match.Target, injector string) bool {
	return t.Depends(injector) || r.injectors.blind || r.targets.vague[t.Name]
}
