package experiments

import (
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// The ways to draw a ratio.
const (
	drawEven    = "even"
	drawShuffle = "shuffle"
	drawRandom  = "random"
)

// The block of a shuffle, in requests.
const (
	standardBlock = 20
	largestBlock  = 10_000
)

// selections are the keys of a fault of which it has one at most.
func selections() []string { return []string{"ratio", "first", "after", "every", "script", "burst"} }

// selection reads which of the requests that match are hit.
func (r *reader) selection(m *yamldoc.Map) fault.Select {
	kind := m.Choice(selections()...)
	s := r.selected(m, kind)
	if v := m.Get("sticky"); v.Exists() {
		s.Sticky = sticky(v)
		if kind == "" {
			m.Lacks(v, selections(), "makes no difference where all requests are hit; it goes with %s", strings.Join(selections(), ", "))
		}
	}
	return s
}

func (r *reader) selected(m *yamldoc.Map, kind string) fault.Select {
	if kind == "" {
		return fault.Select{Kind: fault.SelectAll}
	}
	v := m.Get(kind)
	switch kind {
	case "ratio":
		return r.ratio(v)
	case "first":
		return fault.Select{Kind: fault.SelectFirst, First: uint64(v.Count(1, 1))}
	case "after":
		return fault.Select{Kind: fault.SelectAfter, After: uint64(v.Count(1, 1))}
	case "every":
		return fault.Select{Kind: fault.SelectEvery, Every: uint64(v.Count(2, 2))}
	case "script":
		pattern := v.NonEmpty()
		if pattern != "" && (strings.Trim(pattern, "X.") != "" || !strings.Contains(pattern, "X")) {
			v.Problemf("%q is not a script; it is a row of X (hit) and . (pass) with at least one X, one letter a request", pattern)
		}
		return fault.Select{Kind: fault.SelectScript, Pattern: pattern}
	case "burst":
		b := v.Map("{length: 5, gap: 20}")
		defer b.Done()
		return fault.Select{Kind: fault.SelectBurst, Length: uint64(b.Need("length").Count(1, 1)), Gap: uint64(b.Need("gap").Count(1, 1))}
	}
	return fault.Select{Kind: fault.SelectAll}
}

// ratio reads a share, and how it is drawn.
func (r *reader) ratio(v yamldoc.Value) fault.Select {
	if !v.IsMap() {
		return shareOf(v, fault.SelectRatio)
	}
	m := v.Map("")
	defer m.Done()
	draw, block := m.Get("draw"), m.Get("block")
	kind := draw.OneOf(drawEven, drawEven, drawShuffle, drawRandom)
	if kind != drawShuffle && block.Exists() {
		m.Lacks(block, []string{"draw"}, "goes with draw: shuffle")
	}
	shape := m.Choice(ratioShapes()...)
	if shape == rampFrom || shape == rampSteps {
		return r.ratioRamp(m, shape, map[string]fault.SelectKind{drawShuffle: fault.SelectShuffle, drawRandom: fault.SelectRandom, drawEven: fault.SelectRatio}[kind])
	}
	straight(m, shape)
	if shape == "" {
		m.Lacks(m.Value, ratioShapes(), "says neither of nor from nor steps, as {of: 30%%} or {from: 0%%, to: 50%%, over: 30s}")
	}
	switch kind {
	case drawShuffle:
		s := shareOf(m.Get("of"), fault.SelectShuffle)
		n := block.Count(standardBlock, 2)
		if n > largestBlock {
			block.Problemf("%d is too large; it is at most %d", n, largestBlock)
			n = standardBlock
		}
		s.Block = uint64(n)
		return s
	case drawRandom:
		return shareOf(m.Get("of"), fault.SelectRandom)
	}
	return shareOf(m.Get("of"), fault.SelectRatio)
}

func shareOf(v yamldoc.Value, kind fault.SelectKind) fault.Select {
	share, ok := v.ExactShare()
	if ok && share.Num == 0 {
		v.Problemf("0%% hits nothing, so this fault would never fire")
	}
	return fault.Select{Kind: kind, Num: share.Num, Den: share.Den}
}

// sticky reads by what requests are told to be alike.
func sticky(v yamldoc.Value) fault.Sticky {
	if !v.IsMap() {
		return fault.Sticky{By: fault.StickyBy(v.OneOf("", string(fault.StickyPath), string(fault.StickyPeer)))}
	}
	m := v.Map("")
	defer m.Done()
	switch key := m.Choice("header", "cookie"); key {
	case "header":
		return fault.Sticky{By: fault.StickyHeader, Name: headerName(m.Get(key))}
	case "cookie":
		name := m.Get(key)
		s := name.NonEmpty()
		if s != "" && !isToken(s) {
			name.Problemf("%q is not a cookie's name", s)
		}
		return fault.Sticky{By: fault.StickyCookie, Name: s}
	}
	m.Lacks(m.Value, []string{"header", "cookie"}, "says neither header nor cookie, as {header: X-User}; or write path or peer")
	return fault.Sticky{}
}
