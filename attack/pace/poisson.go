package pace

import (
	"math"
	"slices"
	"time"
)

// poisson is the instants of a Poisson process, drawn in advance.
type poisson []time.Duration

var _ Schedule = poisson{}

// Poisson draws arrivals that know nothing of each other, at the rate of base over
// the given time: the gaps of a constant rate are exponential. How many there are
// is chance as well, with a variance as great as the mean. Equal seeds give equal
// arrivals; the k-th gap depends on (seed, k) alone.
//
// A process of changing rate is a constant one whose time is stretched by the
// rate's integral (Cinlar, "Introduction to Stochastic Processes", theorem 4.7.4);
// between two slots of base that integral is taken to be straight.
func Poisson(base Schedule, over time.Duration, seed uint64) Schedule {
	count := base.Count(over)
	p := make(poisson, 0, count)
	for k, at := uint64(0), 0.0; ; k++ {
		at += exponential(seed, k)
		slot := int(at)
		if at >= float64(count) {
			return p
		}
		from, to := base.Due(slot), min(base.Due(slot+1), over)
		due := from + time.Duration((at-float64(slot))*float64(to-from))
		p = append(p, min(due, over-1))
	}
}

// exponential is a number of mean 1 by (seed, k).
func exponential(seed, k uint64) float64 {
	return -math.Log1p(-float64(scramble(scramble(seed)^k)>>11) / (1 << 53))
}

// scramble is SplitMix64's output function (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators").
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
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
