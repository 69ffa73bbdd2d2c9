package fault

import (
	"math/bits"
	"strings"
)

// Draws reports whether a rule takes a share of the requests that match it:
// ratio, shuffle and random. Such rules whose matches overlap share one draw for
// each request, which at most one of them wins, so that 30 % and 30 % are 30 %
// and 30 % of all and not 30 % and 21 %.
func (k SelectKind) Draws() bool {
	return k == SelectRatio || k == SelectShuffle || k == SelectRandom
}

// Hit reports whether the request with this index, from 0, is selected. A ratio
// is spread by error diffusion: the n-th request is hit when round(n*p) grows.
// It is a pure function of the index, so no interleaving of clients moves a
// ratio off its course. What shuffle, random and burst hit is decided by the seed
// as well, what a ratio hits beside others by their shares, and what a ramp hits by
// the time: ask a [Phase].
func (s Select) Hit(index uint64) bool {
	switch s.Kind {
	case SelectAll:
		return true
	case SelectRatio:
		if s.Ramp != nil {
			return false
		}
		// The accumulator starts at half (Den/2) and gains Num a request; a
		// request that carries it over a multiple of Den is hit. The product is
		// taken in 128 bits, so that no index and no ratio overflows it.
		return s.rest(index) >= s.Den-s.Num
	case SelectFirst:
		return index < s.First
	case SelectAfter:
		return index >= s.After
	case SelectEvery:
		return index%s.Every == s.Every-1
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
		if s.Ramp != nil {
			return 0
		}
		hi, lo := s.sum(n)
		quo, _ := bits.Div64(hi, lo, s.Den)
		return quo
	case SelectFirst:
		return min(n, s.First)
	case SelectAfter:
		return n - min(n, s.After)
	case SelectEvery:
		return n / s.Every
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

// takesAll reports whether nothing that reaches the rule is left over.
func (s Select) takesAll() bool {
	return s.Kind == SelectAll || s.Kind.Draws() && s.Ramp == nil && s.Num == s.Den && s.Sticky == Sticky{}
}

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

// shuffled is where in the even order of a ratio the request with this index
// stands: each Block indices are permuted among themselves. A block so has the
// hits that the even order has there, which is Num/Den of it where that is whole,
// and otherwise that rounded so that the sum over all blocks stays exact.
func (s Select) shuffled(hash, index uint64) uint64 {
	block, place := index/s.Block, index%s.Block
	return block*s.Block + permute(s.Block, mix(hash+(block+1)*golden), place)
}

// widthOf is the part of all 64-bit numbers that a share is: a random draw below it
// is a hit. A share of everything has no width of 64 bits and is told apart.
func widthOf(num, den uint64) (width uint64, all bool) {
	if num == den {
		return 0, true
	}
	width, _ = bits.Div64(num, 0, den)
	return width, false
}

// bursts is the step of a Gilbert-Elliott chain to the request with this index: a
// stretch of either kind ends with the probability of one over its mean length.
func (s Select) bursts(hash, index uint64, before bool) bool {
	if index == 0 {
		return false
	}
	mean := s.Gap
	if before {
		mean = s.Length
	}
	over, _ := bits.Mul64(number(hash, index), mean)
	return before != (over == 0) // over is uniform on the numbers below mean
}
