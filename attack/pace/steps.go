package pace

import (
	"math"
	"time"
)

// Part is a schedule that holds for a time.
type Part struct {
	Schedule Schedule
	For      time.Duration
}

// Steps is parts one after the other, each from its own start. After the last
// nothing is due.
type Steps []Part

var _ Schedule = Steps{}

// Due is when the n-th slot of all parts is due.
func (s Steps) Due(n int) time.Duration {
	if n < 0 {
		return never
	}
	begin := time.Duration(0)
	for _, p := range s {
		count := p.Schedule.Count(p.For)
		if n < count {
			return begin + p.Schedule.Due(n)
		}
		n -= count
		begin += p.For
	}
	return never
}

// Count is how many slots are due before offset d.
func (s Steps) Count(d time.Duration) int {
	count := 0
	for _, p := range s {
		if d <= 0 {
			break
		}
		more := p.Schedule.Count(min(d, p.For))
		if count > math.MaxInt-more {
			return math.MaxInt
		}
		count += more
		d -= p.For
	}
	return count
}
