package simulate

import (
	"math"
	"math/rand/v2"
)

// golden is 2^64 over the golden ratio, made odd.
const golden = 0x9E3779B97F4A7C15

// stream is a sequence of random words that can be read at any place: the n-th word is
// a function of the stream and n. So what chance has in store for a call does not
// depend on what other calls came to, and a changed breaker meets the same traffic.
type stream uint64

// The streams of a trial.
const (
	ofArrivals = iota + 1
	ofSpread
	ofFailures
	ofLatency
	ofThink
	ofRetry
	ofWaits
	ofStart
)

// newStream returns a stream of its own for a seed, a trial and a purpose.
func newStream(seed, trial uint64, purpose uint64) stream {
	return stream(mix(mix(mix(seed+golden)+trial*golden) + purpose*golden))
}

// at returns the n-th word.
func (s stream) at(n uint64) uint64 { return mix(uint64(s) + n*golden) }

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// whole is how many values the 53 upper bits of a word have.
const whole = 1 << 53

// open01 makes a number above 0 and at most 1 of a word.
func open01(w uint64) float64 { return float64(w>>11+1) / whole }

// below makes the bound of a share: it holds for that share of all words that
// w>>11 < below(share).
func below(share float64) uint64 { return uint64(share * whole) }

// source is SplitMix64 as a rand.Source: what it says next follows from its state alone.
type source struct{ state uint64 }

// Uint64 implements rand.Source.
func (s *source) Uint64() uint64 {
	s.state += golden
	return mix(s.state)
}

// dice draws from distributions that may take more than one word.
type dice struct {
	source *source
	rand   *rand.Rand
}

func newDice(s stream) dice {
	src := &source{state: uint64(s)}
	return dice{src, rand.New(src)}
}

// at puts the dice where the n-th number of a stream begins.
func (d dice) at(s stream, n uint64) *rand.Rand {
	d.source.state = s.at(n)
	return d.rand
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// sampler draws latencies in nanoseconds.
type sampler struct {
	median  float64
	sigma   float64 // 0: always the median
	samples []int64
	fixed   int64
}

func newSampler(l Latency) sampler {
	s := sampler{median: float64(l.Median), fixed: int64(l.Median)}
	if l.P99 > l.Median {
		s.sigma = math.Log(float64(l.P99)/float64(l.Median)) / z99
	}
	for _, d := range l.Samples {
		s.samples = append(s.samples, int64(d))
	}
	return s
}

// draw returns the latency that the dice say.
func (s *sampler) draw(r *rand.Rand) int64 {
	switch {
	case len(s.samples) > 0:
		return s.samples[r.IntN(len(s.samples))]
	case s.sigma == 0:
		return s.fixed
	}
	return int64(min(s.median*math.Exp(s.sigma*r.NormFloat64()), math.MaxInt64/4))
}

// over returns the share of latencies that are longer than a limit.
func (s *sampler) over(limit int64) float64 {
	switch {
	case len(s.samples) > 0:
		n := 0
		for _, d := range s.samples {
			if d > limit {
				n++
			}
		}
		return float64(n) / float64(len(s.samples))
	case s.sigma == 0:
		if s.fixed > limit {
			return 1
		}
		return 0
	}
	return 0.5 * math.Erfc(math.Log(float64(limit)/s.median)/(s.sigma*math.Sqrt2))
}
