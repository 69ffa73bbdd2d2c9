package assert

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// count is what a visit shows of how many calls it admitted.
type count struct {
	lo, hi   int
	rejected int // wholly after the last counted arrival and before the first outcome
	unfit    string
	show     []*admission
}

// count counts the admissions of a visit before its first outcome: nothing that
// the breaker learned can have admitted them. Calls that were sent before that
// outcome and arrived after it may have been admitted before it as well.
func (v *view) count(vis *visit) count {
	until := forever
	for _, a := range vis.probes {
		until = min(until, a.early)
	}
	c := count{unfit: vis.unfit(v, until)}
	lastHi := forever - 1
	for _, a := range vis.probes {
		switch {
		case a.hi < until:
			c.lo++
			c.show = append(c.show, a)
			lastHi = a.hi // they are in the order of arrival
		case a.lo < until:
			c.hi++
		}
	}
	c.hi += c.lo + v.stragglers(vis, until)
	// A rejection that was answered at the very instant of the outcome was decided
	// before anybody could know of it.
	c.rejected = len(v.rejectedBetween(lastHi, min(until, forever-1)+1))
	return c
}

// unfit says why the admissions of a visit up to an instant cannot be counted,
// or nothing.
func (vis *visit) unfit(v *view, until time.Duration) string {
	switch {
	case !vis.sure && v.after() && vis == v.visits[0]:
		return "the door was shut before, so the breaker may have been half-open already when it opened"
	case !vis.sure:
		return "calls came so rarely that the breaker may have been half-open before"
	case len(vis.maybe) > 0:
		return "calls from before the opening arrived after the wait, and may be probes"
	case slices.ContainsFunc(vis.late, func(a *admission) bool { return a.early <= until }):
		return "an attempt from before the opening ended inside the visit, and breakers may count it"
	case v.timedOut(vis, until):
		return "the longest half-open stay was over before the first outcome"
	}
	return ""
}

// stragglers counts other admissions that arrived during a visit: they were sent
// before the breaker was open for certain.
func (v *view) stragglers(vis *visit, until time.Duration) int {
	n := 0
	for i := v.arrivedFrom(vis.half.Lo); i < len(v.byHi) && v.byHi[i].hi < until && v.index.nextLo[i] < vis.half.Lo; i++ {
		if v.byHi[i].lo < vis.half.Lo && v.byHi[i].lo < vis.probes[0].lo {
			n++
		}
	}
	return n
}

// expected says what the rule asks.
func (r HalfOpenProbes) expected() string {
	if r.Exactly == 0 {
		return fmt.Sprintf("at most %d probes", r.Max)
	}
	return fmt.Sprintf("exactly %d probes", r.Exactly)
}

// judge implements [Rule].
func (r HalfOpenProbes) judge(e *evidence, a Assertion) Verdict {
	out := e.each(r.Breaker, a, func(v *view, w Interval) Verdict { return r.visits(e, v, w) })
	if out.Result == Pass && r.Exactly > 0 {
		out.Observed += e.total(r.Breaker, r.Exactly)
	}
	return out
}

// visits judges those that began in a window.
func (r HalfOpenProbes) visits(e *evidence, v *view, w Interval) Verdict {
	want, expected := max(r.Exactly, r.Max), r.expected()
	if v.uncounted() {
		return v.uncountedVerdict(expected)
	}
	var parts []Verdict
	for _, vis := range v.visits {
		if w.in(vis.half.Hi) {
			parts = append(parts, r.one(v, vis, want))
		}
	}
	if len(parts) == 0 {
		return e.noOpening(r.Breaker, expected, "no half-open visit began in this phase",
			"make the phase longer than the wait, under load")
	}
	return anyOf(expected, "visits", parts)
}

// one judges one visit.
func (r HalfOpenProbes) one(v *view, vis *visit, want int) Verdict {
	c := v.count(vis)
	need := max(10, 2*want)
	out := Verdict{Observed: plural(c.lo, "probe"), Evidence: ids(c.show), Resolution: fmt.Sprintf("%d rejected before the first outcome", c.rejected)}
	if c.hi > c.lo {
		out.Observed = fmt.Sprintf("%d to %d probes", c.lo, c.hi)
	}
	switch {
	case c.lo > want && c.unfit == "":
		out.Result = Fail
		out.Reason = fmt.Sprintf("%d calls were at the dependency before the first of them was answered", c.lo)
	case c.unfit != "":
		out.Result, out.Reason, out.Remedy = Inconclusive, c.unfit, "let calls in flight end before the wait does"
	case c.rejected < need:
		out.Result = Inconclusive
		if c.hi == c.lo {
			out.Observed = "at least " + out.Observed
		}
		out.Reason = fmt.Sprintf("only %d calls were rejected between the last probe and the first outcome, %d are needed to know that no more are let through", c.rejected, need)
		out.Remedy = "hold the probes (faults: hold) and raise the rate of this phase"
	case c.hi > want:
		out.Result = Inconclusive
		out.Reason = "some calls were under way when the first outcome came: a connection pool or a retry may have delayed them"
		out.Remedy = "give the SUT as many connections as probes, or declare the retry's unit"
	case r.Exactly > 0 && c.lo < want && c.hi < want:
		out.Result = Fail
		out.Reason = fmt.Sprintf("%d calls were rejected while only %d probes were out, by the breaker or by a bulkhead that holds no more", c.rejected, c.lo)
	case r.Exactly > 0 && c.lo < want:
		out.Result, out.Reason, out.Remedy = Inconclusive, "some calls were under way when the first outcome came", "hold the probes longer (hold.max)"
	default:
		out.Result, out.Margin = Pass, "exact"
	}
	return out
}

