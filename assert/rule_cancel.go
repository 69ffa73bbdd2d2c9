package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// CancelPropagates says that the SUT lets go of what it has under way for a client that has
// left: when faultline's client gives a call up (load.timeout), the call's attempts are given up
// at most Within later, and no further one is made.
//
// It looks at attempts that were under way when their client left, and at those that arrived
// later than Within after. An attempt that ended by itself before Within was over tells nothing. It fails
// if more than half went on for longer (by more than the dependency needs to see somebody leave), and
// passes if none did, at least three were let go, and that cannot have been the SUT's own timeout,
// which lets go as well. That it was not is shown by attempts that were let go as soon as their client
// left, within what it takes to be seen; or by a longer timeout of the SUT, seen where it let go of
// an attempt whose client still waited. What nothing but chance would show, a timeout of the SUT that
// is exactly load.timeout, is not told apart: choose another one.
type CancelPropagates struct {
	Injector string
	Within   time.Duration
}

// Kind implements [Rule].
func (CancelPropagates) Kind() string { return "cancel.propagates" }

func (r CancelPropagates) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r CancelPropagates) expected() string {
	return fmt.Sprintf("attempts at %s are given up within %s of their client's leaving", r.Injector, short(r.Within))
}

// leaving is what became of attempts whose client left.
type leaving struct {
	calls   int             // whose client left
	after   []time.Duration // how long after it they were let go
	ages    []time.Duration // how long these had been under way then
	soon    int             // of these, as soon as it takes to be seen
	late    int             // of these, later than is allowed
	never   int             // that went on for longer than is allowed
	more    int             // of the never: that were made after the client had left
	longest time.Duration
	cut     int           // that ended by themselves too soon to tell
	before  int           // that the SUT had let go before its client left
	own     time.Duration // the SUT's own timeout, as attempts whose client still waited show it; 0: none did
	miss    []time.Duration
	show    []string
	tardy   []string
}

// judge implements [Rule].
func (r CancelPropagates) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	l := &leaving{}
	slack := e.noticed(r.Injector)
	j := e.joinOf(r.Injector)
	for i := range j.Calls {
		c := &j.Calls[i]
		r.patience(e, l, c, slack)
		if c.Call.Phase != a.Phase && (a.Phase != "" || !e.measured(c.Call.Phase)) || !leaves(&c.Call) || touched(j.Blind, &c.Call) {
			continue
		}
		l.calls++
		for k := range c.Attempts {
			r.look(e, l, &c.Attempts[k], &c.Call, slack)
		}
	}
	return r.conclude(l, slack)
}

// patience takes in how long the SUT waits for an attempt whose client still waits.
func (r CancelPropagates) patience(e *evidence, l *leaving, c *trace.Joined, slack time.Duration) {
	for i := range c.Attempts {
		at := &c.Attempts[i]
		died := e.exited > 0 && at.Abandon >= e.exited-slack
		if at.Abandon == trace.None || at.Late || died || leaves(&c.Call) && at.Abandon >= c.Call.End-slack {
			continue
		}
		if kept := at.Abandon - at.Arr; l.own == 0 || kept < l.own {
			l.own = kept
		}
	}
}

// look takes in one attempt of a call whose client left.
func (r CancelPropagates) look(e *evidence, l *leaving, at *trace.Attempt, c *trace.Call, slack time.Duration) {
	if at.Late || at.Stream || e.exited > 0 && at.Abandon >= e.exited-slack {
		return
	}
	end := at.Done()
	if end == trace.None {
		end = e.end
	}
	switch {
	case end < c.End-slack:
		l.before += one(at.Abandon != trace.None)
		return
	case at.Arr > c.End+r.Within+slack+e.slept(c.End, at.Arr):
		l.more++
		l.went(at.Arr-c.End, at.Arr-c.End-r.Within-slack, c)
		return
	}
	after := max(0, end-c.End) - e.slept(c.End, max(c.End, end))
	switch {
	case at.Abandon == trace.None && after-slack > r.Within:
		l.went(after, after-slack-r.Within, c)
	case at.Abandon == trace.None:
		l.cut++
	case after-slack > r.Within:
		l.late++
		l.after = append(l.after, after)
		l.miss = append(l.miss, after-slack-r.Within)
		l.tardy = append(l.tardy, c.ID)
	default:
		l.after, l.ages = append(l.after, after), append(l.ages, at.Abandon-at.Arr)
		l.soon += one(after <= slack)
		l.show = append(l.show, c.ID)
	}
}

