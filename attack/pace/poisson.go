package pace

import (
	"math"
	"slices"
	"time"
)

// poisson is the instants of a Poisson process, drawn in advance.
type poisson []time.Duration

var _ Schedule = poisson{}

// Poisson draws arrivals that know nothing of each other, at a rate and for a time.
// How many there are is chance as well, with a variance as great as their mean.
// Equal seeds give equal arrivals, and no two of them are due at one instant.
//
// At a constant rate the gaps between arrivals are exponential, here the k-th one by
// (seed, k) alone. Where the rate changes they are so on a clock that runs as its
// integral does (Cinlar, "Introduction to Stochastic Processes", theorem 4.7.4).
func Poisson(rate Rate, over time.Duration, seed uint64) Schedule {
	mean := rate.Mean(over)
	var p poisson
	at, last := 0.0, time.Duration(-1)
	for k := uint64(0); ; k++ {
		at += exponential(seed, k)
		due := max(rate.Reach(at), last+1)
		if at >= mean || due >= over {
			return p
		}
		p = append(p, due)
		last = due
	}
}

// exponential is a number of mean 1 by (seed, k).
func exponential(seed, k uint64) float64 {
	return -math.Log1p(-float64(Draw(seed, k)>>11) / (1 << 53))
}

// Due is when the n-th arrival is due.
func (p poisson) Due(n int) time.Duration {
	if n < 0 || n >= len(p) {
		return never
	}
	return p[n]
}

// Count is how many arrivals are due before offset d.
func (p poisson) Count(d time.Duration) int {
	n, _ := slices.BinarySearch(p, d)
	return n
}
