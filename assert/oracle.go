package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// trip is what led from CLOSED to OPEN.
type trip struct {
	since      Interval      // start of the trace, or the close before
	first      bool          // no close before: the window is as the SUT started
	known      bool          // all outcomes since then are seen
	past       bool          // the window may have held outcomes from before the trace
	guests     bool          // calls that were never answered may have asked this instance or another
	guestsFrom time.Duration // the first of these was recorded at the earliest then
	drops      bool          // outcomes of calls that were admitted before do not count
	presumed   bool          // the close before did not show in more calls than half-open permits
	outcomes   []*admission  // perhaps recorded since then, in the order of o, up to the first rejection
	candidates []int         // indices into outcomes of those that may have tripped it
	opens      *openings     // the answer of view.openings, once it was asked
}

// newTrip collects the outcomes that a breaker closed since then may have
// recorded by the time it was open, and those of them that may have opened it.
func (v *view) newTrip(since Interval, first bool, open Interval) *trip {
	t := &trip{since: since, first: first, past: first && !v.fresh, known: !v.uncounted() && !v.blind(), drops: v.breaker.LateDropped}
	if t.past && since.Hi == 0 {
		t.known = false // It may not have been closed at all.
	}
	from, to := 0, v.sentAfter(open.Hi)
	if !first {
		from = min(v.settledAfter(since.Lo), to)
	}
	for _, a := range v.adm[from:to] {
		if a.early > open.Hi || !first && (a.settled <= since.Lo || t.drops && a.hi <= since.Lo) {
			continue
		}
		if a.ghost {
			t.guest(a)
			continue
		}
		t.outcomes = append(t.outcomes, a)
	}
	sortByOutcome(t.outcomes)
	t.suspect(open)
	return t
}

// guest takes in a call that may have been an outcome, or none.
func (t *trip) guest(a *admission) {
	if !t.guests || a.early < t.guestsFrom {
		t.guestsFrom = a.early
	}
	t.known, t.guests = false, true
}

// suspect finds the outcomes that may have caused an opening.
func (t *trip) suspect(open Interval) {
	t.candidates = nil
	for i, a := range t.outcomes {
		if !a.recordedBefore(open) {
			t.candidates = append(t.candidates, i)
		}
	}
}

// recordedBefore reports whether an outcome was recorded before an opening, and so
// did not cause it: for certain by then, or before the next attempt of its call
// was let through.
func (a *admission) recordedBefore(open Interval) bool {
	return a.settled <= open.Lo || a.next != nil && a.next.hi <= open.Hi
}

// doubtful reports whether an outcome may have been recorded before the close,
// and so be forgotten, or be one of a call that was admitted before and is dropped.
func (t *trip) doubtful(a *admission) bool {
	return (!t.first || t.past) && (a.early <= t.since.Hi || t.drops && a.lo <= t.since.Hi)
}

// haunted reports whether outcomes from before the trace may still have been in the
// window at one of a trip's candidates.
func (v *view) haunted(t *trip) bool {
	if !t.past {
		return false
	}
	until := v.openings(t).haunted
	return slices.ContainsFunc(t.candidates, func(i int) bool { return t.outcomes[i].early <= until })
}

// openings is when the declared breaker opens by the outcomes of a closed
// stretch, in whatever order the SUT saw those that overlap.
type openings struct {
	may []int    // indices into the outcomes of those that may open it
	in  Interval // it opens in here; Lo is forever if it cannot, Hi if it need not

	// haunted is until when an outcome was recorded beside ones from before the trace,
	// perhaps; -1 if none was.
	haunted time.Duration
}

// bury says how nothing from before the trace is left in the window.
func (v *view) bury() string {
	c := v.breaker.Config
	or := ", or let faultline launch the SUT"
	if v.after() {
		or = ""
	}
	switch {
	case !v.breaker.Declared && v.after():
		return "put an unmeasured trip and close before this phase"
	case !v.breaker.Declared:
		return "let faultline launch the SUT, or put an unmeasured trip and close before this phase"
	case c.WindowType == breakerref.CountBased:
		return fmt.Sprintf("put an unmeasured phase of at least %d calls before this one, one after another%s", c.Window+c.Permitted+1, or)
	}
	return fmt.Sprintf("put an unmeasured phase of at least %ds before this one%s", c.Window+1, or)
}

// plain is may without the outcomes that were recorded beside ones from before the
// trace: with those in the window, anything may open it.
func (o openings) plain(t *trip) []int {
	if !t.past {
		return o.may
	}
	return slices.DeleteFunc(slices.Clone(o.may), func(i int) bool { return t.outcomes[i].early <= o.haunted })
}

