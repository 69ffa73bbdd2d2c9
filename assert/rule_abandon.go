package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// AbandonedAfter says after which time the SUT gives up an attempt that is not
// answered. One of Equals and Max is asked.
type AbandonedAfter struct {
	Injector  string
	Equals    time.Duration
	Tolerance float64 // share of Equals, 0..1
	Max       time.Duration
}

// Kind implements [Rule].
func (AbandonedAfter) Kind() string { return "downstream.abandoned_after" }

// expected says what the rule asks.
func (r AbandonedAfter) expected() string {
	if r.Equals > 0 {
		return fmt.Sprintf("given up after %s +- %s", short(r.Equals), percent(r.Tolerance))
	}
	return "given up after at most " + short(r.Max)
}

// band is what the rule allows.
func (r AbandonedAfter) band() Interval {
	if r.Equals == 0 {
		return Interval{0, r.Max}
	}
	tol := time.Duration(float64(r.Equals) * r.Tolerance)
	return Interval{r.Equals - tol, r.Equals + tol}
}

// fewAttempts is how many attempts that were kept it takes to tell.
const fewAttempts = 3

// patience sums up how long attempts were kept.
type patience struct {
	kept           []time.Duration // of those that were given up
	early, late    int             // of these, certainly too soon, or too late
	within         int
	never          int // kept for longer than is allowed, and not given up
	longest        time.Duration
	answered       int // of the never: their calls were answered all the same
	left           int // ended as faultline's own client left first
	client         time.Duration
	cut            int // kept without an answer for less than is allowed, and ended by the fault's end
	cutAfter       time.Duration
	missLo, missHi []time.Duration // how far off the late and the early are
	show           []string
}

// judge implements [Rule].
func (r AbandonedAfter) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	p := &patience{}
	slack := e.noticed(r.Injector)
	left := e.leavers(r.Injector)
	e.eachAttempt(r.Injector, a.Phase, func(at *trace.Attempt, c *trace.Call) {
		r.look(e, p, at, c, slack, left)
	})
	return r.conclude(p)
}

// noticed is how much later than the SUT let go the dependency may have seen it.
func (e *evidence) noticed(injector string) time.Duration {
	slack := 10 * time.Millisecond
	for _, b := range e.spec.Breakers {
		if b.Injector != injector {
			continue
		}
		for _, v := range e.views[b.Name] {
			slack = max(slack, v.slack())
		}
	}
	return slack
}

// leavers is when faultline's own clients left unanswered calls, in order.
func (e *evidence) leavers(injector string) []time.Duration {
	var at []time.Duration
	for i := range e.trace.Calls {
		if c := &e.trace.Calls[i]; leaves(c) && e.depends(c.Target, injector) {
			at = append(at, c.End)
		}
	}
	slices.Sort(at)
	return at
}

// leaves reports whether faultline's client left before the answer.
func leaves(c *trace.Call) bool { return c.Err == trace.ErrTimeout || c.Err == trace.ErrCanceled }

// leftBy finds when the client of an attempt had left before the SUT gave the
// attempt up, which then is no patience of its own. Of an attempt without a call
// any client that left shortly before may have been it.
func leftBy(at *trace.Attempt, c *trace.Call, left []time.Duration, slack time.Duration) (time.Duration, bool) {
	if c != nil {
		return c.End, leaves(c) && c.End <= at.Abandon
	}
	i, _ := slices.BinarySearch(left, max(at.Arr, at.Abandon-slack))
	if i < len(left) && left[i] <= at.Abandon {
		return left[i], true
	}
	return 0, false
}

// look takes in one attempt. The SUT's clock began at the latest when the attempt
// arrived, and at the earliest when its call was sent; what the dependency saw of
// its leaving came later than the leaving, never earlier.
func (r AbandonedAfter) look(e *evidence, p *patience, at *trace.Attempt, c *trace.Call, slack time.Duration, left []time.Duration) {
	if at.Late || c != nil && touched(e.joinOf(r.Injector).Blind, c) {
		return // It was made before it arrived: for how long it was kept is not known.
	}
	band := r.band()
	if at.Abandon == trace.None {
		end := at.Dep
		if end == trace.None {
			end = e.end
		}
		r.kept(e, p, at, c, end, slack)
		return
	}
	if e.exited > 0 && at.Abandon >= e.exited-slack {
		return // the SUT died
	}
	slack += e.slept(at.Arr, at.Abandon)
	if end, ok := leftBy(at, c, left, slack); ok {
		if end-at.Arr-slack > band.Hi {
			p.never, p.longest = p.never+1, max(p.longest, end-at.Arr)
			p.missLo = append(p.missLo, end-at.Arr-slack-band.Hi)
			return
		}
		p.left, p.client = p.left+1, max(p.client, end-at.Arr)
		return
	}
	kept, most := at.Abandon-at.Arr, at.Abandon-at.Arr+slack
	if c != nil {
		most = max(most, at.Abandon-c.Send)
	}
	p.kept = append(p.kept, kept)
	p.show = append(p.show, nameOf(at, c))
	switch {
	case most < band.Lo:
		p.early, p.missHi = p.early+1, append(p.missHi, band.Lo-most)
	case kept-slack > band.Hi:
		p.late, p.missLo = p.late+1, append(p.missLo, kept-slack-band.Hi)
	case kept >= band.Lo && kept <= band.Hi:
		p.within++
	}
}

