package experiments

import (
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// doors are the actions of all who connect, as long as their phase lasts.
func doors() []string {
	var keys []string
	for _, a := range fault.Actions() {
		if a.Door() {
			keys = append(keys, string(a))
		}
	}
	return keys
}

// ofRequests are the keys of a fault that say something of requests, which a shut door lets
// nobody make.
func ofRequests() []string {
	return slices.Concat([]string{"match"}, selections(), []string{"sticky", "latency", "hold", "read"})
}

// door refuses what has no meaning beside a shut door. The keys of forms and stealth are
// refused by what they go with.
func door(rule *fault.Rule, m *yamldoc.Map) {
	if !rule.Action.Door() {
		return
	}
	for _, key := range ofRequests() {
		if v := m.Get(key); v.Exists() {
			m.Key(key).Problemf("has no meaning with %s, which is for all that connect", rule.Action)
		}
	}
	*rule = fault.Rule{Action: rule.Action, Select: fault.Select{Kind: fault.SelectAll}}
}

// besideDoor says what is wrong with a fault that shares its injector and phase with others,
// if a shut door is among them.
func besideDoor(earlier []fault.Rule, rule fault.Rule) (problem string) {
	if len(earlier) == 0 {
		return ""
	}
	for _, r := range append([]fault.Rule{rule}, earlier...) {
		if r.Action.Door() {
			return string(r.Action) + " is for all that connect in this phase; no other fault of this injector could be seen"
		}
	}
	return ""
}

// untilDoor refuses to wait for a state that nobody can see.
func (r *reader) untilDoor(p Phase, m *yamldoc.Map) {
	if p.Calls == nil || p.Calls.Until == "" {
		return
	}
	b, ok := r.plan.breaker(p.Calls.Breaker)
	if !ok {
		return
	}
	for _, rule := range p.Faults[b.Injector] {
		if rule.Action.Door() {
			m.Get("faults").Problemf("%s leaves no sign of who comes to %s, so nothing would show that breaker %s is %s; leave out until", rule.Action, b.Injector, b.Name, p.Calls.Until)
		}
	}
}
