package simulate

import (
	"math"
	"slices"
)

// Spread is the distribution of a number over trials. Percentiles are by nearest rank.
// Times are in nanoseconds.
type Spread struct {
	N   int   `json:"n"` // how many there were; 0: the rest says nothing
	Min int64 `json:"min"`
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// spread sorts the values.
func spread(values []int64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(values)
	rank := func(share float64) int64 { return values[max(0, int(math.Ceil(share*float64(n)))-1)] }
	return Spread{N: n, Min: values[0], P50: rank(0.5), P90: rank(0.9), P99: rank(0.99), Max: values[n-1]}
}

// poissonInterval returns the 95 % confidence interval for the mean of a Poisson
// distribution of which n was seen: the exact one (Garwood, "Fiducial limits for the
// Poisson distribution", 1936). Where nothing was seen it is one-sided: 0 to 3.00. Above
// 100 the approximation by Wilson and Hilferty takes its place, which differs by less
// than 0.1 %.
func poissonInterval(n int64) (low, high float64) {
	switch {
	case n == 0:
		return 0, -math.Log(0.05)
	case n > 100:
		const z = 1.959963984540054
		x := float64(n)
		cube := func(y, z float64) float64 { return y * math.Pow(1-1/(9*y)+z/(3*math.Sqrt(y)), 3) }
		return cube(x, -z), cube(x+1, z)
	}
	// P(X >= n | low) = 0.025 and P(X <= n | high) = 0.025.
	low = bisect(0, float64(n), func(mean float64) bool { return 1-poissonUpTo(mean, n-1) < 0.025 })
	high = bisect(float64(n), 3*float64(n)+20, func(mean float64) bool { return poissonUpTo(mean, n) > 0.025 })
	return low, high
}

// bisect returns where a condition that holds from below ceases to.
func bisect(from, to float64, holds func(float64) bool) float64 {
	for range 100 {
		if mid := (from + to) / 2; holds(mid) {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// poissonUpTo is the probability of at most n where so many are expected.
func poissonUpTo(mean float64, n int64) float64 {
	if n < 0 {
		return 0
	}
	if mean <= 0 {
		return 1
	}
	if mean > 1e6 { // The sum would be long, and the normal distribution is as good.
		return 0.5 * math.Erfc((mean-float64(n)-0.5)/math.Sqrt(2*mean))
	}
	sum := 0.0
	for k := int64(0); k <= n; k++ {
		lg, _ := math.Lgamma(float64(k) + 1)
		sum += math.Exp(float64(k)*math.Log(mean) - mean - lg)
		if float64(k) > mean && 1-sum < 1e-15 {
			break
		}
	}
	return min(sum, 1)
}

// binomialFrom is the probability of k or more of n, each with probability p.
func binomialFrom(n, k int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	case p >= 1 || float64(k) <= float64(n)*p:
		return 1 - binomialTail(n, n-k+1, 1-p)
	}
	return binomialTail(n, k, p)
}

// binomialTail adds up the terms from k on, which lies above the mean, so that they fall.
func binomialTail(n, k int, p float64) float64 {
	if k > n || p <= 0 {
		return 0
	}
	if p >= 1 {
		return 1
	}
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	term := math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	sum := 0.0
	for ; k <= n; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
		if term < sum*1e-17 {
			break
		}
	}
	return min(sum, 1)
}

// needed is how many of n calls reach a threshold in percent, as breakerref computes it.
func needed(n int, threshold float32) int {
	k := max(0, int(float64(n)*float64(threshold)/100)-1)
	for k <= n && float32(k)*100/float32(n) < threshold {
		k++
	}
	return k
}
