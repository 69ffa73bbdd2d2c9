package assert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// ReportedStateAgrees says that what the SUT reports of its breaker is what its calls show,
// at most MaxLag late. A reading says something of some instant between the question and
// the answer, or up to MaxLag before; it contradicts the calls only if it is false at each
// of these instants:
//
//   - OPEN, while calls were let through before and after, closer together than the declared
//     wait, and none was rejected between.
//   - CLOSED or HALF_OPEN, while every call was rejected, before and after too, and no
//     outcome was outstanding.
//   - HALF_OPEN, while the breaker had been closed since its launch, or for many more calls
//     than half-open admits, with no time in which it can have been open.
//   - HALF_OPEN, with OnCall, while no call had been let through since it was open: a breaker
//     that waits for a call became half-open by a timer.
//
// It passes if no reading contradicts, and each state that lasted longer than MaxLag and a
// little has a reading that agrees with it.
type ReportedStateAgrees struct {
	Breaker string
	MaxLag  time.Duration
	OnCall  bool // it becomes half-open when a call comes after its wait, never by itself
}

// Kind implements [Rule].
func (ReportedStateAgrees) Kind() string { return "reported_state_agrees" }

// expected says what the rule asks.
func (r ReportedStateAgrees) expected() string {
	text := fmt.Sprintf("what %s reports is what its calls show, at most %s late", r.Breaker, short(r.MaxLag))
	if r.OnCall {
		text += ", and it is half-open only when a call has come"
	}
	return text
}

// judge implements [Rule].
func (r ReportedStateAgrees) judge(e *evidence, a Assertion) Verdict {
	all := e.told(trace.MarkReported, r.Breaker)
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		own, reason, remedy := all.of(v)
		own = own.within(w)
		switch {
		case v.uncounted():
			return v.uncountedVerdict(r.expected())
		case reason != "":
			return Verdict{Result: Inconclusive, Observed: "nothing of this instance", Reason: reason, Remedy: remedy}
		case len(own.readings) == 0:
			return Verdict{
				Result: Inconclusive, Observed: "no state was reported", Reason: own.silence(),
				Remedy: "correct the breaker's state_probe, and let its page answer while the breaker is open as well",
			}
		case v.breaker.Declared && 2*r.MaxLag >= v.breaker.Config.Wait:
			return Verdict{
				Result: Inconclusive, Observed: plural(len(own.readings), "reading"), Reason: "max_lag is not below half of the declared wait, so that a change may be over before it has to show",
				Remedy: "lower max_lag, or let the breaker wait for longer",
			}
		}
		return r.compare(v, w, own)
	})
}

// compare holds readings to the calls of a view.
func (r ReportedStateAgrees) compare(v *view, w Interval, own told) Verdict {
	agreed, tally := map[State]int{}, map[string]int{}
	var lies []contradiction
	for _, one := range own.readings {
		in := Interval{one.asked - r.MaxLag, one.answered}
		tally[one.text]++
		if !in.inside(v.era.Lo, v.era.Hi) {
			continue
		}
		if c, ok := v.falsified(one, in, r.OnCall); ok {
			lies = append(lies, c)
		}
		if s, ok := v.surely(in, r.OnCall); ok && s == stateOf(one.text) {
			agreed[s]++
		}
	}
	out := Verdict{Result: Pass, Resolution: short(r.MaxLag), Observed: readings(tally)}
	if n := len(lies); n > 0 {
		first := lies[0]
		out.Result, out.Evidence = Fail, first.ids
		out.Observed = fmt.Sprintf("reported %s at %s, while %s", first.text, short(first.answered), first.says)
		out.Margin = fmt.Sprintf("%d of %s contradict the calls", n, plural(len(own.readings), "reading"))
		return out
	}
	return r.agreement(v, w, own, out, agreed)
}

// agreement is the verdict where no reading is false: there must be some that are true.
func (r ReportedStateAgrees) agreement(v *view, w Interval, own told, out Verdict, agreed map[State]int) Verdict {
	s, unseen := v.unseenState(w, r.MaxLag, agreed)
	if !unseen {
		out.Margin = fmt.Sprintf("agree: %s while it was closed for certain, %s while open", plural(agreed[StateClosed], "reading"), plural(agreed[StateOpen], "reading"))
		return out
	}
	out.Result = Inconclusive
	out.Reason = fmt.Sprintf("no reading agrees while the breaker was %s for certain", s)
	if len(own.untold) > 0 {
		out.Reason += "; " + own.silence()
	}
	out.Remedy = "let the breaker stay in each state for longer than max_lag and state_probe.every, under more calls, and let the page answer meanwhile"
	return out
}

