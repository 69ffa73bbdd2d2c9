package fault

import (
	"math/bits"
	"strings"
)

// Hit reports whether the request with this index, from 0, is selected. A ratio
// is spread by error diffusion: the n-th request is hit when round(n*p) grows.
// It is a pure function of the index, so no interleaving of clients moves a
// ratio off its course.
func (s Select) Hit(index uint64) bool {
	switch s.Kind {
	case SelectAll:
		return true
	case SelectRatio:
		// The accumulator starts at half (Den/2) and gains Num a request; a
		// request that carries it over a multiple of Den is hit. The product is
		// taken in 128 bits, so that no index and no ratio overflows it.
		return s.rest(index) >= s.Den-s.Num
	case SelectFirst:
		return index < s.First
	case SelectScript:
		return index < uint64(len(s.Pattern)) && s.Pattern[index] == patternHit
	default:
		return false
	}
}

// Hits is how many of the first n requests are selected. For a ratio it is
// n*Num/Den rounded to the nearest, halves upwards.
func (s Select) Hits(n uint64) uint64 {
	switch s.Kind {
	case SelectAll:
		return n
	case SelectRatio:
		hi, lo := s.sum(n)
		quo, _ := bits.Div64(hi, lo, s.Den)
		return quo
	case SelectFirst:
		return min(n, s.First)
	case SelectScript:
		return uint64(strings.Count(s.Pattern[:min(n, uint64(len(s.Pattern)))], string(patternHit)))
	default:
		return 0
	}
}

// The letters of a pattern.
const (
	patternHit  = 'X'
	patternMiss = '.'
)

// sum is the accumulator before request n: n*Num + Den/2.
func (s Select) sum(n uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(n, s.Num)
	lo, carry := bits.Add64(lo, s.Den/2, 0)
	return hi + carry, lo
}

// rest is what the accumulator holds beyond a multiple of Den before request n.
func (s Select) rest(n uint64) uint64 {
	hi, lo := s.sum(n)
	return bits.Rem64(hi, lo, s.Den)
}
