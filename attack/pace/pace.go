package pace

import "time"

// Schedule says when slots are due within a phase.
type Schedule interface {
	// Due is the offset of slot n (from 0) from the start of the phase.
	Due(n int) time.Duration
	// Count is how many slots are due before offset d: n with Due(n) < d.
	Count(d time.Duration) int
}
