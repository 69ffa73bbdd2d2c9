package pace

import (
	"math"
	"sort"
	"time"
)

// Ramp is a rate that changes evenly from From to To over Over, such as from
// {10, time.Second} to {200, time.Second}; either may be zero. A slot is due when
// the integral of the rate has come to its number; after Over nothing is due.
//
// The instant is computed from n alone, in float64 seconds: it is within a
// microsecond of the exact one for ramps of up to an hour and 10^9 slots, and
// errors do not add up.
type Ramp struct {
	From Constant
	To   Constant
	Over time.Duration
}

var _ Schedule = Ramp{}

// Due is when the n-th slot is due: the time at which the integral of the rate,
// which is a parabola, comes to n.
func (r Ramp) Due(n int) time.Duration {
	from, slope, over := r.shape()
	if n < 0 || over <= 0 || from == 0 && slope <= 0 {
		return never
	}
	at := 0.0
	switch {
	case slope == 0:
		at = float64(n) / from
	default:
		root := from*from + 2*slope*float64(n)
		if root < 0 {
			return never // The rate has fallen to zero before.
		}
		at = (math.Sqrt(root) - from) / slope
	}
	if at >= over {
		return never
	}
	return min(time.Duration(at*float64(time.Second)), r.Over-1)
}

// Count is how many slots are due before offset d.
func (r Ramp) Count(d time.Duration) int {
	from, slope, over := r.shape()
	if d <= 0 || over <= 0 {
		return 0
	}
	at := min(d, r.Over).Seconds()
	// The integral says how many there are but for rounding; Due says it exactly.
	about := from*at + slope*at*at/2
	if about > 1<<53 {
		return math.MaxInt
	}
	low := max(int(about)-2, 0)
	return low + sort.Search(5, func(i int) bool { return r.Due(low+i) >= d })
}

// shape is the rate at the start, in slots per second, its growth per second and
// the length in seconds.
func (r Ramp) shape() (from, slope, over float64) {
	from, over = r.From.perSecond(), r.Over.Seconds()
	if over > 0 {
		slope = (r.To.perSecond() - from) / over
	}
	return from, slope, over
}

// perSecond is the rate in slots per second.
func (c Constant) perSecond() float64 {
	if c.none() {
		return 0
	}
	return float64(c.Num) / c.Per.Seconds()
}
