package predict

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
)

// timelines is what the declared breakers did while the phases went on, in each
// instance of the service.
func timelines(plan *experiments.Plan, r run) []assert.Timeline {
	instances := []string{""}
	if len(plan.SUT.Replicas) > 0 {
		instances = nil
		for _, one := range plan.SUT.Replicas {
			instances = append(instances, one.Name)
		}
	}
	out := []assert.Timeline{}
	for _, b := range plan.Breakers {
		if !foretold(plan, b) {
			continue
		}
		own := instances
		if b.Shared {
			own = []string{""}
		}
		for _, in := range own {
			out = append(out, timeline(b, in, r))
		}
	}
	return out
}

// timeline is that of one breaker in one instance.
func timeline(b assert.Breaker, instance string, r run) assert.Timeline {
	t := assert.Timeline{Name: b.Name, Instance: instance}
	at, end := r.trace.Phases[0].From, r.trace.Phases[len(r.trace.Phases)-1].To
	state := b.Config.Initial
	for _, c := range r.changes {
		if c.breaker != b.Name || c.instance != instance {
			continue
		}
		if c.at > at {
			t.Segments = append(t.Segments, segment(state, at, c.at))
		}
		at, state = max(at, c.at), c.to
	}
	last := segment(state, at, max(at, end))
	last.Last = true
	t.Segments = append(t.Segments, last)
	for i := range t.Segments {
		if s := &t.Segments[i]; b.Ejection != nil && s.State == assert.StateOpen {
			s.State = assert.StateEjected
		}
	}
	return t
}

// segment is a state from one instant to another.
func segment(s breakerref.State, from, to time.Duration) assert.Segment {
	return assert.Segment{State: assert.State(s.String()), From: assert.Interval{Lo: from, Hi: from}, To: assert.Interval{Lo: to, Hi: to}}
}

// stateWords says in which states each breaker is in a phase.
func stateWords(plan *experiments.Plan, ran []played, i int) []string {
	out := []string{}
	for _, b := range plan.Breakers {
		if !foretold(plan, b) {
			continue
		}
		s := statesOf(ran, i, b)
		if len(plan.Breakers) > 1 {
			s = b.Name + ": " + s
		}
		out = append(out, s)
	}
	return out
}

// statesOf words the states of a breaker (of its first instance) in phase i.
func statesOf(ran []played, i int, b assert.Breaker) string {
	state := b.Config.Initial
	for _, p := range ran[:i] {
		for _, c := range own(p.changes, b.Name) {
			state = c.to
		}
	}
	all := []breakerref.State{state}
	for _, c := range own(ran[i].changes, b.Name) {
		all = append(all, c.to)
	}
	words := make([]string, 0, len(all))
	for _, s := range all {
		words = append(words, stateWord(b, s))
	}
	if len(all) <= mostStates {
		return strings.Join(words, ", ")
	}
	often, what := breakerref.HalfOpen, "probed"
	if b.Ejection != nil {
		often, what = breakerref.Open, "ejected"
	}
	n := 0
	for _, c := range all[1:] {
		if c == often {
			n++
		}
	}
	return fmt.Sprintf("%s; %s %dx; %s", words[0], what, n, words[len(words)-1])
}

// mostStates is how many states are spelled out.
const mostStates = 3

// own is the changes of a breaker in the first instance of the service.
func own(cs []change, breaker string) []change {
	var out []change
	for _, c := range cs {
		if c.breaker == breaker && (len(out) == 0 || c.instance == out[0].instance) {
			out = append(out, c)
		}
	}
	return out
}

func stateWord(b assert.Breaker, s breakerref.State) string {
	if b.Ejection != nil && s == breakerref.Open {
		return "ejected"
	}
	return strings.ReplaceAll(strings.ToLower(s.String()), "_", "-")
}
