package pace

import "time"

// Schedule says when slots are due within a phase.
type Schedule interface {
	// Due is the offset of slot n (from 0) from the start of the phase.
	Due(n int) time.Duration
	// Count is how many slots are due before offset d: n with Due(n) < d.
	Count(d time.Duration) int
}

// Rate is a schedule that has a rate at every instant, as a burst has not, so that
// chance may decide instead when slots are due: see [Poisson].
type Rate interface {
	Schedule
	// Mean is the integral of the rate from the start up to offset d: how many slots
	// are due in that time on average.
	Mean(d time.Duration) float64
	// Reach is the offset at which Mean comes to x.
	Reach(x float64) time.Duration
}

// never is the offset of a slot that does not come.
const never = time.Duration(1<<63 - 1)
