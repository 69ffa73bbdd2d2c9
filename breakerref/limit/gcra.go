package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// GCRAConfig describes a GCRA: Limit calls per Period in the long run.
type GCRAConfig struct {
	Limit  int
	Period time.Duration
	Burst  int // calls that pass at one instant
}

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c GCRAConfig) Validate() error {
	var p problems
	p.atLeastOne("limit", c.Limit)
	p.span("period", c.Period)
	p.atLeastOne("burst", c.Burst)
	if len(p) == 0 {
		hi, lo := bits.Mul64(uint64(c.Burst), uint64(c.Period))
		fits := hi < uint64(c.Limit)
		if fits {
			whole, _ := bits.Div64(hi, lo, uint64(c.Limit))
			fits = whole <= uint64(longest)
		}
		p.require(fits, "burst", c.Burst,
			fmt.Sprintf("so small that burst*period/limit is at most %v (146 years)", longest))
	}
	return p.join()
}

// GCRA is the generic cell rate algorithm in its virtual scheduling form (ITU-T
// I.371, ATM Forum Traffic Management 4.1): it keeps one instant, the theoretical
// arrival time, which each call moves on by Period/Limit and which must not be more
// than Burst such steps ahead. It admits what a token bucket of size Burst that
// fills at Limit per Period admits.
//
// It computes in fractions of a nanosecond, 1/Limit each, so that nothing is
// rounded and nothing drifts.
//
// A clock that steps back by d finds the theoretical arrival time d further ahead:
// the calls of that time are missing until it has passed again.
type GCRA struct {
	cfg  GCRAConfig
	tat  int64  // theoretical arrival time: Unix nanoseconds,
	frac uint64 // and so many 1/Limit of one
}

// NewGCRA returns a limiter of which the whole burst is left, or what is wrong with
// the configuration.
func NewGCRA(cfg GCRAConfig) (*GCRA, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &GCRA{cfg: cfg, tat: math.MinInt64}, nil
}

// share is a duration in nanoseconds and 1/Limit of one.
type share struct {
	whole time.Duration
	frac  uint64 // below Limit
}

// Take asks for n calls at once.
func (g *GCRA) Take(now time.Time, n int) Decision {
	at := now.UnixNano()
	ahead := g.ahead(at)
	d := Decision{Limit: g.cfg.Burst, RetryAfter: Never}
	if n >= 0 && n <= g.cfg.Burst {
		next := g.plus(ahead, g.cost(n))
		missing := g.minus(next, g.cost(g.cfg.Burst))
		d.RetryAfter = max(missing.up(), 0)
	}
	if d.Allowed = d.RetryAfter == 0; d.Allowed && n > 0 {
		ahead = g.plus(ahead, g.cost(n))
		g.tat, g.frac = at+int64(ahead.whole), ahead.frac
	}
	d.Reset = ahead.up()
	if room := g.minus(g.cost(g.cfg.Burst), ahead); room.whole >= 0 {
		d.Remaining = g.calls(room)
	}
	return d
}

// ahead is how far the theoretical arrival time lies after an instant.
func (g *GCRA) ahead(at int64) share {
	if g.tat < at {
		return share{}
	}
	return share{since(at, g.tat), g.frac}
}

// cost is what n calls move the theoretical arrival time by.
func (g *GCRA) cost(n int) share {
	hi, lo := bits.Mul64(uint64(n), uint64(g.cfg.Period))
	whole, rest := bits.Div64(hi, lo, uint64(g.cfg.Limit))
	return share{time.Duration(whole), rest}
}

// calls is the inverse of cost, the rest cut off.
func (g *GCRA) calls(s share) int {
	hi, lo := bits.Mul64(uint64(s.whole), uint64(g.cfg.Limit))
	lo, carry := bits.Add64(lo, s.frac, 0)
	n, _ := bits.Div64(hi+carry, lo, uint64(g.cfg.Period))
	return int(n)
}

func (g *GCRA) plus(a, b share) share {
	s := share{sum(a.whole, b.whole), a.frac + b.frac}
	if s.frac >= uint64(g.cfg.Limit) {
		s = share{sum(s.whole, 1), s.frac - uint64(g.cfg.Limit)}
	}
	return s
}

func (g *GCRA) minus(a, b share) share {
	if a.frac < b.frac {
		return share{a.whole - b.whole - 1, a.frac + uint64(g.cfg.Limit) - b.frac}
	}
	return share{a.whole - b.whole, a.frac - b.frac}
}

// up rounds up to whole nanoseconds.
func (s share) up() time.Duration {
	if s.frac > 0 {
		return sum(s.whole, 1)
	}
	return s.whole
}
