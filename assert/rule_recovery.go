package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// RecoveryTime bounds the time from the end of the fault until Target begins to
// hold for a stretch of For.
type RecoveryTime struct {
	Breaker string // whose injector was faulted, and whose wait is reported as the floor
	Max     time.Duration
	Target  Criterion
	For     time.Duration
}

// Kind implements [Rule].
func (RecoveryTime) Kind() string { return "recovery.time" }

// expected says what the rule asks.
func (r RecoveryTime) expected() string {
	return fmt.Sprintf("%s for %s, from at most %s after the fault on", r.Target, short(r.For), short(r.Max))
}

// ended is a fault that came to its end before a phase.
type ended struct {
	from time.Duration // when it began
	at   time.Duration // when the dependency was well again
	to   time.Duration // by when the load after it had ended
}

// faultBefore finds the last fault of an injector before the end of the phase of
// an assertion (before the end of the run, if it names none), or says why there
// is none to recover from.
func (e *evidence) faultBefore(injector string, a Assertion) (f ended, why string) {
	ps := e.trace.Phases
	faulty := func(i int) bool { return len(e.faults[ps[i].Name][injector]) > 0 }
	last := slices.IndexFunc(ps, func(p trace.Phase) bool { return p.Name == a.Phase })
	if a.Phase == "" {
		last = len(ps) - 1
		for last > 0 && faulty(last) {
			last--
		}
	}
	before := last - 1
	for before >= 0 && !faulty(before) {
		before--
	}
	switch {
	case last >= 0 && faulty(last):
		return f, fmt.Sprintf("phase %s has a fault at %s itself", ps[last].Name, injector)
	case before < 0:
		return f, "no phase with a fault at " + injector + " comes before"
	}
	f.at, f.to = ps[before].To, ps[last].To
	for ; before >= 0 && faulty(before); before-- {
		f.from = ps[before].From
	}
	return e.clearBy(injector, f)
}

// clearBy finds when the dependency was well: the latest of the mark that the
// fault is off, the mark that the door is open, and the end of the last attempt that it had hit.
func (e *evidence) clearBy(injector string, f ended) (ended, string) {
	hit := false
	for _, b := range e.trace.Blind(injector) {
		if b.From < f.to && b.To >= f.from && b.To < forever {
			hit, f.at = true, max(f.at, b.To)
		}
	}
	for _, m := range e.trace.Marks {
		if m.Kind == trace.MarkFaultOff && m.Subject == injector && m.At < f.to {
			f.at = max(f.at, m.At)
		}
	}
	for i := range e.trace.Attempts {
		at := &e.trace.Attempts[i]
		if at.Injector != injector || at.Rule == "" || at.Arr >= f.to || at.Arr < f.from {
			continue
		}
		hit = true
		if at.Done() == trace.None {
			return f, "an attempt that the fault had hit never came to its end, so the dependency was not well again"
		}
		f.at = max(f.at, at.Done())
	}
	if !hit {
		return f, "the fault hit no attempt at " + injector
	}
	return f, ""
}

// judge implements [Rule].
func (r RecoveryTime) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	out := Verdict{Result: Inconclusive, Observed: "nothing to recover from"}
	if len(e.views[r.Breaker]) == 0 {
		out.Reason, out.Remedy = "breaker "+r.Breaker+" is not among those of the experiment", "name one under breakers"
		return out
	}
	if why := e.known(r.Target.Subject); why != "" {
		out.Reason, out.Remedy = why, "declare the class under load.classify, or correct its name"
		return out
	}
	f, why := e.faultBefore(e.views[r.Breaker][0].breaker.Injector, a)
	if why != "" {
		out.Reason, out.Remedy = why, "name a phase without faults that comes after one with a fault at this injector"
		return out
	}
	out = r.conclude(e, f, r.slide(e, f), a)
	if late := e.heldUp(r.Breaker, f); late > f.at && out.Result == Fail {
		held := late - f.at
		if f.at = late; late >= f.to || r.conclude(e, f, r.slide(e, f), a).Result != Fail {
			out.Result, out.miss, out.Evidence = Inconclusive, 0, nil
			out.Reason = fmt.Sprintf("calls that met the shut door may have been held up until %s after it was open, and the service may have recovered in time from there on", short(held))
			out.Remedy = "allow for how long the service waits for a connection, and let every call be answered within load.timeout"
		}
	}
	return out
}