// openings asks the reference where a closed stretch ends. It knows nothing of
// an undeclared breaker. What a window held before the trace began is counted either
// way, until it has left the window.
func (v *view) openings(t *trip) openings {
	if t.opens == nil {
		opens := v.replay(t)
		t.opens = &opens
	}
	return *t.opens
}

// replay is openings, unremembered.
func (v *view) replay(t *trip) openings {
	out := openings{in: Interval{forever, forever}, haunted: -1}
	if !v.breaker.Declared || !t.known {
		out.haunted = forever
		return out
	}
	w := newWindows(v.breaker.Config, t, v.era.Lo)
	for _, x := range w.order {
		may, must, ghosts := w.trips(t.outcomes[x])
		if ghosts > 0 {
			out.haunted = t.outcomes[x].early
		}
		if may {
			out.may = append(out.may, x)
			out.in.Lo = min(out.in.Lo, t.outcomes[x].early)
		}
		if must {
			out.in.Hi = min(out.in.Hi, t.outcomes[x].settled)
		}
	}
	out.may = slices.DeleteFunc(out.may, func(x int) bool {
		return t.outcomes[x].early >= out.in.Hi && t.outcomes[x].settled > out.in.Hi
	})
	slices.Sort(out.may)
	return out
}

// allowed is the candidates of a trip at which the reference may open too.
func (v *view) allowed(t *trip) []int {
	may := v.openings(t).may
	var both []int
	for _, i := range t.candidates {
		if _, ok := slices.BinarySearch(may, i); ok {
			both = append(both, i)
		}
	}
	return both
}

// windows bounds what the sliding window can have held when an outcome was
// recorded: each outcome was recorded at some time from early to settled, and
// outcomes whose times overlap in any order.
type windows struct {
	cfg     breakerref.Config
	past    bool          // it may have held others before
	from    time.Duration // when they were the last to come
	order   []int         // indices of the outcomes in the order of early
	certain []*admission
	next    int             // certain[:next] were recorded before the outcome that is asked about
	last    []time.Duration // the greatest early of those, sorted, as many as the window holds beside it
	all     times
	kinds   [outcomeKinds]times
}

// The kinds of outcomes that are counted: what counts against the dependency in
// at least one reading, and what does not in at least one.
const (
	maybeFailed = iota
	maybeOK
	maybeSlow
	maybeFast
	outcomeKinds
)

// times are the ends of the intervals of some outcomes, each sorted.
type times struct{ early, settled []time.Duration }

func (ts *times) add(a *admission) {
	ts.early = append(ts.early, a.early)
	ts.settled = append(ts.settled, a.settled)
}

func (ts *times) sort() {
	slices.Sort(ts.early)
	slices.Sort(ts.settled)
}

// within counts the outcomes that may have been recorded between two instants.
func (ts *times) within(from, to time.Duration) int {
	if len(ts.early) == 0 {
		return 0
	}
	return atMost(ts.early, to) - atMost(ts.settled, from-1)
}

// atMost is how many of some sorted instants are not after t.
func atMost(sorted []time.Duration, t time.Duration) int {
	i, _ := slices.BinarySearchFunc(sorted, t, func(x, t time.Duration) int {
		if x <= t {
			return -1
		}
		return 1
	})
	return i
}

func newWindows(cfg breakerref.Config, t *trip, from time.Duration) *windows {
	w := &windows{cfg: cfg, past: t.past, from: from}
	for i, a := range t.outcomes {
		if a.early == forever {
			continue
		}
		w.order = append(w.order, i)
		w.all.add(a)
		for kind, is := range [outcomeKinds]bool{maybeFailed: a.failMay, maybeOK: !a.failed, maybeSlow: a.slowMay, maybeFast: !a.slow} {
			if is {
				w.kinds[kind].add(a)
			}
		}
		if !t.doubtful(a) && a.settled < forever {
			w.certain = append(w.certain, a)
		}
	}
	w.all.sort()
	for i := range w.kinds {
		w.kinds[i].sort()
	}
	slices.SortStableFunc(w.order, func(i, j int) int { return cmp.Compare(t.outcomes[i].early, t.outcomes[j].early) })
	slices.SortStableFunc(w.certain, func(a, b *admission) int { return cmp.Compare(a.settled, b.settled) })
	return w
}

