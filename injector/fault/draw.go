package fault

import (
	"math/bits"
	"slices"
	"time"
)

// draw is what rules with a ratio decide by together: each request that it is
// asked for goes to at most one of them. A rule whose match overlaps no other
// one's has a draw of its own.
//
// Evenly spaced ratios are Tijdeman's solution of the chairman assignment problem
// ("The chairman assignment problem", Discrete Mathematics 32, 1980). A rule's
// credit is its share of the requests that matched it, less those that it got. Of
// the rules whose credit has reached 1/(2r), for r rules, the one goes first whose
// credit would otherwise soonest pass 1 - 1/(2r). With one match for all of them
// no credit ever does, nor falls below 1/(2r) - 1: each is off by less than one
// request at every moment. A single rule has r = 1, which is rounding.
//
// Where matches only overlap, what comes is not known and no order of rules keeps
// all of them within one request. Then the largest credit among those that are
// late goes first. A rule is still never ahead by a request, and it was never
// found r requests behind, as long as the shares of the rules that match a request
// together are at most 1. What is more than r behind is forgotten.
//
// Where a share changes with time, nobody knows when a credit will pass anything:
// that depends on when requests will come. Then always the largest credit that has
// reached 1/(2r) goes first, as in the cup game (Adler, Berenbrink, Friedetzky,
// Goldberg, Goldberg and Paterson, "A proportionate fair scheduling rule with good
// worst-case performance", SPAA 2003). With one match for all, the sum of the k
// largest credits after a request is at most k times the larger of 1/(2r) and, for
// one more of them, that sum and 1, over k+1. So no credit comes to more than
// 1/(2r) + 1/2 + 1/3 + ... + 1/r, which is 1 at most for up to three rules.
type draw struct {
	rules  []int // their numbers in the phase, ascending
	kind   SelectKind
	block  uint64
	hash   uint64
	sticky Sticky
	ramps  bool // of some rule
}

// drawing is a draw in the course of a phase.
type drawing struct {
	*draw
	asked  uint64 // how often
	credit []int64
	winner []int // of the current block of a shuffle, in the even order
	keys   map[digest]remembered
}

// maxDrawDen bounds the denominators of shares that are compared with each other,
// so that credits in units of 1/Den fit 64 bits; maxDrawRules bounds their number.
const (
	maxDrawDen   = 1 << 40
	maxDrawRules = 1000
)

// drawsOf sorts the rules of a phase that draw into draws, and tells them theirs.
// Rules whose matches overlap are in one, as are all that are so connected.
func drawsOf(rules []ruled) []draw {
	var draws []draw
	for n, r := range rules {
		if !r.draws {
			continue
		}
		with := draw{rules: []int{n}}
		draws = slices.DeleteFunc(draws, func(d draw) bool {
			met := slices.ContainsFunc(d.rules, func(m int) bool {
				return rules[m].rule.Action.Layer() == r.rule.Action.Layer() && rules[m].rule.Match.overlaps(r.rule.Match)
			})
			if met {
				with.rules = append(with.rules, d.rules...)
			}
			return met
		})
		slices.Sort(with.rules)
		draws = append(draws, with)
	}
	for i := range draws {
		d := &draws[i]
		first := rules[d.rules[0]]
		s := first.rule.Select
		d.kind, d.block, d.sticky, d.hash = s.Kind, s.Block, s.Sticky, first.picks
		for _, n := range d.rules {
			rules[n].draw = i
			d.ramps = d.ramps || rules[n].rule.Select.Ramp != nil
		}
	}
	return draws
}

// begin starts a draw for a phase.
func (d *draw) begin() drawing {
	g := drawing{draw: d, credit: make([]int64, len(d.rules))}
	if d.sticky != (Sticky{}) {
		g.keys = map[digest]remembered{}
	}
	return g
}

