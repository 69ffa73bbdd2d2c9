package fault

import (
	"errors"
	"maps"
	"slices"
	"strconv"
)

// Player holds a valid script and gives out its phases.
type Player struct {
	phases map[string][]ruled
	draws  map[string][]draw
}

// ruled is a rule with what it is played by.
type ruled struct {
	rule  *Rule
	match *matcher
	hash  uint64 // of its latencies
	picks uint64 // of its selection
	draws bool   // as its kind does
	draw  int    // the number of its draw in the phase, if it draws
	den   uint64 // of its ramp
}

// NewPlayer copies script, so that nobody changes it under a run, and numbers
// rules without an ID as phase/number from 1. Its error joins all problems that
// [Validate] finds.
func NewPlayer(script Script, seed uint64) (*Player, error) {
	if problems := Validate(script); len(problems) > 0 {
		errs := make([]error, len(problems))
		for i, p := range problems {
			errs[i] = p
		}
		return nil, errors.Join(errs...)
	}
	p := &Player{phases: map[string][]ruled{}, draws: map[string][]draw{}}
	for name, rules := range script.Phases {
		for n, r := range rules {
			r.ID = ruleID(name, n, r)
			r.Match = r.Match.clone()
			r.Respond = r.Respond.clone()
			r.Latency = r.Latency.clone()
			r.Form = r.Form.clone()
			r.Select.Ramp = r.Select.Ramp.clone()
			r.WebSocket, r.TCP, r.H2 = r.WebSocket.clone(), r.TCP.clone(), r.H2.clone()
			r.TLS, r.Settings, r.Hold = copied(r.TLS), copied(r.Settings), copied(r.Hold)
			hash := seedHash(seed, r.ID)
			_, den := r.Select.Peak()
			p.phases[name] = append(p.phases[name], ruled{rule: &r, match: r.Match.compile(&problems{}), hash: hash, picks: mix(hash ^ forSelection), draws: r.Select.Kind.Draws(), den: den})
		}
		p.draws[name] = drawsOf(p.phases[name])
	}
	return p, nil
}

// clone copies what the caller might change.
func (r Respond) clone() Respond {
	r.Headers, r.RetryAfter, r.GRPC = maps.Clone(r.Headers), copied(r.RetryAfter), r.GRPC.clone()
	return r
}

// ruleID names a rule in the trace.
func ruleID(phase string, index int, r Rule) string {
	if r.ID != "" {
		return r.ID
	}
	return phase + "/" + strconv.Itoa(index+1)
}

// Rules are all rules of the script, by phase name and then in their order.
func (p *Player) Rules() []*Rule {
	var all []*Rule
	for _, name := range slices.Sorted(maps.Keys(p.phases)) {
		for _, r := range p.phases[name] {
			all = append(all, r.rule)
		}
	}
	return all
}

// Phase starts a phase: all its rules have seen nothing. A name that the script
// does not know is a phase of a healthy dependency.
func (p *Player) Phase(name string) *Phase {
	return newPhase(p.phases[name], p.draws[name])
}
