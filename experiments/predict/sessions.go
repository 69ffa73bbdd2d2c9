package predict

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/match"
)

// sessions sends what users do if each step is made once. How often it is, and whether
// the next one comes, the answers decide, which nobody knows before; what depends on
// that is not predicted.
func (w *playing) sessions(i int) {
	s, from := w.plan.Phases[i].Sessions, w.now
	sent, busy := 0, s.Users
	var next func(step int)
	next = func(step int) {
		if step == s.Rounds*len(s.Script.Steps) {
			if busy--; busy == 0 {
				w.leave(i, from, sent, sent, 0)
			}
			return
		}
		seq := uint64(sent)
		sent++
		t := w.plan.Targets[slices.IndexFunc(w.plan.Targets, func(t match.Target) bool {
			return t.Name == s.Script.Steps[step%len(s.Script.Steps)].Target
		})]
		w.call(order{phase: w.plan.Phases[i].Name, seq: seq, due: w.now, target: t}, func() {
			w.after(0, func() { w.at(w.now+s.ThinkMin+w.drawn(seq, s.ThinkMax-s.ThinkMin), func() { next(step + 1) }) })
		})
	}
	for k := range uint64(s.Users) {
		first := w.now + pace.Between(pace.Draw(^w.plan.Seed, k), 0, s.ThinkMax)
		w.at(first, func() { w.after(0, func() { next(0) }) })
	}
}

// guided is the first phase of sessions up to the end of a phase (of all, if it is
// empty), or none. What users did there may last.
func guided(plan *experiments.Plan, phase string) string {
	for _, p := range plan.Phases {
		if p.Sessions != nil {
			return p.Name
		}
		if p.Name == phase {
			break
		}
	}
	return ""
}

// bySessions says why an assertion is not predicted, or nothing.
func bySessions(plan *experiments.Plan, a assert.Assertion) string {
	if phase := guided(plan, a.Phase); phase != "" {
		return fmt.Sprintf("what users send in phase %s is up to the answers that they get, and so is what comes of it", phase)
	}
	return ""
}

// sessionsSupposed says what is played in place of what cannot be foreseen.
func sessionsSupposed(plan *experiments.Plan) []string {
	if phase := guided(plan, ""); phase != "" {
		return []string{"users of sessions make each step once, of which only the bounds are told; from phase " + phase + " on nothing else is predicted"}
	}
	return nil
}

// unguided cuts timelines where the first sessions begin.
func unguided(plan *experiments.Plan, r run, all []assert.Timeline) []assert.Timeline {
	i := slices.IndexFunc(plan.Phases, func(p experiments.Phase) bool { return p.Sessions != nil })
	if i < 0 {
		return all
	}
	until := r.trace.Phases[i].From
	out := []assert.Timeline{}
	for _, t := range all {
		var left []assert.Segment
		for _, s := range t.Segments {
			if s.From.Lo >= until {
				break
			}
			if s.To.Hi >= until {
				s.To, s.Last = assert.Interval{Lo: until, Hi: until}, true
			}
			left = append(left, s)
		}
		if t.Segments = left; len(left) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// bound replaces what a phase of sessions is expected to come to by what it cannot
// exceed, and what comes after one by nothing.
func (ph *Phase) bound(plan *experiments.Plan, i int) {
	if guided(plan, plan.Phases[i].Name) == "" {
		return
	}
	ph.States, ph.Attempts = []string{"not predicted"}, []Tally{}
	s := plan.Phases[i].Sessions
	if s == nil {
		return
	}
	rounds, laps, steps := s.Users*s.Rounds, 1+s.Script.Restarts, 0
	ph.Targets = []Tally{}
	for _, t := range plan.Targets {
		n := Count{}
		for k, step := range s.Script.Steps {
			if step.Target != t.Name {
				continue
			}
			n.Most += rounds * laps * max(1, step.Most)
			if k == 0 {
				n.Least = rounds
			}
		}
		if n.Most > 0 {
			ph.Targets = append(ph.Targets, Tally{t.Name, n})
			steps += n.Most
		}
	}
	played := rounds * len(s.Script.Steps)
	ph.Requests, ph.AtOnce = Count{rounds, steps}, s.Users
	// A service that takes longer for each answer has been played; it is asked more often.
	ph.Lasts = Span{ph.Lasts.Least / time.Duration(len(s.Script.Steps)), ph.Lasts.Most * time.Duration((steps+played-1)/played)}
}

// sessionsWords says what users do.
func sessionsWords(s experiments.Sessions) string {
	return fmt.Sprintf("%s, %s of %s each", plural(s.Users, "user"), plural(s.Rounds, "round"), plural(len(s.Script.Steps), "step"))
}