// next decides a request that arrived at an instant among candidates, which are
// numbers of rules of the draw that match it, ascending. It returns -1 when none gets it.
func (g *drawing) next(rules []ruled, candidates []int, at time.Duration) int {
	index := g.asked
	g.asked++
	first := &rules[g.rules[0]].rule.Select
	switch {
	case g.kind == SelectRandom:
		return random(rules, candidates, number(g.hash, index), at)
	case g.kind == SelectShuffle && len(g.rules) == 1:
		return oneIf(evenly(*first).Hit(first.shuffled(g.hash, index)), candidates)
	case g.kind == SelectShuffle:
		if index%g.block == 0 {
			g.deal(rules)
		}
		return g.winner[first.shuffled(g.hash, index)%g.block]
	case len(g.rules) == 1 && !g.ramps:
		return oneIf(first.Hit(index), candidates)
	}
	return g.even(rules, candidates, at)
}

// oneIf is the only candidate if it is hit.
func oneIf(hit bool, candidates []int) int {
	if hit {
		return candidates[0]
	}
	return -1
}

// evenly is the selection with its hits evenly spaced.
func evenly(s Select) Select { return Select{Kind: SelectRatio, Num: s.Num, Den: s.Den} }

// deal fills the next block of a shuffle.
func (g *drawing) deal(rules []ruled) {
	g.winner = g.winner[:0]
	for range g.block {
		g.winner = append(g.winner, g.even(rules, g.rules, 0)) // A shuffle has no ramps.
	}
}

// random gives each candidate its part of all numbers, one part after the other.
func random(rules []ruled, candidates []int, u uint64, at time.Duration) int {
	for _, n := range candidates {
		width, all := widthOf(rules[n].share(at))
		if all || u < width {
			return n
		}
		u -= width
	}
	return -1
}

// even gives the request to the candidate whose turn it is.
func (g *drawing) even(rules []ruled, candidates []int, now time.Duration) int {
	best := account{rule: -1}
	limit := int64(len(g.rules))
	at := 0
	for _, n := range candidates {
		for g.rules[at] != n {
			at++
		}
		num, den := rules[n].share(now)
		// A rule by itself may come to 1 1/2 before it gets the request.
		g.credit[at] = min(g.credit[at]+int64(num), max(2, limit)*int64(den))
		a := account{rule: n, at: at, credit: g.credit[at], num: num, den: int64(den)}
		if a.released(limit) && (best.rule < 0 || g.first(a, best)) {
			best = a
		}
	}
	if best.rule >= 0 {
		g.credit[best.at] -= best.den
	}
	return best.rule
}

// first reports whether a goes before b.
func (g *drawing) first(a, b account) bool {
	if g.ramps {
		return a.exceeds(b)
	}
	return a.before(b, int64(len(g.rules)))
}

// account is how a rule stands in a draw.
type account struct {
	rule, at int
	credit   int64 // in units of 1/den
	num      uint64
	den      int64
}

// released reports whether the rule may have a request: its credit is 1/(2r) or
// more.
func (a account) released(r int64) bool { return 2*r*a.credit >= a.den }

// left is how much the credit may still grow, in units of 1/(2r den); below zero
// the rule is late.
func (a account) left(r int64) int64 { return (2*r-1)*a.den - 2*r*a.credit }

// before reports whether a goes before b. When both are in time, that is who would
// be late sooner; else who has more credit, and so is late.
func (a account) before(b account, r int64) bool {
	if la, lb := a.left(r), b.left(r); la >= 0 && lb >= 0 {
		return less(uint64(la), b.num, uint64(lb), a.num)
	}
	return a.exceeds(b)
}

// exceeds reports whether a has more credit than b. Neither is below 0.
func (a account) exceeds(b account) bool {
	return less(uint64(b.credit), uint64(a.den), uint64(a.credit), uint64(b.den))
}

// less compares two products.
func less(a, b, c, d uint64) bool {
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	return hi < hi2 || hi == hi2 && lo < lo2
}
