package fault

import (
	"slices"
	"sync"
	"time"
)

// Phase decides the requests of one phase. It is safe for concurrent use: requests
// are decided one at a time, in the order in which they get hold of it, and by
// nothing but that order and the seed, and for ramps by the instants of arrival.
type Phase struct {
	rules []ruled

	mu     sync.Mutex
	states []state
	draws  []drawing
}

// state is what a rule has seen in a phase.
type state struct {
	seen, hit, forgotten uint64
	index                uint64 // of the next request, or key
	nth                  uint64 // how many verdicts hit; what is hit again because of its key is not one more
	bad                  bool   // a burst: the last request was hit
	keys                 map[digest]remembered
	due                  sum // of a ramp
}

// asked is a rule that a request matches.
type asked struct {
	rule  int
	key   digest
	keyed bool
}

// newPhase starts a phase of these rules.
func newPhase(rules []ruled, draws []draw) *Phase {
	ph := &Phase{rules: rules, states: make([]state, len(rules))}
	for i := range draws {
		ph.draws = append(ph.draws, draws[i].begin())
	}
	for n, r := range rules {
		if r.rule.Select.Sticky != (Sticky{}) {
			ph.states[n].keys = map[digest]remembered{}
		}
	}
	return ph
}

// Decide says what happens to a request that has just arrived. It must be asked
// once per request: asking counts. It reads the request's body only if the other
// parts of a rule's match fit that looks into it, and no rule before it takes all.
func (ph *Phase) Decide(r Request) Verdict {
	var room [8]asked
	matched := ph.matched(r, room[:0])
	if len(matched) == 0 {
		return Verdict{}
	}
	r.At = max(0, r.At)
	hit := ph.decide(matched, r.At)
	if hit.rule < 0 {
		return Verdict{}
	}
	it := ph.rules[hit.rule]
	return Verdict{Rule: it.rule, Index: hit.index, Latency: it.rule.Latency.draw(it.hash, hit.nth, r.At), hash: it.hash, nth: hit.nth, at: r.At}
}

// matched appends the rules that r matches, up to one that certainly takes it.
func (ph *Phase) matched(r Request, to []asked) []asked {
	for n := range ph.rules {
		it := &ph.rules[n]
		if it.rule.Action.Door() || it.rule.Action.Layer() != r.Layer || !it.match.matches(r) {
			continue
		}
		a := asked{rule: n}
		if it.rule.Select.Sticky.By != "" {
			a.key, a.keyed = it.rule.Select.Sticky.key(r)
		}
		to = append(to, a)
		if it.rule.Select.Kind == SelectAll {
			break
		}
	}
	return to
}

// decide finds the rule that gets a request. Rules are asked in their order, but
// those with a ratio together: the draw goes among all of them that come before
// the first other rule that would take the request.
func (ph *Phase) decide(matched []asked, at time.Duration) remembered {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	var room [8]int
	candidates, last := room[:0], len(matched)-1
	taker := remembered{rule: -1}
	var drawn *asked
	for i := range matched {
		a := &matched[i]
		if ph.rules[a.rule].draws {
			candidates, drawn = append(candidates, a.rule), a
		} else if taker = ph.peek(a); taker.rule >= 0 {
			last = i
			break
		}
	}
	if drawn != nil {
		if won := ph.raffle(drawn, candidates, at); won.rule >= 0 {
			taker = won
		}
	}
	for i := range matched[:last+1] {
		a := &matched[i]
		if !ph.rules[a.rule].draws {
			if taker.rule >= 0 && a.rule > taker.rule {
				continue // The request does not come to it.
			}
			ph.commit(a, a.rule == taker.rule)
		}
		ph.count(a.rule, at)
	}
	if taker.rule >= 0 {
		ph.states[taker.rule].hit++
	}
	return taker
}

// count counts a request that came to a rule.
func (ph *Phase) count(n int, at time.Duration) {
	st, it := &ph.states[n], &ph.rules[n]
	st.seen++
	if it.rule.Select.Ramp != nil {
		st.due.add(it.share(at))
	}
}

// raffle asks the draw of the candidates. Every one of them counts the request, or
// its key when that is new.
func (ph *Phase) raffle(a *asked, candidates []int, at time.Duration) remembered {
	d := &ph.draws[ph.rules[a.rule].draw]
	if a.keyed {
		if known, ok := d.keys[a.key]; ok {
			return again(known, candidates)
		}
		if len(d.keys) >= StickyKeys {
			for _, n := range candidates {
				ph.states[n].forgotten++
			}
			return remembered{rule: -1}
		}
	}
	won := remembered{rule: d.next(ph.rules, candidates, at)}
	won = again(won, candidates)
	if won.rule >= 0 {
		st := &ph.states[won.rule]
		won.index, won.nth = st.index, st.nth
		st.nth++
	}
	for _, n := range candidates {
		ph.states[n].index++
	}
	if a.keyed {
		d.keys[a.key] = won
	}
	return won
}

// again is a verdict that still stands: another rule may have taken the request
// before it came to the one that a key, or a block of a shuffle, is for.
func again(won remembered, candidates []int) remembered {
	if slices.Contains(candidates, won.rule) {
		return won
	}
	return remembered{rule: -1}
}

// peek says whether a rule without a draw would take the request.
func (ph *Phase) peek(a *asked) remembered {
	st, it := &ph.states[a.rule], &ph.rules[a.rule]
	none := remembered{rule: -1}
	if a.keyed {
		if known, ok := st.keys[a.key]; ok {
			return known
		}
		if len(st.keys) >= StickyKeys {
			return none
		}
	}
	hit := it.rule.Select.Hit(st.index)
	if it.rule.Select.Kind == SelectBurst {
		hit = it.rule.Select.bursts(it.picks, st.index, st.bad)
	}
	if !hit {
		return none
	}
	return remembered{rule: a.rule, index: st.index, nth: st.nth}
}

// commit counts a request that a rule without a draw was asked for.
func (ph *Phase) commit(a *asked, hit bool) {
	st := &ph.states[a.rule]
	if a.keyed {
		if _, ok := st.keys[a.key]; ok {
			return
		}
		if len(st.keys) >= StickyKeys {
			st.forgotten++
			return
		}
		verdict := remembered{rule: -1}
		if hit {
			verdict = remembered{rule: a.rule, index: st.index, nth: st.nth}
		}
		st.keys[a.key] = verdict
	}
	if hit {
		st.nth++
	}
	st.bad = hit
	st.index++
}

// Rules are the phase's rules in their order.
func (ph *Phase) Rules() []*Rule {
	rules := make([]*Rule, len(ph.rules))
	for n, r := range ph.rules {
		rules[n] = r.rule
	}
	return rules
}

// Count is what became of one rule in a phase.
type Count struct {
	Rule      string // its ID
	Seen      uint64 // requests that matched it and that no earlier rule took; with a ratio, those of earlier ratios as well
	Hit       uint64 // of these, the selected ones
	Forgotten uint64 // of these, passed by because their key was one too many, see [StickyKeys]
	// Due is what a ramp should have hit: the sum of its shares at the instants of
	// what it has seen. It is 0 of rules without one.
	Due float64
}

// Counts says of each rule, in their order, what it has seen and hit so far. A
// rule that hit nothing is a fault that never fired.
func (ph *Phase) Counts() []Count {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	counts := make([]Count, len(ph.rules))
	for n, r := range ph.rules {
		st := ph.states[n]
		counts[n] = Count{Rule: r.rule.ID, Seen: st.seen, Hit: st.hit, Forgotten: st.forgotten, Due: st.due.float(r.den)}
	}
	return counts
}