// contradiction is a reading that is false, and what shows it.
type contradiction struct {
	reading
	says string
	ids  []string
}

// falsified reports whether a reading is false at each instant of a time.
func (v *view) falsified(one reading, in Interval, onCall bool) (contradiction, bool) {
	state := stateOf(one.text)
	if as, ok := v.neverOpen(in.Lo, in.Hi); ok && state == StateOpen {
		return contradiction{one, "calls were let through just before and after, and none was rejected", ids(tail(as))}, true
	}
	if state != StateClosed && state != StateHalfOpen {
		return contradiction{}, false
	}
	if rs, ok := v.alwaysOpen(in.Lo, in.Hi); ok {
		return contradiction{one, fmt.Sprintf("every call was rejected, %d of them from just before to just after", len(rs)), ids(rs)}, true
	}
	if state == StateClosed {
		return contradiction{}, false
	}
	if as, ok := v.longClosed(in.Lo, in.Hi); ok {
		return contradiction{one, "all calls had been let through for long, and it cannot have been open in between", ids(as)}, true
	}
	if rs, ok := v.unasked(in.Lo, in.Hi); ok && onCall {
		return contradiction{one, "no call had been let through since it was open", ids(rs)}, true
	}
	return contradiction{}, false
}

// tail is the end of a list, as much of it as verdicts name.
func tail[T any](all []T) []T { return all[max(0, len(all)-10):] }

// stateOf is what a reported state means for calls; an empty one means nothing that is known.
func stateOf(text string) State {
	switch strings.ToUpper(text) {
	case "CLOSED", "DISABLED", "METRICS_ONLY", "HEALTHY":
		return StateClosed
	case "OPEN", "FORCED_OPEN", "EJECTED":
		return StateOpen
	case "HALF_OPEN":
		return StateHalfOpen
	}
	return ""
}

// surely is the state in which the breaker was at every instant of a time. One that becomes
// half-open when a call comes stays open for as long as nobody calls.
func (v *view) surely(in Interval, onCall bool) (State, bool) {
	for _, s := range v.segs {
		if core, ok := v.core(s); ok && in.inside(core.Lo, core.Hi) {
			return s.state, true
		}
	}
	_, open := v.unasked(in.Lo, in.Hi)
	return StateOpen, open && onCall
}

// core is the part of a segment in which its state was certain: of OPEN it ends with the
// last rejection, after which nobody asked, and of CLOSED with the last admission.
func (v *view) core(s segment) (Interval, bool) {
	in := Interval{s.from.Hi, s.to.Lo}
	switch {
	case s.state == StateOpen && (!s.sure || s.leaks):
		return in, false
	case s.state == StateClosed && s.from.Hi == 0 && (!v.fresh || v.after()):
		return in, false
	case s.state == StateOpen && s.last && len(v.rej) > 0:
		in.Hi = min(in.Hi, v.rej[len(v.rej)-1].lo)
	case s.state == StateClosed && s.last && len(v.adm) > 0:
		in.Hi = min(in.Hi, v.adm[len(v.adm)-1].lo)
	}
	return in, in.Lo < in.Hi
}

// brim is for how long a state has to last beyond max_lag so that a reading is asked of it.
const brim = 500 * time.Millisecond

// unseenState finds a state that lasted in a window and with which no reading agrees. An open
// breaker has to be caught at it however short it was.
func (v *view) unseenState(w Interval, lag time.Duration, agreed map[State]int) (State, bool) {
	for _, s := range v.segs {
		core, ok := v.core(s)
		core = Interval{max(core.Lo, w.Lo), min(core.Hi, w.Hi)}
		need := lag
		if s.state != StateOpen {
			need += brim
		}
		if ok && s.state != StateHalfOpen && core.width() > need && agreed[s.state] == 0 {
			return s.state, true
		}
	}
	if agreed[StateOpen]+agreed[StateClosed] == 0 {
		return "in any state", true
	}
	return "", false
}

// readings counts what was reported.
func readings(tally map[string]int) string {
	var parts []string
	for text, n := range tally {
		parts = append(parts, fmt.Sprintf("%s in %s", text, plural(n, "reading")))
	}
	slices.Sort(parts)
	return "reported " + strings.Join(parts, ", ")
}