// shownParts is how many different observations of one thing are printed.
const shownParts = 3

// anyOf joins several looks at the same thing: one that fails decides, one that
// passes is enough, those that show nothing do not count. what names them.
func anyOf(expected, what string, parts []Verdict) Verdict {
	by := map[Result][]Verdict{}
	for _, p := range parts {
		by[p.Result] = append(by[p.Result], p)
	}
	for _, r := range []Result{Fail, Pass, Inconclusive} {
		same := by[r]
		if len(same) == 0 {
			continue
		}
		out := same[0]
		seen := make([]string, 0, len(same))
		for _, p := range same {
			if !slices.Contains(seen, p.Observed) {
				seen = append(seen, p.Observed)
			}
		}
		if more := len(seen) - shownParts; more > 0 {
			seen = append(seen[:shownParts], fmt.Sprintf("and %d more", more))
		}
		out.Expected, out.miss = expected, missOf(same)
		out.Observed = fmt.Sprintf("%s (%d of %d %s)", strings.Join(seen, "; "), len(same), len(parts), what)
		if undecided := len(by[Inconclusive]); r == Pass && undecided > 0 {
			out.Observed += ", the others do not tell"
		}
		return out
	}
	return Verdict{Result: Inconclusive, Expected: expected}
}

// expected says what the rule asks.
func (ReopensOnFailedProbe) expected() string { return "opens again after failed probes" }

// judge implements [Rule].
func (r ReopensOnFailedProbe) judge(e *evidence, a Assertion) Verdict {
	expected := r.expected()
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		n, unclear := 0, 0
		var show []*admission
		for _, vis := range v.visits {
			if !w.in(vis.half.Hi) {
				continue
			}
			switch v.reopens(vis) {
			case Fail:
				return Verdict{
					Result: Fail, Expected: expected, Observed: "closed after failed probes", Evidence: ids(vis.probes),
					Reason: "calls flowed freely although the probes had failed",
				}
			case Pass:
				n++
				show = append(show, vis.probes...)
			default:
				unclear++
			}
		}
		if n == 0 {
			return e.noOpening(r.Breaker, expected, fmt.Sprintf("of %s in this phase, none can be told to have had failed probes and an end", plural(unclear, "half-open visit")),
				"make the phase longer than the wait, under load, with a fault that fails the probes")
		}
		return Verdict{Result: Pass, Expected: expected, Observed: fmt.Sprintf("%d of %d visits reopened", n, n+unclear), Evidence: ids(show), Margin: "exact"}
	})
}

// reopens judges one visit whose probes failed. It passes if no more outcomes
// came than decide, or so few more that a breaker which had closed could not
// have opened again. It fails if a call was admitted when the breaker had to be
// open; with more calls behind it that is so only if the breaker is known to
// permit no more than is declared.
func (v *view) reopens(vis *visit) Result {
	if !v.breaker.Declared {
		return v.reopensUndeclared(vis)
	}
	c, let := v.breaker.Config, v.letThrough(vis)
	switch {
	case !vis.fit() || v.uncounted() || v.decision(vis).end != StateOpen:
	case vis.end == StateOpen && !let && len(vis.probes)-v.decides() < min(c.MinimumCalls, c.Window):
		return Pass
	case let && (vis.end == StateClosed || v.permitsExactly()):
		return Fail
	}
	return Inconclusive
}

// letThrough reports whether a call of a visit was admitted when the outcomes
// before it had to have opened the breaker again.
func (v *view) letThrough(vis *visit) bool {
	d := v.decision(vis)
	return vis.fit() && d.end == StateOpen && slices.ContainsFunc(vis.probes, func(a *admission) bool {
		return a.lo > d.at.Hi && a.hi < d.at.Lo+v.wait
	})
}

// permitsExactly reports whether some visit shows that half-open permits just as
// many calls as are declared.
func (v *view) permitsExactly() bool {
	n := v.permitted()
	return slices.ContainsFunc(v.visits, func(vis *visit) bool {
		return HalfOpenProbes{Exactly: n}.one(v, vis, n).Result == Pass
	})
}

// reopensUndeclared judges a visit of a breaker whose numbers are not known. It
// passes if all probes failed and were admitted before the first of them had. It
// cannot fail: however many calls are admitted, more may be permitted.
func (v *view) reopensUndeclared(vis *visit) Result {
	first := forever
	for _, a := range vis.probes {
		if !a.failed {
			return Inconclusive
		}
		first = min(first, a.early)
	}
	if vis.fit() && !v.uncounted() && vis.end == StateOpen && vis.probes[len(vis.probes)-1].hi <= first {
		return Pass
	}
	return Inconclusive
}
