package simulate

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Quiet is what the breakers do while the dependency is well, but for its background
// failures: every opening is false.
type Quiet struct {
	Time     time.Duration `json:"time_ns"` // simulated, in all
	Calls    int64         `json:"calls"`
	Openings int64         `json:"openings"` // out of CLOSED, of all breakers
	// PerDay is how many there are a day, of all breakers together, with its 95 %
	// confidence interval. Where none was seen it is 0 with an upper bound above 0.
	PerDay   float64 `json:"per_day"`
	Low      float64 `json:"per_day_low"`
	High     float64 `json:"per_day_high"`
	Rejected float64 `json:"rejected_share"` // of all calls, 0..1
	// Computed is an upper bound of PerDay that follows from the binomial distribution,
	// whatever was seen. It is nil where there is none: failures that depend on how long
	// calls take come in no simple order.
	Computed *float64 `json:"per_day_at_most_computed,omitempty"`
}

// Bound is the smaller one of the two upper bounds.
func (q Quiet) Bound() float64 {
	if q.Computed != nil {
		return min(q.High, *q.Computed)
	}
	return q.High
}

// quiet is the model without its phases.
func (m Model) quiet() Model {
	t := &m.Traffic
	if t.Arrivals == Recorded {
		t.Arrivals, t.Rate, t.Sends = Poisson, float64(len(t.Sends))/m.Duration.Seconds(), nil
	}
	t.Phases, m.Outage = nil, Span{}
	return m
}

// perSecond is how many calls a second there are while the dependency is well, about.
func (m Model) perSecond() float64 {
	t := m.Traffic
	switch {
	case t.Clients > 0:
		return float64(t.Clients) / (t.Think + t.Latency.Median).Seconds()
	case t.Arrivals == Recorded:
		return float64(len(t.Sends)) / m.Duration.Seconds()
	}
	return t.Rate
}

// callsOfQuiet is how many calls one job of the quiet time has, about.
const callsOfQuiet = 500_000

// quietJobs returns the model of one job and how many there are, so that all have so
// many calls, or last so long if total is above 0.
func (m Model) quietJobs(calls int64, total time.Duration) (Model, int) {
	q := m.quiet()
	rate := q.perSecond()
	if total == 0 {
		total = time.Duration(min(float64(calls)/rate, maxDuration.Seconds()) * float64(second))
	}
	jobs := max(1, int(math.Ceil(total.Seconds()*rate/callsOfQuiet)))
	q.Duration = total / time.Duration(jobs)
	return q, jobs
}

// quietTrial plays one job. Its traffic is not that of a trial with an outage.
func quietTrial(q *Model, seed uint64, job int) Trial {
	e, err := newEngine(q, mix(seed+1), uint64(job), false)
	if err != nil { // The model is valid.
		return Trial{}
	}
	return e.play()
}

// sumQuiet adds up the jobs.
func sumQuiet(q *Model, trials []Trial) Quiet {
	var s Quiet
	var ends Ends
	for i := range trials {
		t := &trials[i]
		ends.add(t.Ends[before])
		s.Calls += t.Calls()
		s.Time += q.Duration
		if t.Cut > 0 {
			s.Time -= q.Duration - t.Cut
		}
		for _, b := range t.Breakers {
			s.Openings += b.False
		}
	}
	days := s.Time.Hours() / 24
	low, high := poissonInterval(s.Openings)
	s.PerDay, s.Low, s.High = float64(s.Openings)/days, low/days, high/days
	if n := ends.Calls(); n > 0 {
		s.Rejected = float64(ends.Rejected) / float64(n)
	}
	if most, ok := q.mostFalse(); ok {
		s.Computed = &most
	}
	return s
}

// mostFalse is an upper bound of how often a day closed breakers open by background
// failures alone. An opening at an outcome needs as many failures among the latest
// outcomes as the threshold asks for, and how many of these the window holds was decided
// before them. So the probability is at most that of the worst size that the window can
// have, and by the union bound the expected number of openings is at most that times the
// number of outcomes. What outcomes are does not depend on when they come, unless a time
// limit or the slow-call rule makes failures of slow calls.
func (m Model) mostFalse() (perDay float64, ok bool) {
	t, b := m.Traffic, m.Breaker
	if t.Workers > 0 || t.Around || b.Initial != breakerref.Closed {
		return 0, false
	}
	lat, late := newSampler(t.Latency), 0.0
	if t.Timeout > 0 {
		late = lat.over(int64(t.Timeout.Truncate(time.Millisecond)))
	}
	slow := lat.over(int64(b.SlowDuration))
	simple := t.Arrivals == Poisson && t.Clients == 0 && t.Retry.MaxAttempts == 1 && t.Comeback == 0
	if (late > 0 || slow > 0) && slow < 1 && !simple {
		return 0, false
	}
	failed := 1 - (1-t.Background)*(1-late)
	worst := worstWindow(b, b.FailureRate, failed) + worstWindow(b, b.SlowRate, slow)
	attempts := 1.0
	if a := t.Retry.MaxAttempts; a > 1 && failed < 1 {
		attempts = (1 - math.Pow(failed, float64(a))) / (1 - failed)
	}
	if t.Comeback > 0 {
		attempts /= max(1-failed, 1e-9)
	}
	return m.perSecond() * 86400 * attempts * min(worst, 1), true
}

// worstWindow is the largest probability, over the sizes that a window can have when it
// decides, that the threshold is reached where each outcome counts with probability p.
func worstWindow(b breakerref.Config, threshold float32, p float64) float64 {
	least, most := b.MinimumCalls, math.MaxInt32
	if b.WindowType == breakerref.CountBased {
		least, most = min(b.MinimumCalls, b.Window), b.Window
	}
	share := float64(threshold) / 100
	if p <= 0 {
		return 0
	}
	if p >= share {
		return 1
	}
	worst, n := 0.0, least
	for ; n <= most && n < least+2000; n++ {
		worst = max(worst, binomialFrom(n, needed(n, threshold), p))
	}
	if n <= most { // For all larger ones, by Chernoff.
		apart := share * math.Log(share/p)
		if share < 1 {
			apart += (1 - share) * math.Log((1-share)/(1-p))
		}
		worst = max(worst, math.Exp(-float64(n)*apart))
	}
	return worst
}
