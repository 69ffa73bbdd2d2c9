package assert

import (
	"fmt"
	"slices"
	"time"
)

// EjectionOpens says that a proxy ejects the host after as many failures in a row as the
// breaker declares, or at most Late more: some calls may still pass before every worker of the
// proxy knows. Source: Envoy, consecutive_5xx; HAProxy, error-limit.
//
// Needs an ejection in the phase. Where there is none, it fails if as many outcomes as that
// failed in a row and calls that were sent later went on reaching the host.
type EjectionOpens struct {
	Breaker string
	Late    int
}

// Growth says how the time of an ejection grows from one to the next.
type Growth string

// The ways to grow.
const (
	GrowthNone   Growth = ""       // all are alike
	GrowthLinear Growth = "linear" // the k-th lasts k times as long: Envoy
	GrowthDouble Growth = "double" // each lasts twice as long as the one before
)

// EjectionDuration says how long the host is ejected: Equals for the first time in the phase,
// and then as Growth says, or Sequence. A proxy that looks at it only every so often returns it
// up to Tick later.
//
// Needs as many ejections that began and ended in the phase as Sequence has; else one, or two
// where it is to grow.
type EjectionDuration struct {
	Breaker   string
	Equals    time.Duration
	Sequence  []time.Duration
	Growth    Growth
	Tick      time.Duration
	Tolerance float64 // share of the expected duration, 0..1
}

// EjectionReturns says that a host that comes back has all its traffic at once, and no
// probes: whatever came after was let through, until as many failures as eject it were back.
//
// Needs a return in the phase and ten calls that were let through after it. As a breaker with
// one probe lets through as many if its probe succeeds, it also needs what such a breaker would
// not do: a second call that is let through before the first one after the return has ended, or
// one that is let through after one of them has failed.
type EjectionReturns struct{ Breaker string }

// Kind implements [Rule].
func (EjectionOpens) Kind() string { return "ejection.opens" }

// Kind implements [Rule].
func (EjectionDuration) Kind() string { return "ejection.duration" }

// Kind implements [Rule].
func (EjectionReturns) Kind() string { return "ejection.returns" }

// expected says what the rule asks.
func (r EjectionOpens) expected() string {
	if r.Late > 0 {
		return fmt.Sprintf("ejected after the declared failures in a row, at most %d more", r.Late)
	}
	return "ejected after the declared failures in a row"
}

// expected says what the rule asks.
func (r EjectionDuration) expected() string {
	s := "ejected for " + short(r.Equals)
	for i, d := range r.Sequence {
		if i == 0 {
			s = "ejected for " + short(d)
			continue
		}
		s += ", then " + short(d)
	}
	switch r.Growth {
	case GrowthLinear:
		s += ", growing by as much"
	case GrowthDouble:
		s += ", doubling"
	case GrowthNone:
	}
	s += " +- " + percent(r.Tolerance)
	if r.Tick > 0 {
		s += ", up to " + short(r.Tick) + " later"
	}
	return s
}

// expected says what the rule asks.
func (EjectionReturns) expected() string { return "all traffic at once after an ejection, no probes" }

// judge implements [Rule].
func (r EjectionOpens) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if !v.ejects() {
			return notEjecting(r)
		}
		var parts []Verdict
		for _, s := range v.ejections(w) {
			parts = append(parts, r.one(v, s))
		}
		if len(parts) == 0 {
			return r.never(v, w, a)
		}
		return anyOf(r.expected(), "ejections", parts)
	})
}

// notEjecting is the verdict of such a rule about another kind of breaker.
func notEjecting(r Rule) Verdict {
	return Verdict{
		Result: Inconclusive, Expected: r.expected(), Observed: "not looked at",
		Reason: "the breaker is not declared as one that ejects", Remedy: "declare it: ejection: {after: 5}",
	}
}

