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
		until = min(until, a.o)
	}
	c := count{}
	lastHi := time.Duration(0)
	for _, a := range vis.probes {
		switch {
		case a.hi <= until: // An arrival at the very instant of the outcome was decided before it, too.
			c.lo++
			c.show = append(c.show, a)
			lastHi = max(lastHi, a.hi)
		case a.lo < until:
			c.hi++
		}
	}
	c.hi += c.lo + v.stragglers(vis, until)
	// A rejection that was answered at the very instant of the outcome was decided
	// before anybody could know of it.
	c.rejected = len(v.rejectedBetween(lastHi, min(until, forever-1)+1))
	switch {
	case vis.unsure:
		c.unfit = "single calls had been rejected before, so this may be another visit's end"
	case v.lateOutcome(vis, until):
		c.unfit = "an attempt from before the opening ended inside the visit, and breakers may count it"
	}
	return c
}

// stragglers counts admissions that were sent before the breaker was certainly
// open and arrived during the visit.
func (v *view) stragglers(vis *visit, until time.Duration) int {
	n := 0
	for _, a := range v.adm {
		if a.hi >= vis.half.Lo && a.hi < until && a.lo < vis.half.Lo && !slices.Contains(vis.probes, a) {
			n++
		}
	}
	return n
}

// lateOutcome reports whether the SUT may have seen the outcome of an attempt
// that was admitted before a visit during it, up to an instant. Breakers that do
// not tell such outcomes apart (Resilience4j is one) count them as probes'.
func (v *view) lateOutcome(vis *visit, until time.Duration) bool {
	own := map[*admission]bool{}
	for _, a := range vis.probes {
		own[a] = true
	}
	for _, a := range v.adm {
		if a.lo >= vis.half.Hi {
			break
		}
		if !own[a] && a.o < until && a.settled >= vis.half.Lo {
			return true
		}
	}
	return false
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
	want, expected := max(r.Exactly, r.Max), r.expected()
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if v.uncounted() {
			return uncountedVerdict(expected)
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
	})
}

// one judges one visit.
func (r HalfOpenProbes) one(v *view, vis *visit, want int) Verdict {
	c := v.count(vis)
	need := max(10, 2*want)
	out := Verdict{Observed: fmt.Sprint(c.lo), Evidence: ids(c.show), Resolution: fmt.Sprintf("%d rejected before the first outcome", c.rejected)}
	if c.hi > c.lo {
		out.Observed = fmt.Sprintf("%d to %d", c.lo, c.hi)
	}
	switch {
	case c.lo == 0:
		out.Result, out.Reason, out.Remedy = Inconclusive, "no probe of this visit was answered", "let the phase go on until the probes are answered"
	case c.lo > want && c.unfit == "":
		out.Result = Fail
		out.Reason = fmt.Sprintf("%d calls were at the dependency before the first of them was answered", c.lo)
	case c.unfit != "":
		out.Result, out.Reason, out.Remedy = Inconclusive, c.unfit, "let calls in flight end before the wait does"
	case c.rejected < need:
		out.Result = Inconclusive
		out.Observed = "at least " + out.Observed
		out.Reason = fmt.Sprintf("only %d calls were rejected between the last probe and the first outcome, %d are needed to know that no more are let through", c.rejected, need)
		out.Remedy = "hold the probes (faults: hold) and raise the rate of this phase"
	case c.hi > want:
		out.Result = Inconclusive
		out.Reason = "some calls were under way when the first outcome came: a connection pool or a retry may have delayed them"
		out.Remedy = "give the SUT as many connections as probes, or declare the retry's unit"
	case r.Exactly > 0 && c.lo < want && c.hi < want:
		out.Result = Fail
		out.Reason = fmt.Sprintf("%d calls were rejected while only %d probes were out", c.rejected, c.lo)
	case r.Exactly > 0 && c.lo < want:
		out.Result, out.Reason, out.Remedy = Inconclusive, "some calls were under way when the first outcome came", "hold the probes longer (hold.max)"
	default:
		out.Result, out.Margin = Pass, "exact"
	}
	return out
}

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
		out.Expected = expected
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
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		n, cut := 0, 0
		var show []*admission
		for _, vis := range v.visits {
			if !w.in(vis.half.Hi) || !v.mustReopen(vis) {
				continue
			}
			switch v.reopening(vis, e.counted[r.Breaker] != "") {
			case Fail:
				return Verdict{
					Result: Fail, Observed: "closed after failed probes", Evidence: ids(vis.probes),
					Reason: "calls flowed freely although the probes had failed",
				}
			case Pass:
				n++
				show = append(show, vis.probes...)
			default:
				cut++
			}
		}
		return r.conclude(e, n, cut, show)
	})
}

// conclude turns the number of visits that reopened, and of those that cannot be
// told, into a verdict.
func (r ReopensOnFailedProbe) conclude(e *evidence, n, cut int, show []*admission) Verdict {
	id := e.miscount[r.Breaker]
	switch {
	case n > 0:
		return Verdict{Result: Pass, Observed: fmt.Sprintf("%d of %d visits reopened", n, n), Evidence: ids(show), Margin: "exact"}
	case cut > 0 && id != "":
		return Verdict{Result: Skipped, BlockedBy: id, Reason: "with another number of probes a failed visit cannot be told from a close"}
	default:
		return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("no half-open visit with failed probes was seen whole (%d could not be told)", cut),
			"make the phase longer than the wait, under load, with a fault that fails the probes")
	}
}

// reopening says of a visit that had to open again whether it did. counted means
// that the number of probes is known to be the declared one.
func (v *view) reopening(vis *visit, counted bool) Result {
	some, sure := v.wentOn(vis)
	switch {
	case vis.late || vis.end == "":
		return Inconclusive
	case vis.end == StateOpen && !some:
		return Pass
	case vis.unsure:
		return Inconclusive
	case vis.end == StateOpen && sure && counted, vis.end == StateClosed && !v.mayHaveReopened(vis):
		return Fail
	default:
		return Inconclusive
	}
}

// wentOn says whether calls were let through after the outcome that had to open
// the breaker: some takes more probes than declared, or closed and tripped anew;
// both look alike. sure means that they came before a wait was over.
func (v *view) wentOn(vis *visit) (some, sure bool) {
	_, by, ok := v.visitEnd(vis.probes)
	if !ok {
		return false, false
	}
	for _, a := range vis.probes {
		if a.lo > by.settled {
			some, sure = true, sure || a.hi < by.o+vis.wait
		}
	}
	return some || len(vis.probes) > 2*v.permitted(), sure
}

// mayHaveReopened reports whether a visit that ended closed may be two, with an
// open interval between them that no call shows: after the outcome that had to
// open it there was time for a wait before calls flowed.
func (v *view) mayHaveReopened(vis *visit) bool {
	_, by, ok := v.visitEnd(vis.probes)
	if !ok {
		by = vis.probes[0]
	}
	return vis.probes[vis.free].hi-by.o >= vis.wait
}

// mustReopen reports whether the outcomes of a visit have to open the breaker:
// where it is declared the reference says so, else all the probes failed.
func (v *view) mustReopen(vis *visit) bool {
	if v.breaker.Declared {
		end, _, ok := v.visitEnd(vis.probes)
		return ok && end == StateOpen
	}
	for _, a := range vis.probes[:min(len(vis.probes), v.permitted())] {
		if !a.failed {
			return false
		}
	}
	return true
}