// nameOf names an attempt by its call, or by its number.
func nameOf(at *trace.Attempt, c *trace.Call) string {
	if c != nil {
		return c.ID
	}
	return fmt.Sprintf("%s#%d", at.Injector, at.Seq)
}

// kept takes in an attempt that nobody gave up.
func (r AbandonedAfter) kept(e *evidence, p *patience, at *trace.Attempt, c *trace.Call, end, slack time.Duration) {
	kept := end - at.Arr - e.slept(at.Arr, end)
	over := kept - slack - r.band().Hi
	switch {
	case over > 0:
		p.never, p.longest, p.missLo = p.never+1, max(p.longest, kept), append(p.missLo, over)
		if c != nil && c.Answered() && c.End < end-slack {
			p.answered++
		}
		p.show = append(p.show, nameOf(at, c))
	case at.Outcome == trace.OutcomeHang || at.Outcome == trace.OutcomeOpen:
		p.cut, p.cutAfter = p.cut+1, max(p.cutAfter, kept)
	}
}

// conclude turns what was found into a verdict.
func (r AbandonedAfter) conclude(p *patience) Verdict {
	out := Verdict{Result: Inconclusive, Observed: p.observed(), Evidence: p.show[:min(len(p.show), 10)]}
	n, band := len(p.kept)+p.never, r.band()
	switch {
	case n < fewAttempts && p.left > n:
		out.Reason = fmt.Sprintf("faultline's own clients left after %s at the longest (load.timeout), and the SUT let go of the attempts only then: that is not its own timeout", short(p.client))
		out.Remedy = fmt.Sprintf("set load.timeout to well above %s", short(band.Hi))
	case n < fewAttempts && p.cut > 0:
		out.Reason = fmt.Sprintf("%s kept for %s at the longest, and then the fault ended: that is too short to tell", were(p.cut), short(p.cutAfter))
		out.Remedy = fmt.Sprintf("make the phase well longer than %s", short(band.Hi))
	case n < fewAttempts:
		out.Reason = fmt.Sprintf("%s kept for long enough, %d are needed", were(n), fewAttempts)
		out.Remedy = "let a fault hang (or delay) in this phase, for longer than the timeout, while the breaker lets calls through"
	case 2*(p.late+p.never) > n:
		out.Result, out.miss, out.Reason = Fail, p.farOff(), p.why()
	case 2*p.early > n:
		out.Result, out.miss, out.Reason = Fail, quantile(p.missHi, 0.5), "attempts were given up too early, while faultline's own clients still waited"
	case p.early+p.late+p.never == 0 && 10*p.within >= 9*n:
		mid := quantile(p.kept, 0.5)
		out.Result, out.Margin = Pass, short(band.Hi-mid)
		if r.Equals > 0 {
			out.Margin = fmt.Sprintf("%s of %s left", short(min(mid-band.Lo, band.Hi-mid)), short(r.Equals-band.Lo))
		}
	default:
		out.Reason = fmt.Sprintf("%d of %d attempts were given up in time, %d surely too early, %d surely too late", p.within, n, p.early, p.late+p.never)
		out.Remedy = "widen the tolerance; look for a second timeout, a pool that calls wait for, or pauses of the SUT"
	}
	return out
}

// farOff is by how much as many attempts as it takes to tell were kept too long, at the
// least. That the others were cut off sooner, by the end of the fault, excuses nothing.
func (p *patience) farOff() time.Duration {
	slices.Sort(p.missLo)
	return p.missLo[max(0, len(p.missLo)-fewAttempts)]
}

// were counts attempts in a sentence.
func were(n int) string {
	if n == 1 {
		return "1 attempt was"
	}
	return fmt.Sprintf("%d attempts were", n)
}

// observed words how long attempts were kept.
func (p *patience) observed() string {
	s := "no attempt was given up"
	if n := len(p.kept); n > 0 {
		all := Interval{slices.Min(p.kept), slices.Max(p.kept)}
		s = fmt.Sprintf("%s given up after %s (median %s)", were(n), all, short(quantile(slices.Clone(p.kept), 0.5)))
	}
	if p.never > 0 {
		s += fmt.Sprintf("; %s kept for up to %s", were(p.never), short(p.longest))
	}
	return s
}

// why says what kept attempts too long.
func (p *patience) why() string {
	switch {
	case p.late > p.never:
		return "attempts were given up too late"
	case p.answered > 0:
		return "the SUT answered its clients meanwhile, but let its requests to the dependency go on: it does not cancel them"
	default:
		return "the SUT has no timeout, or a longer one"
	}
}
