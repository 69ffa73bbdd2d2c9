package pace

import (
	"math"
	"math/big"
	"time"
)

// Ramp is a rate that changes evenly from From to To over Over, such as from
// {10, time.Second} to {200, time.Second}; either may be zero. A slot is due when
// the integral of the rate has come to its number; after Over nothing is due.
//
// As with [Constant] the instant is rounded down to the nanosecond and computed
// from n alone, in whole numbers of any size: it is exact.
type Ramp struct {
	From Constant
	To   Constant
	Over time.Duration
}

var _ Rate = Ramp{}

// ramp is a Ramp in whole numbers. At offset t, in nanoseconds, the integral of its
// rate is t*(2*over*from + (to-from)*t) / (2*over*unit).
type ramp struct {
	from, to   *big.Int // slots per unit
	unit, over *big.Int // nanoseconds
}

// whole brings both rates to one unit.
func (r Ramp) whole() ramp {
	from, to := r.From, r.To
	if from.none() {
		from = Constant{Num: 0, Per: to.Per}
	}
	if to.none() {
		to = Constant{Num: 0, Per: from.Per}
	}
	w := ramp{from: number(from.Num), to: number(to.Num), unit: number(from.Per), over: number(r.Over)}
	if from.Per != to.Per {
		w.from.Mul(w.from, number(to.Per))
		w.to.Mul(w.to, number(from.Per))
		w.unit.Mul(w.unit, number(to.Per))
	}
	return w
}

func number[N int | time.Duration](n N) *big.Int { return big.NewInt(int64(n)) }

// Due is the last nanosecond at which the integral has not passed n. The integral
// is n at
//
//	(sqrt((over*from)^2 + 2*over*unit*(to-from)*n) - over*from) / (to-from)
//
// and a root may be rounded to a whole number before it is divided by one and
// rounded again.
func (r Ramp) Due(n int) time.Duration {
	if n < 0 || r.none() {
		return never
	}
	w := r.whole()
	growth := new(big.Int).Sub(w.to, w.from)
	start := new(big.Int).Mul(w.over, w.from)
	rise := number(n)
	rise.Mul(rise, w.unit)
	if growth.Sign() == 0 {
		return r.within(rise.Quo(rise, w.from))
	}
	rise.Mul(rise, growth).Mul(rise, w.over).Lsh(rise, 1)
	square := new(big.Int).Mul(start, start)
	square.Add(square, rise)
	if square.Sign() < 0 {
		return never // The rate falls to zero before.
	}
	root := new(big.Int).Sqrt(square)
	if growth.Sign() > 0 {
		return r.within(root.Sub(root, start).Quo(root, growth))
	}
	if new(big.Int).Mul(root, root).Cmp(square) < 0 {
		root.Add(root, big.NewInt(1)) // It is taken away, so that it is rounded up.
	}
	return r.within(start.Sub(start, root).Quo(start, growth.Neg(growth)))
}

// within is an offset of the ramp, or never when it lies past its end.
func (r Ramp) within(at *big.Int) time.Duration {
	if at.Cmp(number(r.Over)) >= 0 {
		return never
	}
	return time.Duration(at.Int64())
}

// Count is how many slots are due before offset d. Due rounds down, so slot n is
// due before d exactly when the integral at d is above n: the count is the integral
// rounded up.
func (r Ramp) Count(d time.Duration) int {
	if d <= 0 || r.none() {
		return 0
	}
	w := r.whole()
	at := number(min(d, r.Over))
	above := new(big.Int).Mul(w.over, w.from)
	below := new(big.Int).Mul(w.over, w.unit)
	above.Lsh(above, 1)
	below.Lsh(below, 1)
	growth := new(big.Int).Sub(w.to, w.from)
	above.Add(above, growth.Mul(growth, at)).Mul(above, at)
	count, rest := above.QuoRem(above, below, new(big.Int))
	if rest.Sign() > 0 {
		count.Add(count, big.NewInt(1))
	}
	if !count.IsInt64() {
		return math.MaxInt
	}
	return int(count.Int64())
}

// Mean is the integral of the rate up to offset d.
func (r Ramp) Mean(d time.Duration) float64 {
	if d <= 0 || r.none() {
		return 0
	}
	at, from, growth := float64(min(d, r.Over)), r.From.perNanosecond(), r.growth()
	return at * (from + growth*at/2)
}

// Reach is where the integral of the rate comes to x. Written as a quotient the
// solution loses no digits when the rate hardly changes.
func (r Ramp) Reach(x float64) time.Duration {
	if r.none() {
		return never
	}
	from := r.From.perNanosecond()
	speed := from + math.Sqrt(max(0, from*from+2*r.growth()*x))
	if x <= 0 || speed == 0 { // At the start, or closer to it than can be told.
		return 0
	}
	at := 2 * x / speed
	if at >= float64(r.Over) {
		return never
	}
	return time.Duration(at)
}

// growth is how much the rate changes per nanosecond, in slots per nanosecond.
func (r Ramp) growth() float64 {
	return (r.To.perNanosecond() - r.From.perNanosecond()) / float64(r.Over)
}

// none reports whether nothing is ever due.
func (r Ramp) none() bool { return r.Over <= 0 || r.From.none() && r.To.none() }
