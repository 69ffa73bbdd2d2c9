package injector

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// State is what an injector does at an instant. Its numbers count from Start on, but for
// those of rules, which count from the beginning of their phase. With Config.EnvoyHeaders the first
// rule is [EnvoyRule]: what requests asked for, from Start on, whose action is pass also where they
// asked for an abort.
type State struct {
	Injector string           `json:"injector"`
	URL      string           `json:"url"`
	Phase    string           `json:"phase"`
	Plan     uint64           `json:"plan"`   // the number of the plan in force
	Phases   []string         `json:"phases"` // that the plan has faults for
	Rules    []RuleState      `json:"rules"`  // in the order in which a request is asked about
	Requests uint64           `json:"requests"`
	Faulted  uint64           `json:"faulted"`  // requests that a fault hit
	Active   int              `json:"active"`   // of these, those without an end
	Held     int              `json:"held"`     // of these, those that are held or hang; and connections that nobody reads from
	Overflow map[Limit]uint64 `json:"overflow"` // requests and connections that passed because of a limit
	Lease    *LeaseState      `json:"lease,omitempty"`
}

// RuleState is what a rule has done in the phase that is on.
type RuleState struct {
	ID         string       `json:"id"`
	Action     fault.Action `json:"action"`
	Configured *float64     `json:"configured,omitempty"` // the share that it is to hit of what it sees, of a ramp its mean so far; nil: it has none
	Seen       uint64       `json:"seen"`
	Hit        uint64       `json:"hit"`
	Spared     uint64       `json:"spared"`          // that a limit, or the end of the fault in between, kept from it
	Until      *time.Time   `json:"until,omitempty"` // when an added fault ends
}

// LeaseState is how the lease stands.
type LeaseState struct {
	For    time.Duration `json:"for"`
	Until  time.Time     `json:"until"`
	Lapsed bool          `json:"lapsed"`
}

// State returns what the injector does. It waits for nobody.
func (i *Injector) State() State {
	s := i.phase.Load()
	used := i.budget.used.Load()
	st := State{
		Injector: i.cfg.Name, URL: i.URL(), Phase: s.name, Plan: s.plan.version, Phases: s.plan.phases, Rules: []RuleState{},
		Requests: i.budget.arrived.Load(), Faulted: used.faulted, Active: used.active, Held: used.held, Overflow: map[Limit]uint64{},
	}
	for limit, n := range i.budget.spared {
		st.Overflow[limit] = n.Load()
	}
	if i.envoy != nil {
		st.Rules = append(st.Rules, i.envoy.state())
	}
	for _, p := range s.all {
		rules := p.faults.Rules()
		for n, c := range p.counts() {
			r := RuleState{ID: c.Rule, Action: rules[n].Action, Configured: configured(rules[n].Select, c), Seen: c.Seen, Hit: c.Hit, Spared: p.spared[rules[n]].Load()}
			if p.id != "" {
				r.Until = &p.until
			}
			st.Rules = append(st.Rules, r)
		}
	}
	if end := i.leased.Load(); end != nil {
		st.Lease = &LeaseState{For: i.cfg.Lease, Until: *end, Lapsed: i.overdue(time.Now())}
	}
	return st
}

// Plan returns the script in force as JSON, with the IDs of its rules, its number, and the
// script's sum (FNV-1a, 64 bits).
func (i *Injector) Plan() (script json.RawMessage, version, sum uint64) {
	p := i.phase.Load().plan
	return p.text, p.version, p.sum
}

// Faulty reports whether the plan in force has faults for a phase.
func (i *Injector) Faulty(phase string) bool {
	return len(i.phase.Load().plan.player.Phase(phase).Rules()) > 0
}

// configured is the share that a selection has, or of a ramp the mean share that what
// it has counted came at.
func configured(s fault.Select, c fault.Count) *float64 {
	switch {
	case s.Ramp != nil && c.Seen > 0:
		return new(c.Due / float64(c.Seen))
	case s.Kind == fault.SelectAll:
		return new(1.0)
	case s.Den > 0:
		return new(float64(s.Num) / float64(s.Den))
	}
	return nil
}

// Meters are counters from Start on.
type Meters struct {
	Faults    map[fault.Action]uint64 // requests that faults hit
	Delays    []uint64                // per bound of [DelayBounds], and one more: latencies that were longer than asked for by at most that
	DelayOver time.Duration           // by how much latencies were longer than asked for, in all
}

// DelayBounds are the bounds of the histogram of delay errors.
func DelayBounds() []time.Duration {
	const us = time.Microsecond
	return []time.Duration{50 * us, 100 * us, 200 * us, 500 * us, 1000 * us, 2000 * us, 5000 * us, 10000 * us, 50000 * us, 250000 * us}
}

// meter counts what is told by metrics.
type meter struct {
	faults map[fault.Action]*atomic.Uint64
	bounds []time.Duration
	delays []atomic.Uint64
	over   atomic.Int64
}

func newMeter() *meter {
	m := &meter{faults: map[fault.Action]*atomic.Uint64{}, bounds: DelayBounds()}
	m.delays = make([]atomic.Uint64, len(m.bounds)+1)
	for _, a := range fault.Actions() {
		m.faults[a] = new(atomic.Uint64)
	}
	return m
}

func (m *meter) hit(a fault.Action) { m.faults[a].Add(1) }

// waited notes a latency that was to end at this instant.
func (m *meter) waited(due time.Time) {
	late := time.Since(due)
	if late < 0 {
		return // The faults were cleared first.
	}
	n := 0
	for n < len(m.bounds) && late > m.bounds[n] {
		n++
	}
	m.delays[n].Add(1)
	m.over.Add(int64(late))
}

// Meters returns the counters.
func (i *Injector) Meters() Meters {
	m := Meters{Faults: map[fault.Action]uint64{}, DelayOver: time.Duration(i.meter.over.Load())}
	for a, n := range i.meter.faults {
		m.Faults[a] = n.Load()
	}
	for n := range i.meter.delays {
		m.Delays = append(m.Delays, i.meter.delays[n].Load())
	}
	return m
}
