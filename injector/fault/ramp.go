package fault

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ramp is a share that changes with the time since the phase began, in place of
// Select.Num and Select.Den. It goes straight from point to point, or with Stairs
// stays at each until the next; after the last point it stays there.
//
// A request counts with the share of the instant of its arrival, [Request.At]. A
// rule that shares its draw with nobody is off by at most half a request from the
// sum of these shares, at every moment; at an instant of 0 it hits nothing. Of
// rules that share one, see [SelectKind.Draws], in which any has a ramp, none is
// ever ahead by a request. With the same match none of up to three is behind by
// one either, and none of r by 1/2 + 1/3 + ... + 1/r and 1/(2r) more. So of several
// a rule may still get what it is owed after it has come to 0. Matches that only
// overlap are as with constant shares: what is more than r behind is forgotten.
//
// A share is a fraction with one denominator for the whole ramp, from 2^39 to
// 2^40. Points are exactly what they say; between them shares are rounded down,
// so that what is at most everything at both ends is so between them.
type Ramp struct {
	Points []RampPoint `json:"points" yaml:"points"` // by their instants, the first at 0
	Stairs bool        `json:"stairs,omitempty" yaml:"stairs,omitempty"`
}

// RampPoint is a share of Num in Den at an instant.
type RampPoint struct {
	At  time.Duration `json:"at" yaml:"at"` // since the phase began
	Num uint64        `json:"num" yaml:"num"`
	Den uint64        `json:"den" yaml:"den"`
}

// LatencyRamp is a latency that changes with the time since the phase began. It
// goes straight from point to point, or with Stairs stays at each until the next;
// after the last point it stays there. What counts is the instant of the request's
// arrival.
type LatencyRamp struct {
	Points []LatencyPoint `json:"points" yaml:"points"` // by their instants, the first at 0
	Stairs bool           `json:"stairs,omitempty" yaml:"stairs,omitempty"`
}

// LatencyPoint is a latency at an instant.
type LatencyPoint struct {
	At      time.Duration `json:"at" yaml:"at"` // since the phase began
	Latency time.Duration `json:"latency" yaml:"latency"`
}

// mostPoints bounds the points of a ramp, and of all that share a draw.
const mostPoints = 500

// Share is the share at an instant, as num in den. The ramp must be valid.
func (r *Ramp) Share(at time.Duration) (num, den uint64) {
	den = r.den()
	return r.num(at, den), den
}

// num is the share at an instant in units of 1/den, where den is that of the ramp.
func (r *Ramp) num(at time.Duration, den uint64) uint64 {
	return along(r.Points, r.Stairs, at, func(p RampPoint) (time.Duration, uint64) { return p.At, p.Num * (den / p.Den) })
}

// Latency is the latency at an instant. The ramp must be valid.
func (r *LatencyRamp) Latency(at time.Duration) time.Duration {
	return time.Duration(along(r.Points, r.Stairs, at, func(p LatencyPoint) (time.Duration, uint64) { return p.At, uint64(p.Latency) }))
}

// along is what a course through points comes to at an instant, rounded down.
func along[P any](points []P, stairs bool, at time.Duration, of func(P) (time.Duration, uint64)) uint64 {
	next, _ := slices.BinarySearchFunc(points, at, func(p P, at time.Duration) int {
		if since, _ := of(p); since <= at {
			return -1
		}
		return 1
	})
	since, from := of(points[max(0, next-1)])
	if next == 0 || next == len(points) || stairs {
		return from
	}
	until, to := of(points[next])
	part := func(of uint64, up uint64) uint64 {
		// In 128 bits; as at is below until, the quotient is at most of.
		hi, lo := bits.Mul64(of, uint64(at-since))
		lo, carry := bits.Add64(lo, up, 0)
		quo, _ := bits.Div64(hi+carry, lo, uint64(until-since))
		return quo
	}
	if to >= from {
		return from + part(to-from, 0)
	}
	return from - part(from-to, uint64(until-since)-1)
}

// den is the denominator of all shares: a multiple of that of every point, as large
// as shares that are compared may have. It is 0 if there is none.
func (r *Ramp) den() uint64 {
	den := uint64(1)
	for _, p := range r.Points {
		if p.Den == 0 || p.Den > maxDrawDen {
			return 0
		}
		more := p.Den / divisor(den, p.Den)
		if more > maxDrawDen/den {
			return 0
		}
		den *= more
	}
	for 2*den <= maxDrawDen {
		den *= 2
	}
	return den
}

// divisor is the greatest common one.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Peak is the largest share that the selection ever has, as num in den; den is 0 if
// it has none.
func (s Select) Peak() (num, den uint64) {
	if s.Ramp == nil {
		return s.Num, s.Den
	}
	if den = s.Ramp.den(); den == 0 {
		return 0, 0
	}
	for _, p := range s.Ramp.Points {
		num = max(num, s.Ramp.num(p.At, den))
	}
	return num, den
}

// String says how the share goes, as 0% to 50% over 30s.
func (r *Ramp) String() string {
	return inWords(r.Points, r.Stairs, func(p RampPoint) (time.Duration, string) {
		return p.At, strconv.FormatFloat(100*float64(p.Num)/float64(p.Den), 'g', 4, 64) + "%"
	})
}

// String says how the latency goes, as 10ms to 500ms over 30s.
func (r *LatencyRamp) String() string {
	return inWords(r.Points, r.Stairs, func(p LatencyPoint) (time.Duration, string) { return p.At, p.Latency.String() })
}

