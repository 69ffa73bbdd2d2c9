package pace

import (
	"math"
	"math/bits"
	"time"
)

// Constant is a constant rate: Num slots per Per, such as {100, time.Second} or
// {30, time.Minute}. The first slot is due at offset 0. A rate without a
// positive Num and Per has no slots: nothing is ever due.
type Constant struct {
	Num int
	Per time.Duration
}

var _ Rate = Constant{}

// Due is n*Per/Num rounded down to the nanosecond. It is computed from n alone,
// in 128 bits, so rounding does not add up over a long phase.
func (c Constant) Due(n int) time.Duration {
	if c.none() || n < 0 {
		return never
	}
	due, ok := mulDiv(uint64(n), uint64(c.Per), uint64(c.Num))
	if !ok || due > uint64(never) {
		return never
	}
	return time.Duration(due)
}

// Count is how many slots are due before offset d. Due rounds down, so slot n
// is due before d exactly when n*Per < d*Num: the count is d*Num/Per rounded up.
func (c Constant) Count(d time.Duration) int {
	if c.none() || d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), uint64(c.Num))
	lo, carry := bits.Add64(lo, uint64(c.Per)-1, 0)
	hi += carry
	if hi >= uint64(c.Per) {
		return math.MaxInt
	}
	count, _ := bits.Div64(hi, lo, uint64(c.Per))
	if count > math.MaxInt {
		return math.MaxInt
	}
	return int(count)
}

// Mean is the integral of the rate up to offset d.
func (c Constant) Mean(d time.Duration) float64 { return c.perNanosecond() * float64(max(d, 0)) }

// Reach is where the integral of the rate comes to x.
func (c Constant) Reach(x float64) time.Duration {
	at := max(x, 0) / c.perNanosecond()
	if c.none() || at >= float64(never) {
		return never
	}
	return time.Duration(at)
}

// perNanosecond is the rate in slots per nanosecond.
func (c Constant) perNanosecond() float64 {
	if c.none() {
		return 0
	}
	return float64(c.Num) / float64(c.Per)
}

// none reports whether the rate is zero.
func (c Constant) none() bool { return c.Num <= 0 || c.Per <= 0 }

// mulDiv is a*b/m rounded down, or false when it does not fit 64 bits.
func mulDiv(a, b, m uint64) (quotient uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= m {
		return 0, false
	}
	quotient, _ = bits.Div64(hi, lo, m)
	return quotient, true
}