// one judges one ejection.
func (r EjectionOpens) one(v *view, s *segment) Verdict {
	n, want := v.row(s), v.breaker.Ejection.After
	out := Verdict{Result: Pass, Observed: fmt.Sprintf("ejected after %s failures in a row", n), Margin: "exact"}
	if c := s.trip.candidates; len(c) > 0 {
		out.Evidence = []string{s.trip.outcomes[c[len(c)-1]].id()}
	}
	switch {
	case len(s.trip.outcomes) == 0:
		out.Result, out.Margin, out.Observed = Inconclusive, "", "ejected with no outcome before it"
		out.Reason, out.Remedy = "no outcome at the dependency explains the ejection", "look for an active check, or a limit, in the proxy"
	case s.trip.guests:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = v.guests("its failures cannot be counted")
	case s.trip.past && n.Hi > want:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = v.beforehand()+", so the row may have begun earlier", "let a good call come before"
	case n.Hi < want, n.Lo > want+r.Late:
		out.Result, out.Margin, out.Reason = Fail, "", fmt.Sprintf("%d in a row eject it", want)
	case n.Lo < want, n.Hi > want+r.Late:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "outcomes overlap, so the trace cannot tell which of them ejected it"
		out.Remedy = "use load: {calls: ..., concurrency: 1} in this phase, or allow for late calls"
	}
	return out
}

// never judges a phase without an ejection.
func (r EjectionOpens) never(v *view, w Interval, a Assertion) Verdict {
	out := Verdict{Expected: r.expected(), Result: Inconclusive}
	if v.openAt(w.Lo) {
		out.Observed, out.Reason, out.Remedy = "it was ejected already when the phase began", "an ejection can only be seen of a host that has traffic", "let it come back before this phase"
		return out
	}
	outs, faulted := v.outcomesIn(w)
	out.Observed = fmt.Sprintf("not ejected within %s (%d faulted)", plural(len(outs), "outcome"), faulted)
	want, row, settled := v.breaker.Ejection.After+r.Late, 0, time.Duration(0)
	for _, x := range outs {
		if !x.failed {
			row, settled = 0, 0
			continue
		}
		settled = max(settled, x.settled)
		if row++; row < want || settled == forever {
			continue
		}
		if late := v.provenIn(Interval{settled, w.Hi}, w); len(late) >= fewAttempts {
			out.Result, out.Evidence = Fail, ids(late)
			out.Reason = fmt.Sprintf("%d outcomes failed in a row, and calls went on reaching the host", row)
			return out
		}
	}
	out.Reason = fmt.Sprintf("%s, and no %d failures in a row with calls after them", plural(faulted, "faulted outcome"), want)
	out.Remedy = "send more calls in phase " + a.Phase + ", of which all fail"
	return out
}

// judge implements [Rule].
func (r EjectionDuration) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if !v.ejects() {
			return notEjecting(r)
		}
		need := max(1, len(r.Sequence))
		if r.Growth != GrowthNone {
			need = 2
		}
		var parts []Verdict
		for _, s := range v.ejections(w) {
			if s.last || !w.in(s.to.Hi) || len(r.Sequence) > 0 && len(parts) == len(r.Sequence) {
				break
			}
			parts = append(parts, r.one(s, r.want(len(parts))))
		}
		wrong := slices.ContainsFunc(parts, func(p Verdict) bool { return p.Result == Fail })
		switch {
		case len(parts) < need && !wrong:
			return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("%s could be measured to its end in this phase; needed: %d", plural(len(parts), "ejection"), need),
				"make the phase longer than the ejections, under load")
		case need > 1:
			return merge(r.expected(), parts)
		default:
			return anyOf(r.expected(), "ejections", parts)
		}
	})
}

// want is how long the ejection of a number, from 0, is to last.
func (r EjectionDuration) want(k int) time.Duration {
	if len(r.Sequence) > 0 {
		return r.Sequence[k]
	}
	switch r.Growth {
	case GrowthLinear:
		return r.Equals * time.Duration(k+1)
	case GrowthDouble:
		return r.Equals << min(k, 20)
	case GrowthNone:
	}
	return r.Equals
}

