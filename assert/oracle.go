package assert

import (
	"cmp"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// reading is one way to read what the trace leaves open: the order in which the
// SUT saw outcomes that overlap, and durations near a limit.
type reading int

const (
	byOutcome reading = iota // in the order in which the dependency ended them
	badFirst                 // failures as early, successes as late as can be
	badLast                  // the other way round
	readings
)

// replayed is an outcome as one reading sees it.
type replayed struct {
	*admission
	at     int64 // offset from the epoch, ns
	failed bool
	slow   bool
}

// read arranges outcomes as a reading sees them.
func read(outs []*admission, r reading) []replayed {
	rs := make([]replayed, 0, len(outs))
	for _, a := range outs {
		if a.o == forever {
			continue
		}
		p := replayed{admission: a, at: int64(a.o), failed: a.failed, slow: a.slow}
		if r == badFirst {
			p.failed, p.slow = a.failMay, a.slowMay
		}
		bad := p.failed || p.slow
		if r == badFirst && !bad || r == badLast && bad {
			p.at = int64(a.settle)
		}
		rs = append(rs, p)
	}
	slices.SortStableFunc(rs, func(a, b replayed) int { return cmp.Compare(a.at, b.at) })
	return rs
}

// record tells a machine of one outcome.
func (v *view) record(m *breakerref.Machine, p replayed) {
	d := p.o - p.hi
	switch limit := v.breaker.Config.SlowDuration; {
	case p.slow && d <= limit:
		d = limit + 1
	case !p.slow && d > limit:
		d = limit
	}
	m.Record(v.epoch.Add(time.Duration(p.at)), p.failed, d)
}

// machine returns the declared breaker in a state, with an empty window, at the
// first of the outcomes that it will be told of.
func (v *view) machine(s breakerref.State, rs []replayed) (*breakerref.Machine, bool) {
	if len(rs) == 0 {
		return nil, false
	}
	cfg := v.breaker.Config
	cfg.Initial = s
	m, err := breakerref.New(cfg, v.epoch.Add(time.Duration(rs[0].at)))
	return m, err == nil
}

// openings replays the outcomes on the declared breaker, closed and empty, in
// every reading. It returns the indices into outs (which is in the order of o)
// at which it may open, and whether it may also stay closed.
func (v *view) openings(outs []*admission) (at []int, never bool) {
	for r := range readings {
		rs := read(outs, r)
		m, ok := v.machine(breakerref.Closed, rs)
		if !ok {
			return nil, true
		}
		opened := false
		for _, p := range rs {
			v.record(m, p)
			if m.State() == breakerref.Open {
				opened = true
				at = append(at, slices.Index(outs, p.admission))
				break
			}
		}
		never = never || !opened
	}
	slices.Sort(at)
	if at = slices.Compact(at); len(at) > 1 {
		at = span(at[0], at[len(at)-1])
	}
	return at, never
}

// span is all integers from lo to hi.
func span(lo, hi int) []int {
	var s []int
	for i := lo; i <= hi; i++ {
		s = append(s, i)
	}
	return s
}

// known reports whether the window of a closed stretch is known to have been
// empty at its start.
func (v *view) known(t *trip) bool { return !t.unsure && (!t.first || v.fresh) }

// allowed is the candidates of a trip at which the reference may open too.
func (v *view) allowed(t *trip) []int {
	if !v.known(t) {
		return nil
	}
	at, _ := v.openings(t.outcomes)
	var both []int
	for _, i := range t.candidates {
		if slices.Contains(at, i) {
			both = append(both, i)
		}
	}
	return both
}

// visitEnd replays the outcomes of a visit on the declared breaker, half-open.
// It returns how the visit must end and the outcome that decides it; ok is
// false when no breaker is declared, the readings differ, or too few outcomes
// are in.
func (v *view) visitEnd(probes []*admission) (end State, by *admission, ok bool) {
	if !v.breaker.Declared {
		return "", nil, false
	}
	for r := range readings {
		rs := read(probes, r)
		m, good := v.machine(breakerref.HalfOpen, rs)
		if !good {
			return "", nil, false
		}
		got, last := State(""), (*admission)(nil)
		for _, p := range rs {
			v.record(m, p)
			if s := m.State(); s != breakerref.HalfOpen {
				got, last = stateOf(s), p.admission
				break
			}
		}
		if got == "" || r > 0 && got != end {
			return "", nil, false
		}
		if r == byOutcome {
			by = last
		}
		end = got
	}
	return end, by, true
}

// stateOf names a state of the reference as verdicts do.
func stateOf(s breakerref.State) State {
	switch s {
	case breakerref.Open:
		return StateOpen
	case breakerref.HalfOpen:
		return StateHalfOpen
	default:
		return StateClosed
	}
}
