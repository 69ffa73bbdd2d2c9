package fault

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Never is longer than any latency: that of a law without an end.
const Never = time.Duration(math.MaxInt64)

// law is how latencies are distributed.
type law interface {
	// quantile is the inverse of the distribution function, in nanoseconds, for u
	// above 0 and below 1.
	quantile(u float64) float64
	// ends are the shortest and the longest, which may be Never.
	ends() (least, most time.Duration)
	mean() float64
	check(ps *problems)
}

// law is the law of l and its name; nil for a latency between Min and Max.
func (l Latency) law() (law, string) {
	switch {
	case l.Normal != nil:
		return l.Normal, "normal"
	case l.Lognormal != nil:
		return l.Lognormal, "lognormal"
	case l.Exponential != nil:
		return l.Exponential, "exponential"
	case l.Pareto != nil:
		return l.Pareto, "pareto"
	case l.Table != nil:
		return l.Table, "table"
	case len(l.Trace) > 0:
		return trace(l.Trace), "trace"
	}
	return nil, ""
}

// Quantile is the latency that the share u, from 0 to 1, is not above. At 1 that is
// the longest, [Never] where there is none.
//
// A rule's latencies are drawn from it by the number of the hit, in strata: of each
// hundred hits from the first on, one is drawn from each hundredth of the law, in an
// order and at places that the seed decides. So exactly 50 of them are below the
// median and one is above the 99th percentile. A trace is played in its own order,
// and a ramp by the time; its quantiles are those of what is even between its ends.
func (l Latency) Quantile(u float64) time.Duration {
	least, most := l.ends()
	of, _ := l.law()
	switch {
	case u <= 0:
		return least
	case u >= 1:
		return most
	case of == nil:
		return least + time.Duration(u*float64(most-least))
	}
	return within(of.quantile(u), least, most)
}

// Longest is the longest latency that can be drawn, or [Never] for a law without an
// end.
func (l Latency) Longest() time.Duration {
	_, most := l.ends()
	return most
}

// Mean is the mean of the law.
func (l Latency) Mean() time.Duration {
	if of, _ := l.law(); of != nil {
		return within(of.mean(), 0, Never)
	}
	least, most := l.ends()
	return least + (most-least)/2
}

// String says how long latencies are: their one length, their ends, or the name of
// their law with its percentiles and mean. It is empty when there are none.
func (l Latency) String() string {
	of, name := l.law()
	switch {
	case l.Ramp != nil:
		return l.placed(l.Ramp.String())
	case of == nil && l.Max == 0:
		return ""
	case of == nil && l.Min == l.Max:
		return l.placed(l.Max.String())
	case of == nil:
		return l.placed(fmt.Sprintf("%s to %s", l.Min, l.Max))
	}
	return l.placed(fmt.Sprintf("%s (p50 %s, p90 %s, p99 %s, mean %s)", name,
		digits(l.Quantile(.5)), digits(l.Quantile(.9)), digits(l.Quantile(.99)), digits(l.Mean())))
}

// digits rounds a duration to three of them.
func digits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func (l Latency) ends() (least, most time.Duration) {
	if of, _ := l.law(); of != nil {
		return of.ends()
	}
	if l.Ramp != nil && len(l.Ramp.Points) > 0 {
		return l.Ramp.ends()
	}
	return l.Min, l.Max
}

// within rounds nanoseconds to a duration between two ends, which rounding alone
// could leave.
func within(ns float64, least, most time.Duration) time.Duration {
	if ns >= float64(most) {
		return most
	}
	return max(least, time.Duration(math.Round(ns)))
}

// strata is in how many hits each part of a law has its share.
const strata = 100

// draw takes the latency of the nth hit, from 0, of a request that arrived at this
// instant.
func (l Latency) draw(hash, nth uint64, at time.Duration) time.Duration {
	if l.Ramp != nil {
		return l.Ramp.Latency(at)
	}
	if n := uint64(len(l.Trace)); n > 0 {
		return l.Trace[nth%n]
	}
	of, _ := l.law()
	if of == nil && l.Max <= l.Min {
		return l.Min
	}
	stratum := permute(strata, mix(hash^forStrata+(nth/strata+1)*golden), nth%strata)
	u, _ := bits.Div64(stratum, number(hash, nth), strata)
	if of == nil {
		// The high word of a product scales a 64-bit number to [0, span] with a
		// bias below span/2^64.
		over, _ := bits.Mul64(u, uint64(l.Max-l.Min)+1)
		return l.Min + time.Duration(over)
	}
	// Half a step more keeps it off 0 and 1, where a law may have no value.
	return l.Quantile((float64(u>>12) + .5) / (1 << 52))
}

// clone copies what the caller might change.
func (l Latency) clone() Latency {
	l.Normal, l.Lognormal, l.Exponential, l.Pareto = copied(l.Normal), copied(l.Lognormal), copied(l.Exponential), copied(l.Pareto)
	if l.Table = copied(l.Table); l.Table != nil {
		l.Table.Points = slices.Clone(l.Table.Points)
	}
	l.Trace, l.Ramp = slices.Clone(l.Trace), l.Ramp.clone()
	return l
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// longestDrawn bounds what a law without an end may come to: it is drawn so far out
// once in 10^14 times, and no clock of a run counts so far.
const longestDrawn = 365 * 24 * time.Hour

// Problems are what is wrong with the latency; their fields begin with "latency".
func (l Latency) Problems() []Problem {
	var ps problems
	l.check(&ps)
	return ps
}

// check looks at the one law that there may be.
func (l Latency) check(ps *problems) {
	if l.Min < 0 {
		ps.add("latency.min", "%v is negative", l.Min)
	}
	if l.Max < l.Min {
		ps.add("latency.max", "%v is less than min, %v; for a fixed latency make both equal", l.Max, l.Min)
	}
	laws := 0
	for _, set := range []bool{
		l.Min != 0 || l.Max != 0, l.Normal != nil, l.Lognormal != nil, l.Exponential != nil, l.Pareto != nil, l.Table != nil, len(l.Trace) > 0, l.Ramp != nil,
	} {
		if set {
			laws++
		}
	}
	if l.Ramp != nil {
		l.Ramp.check(ps)
	}
	l.checkLate(laws, ps)
	of, name := l.law()
	if laws > 1 {
		ps.add("latency", "has %d laws; a latency has one", laws)
	}
	if of == nil {
		return
	}
	before := len(*ps)
	of.check(ps)
	if len(*ps) == before && l.Quantile(1-1.0/(1<<53)) > longestDrawn {
		ps.add("latency."+name, "may come to more than a year; give it a cap")
	}
}