// one judges one ejection.
func (r EjectionDuration) one(s *segment, want time.Duration) Verdict {
	tol := time.Duration(float64(want) * r.Tolerance)
	lo, hi := want-tol, want+tol+r.Tick
	took := sub(s.to, s.from)
	likely := sub(s.to, s.tight)
	out := Verdict{Result: Pass, Observed: likely.String(), Resolution: short(likely.width())}
	switch {
	case took.apart(lo, hi):
		out.Result, out.Observed, out.miss = Fail, took.String(), took.distance(lo, hi)
		out.Reason = fmt.Sprintf("it was ejected for too long, wanted %s", Interval{lo, hi})
		if took.Hi < lo {
			out.Reason = fmt.Sprintf("it came back too early, wanted %s", Interval{lo, hi})
		}
	case !s.sure:
		out.Result, out.Reason, out.Remedy = Inconclusive, "calls came so rarely that it may have been ejected more than once", "raise the rate of this phase"
	case likely.inside(lo, hi):
		out.Margin = short(min(likely.Lo-lo, hi-likely.Hi))
	default:
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("the trace shows it only to %s, wanted %s", short(took.width()), Interval{lo, hi})
		out.Remedy = "raise the rate of this phase, or widen the tolerance"
	}
	return out
}

// judge implements [Rule].
func (r EjectionReturns) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		if !v.ejects() {
			return notEjecting(r)
		}
		var parts []Verdict
		for i := range v.segs {
			if s := &v.segs[i]; s.state == StateOpen && !s.last && w.in(s.to.Hi) {
				parts = append(parts, r.one(v, s, w))
			}
		}
		if len(parts) == 0 {
			return e.noOpening(r.Breaker, r.expected(), "no ejection ended in this phase", "make the phase longer than the ejection, under load")
		}
		return anyOf(r.expected(), "returns", parts)
	})
}

// one judges what came after one ejection.
func (r EjectionReturns) one(v *view, s *segment, w Interval) Verdict {
	through, rejected := v.sinceBack(s.to, w.Hi)
	failed := 0
	for _, x := range through {
		failed += one(v.bad(x) && (rejected == nil || x.early <= rejected.hi))
	}
	out := Verdict{
		Result: Pass, Evidence: ids(through), Margin: fmt.Sprintf("%d more than needed", len(through)-fewCalls),
		Observed: fmt.Sprintf("%s let through at once", plural(len(through), "call")),
	}
	switch {
	case rejected != nil && failed < v.breaker.Ejection.After && !v.disturbed(s.to.Hi, rejected.hi):
		out.Result, out.Margin = Fail, ""
		out.Evidence = append(out.Evidence[:min(len(out.Evidence), 9)], rejected.id())
		out.Reason = fmt.Sprintf("a call was rejected after %s, of which %d failed, where %d failures in a row eject the host: as if these were probes", plural(len(through), "call"), failed, v.breaker.Ejection.After)
	case len(through) < fewCalls:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = fmt.Sprintf("%s let through after it came back, %d are needed", plural(len(through), "call"), fewCalls)
		out.Remedy = "raise the rate, so that calls come before the next ejection, or let the dependency be well again"
	case !v.unprobed(through):
		out.Result, out.Margin = Inconclusive, ""
		out.Reason = "each was sent when the one before had ended well, so that a breaker with one probe would have let them through, too"
		out.Remedy = "let some calls fail when it is back (fewer than eject it), or take so long that others come meanwhile"
	}
	return out
}

// unprobed reports whether calls were let through that a breaker with one probe would have
// rejected: while the first was under way, or when one had failed.
func (v *view) unprobed(through []*admission) bool {
	ended, failed := forever, forever
	for _, a := range through {
		if a.lo > failed || a.hi < ended && ended != forever {
			return true
		}
		ended = min(ended, a.early)
		if a.failed {
			failed = min(failed, a.settled)
		}
	}
	return false
}

// disturbed reports whether what came in a time is not all known.
func (v *view) disturbed(from, to time.Duration) bool {
	for _, a := range v.adm {
		if a.ghost && a.lo <= to && a.settled >= from {
			return true
		}
	}
	return false
}
