package experiments

import (
	"strconv"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// faults reads what goes wrong in a phase.
func (r *reader) faults(p *Phase, v yamldoc.Value) {
	items := v.List()
	if p.pause() && len(items) > 0 {
		v.Problemf("could never fire: the phase sends no calls (0/s)")
	}
	for i, item := range items {
		flawed := r.flawed()
		m := item.Map("{respond: {status: 503}}")
		at := m.Get("injector")
		injector := r.injectors.referOr(at)
		rule := r.fault(m, injector)
		rule.ID = p.Name + "/" + strconv.Itoa(i)
		m.Done()
		if injector == "" {
			continue
		}
		if !r.reaches(*p, injector) {
			at.Problemf("no target of this phase depends on injector %s, so this fault could never fire", injector)
		}
		if !flawed() { // Else it may take other requests than it seems to.
			p.add(item, injector, rule)
		}
	}
}

// add gives a phase one more fault, which must get along with those before it.
func (p *Phase) add(v yamldoc.Value, injector string, rule fault.Rule) {
	earlier := p.Faults[injector]
	if text := fault.Against(earlier, rule, func(i int) string { return "fault " + earlier[i].ID }); text != "" {
		v.Problemf("%s", text)
	}
	if p.Faults == nil {
		p.Faults = map[string][]fault.Rule{}
	}
	p.Faults[injector] = append(earlier, rule)
}

func (r *reader) fault(m *yamldoc.Map, injector string) fault.Rule {
	rule := fault.Rule{
		Match:   requestMatch(m.Get("match")),
		Select:  selection(m),
		Latency: r.latency(m.Get("latency")),
	}
	action(&rule, m)
	rule.Stealth = m.Get("stealth").Bool(false)
	if rule.Stealth && rule.Action != fault.ActionReset && rule.Action != fault.ActionClose {
		m.Lacks(m.Get("stealth"), []string{"reset", "close"}, "goes with reset or close, the faults of a connection")
	}
	rule.Hold = r.hold(m.Get("hold"), injector, rule.Latency.Longest())
	if rule.Action == fault.ActionHang {
		for _, key := range []string{"latency", "hold"} {
			if v := m.Get(key); v.Exists() {
				v.Problemf("cannot be seen before a hang")
			}
		}
	}
	return rule
}

// action reads what happens to a request that the rule hits.
func action(rule *fault.Rule, m *yamldoc.Map) {
	key := m.Choice("respond", "reset", "close", "hang")
	if key == "respond" {
		rm := m.Get(key).Map("{status: 503}")
		rule.Action = fault.ActionRespond
		rule.Respond = respond(rm, rm.Need("status"))
		rm.Done()
		return
	}
	if key == "" {
		rule.Action = fault.ActionPass
		if m.Exists() && !m.Has("latency") && !m.Has("hold") {
			m.Lacks(m.Value, []string{"respond", "reset", "close", "hang", "latency", "hold"}, "does nothing; give it respond, reset, close, hang, latency or hold")
		}
		return
	}
	rule.Action = fault.Action(key) // the keys are the actions' names
	if !m.Get(key).Bool(true) {
		m.Get(key).Problemf("is true or left out")
	}
}
