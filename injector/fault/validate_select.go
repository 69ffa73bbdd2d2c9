package fault

import (
	"fmt"
	"slices"
	"strings"
)

// maxBlock bounds the block of a shuffle.
const maxBlock = 10_000

// check looks at the one way of selecting that Kind names.
func (s Select) check(ps *problems) {
	switch s.Kind {
	case SelectAll, SelectFirst, SelectAfter, SelectEvery:
	case SelectRatio, SelectShuffle, SelectRandom:
		s.checkRatio(ps)
	case SelectScript:
		s.checkPattern(ps)
	case SelectBurst:
		if s.Length == 0 || s.Gap == 0 {
			ps.add("select.length", "a burst of %d after a gap of %d; both are mean numbers of requests, at least 1", s.Length, s.Gap)
		}
	default:
		ps.add("select.kind", "%q is none of %s", s.Kind, strings.Join(kinds(), ", "))
		return
	}
	s.checkCounts(ps)
	s.checkUnused(ps)
	s.Sticky.check(ps)
	if s.Kind == SelectAll && s.Sticky != (Sticky{}) {
		ps.add("select.sticky", "makes no difference where all are hit")
	}
}

// kinds are the kinds of selection by name.
func kinds() []string {
	var all []string
	for _, k := range []SelectKind{
		SelectAll, SelectRatio, SelectShuffle, SelectRandom, SelectFirst, SelectAfter, SelectEvery, SelectScript, SelectBurst,
	} {
		all = append(all, string(k))
	}
	return all
}

// checkRatio looks at a share and at how it is drawn.
func (s Select) checkRatio(ps *problems) {
	if s.Ramp != nil {
		s.checkRamp(ps)
	} else if s.Den == 0 {
		ps.add("select.den", "a ratio of %d to 0; write num of den with den at least 1", s.Num)
	} else if s.Num > s.Den {
		ps.add("select.num", "a ratio of %d in %d is more than all of them", s.Num, s.Den)
	}
	if s.Kind == SelectShuffle && (s.Block < 2 || s.Block > maxBlock) {
		ps.add("select.block", "is %d; a shuffle needs blocks of 2 to %d requests", s.Block, maxBlock)
	}
}

// checkCounts looks at the number that some kinds have.
func (s Select) checkCounts(ps *problems) {
	switch {
	case s.Kind == SelectFirst && s.First == 0:
		ps.add("select.first", "the first 0 requests are none; write at least 1")
	case s.Kind == SelectAfter && s.After == 0:
		ps.add("select.after", "after 0 requests come all; write at least 1, or select all")
	case s.Kind == SelectEvery && s.Every == 0:
		ps.add("select.every", "there is no 0th request; write at least 1")
	}
}

// checkUnused looks for fields of other kinds.
func (s Select) checkUnused(ps *problems) {
	unused := func(field string, set bool, of ...SelectKind) {
		if set && !slices.Contains(of, s.Kind) {
			ps.add(field, "has no meaning with kind %s; it belongs to %s", s.Kind, of[0])
		}
	}
	unused("select.num", s.Num != 0, SelectRatio, SelectShuffle, SelectRandom)
	unused("select.den", s.Den != 0, SelectRatio, SelectShuffle, SelectRandom)
	unused("select.ramp", s.Ramp != nil, SelectRatio, SelectShuffle, SelectRandom) // checkRamp has looked at a shuffle.
	unused("select.block", s.Block != 0, SelectShuffle)
	unused("select.first", s.First != 0, SelectFirst)
	unused("select.after", s.After != 0, SelectAfter)
	unused("select.every", s.Every != 0, SelectEvery)
	unused("select.pattern", s.Pattern != "", SelectScript)
	unused("select.length", s.Length != 0, SelectBurst)
	unused("select.gap", s.Gap != 0, SelectBurst)
}

// checkPattern looks at the letters; the first wrong one is enough to tell.
func (s Select) checkPattern(ps *problems) {
	if s.Pattern == "" {
		ps.add("select.pattern", "is empty; write one letter a request, X hit and . not")
	}
	for i, letter := range s.Pattern {
		if letter != patternHit && letter != patternMiss {
			ps.add("select.pattern", "letter %d is %q; only X (hit) and . (not hit) have a meaning", i+1, letter)
			return
		}
	}
}

