package pace

import (
	"math"
	"time"
)

// Part is a rate that holds for a time.
type Part struct {
	Rate Rate
	For  time.Duration // not negative
}

// Steps is parts one after the other, each from its own start. After the last
// nothing is due.
type Steps []Part

var _ Rate = Steps{}

// Due is when the n-th slot of all parts is due.
func (s Steps) Due(n int) time.Duration {
	if n < 0 {
		return never
	}
	begin := time.Duration(0)
	for _, p := range s {
		count := p.Rate.Count(p.For)
		if n < count {
			return begin + p.Rate.Due(n)
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
		more := p.Rate.Count(min(d, p.For))
		if count > math.MaxInt-more {
			return math.MaxInt
		}
		count += more
		d -= p.For
	}
	return count
}

// Mean is the integral of all parts up to offset d.
func (s Steps) Mean(d time.Duration) float64 {
	mean := 0.0
	for _, p := range s {
		if d <= 0 {
			break
		}
		mean += p.Rate.Mean(min(d, p.For))
		d -= p.For
	}
	return mean
}

// Reach is where the integral comes to x, in the part in which it does. A part
// without a rate is passed over.
func (s Steps) Reach(x float64) time.Duration {
	begin := time.Duration(0)
	for _, p := range s {
		mean := p.Rate.Mean(p.For)
		if x < mean {
			return begin + min(p.Rate.Reach(x), p.For)
		}
		x -= mean
		begin += p.For
	}
	return never
}
