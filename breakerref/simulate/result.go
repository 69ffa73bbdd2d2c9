package simulate

import (
	"cmp"
	"math"
	"slices"
)

// result adds up what the jobs of a plan came to.
func (p *plan) result() *Result {
	r := &Result{Model: p.m, Seed: p.o.Seed, Trials: len(p.trials), Quiet: sumQuiet(&p.quiet, p.calm)}
	if p.m.Traffic.Arrivals == Recorded {
		r.Quiet.Computed = nil // What share really fails a recording does not say so exactly.
	}
	r.Calls = r.Quiet.Calls
	var all samples
	var attempts [stages]int64
	for i := range p.trials {
		t := &p.trials[i]
		r.Calls += t.Calls()
		r.Comeback += t.Comeback
		r.Before.add(t.Ends[before])
		r.During.add(t.Ends[during])
		r.After.add(t.Ends[after])
		for s := range attempts {
			attempts[s] += t.Attempts[s]
		}
		if t.Cut > 0 {
			r.Cut++
		}
		for _, b := range t.Breakers {
			r.breaker(b)
		}
		all.take(t)
	}
	r.ToOpen, r.Outcomes, r.Recovered, r.Settled = spread(all.toOpen), spread(all.outcomes), spread(all.recovered), spread(all.settled)
	r.PeakBefore, r.PeakAfter = spread(all.peakBefore), spread(all.peakAfter)
	p.loads(r, attempts)
	r.Typical = p.typical()
	r.Advice = p.m.advice(r)
	return r
}

// samples are what distributions are made of.
type samples struct {
	toOpen, outcomes, recovered, settled []int64 // of breakers
	peakBefore, peakAfter                []int64 // of trials
}

func (s *samples) take(t *Trial) {
	s.peakBefore, s.peakAfter = append(s.peakBefore, t.PeakBefore), append(s.peakAfter, t.PeakAfter)
	for _, b := range t.Breakers {
		if b.Opened != nil {
			s.toOpen, s.outcomes = append(s.toOpen, int64(b.Opened.After)), append(s.outcomes, b.Opened.Outcomes)
		}
		if b.Recovered != nil {
			s.recovered = append(s.recovered, int64(*b.Recovered))
		}
		if b.Settled != nil {
			s.settled = append(s.settled, int64(*b.Settled))
		}
	}
}

// breaker counts what one breaker did in a trial.
func (r *Result) breaker(b Watched) {
	r.Breakers++
	r.Late += b.Late
	switch {
	case b.Opened != nil:
		r.Opened++
	case b.ClosedBefore:
		r.Never++
	default:
		r.NotClosed++
	}
	if b.Unsettled() {
		r.Unsettled++
	}
}

// loads makes attempts a second of attempts. A trial that was stopped counts as whole:
// that it was is told.
func (p *plan) loads(r *Result, attempts [stages]int64) {
	o, n := p.m.outage(), float64(len(p.trials))
	per := func(a int64, seconds float64) float64 {
		if seconds <= 0 {
			return 0
		}
		return float64(a) / n / seconds
	}
	if o.none() {
		r.LoadBefore = per(attempts[before], p.m.Duration.Seconds())
		return
	}
	r.LoadBefore = per(attempts[before], o.From.Seconds())
	r.LoadDuring = per(attempts[during], (o.To - o.From).Seconds())
	r.LoadAfter = per(attempts[after], (p.m.Duration - o.To).Seconds())
}

// typical is the course of the trial in which the first breaker took the median time to
// open; one in which it never did took longest.
func (p *plan) typical() *Course {
	order := make([]int, len(p.trials))
	for i := range order {
		order[i] = i
	}
	time := func(i int) int64 {
		if o := p.trials[i].Breakers[0].Opened; o != nil {
			return int64(o.After)
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(time(a), time(b)) })
	c, err := course(&p.m, p.o.Seed, uint64(order[(len(order)-1)/2]), p.o.Slots)
	if err != nil {
		panic(err) // The model was played before.
	}
	return c
}