// heldUp is until when calls that met a shut door may have been held up by it.
func (e *evidence) heldUp(breaker string, f ended) time.Duration {
	late := time.Duration(0)
	for _, v := range e.views[breaker] {
		if v.era.Lo <= f.at {
			late = max(late, v.tail())
		}
	}
	return late
}

// slide is the calls around a recovery, as the target looks at them.
type slide struct {
	calls     []*trace.Call // sent after the dependency was well, in the order of sending
	sure, may []int         // prefix sums: of calls[:i], how many are good for certain, how many may be
	pauses    []int         // prefix sums: how many times nothing was sent for half of the stretch
	broken    []*trace.Call // sent since the fault began, and not good in any reading
	resolved  bool          // windows before the first that may hold had calls enough
}

// good says whether a call is what the target wants, and whether the target looks
// at it at all.
func (r RecoveryTime) good(e *evidence, s seen, to time.Duration) (counts, sure, may bool) {
	sure, may = s.member(r.Target.Subject)
	switch {
	case r.Target.Quantile > 0:
		counts = sure
		sure, may = e.inTime(s.call, r.Target.Latency, to)
	case r.Target.AtLeast:
		counts = true
	default:
		counts, sure, may = true, !may, !sure
	}
	late := s.call.End > to || !s.call.Answered() && e.stalled(s.call.Send, s.call.End)
	return counts, sure && !late, may || late
}

// slide collects the calls that ask the breaker.
func (r RecoveryTime) slide(e *evidence, f ended) *slide {
	joined := e.views[r.Breaker][0].join.Calls
	first, _ := slices.BinarySearchFunc(joined, f.from, func(c trace.Joined, t time.Duration) int { return cmp.Compare(c.Call.Send, t) })
	s := &slide{sure: []int{0}, may: []int{0}, pauses: []int{0}}
	slowest, lastSent := e.slowestGood(r, joined[first:], f), f.at
	for i := first; i < len(joined) && joined[i].Call.Send < f.to; i++ {
		c := &joined[i].Call
		counts, sure, may := r.good(e, seen{c, joined[i].Kind}, f.to)
		switch {
		case !counts, c.Err == trace.ErrCanceled, c.End > f.to && f.to-c.Send <= slowest:
			continue
		case !may:
			s.broken = append(s.broken, c)
		}
		if c.Send < f.at {
			continue
		}
		n := len(s.calls)
		s.sure, s.may = append(s.sure, s.sure[n]+one(sure)), append(s.may, s.may[n]+one(may))
		s.pauses = append(s.pauses, s.pauses[n]+one(c.Send-lastSent > r.For/2))
		s.calls, lastSent = append(s.calls, c), c.Send
	}
	return s
}

// slowestGood is how long good calls took that ended in time.
func (e *evidence) slowestGood(r RecoveryTime, joined []trace.Joined, f ended) time.Duration {
	slowest := time.Duration(-1)
	for i := range joined {
		c := &joined[i].Call
		if c.Send >= f.to {
			break
		}
		if counts, sure, _ := r.good(e, seen{c, joined[i].Kind}, f.to); counts && sure {
			slowest = max(slowest, c.End-c.Send)
		}
	}
	return slowest
}

// one counts a condition.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sentBefore is how many calls from calls[i] on were sent before t.
func (s *slide) sentBefore(i int, t time.Duration) int {
	n, _ := slices.BinarySearchFunc(s.calls[i:], t, func(c *trace.Call, t time.Duration) int {
		if c.Send < t {
			return -1
		}
		return 1
	})
	return n
}