// went notes an attempt that went on for nobody.
func (l *leaving) went(after, miss time.Duration, c *trace.Call) {
	l.never++
	l.longest = max(l.longest, after)
	l.miss, l.tardy = append(l.miss, miss), append(l.tardy, c.ID)
}

// conclude turns what was found into a verdict.
func (r CancelPropagates) conclude(l *leaving, slack time.Duration) Verdict {
	out := Verdict{Result: Inconclusive, Observed: l.observed()}
	n := len(l.after) + l.never
	switch {
	case l.calls == 0:
		out.Reason, out.Remedy = "no client of such a call left", "set load.timeout below what the SUT waits for the dependency, and let a fault hang in this phase"
	case n < fewAttempts && l.before > n:
		out.Reason = fmt.Sprintf("the SUT had let go of %s before its client left", plural(l.before, "attempt"))
		out.Remedy = "set load.timeout below what the SUT waits for the dependency"
	case n < fewAttempts:
		out.Reason = fmt.Sprintf("%s under way for long enough when the client left, %d are needed", were(n), fewAttempts)
		out.Remedy = fmt.Sprintf("let a fault hang in this phase, and let the phase last for well longer than load.timeout and %s", short(r.Within))
		if l.cut > 0 {
			out.Reason += fmt.Sprintf("; %d ended by themselves", l.cut)
		}
	case 2*(l.late+l.never) > n:
		slices.Sort(l.miss)
		out.Result, out.miss = Fail, l.miss[max(0, len(l.miss)-fewAttempts)]
		out.Evidence, out.Reason = firstTen(l.tardy), l.why()
	case l.late+l.never > 0:
		out.Evidence, out.Reason = firstTen(l.tardy), fmt.Sprintf("%d of %d went on for too long", l.late+l.never, n)
		out.Remedy = "look for a pool or a queue in which requests wait that nobody waits for, or for pauses of the SUT"
	case r.chance(l, slack):
		out.Reason = "attempts were let go later than it takes to be seen, and the SUT's own timeout, which is not known to be longer, may have done it"
		if l.own > 0 {
			out.Reason = fmt.Sprintf("the SUT lets go after %s by itself, about when it did here", short(l.own))
		}
		out.Remedy = fmt.Sprintf("set load.timeout lower, so that the SUT's own timeout comes more than %s after it", short(r.Within))
	default:
		out.Result, out.Evidence = Pass, firstTen(l.show)
		out.Margin = short(r.Within - slices.Max(l.after))
	}
	return out
}

// chance reports whether the SUT's own timeout may have let go of what was let go.
func (r CancelPropagates) chance(l *leaving, slack time.Duration) bool {
	if l.own > 0 {
		return slices.Max(l.ages) >= l.own-slack
	}
	return 10*l.soon < 9*len(l.after)
}

// observed words what became of the attempts.
func (l *leaving) observed() string {
	s := fmt.Sprintf("%s whose client left", plural(l.calls, "call"))
	if n := len(l.after); n > 0 {
		s += fmt.Sprintf("; %s given up %s after that (median %s)", were(n), Interval{slices.Min(l.after), slices.Max(l.after)}, short(quantile(slices.Clone(l.after), 0.5)))
	}
	if l.never > 0 {
		s += fmt.Sprintf("; %s still there up to %s after it", were(l.never), short(l.longest))
	}
	return s
}

// why says what the SUT did.
func (l *leaving) why() string {
	switch {
	case 2*l.more > l.late+l.never:
		return "the SUT goes on trying for clients that have left"
	case l.late > l.never:
		return "attempts were let go long after their client had left, as by the SUT's own timeout"
	default:
		return "the SUT does not let go of its requests when its client leaves"
	}
}

// firstTen is at most ten ids, each once.
func firstTen(ids []string) []string {
	ids = slices.Compact(slices.Clone(ids))
	return ids[:min(len(ids), 10)]
}
