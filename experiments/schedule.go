package experiments

import (
	"time"

	"github.com/faultline-go/faultline/attack/pace"
)

// Schedule says when the calls of a phase are due, by the plan's seed where chance
// has a part in it. It is nil for a phase of calls or of clients, where each call
// waits for another.
func (p Phase) Schedule(seed uint64) pace.Schedule {
	if p.ClosedLoop() {
		return nil
	}
	var s pace.Rate
	switch {
	case p.Ramp != nil:
		s = pace.Ramp{From: p.Ramp.From.constant(), To: p.Ramp.To.constant(), Over: p.Duration}
	case len(p.Steps) > 0:
		var steps pace.Steps
		for _, step := range p.Steps {
			steps = append(steps, pace.Part{Rate: step.Rate.constant(), For: step.For})
		}
		s = steps
	case p.Burst != nil:
		return pace.Burst{Calls: p.Burst.Calls, Every: p.Burst.Every}
	default:
		s = p.Rate.constant()
	}
	if p.Poisson {
		return pace.Poisson(s, p.Duration, seed^phaseSeed(p.Name))
	}
	return s
}

// phaseSeed keeps phases of equal rate from having equal arrivals: FNV-1a of the
// name.
func phaseSeed(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

func (r Rate) constant() pace.Constant { return pace.Constant{Num: r.Num, Per: r.Per} }

// Peak is the highest number of calls that a phase can have due within a stretch of
// time, as far as its load decides that; 0 for a closed loop.
func (p Phase) Peak(within time.Duration) int {
	rates := []Rate{p.Rate}
	switch {
	case p.ClosedLoop():
		return 0
	case p.Ramp != nil:
		rates = []Rate{p.Ramp.From, p.Ramp.To}
	case len(p.Steps) > 0:
		rates = nil
		for _, step := range p.Steps {
			rates = append(rates, step.Rate)
		}
	case p.Burst != nil:
		return pace.Burst{Calls: p.Burst.Calls, Every: p.Burst.Every}.Count(within)
	}
	peak := 0
	for _, r := range rates {
		peak = max(peak, r.constant().Count(within))
	}
	return peak
}