// check looks at where a key comes from.
func (s Sticky) check(ps *problems) {
	switch s.By {
	case "":
		if s.Name != "" {
			ps.add("select.sticky", "names %q, but neither as a header nor as a cookie", s.Name)
		}
	case StickyHeader, StickyCookie:
		if !isToken(s.Name) {
			ps.add("select.sticky", "%q is not the name of a %s", s.Name, s.By)
		}
	case StickyPath, StickyPeer:
		if s.Name != "" {
			ps.add("select.sticky", "a %s has no name; leave %q out", s.By, s.Name)
		}
	default:
		ps.add("select.sticky", "%q is none of header, cookie, path, peer", s.By)
	}
}

// Against says why a rule cannot stand behind some others of its phase; it is
// empty when it can. The others are valid by themselves; name names them by their
// index.
func Against(earlier []Rule, r Rule, name func(int) string) string {
	earlier, name = ofLayer(earlier, r.Action.Layer(), name)
	if by := shadowed(earlier, r); by >= 0 {
		return name(by) + " already takes every request that this one matches; put the narrower fault first"
	}
	if !r.Select.Kind.Draws() {
		return ""
	}
	joined, points := 1, r.Select.points()
	for i, e := range earlier {
		if !e.Select.Kind.Draws() || !e.Match.overlaps(r.Match) {
			continue
		}
		joined, points = joined+1, points+e.Select.points()
		if text := joins(e, r, name(i)); text != "" {
			return text
		}
	}
	if joined > maxDrawRules {
		return fmt.Sprintf("%d faults with a ratio are more than can share one draw, which is %d", joined, maxDrawRules)
	}
	if joined > 1 && points > mostPoints {
		return fmt.Sprintf("ramps with %d points are more than can share one draw, which is %d", points, mostPoints)
	}
	return tooMuch(append(slices.Clone(earlier), r), name)
}

// joins says why two rules cannot share a draw.
func joins(e, r Rule, name string) string {
	a, b := e.Select, r.Select
	same := e.Match.covers(r.Match) && r.Match.covers(e.Match)
	switch {
	case a.Kind != b.Kind || a.Block != b.Block || a.Sticky != b.Sticky:
		return name + " may match the same requests and draws otherwise; one draw decides for both, so give both the same draw, block and sticky, or matches that exclude each other"
	case !same && (a.Kind == SelectShuffle || a.Sticky != Sticky{}):
		return name + " may match the same requests, but not only those; faults that share a shuffle, or a draw by key, need the same match"
	case a.Den > maxDrawDen || b.Den > maxDrawDen:
		return fmt.Sprintf("%s may match the same requests; shares that are compared have denominators of at most %d", name, uint64(maxDrawDen))
	}
	return ""
}

// tooMuch says which rules are certain to ask for more than there is, if the last
// one makes them: those that match every request that one of them matches.
func tooMuch(rules []Rule, name func(int) string) string {
	last := len(rules) - 1
	m := rules[last].Match
	for j, r := range rules {
		// A rule with the match of the last one has the same sum as that.
		within := m.covers(r.Match) && !r.Match.covers(m)
		if j < last && (!within || !r.Select.Kind.Draws()) {
			continue
		}
		sum, when, names := asking(rules, r.Match, name)
		if sum > 1+1e-12 && len(names) > 0 { // One part in 10^12 is less than a share can say.
			return fmt.Sprintf("with %s, these ratios are %.4g%% of the same requests%s; one request gets one fault, so together they are at most 100%%",
				strings.Join(names, " and "), 100*sum, when)
		}
	}
	return ""
}

// asking is the largest sum of the shares of the rules that match all that m matches,
// when that is, in words, and the names of these rules but for the last.
func asking(rules []Rule, m Match, name func(int) string) (sum float64, when string, names []string) {
	var all claims
	for i, r := range rules {
		if !r.Select.Kind.Draws() || !r.Match.covers(m) {
			continue
		}
		all.add(r.Select)
		if i < len(rules)-1 {
			names = append(names, name(i))
		}
	}
	sum, at := all.most()
	if len(all.ramps) > 0 {
		when = fmt.Sprintf(" %v after the phase began", at)
	}
	return sum, when, names
}

// shadowed returns the index of an earlier rule that leaves r nothing, or -1.
func shadowed(earlier []Rule, r Rule) int {
	return slices.IndexFunc(earlier, func(e Rule) bool {
		return e.Select.takesAll() && e.Match.covers(r.Match)
	})
}