// trips reports whether recording x may, and whether it must, leave the breaker
// open, and how many outcomes of unknown kind, from before the trace, may be in the
// window then. It is asked in the order of early.
func (w *windows) trips(x *admission) (may, must bool, ghosts int) {
	for ; w.next < len(w.certain) && w.certain[w.next].settled <= x.early; w.next++ {
		early := w.certain[w.next].early
		i, _ := slices.BinarySearch(w.last, early)
		w.last = slices.Insert(w.last, i, early)
		w.last = w.last[max(0, len(w.last)-(w.cfg.Window-1)):]
	}
	from, least := w.reach(x)
	ghosts = w.ghosts(x)
	most := w.all.within(from, x.settled) + ghosts
	enough := w.cfg.MinimumCalls
	if w.cfg.WindowType == breakerref.CountBased {
		most, enough = min(most, w.cfg.Window), min(enough, w.cfg.Window)
	}
	n := max(enough, least)
	for _, rate := range []struct {
		bad, good int
		threshold float32
	}{{maybeFailed, maybeOK, w.cfg.FailureRate}, {maybeSlow, maybeFast, w.cfg.SlowRate}} {
		if n > most || !reaches(min(w.kinds[rate.bad].within(from, x.settled)+ghosts, n), n, rate.threshold) {
			continue
		}
		may = true
		good := w.kinds[rate.good].within(from, x.settled)
		must = must || least >= enough && reaches(max(0, least-good), least+ghosts, rate.threshold)
	}
	return may, must, ghosts
}

// manyGhosts stands for any number of outcomes.
const manyGhosts = 1 << 30

// ghosts is how many outcomes from before the trace may be in the window when x is
// recorded: in one of calls, as many as those recorded since leave room for; in one of
// seconds, any number until it has passed.
func (w *windows) ghosts(x *admission) int {
	switch {
	case !w.past:
		return 0
	case w.cfg.WindowType == breakerref.CountBased:
		return max(0, w.cfg.Window-1-w.next)
	case x.early <= w.from+time.Duration(w.cfg.Window)*time.Second:
		return manyGhosts
	}
	return 0
}

// reach is the earliest instant at which an outcome can have been recorded that
// is still in the window when x is, and the least number of outcomes in it.
func (w *windows) reach(x *admission) (from time.Duration, least int) {
	if w.cfg.WindowType == breakerref.CountBased {
		from = -1
		if w.cfg.Window == 1 {
			from = x.early
		} else if len(w.last) == w.cfg.Window-1 {
			from = w.last[0]
		}
		return from, min(w.next, w.cfg.Window-1) + 1
	}
	// A window of seconds looks back between one second less and itself.
	length := time.Duration(w.cfg.Window) * time.Second
	gone := atMost(w.all.early, x.settled-length+time.Second-1)
	return x.early - length + 1, max(0, w.next-gone) + 1
}

// reaches reports whether a rate reaches its threshold, computed as Resilience4j
// does.
func reaches(bad, n int, threshold float32) bool {
	return n > 0 && float32(bad)*100/float32(n) >= threshold
}

// decision is how the reference ends a visit.
type decision struct {
	end    State    // empty: no breaker is declared, the order decides, or too few outcomes are in
	at     Interval // certain
	likely Interval
}

// decision judges the outcomes of a visit as the declared breaker does when it is
// half-open: by the first few that it records.
func (v *view) decision(vis *visit) decision {
	n := v.decides()
	if !v.breaker.Declared || len(vis.probes) < n || v.blind() {
		return decision{}
	}
	var all times
	likely := make([]time.Duration, 0, len(vis.probes))
	for _, a := range vis.probes {
		all.add(a)
		likely = append(likely, a.settle)
	}
	all.sort()
	slices.Sort(likely)
	d := decision{at: Interval{all.early[n-1], all.settled[n-1]}}
	if d.at.Hi == forever || v.timedOut(vis, d.at.Hi) {
		return decision{}
	}
	d.likely = Interval{d.at.Lo, max(d.at.Lo, likely[n-1])}
	var count [outcomeKinds]int
	for _, a := range vis.probes {
		if a.early > d.at.Hi {
			continue // not among the first
		}
		for kind, is := range [outcomeKinds]bool{maybeFailed: a.failMay, maybeOK: !a.failed, maybeSlow: a.slowMay, maybeFast: !a.slow} {
			if is {
				count[kind]++
			}
		}
	}
	c := v.breaker.Config
	switch {
	case reaches(max(0, n-count[maybeOK]), n, c.FailureRate), reaches(max(0, n-count[maybeFast]), n, c.SlowRate):
		d.end = StateOpen
	case !reaches(min(n, count[maybeFailed]), n, c.FailureRate) && !reaches(min(n, count[maybeSlow]), n, c.SlowRate):
		d.end = StateClosed
	default:
		return decision{}
	}
	return d
}