func inWords[P any](points []P, stairs bool, of func(P) (time.Duration, string)) string {
	var parts []string
	last := time.Duration(0)
	for i, p := range points {
		at, value := of(p)
		switch {
		case stairs && i > 0:
			value = "from " + at.String() + " on " + value
		case i > 0:
			value = "to " + value + " over " + (at - last).String()
		}
		last, parts = at, append(parts, value)
	}
	if stairs {
		return strings.Join(parts, ", ")
	}
	return strings.Join(parts, " ")
}

// Problems are what is wrong with the ramp; their field is select.ramp.
func (r *Ramp) Problems() []Problem {
	var ps problems
	Select{Kind: SelectRatio, Ramp: r}.checkRamp(&ps)
	return ps
}

// ends are the shortest and the longest latency.
func (r *LatencyRamp) ends() (least, most time.Duration) {
	least = r.Points[0].Latency
	for _, p := range r.Points {
		least, most = min(least, p.Latency), max(most, p.Latency)
	}
	return least, most
}

// check looks at a ramp in the place of a share.
func (s Select) checkRamp(ps *problems) {
	if s.Num != 0 || s.Den != 0 {
		ps.add("select.ramp", "stands in the place of num and den; leave these out")
	}
	if s.Kind == SelectShuffle {
		ps.add("select.ramp", "has no meaning with kind shuffle, which deals a block of requests before anybody knows when they will come; use ratio or random")
	}
	var at []time.Duration
	for i, p := range s.Ramp.Points {
		at = append(at, p.At)
		if p.Den == 0 || p.Num > p.Den {
			ps.add("select.ramp", "point %d is %d in %d, which is no share; write num of den with den at least 1 and num at most den", i+1, p.Num, p.Den)
			return
		}
	}
	checkInstants(ps, "select.ramp", at)
	if s.Ramp.den() == 0 {
		ps.add("select.ramp", "its denominators have no common multiple up to %d; write rounder shares", uint64(maxDrawDen))
	}
}

// check looks at a latency that changes.
func (r *LatencyRamp) check(ps *problems) {
	var at []time.Duration
	for i, p := range r.Points {
		at = append(at, p.At)
		if p.Latency < 0 || p.Latency > longestDrawn {
			ps.add("latency.ramp", "point %d is %v; write 0 or more, and at most a year", i+1, p.Latency)
			return
		}
	}
	checkInstants(ps, "latency.ramp", at)
}

// checkInstants looks at when the points of a ramp are.
func checkInstants(ps *problems, field string, at []time.Duration) {
	if len(at) == 0 || len(at) > mostPoints {
		ps.add(field, "has %d points; write 1 to %d", len(at), mostPoints)
		return
	}
	if at[0] != 0 {
		ps.add(field, "begins at %v; the first point is at 0, when the phase begins", at[0])
	}
	for i := 1; i < len(at); i++ {
		if at[i] <= at[i-1] {
			ps.add(field, "point %d is at %v, which is not after the one before, at %v", i+1, at[i], at[i-1])
			return
		}
	}
}

func (r *Ramp) clone() *Ramp {
	if r = copied(r); r != nil {
		r.Points = slices.Clone(r.Points)
	}
	return r
}

func (r *LatencyRamp) clone() *LatencyRamp {
	if r = copied(r); r != nil {
		r.Points = slices.Clone(r.Points)
	}
	return r
}

// share is the share of the rule at an instant.
func (r *ruled) share(at time.Duration) (num, den uint64) {
	s := &r.rule.Select
	if s.Ramp == nil {
		return s.Num, s.Den
	}
	return s.Ramp.num(at, r.den), r.den
}

// sum is a sum of shares of one denominator, which is exact however long it grows.
type sum struct{ whole, num uint64 }

func (s *sum) add(num, den uint64) {
	if s.num += num; s.num >= den {
		s.whole, s.num = s.whole+1, s.num-den
	}
}

func (s *sum) float(den uint64) float64 {
	if den == 0 {
		return 0
	}
	return float64(s.whole) + float64(s.num)/float64(den)
}

// claims are the shares that some rules ask of the same requests.
type claims struct {
	fixed float64
	ramps []Select
	at    []time.Duration // of which the sum is the largest at one: between them it goes straight
}

// add adds a share. One that is none was told of by itself.
func (c *claims) add(s Select) {
	var own problems
	if s.checkRatio(&own); len(own) > 0 {
		return
	}
	if s.Ramp == nil {
		c.fixed += float64(s.Num) / float64(s.Den)
		return
	}
	c.ramps = append(c.ramps, s)
	for _, p := range s.Ramp.Points {
		c.at = append(c.at, max(0, p.At-1), p.At)
	}
}

// most is the largest sum that there is, and when; at has no meaning without ramps.
func (c *claims) most() (sum float64, at time.Duration) {
	if len(c.ramps) == 0 {
		return c.fixed, 0
	}
	slices.Sort(c.at)
	dens := make([]uint64, len(c.ramps))
	for i, s := range c.ramps {
		dens[i] = s.Ramp.den()
	}
	sum = -1
	for _, now := range slices.Compact(c.at) {
		asked := c.fixed
		for i, s := range c.ramps {
			asked += float64(s.Ramp.num(now, dens[i])) / float64(dens[i])
		}
		if asked > sum {
			sum, at = asked, now
		}
	}
	return sum, at
}

// points is how many the selection has.
func (s Select) points() int {
	if s.Ramp == nil {
		return 0
	}
	return len(s.Ramp.Points)
}