// recovered bounds when the target began to hold: lo is the earliest start of a
// stretch in which it may hold, hi that of one in which it does, or forever.
func (r RecoveryTime) recovered(s *slide, f ended) Interval {
	in, before := Interval{forever, forever}, f.at
	for i, c := range s.calls {
		least, most := s.sentBefore(i, before+r.For), s.sentBefore(i, c.Send+r.For)
		if in.Lo == forever && (before+r.For > f.to || r.mayHold(s, i, least, most)) {
			in.Lo, s.resolved = before, before+r.For <= f.to && most >= enough
		}
		steady := s.pauses[i+most]-s.pauses[min(i+1, i+most)] == 0 && most > 0 && c.Send+r.For-s.calls[i+most-1].Send <= r.For/2
		if most >= enough && steady && c.Send+r.For <= f.to && r.Target.holds(most, s.sure[i+most]-s.sure[i]) {
			in.Hi = c.Send
			break
		}
		before = c.Send
	}
	if in.Lo == forever {
		in.Lo = min(before, f.to)
	}
	return in
}

// mayHold reports whether the target may hold in a stretch that begins between
// two calls, and so has from least to most of the calls from calls[i] on.
func (r RecoveryTime) mayHold(s *slide, i, least, most int) bool {
	for n := least; n <= most; n++ {
		if n < enough || r.Target.holds(n, s.may[i+n]-s.may[i]) {
			return true
		}
	}
	return false
}

// conclude turns what was found into a verdict.
func (r RecoveryTime) conclude(e *evidence, f ended, s *slide, a Assertion) Verdict {
	in := r.recovered(s, f)
	took := Interval{in.Lo - f.at, forever}
	out := Verdict{Result: Inconclusive}
	if in.Hi < forever {
		took.Hi = in.Hi - f.at
		out.Observed, out.Resolution = took.String()+" after the fault", short(took.width())
	} else {
		out.Observed = fmt.Sprintf("in the %s of load after the fault it is not seen to hold for %s", short(f.to-f.at), short(r.For))
	}
	wait := r.floor(e, f.at)
	if wait != "" {
		out.Observed += " (floor: the breaker's wait had still " + wait + " to run)"
	}
	bad := slices.DeleteFunc(slices.Clone(s.broken), func(c *trace.Call) bool { return c.Send > in.Lo })
	switch {
	case took.Lo > r.Max:
		out.Result, out.miss, out.Evidence = Fail, took.Lo-r.Max, callsOf(bad[max(0, len(bad)-10):])
		out.Reason = "no such stretch began earlier: " + kinds(slices.DeleteFunc(bad, func(c *trace.Call) bool { return c.Send < f.at }))
	case took.Hi <= r.Max && len(bad) == 0:
		out.Reason = "every call was good also while the fault was on, so there was nothing to recover from"
		out.Remedy = "let the fault hit more calls, or ask for a target that it harms"
	case took.Hi <= r.Max:
		out.Result, out.Margin = Pass, short(r.Max-took.Hi)
	case f.at+r.Max+r.For > f.to && in.Hi == forever:
		out.Reason = fmt.Sprintf("the load ended %s after the fault; to tell, it must go on for %s", short(f.to-f.at), short(r.Max+r.For))
		out.Remedy = "make phase " + a.Phase + " longer"
	case !s.resolved:
		out.Reason = fmt.Sprintf("a stretch of %s must have %d calls, without long gaps between them", short(r.For), enough)
		out.Remedy = "raise the rate " + inPhase(a)
	default:
		out.Reason = "the trace does not pin the recovery down far enough: calls were sent late, or were still under way at the end"
		out.Remedy = "raise the rate " + inPhase(a)
	}
	return out
}

// floor is how long the declared breaker's wait had still to run when the
// dependency was well, so that nothing could recover sooner, or nothing.
func (r RecoveryTime) floor(e *evidence, at time.Duration) string {
	least := Interval{}
	for _, v := range e.views[r.Breaker] {
		c := v.breaker.Config
		if most, known := v.longestWait(); !known || c.Wait != most {
			continue // It is not known which of its waits this is.
		}
		for _, s := range v.segs {
			if s.state != StateOpen || !s.sure || s.from.Hi > at || s.to.Lo < at {
				continue
			}
			left := Interval{max(c.Wait-(at-s.tight.Lo), 0), max(c.Wait-(at-s.tight.Hi), 0)}
			if left.Hi > least.Hi {
				least = left
			}
		}
	}
	if least.Hi == 0 {
		return ""
	}
	return least.String()
}
