package assert

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// Over is what attempts are divided by.
type Over string

// What attempts are divided by.
const (
	OverCalls    Over = "calls"    // all that were sent to targets that depend on the injector
	OverAdmitted Over = "admitted" // of these, the ones with an attempt
)

// RetryAmplification bounds how much the SUT multiplies what is asked of it: attempts at the
// injector over the calls of the phase, or over those of them with an attempt. It counts
// arrivals, whoever in the SUT sent them, as the dependency bears them all.
//
// Attempts with an id are those of the phase's calls, whenever they came. One without an id
// belongs to the phase for certain if no call but such of the phase was under way when it
// arrived (a call whose client left stays under way), and may belong to it if one was; so the
// ratio has a range where ids are missing. It needs 20 calls (10 with an attempt), of which
// three were rejected, or had an attempt that failed: else nothing was there to be tried again.
type RetryAmplification struct {
	Injector string
	Max      float64 // attempts for each call
	Over     Over
}

// Kind implements [Rule].
func (RetryAmplification) Kind() string { return "retry.amplification" }

func (r RetryAmplification) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r RetryAmplification) expected() string {
	of := "calls"
	if r.Over == OverAdmitted {
		of = "calls with an attempt"
	}
	return fmt.Sprintf("at most %s as many attempts at %s as %s", factor(r.Max), r.Injector, of)
}

// load is what the calls of a phase came to at the dependency.
type load struct {
	calls    int
	admitted numbers
	attempts numbers
	tempted  int // calls that were rejected, or had an attempt that failed
	failed   int // attempts without an id that failed
	show     []string
}

// judge implements [Rule].
func (r RetryAmplification) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	l := r.weigh(e, a)
	lo, hi := l.ratio(r.Over)
	out := Verdict{Result: Inconclusive, Evidence: l.show}
	out.Observed = fmt.Sprintf("%s attempts of %s, %s of them with an attempt: %s", l.attempts, plural(l.calls, "call"), l.admitted, ratioWords(lo, hi))
	need, have := enough, l.calls
	if r.Over == OverAdmitted {
		need, have = fewCalls, l.admitted.Lo
	}
	switch {
	case have < need && (r.Over == OverCalls || l.calls < need):
		out.Reason = fmt.Sprintf("%s %s tell, %d are needed", plural(have, "call"), inPhase(a), need)
		out.Remedy = "send more calls in this phase"
	case lo > r.Max:
		out.Result, out.Reason = Fail, "the SUT sends more to the dependency than it is asked for"
	case l.tempted+l.failed < fewest:
		out.Reason = "hardly a call failed or was rejected, so nothing was there to be tried again"
		out.Remedy = "name a phase in which the dependency fails"
	case have < need:
		out.Reason = fmt.Sprintf("%s %s for certain had an attempt, %d are needed", plural(have, "call"), inPhase(a), need)
		out.Remedy = "ask for over: calls, or send more calls while the breaker is closed"
	case hi > r.Max:
		out.Reason = "attempts without an id came while calls of this phase and others were under way, or while several were, and whose they are is not known"
		out.Remedy = "let the SUT pass traceparent on to the dependency, or put an unmeasured pause before and after this phase"
	default:
		out.Result, out.Margin = Pass, factor(r.Max-hi)
	}
	return out
}

// ratio is the range of the amplification.
func (l *load) ratio(over Over) (lo, hi float64) {
	most, least := l.calls, l.calls
	if over == OverAdmitted {
		most, least = l.admitted.Hi, l.admitted.Lo
	}
	return ratioOf(l.attempts.Lo, most), ratioOf(l.attempts.Hi, least)
}

// ratioOf divides; nothing over nothing is nothing.
func ratioOf(n, by int) float64 {
	switch {
	case n == 0:
		return 0
	case by == 0:
		return unbounded
	}
	return float64(n) / float64(by)
}

// ratioWords prints the range of a ratio.
func ratioWords(lo, hi float64) string {
	switch {
	case hi >= unbounded:
		return "at least " + factor(lo)
	case factor(lo) == factor(hi):
		return factor(lo)
	}
	return factor(lo) + " to " + factor(hi)
}

// unbounded is a ratio that nothing bounds.
const unbounded = 1e12

// weigh counts attempts and calls.
func (r RetryAmplification) weigh(e *evidence, a Assertion) *load {
	l, rs := &load{}, e.retriesOf(r.Injector, a)
	most := 0
	mine := map[string]bool{}
	for _, c := range rs.calls {
		mine[c.Call.ID] = true
		l.calls++
		n := len(c.Attempts)
		l.attempts = numbers{l.attempts.Lo + n, l.attempts.Hi + n}
		l.admitted.Lo += one(n > 0)
		l.admitted.Hi += one(n > 0 || c.Kind == trace.Unknown || e.aggregate && c.Kind != trace.Short) // What came for a client that had left is nobody's.
		l.tempted += one(c.Kind == trace.Short || slices.ContainsFunc(c.Attempts, func(at trace.Attempt) bool { return rs.failed(&at) }))
		if n > most {
			most, l.show = n, nil
		}
		if n == most && n > 1 && len(l.show) < 10 {
			l.show = append(l.show, c.Call.ID)
		}
	}
	if len(rs.join.NoID) > 0 {
		l.nameless(rs, mine)
	}
	return l
}

// nameless counts the attempts without an id. A call that was the only one under way when one
// of them arrived has had it.
func (l *load) nameless(rs *retries, mine map[string]bool) {
	under := rs.e.newFlights(rs.injector)
	from, _ := rs.e.window(rs.a)
	reached := map[string]bool{}
	for i := range rs.join.NoID {
		at := &rs.join.NoID[i]
		own, others, last := under.at(at.Arr, mine)
		sure := own > 0 && others == 0 && !at.Late && !at.Stream
		may := own > 0 || others == 0 && at.Arr >= from.Lo // Of nobody it may be what a call left to do.
		l.attempts.Lo += one(sure)
		l.attempts.Hi += one(may)
		l.failed += one(may && rs.failed(at))
		if sure && own == 1 && last != "" && !reached[last] {
			reached[last] = true
			l.admitted.Lo++
		}
	}
	if rs.e.aggregate && len(l.show) == 0 {
		l.show = []string{rs.injector + "#" + strconv.Itoa(rs.join.NoID[0].Seq)}
	}
}

// flights answers which calls were under way at an instant. Instants must not decrease.
type flights struct {
	calls []*trace.Call // in the order of sending
	next  int
	open  []*trace.Call // that were answered later
	left  [2]int        // that were never answered: others, and own
}

func (e *evidence) newFlights(injector string) *flights {
	f := &flights{}
	for i := range e.trace.Calls {
		if c := &e.trace.Calls[i]; e.depends(c.Target, injector) {
			f.calls = append(f.calls, c)
		}
	}
	return f
}

// at counts the calls that were under way, by whether they are among some, and names one of
// those. One that was never answered the SUT may be at for as long as it likes.
func (f *flights) at(t time.Duration, mine map[string]bool) (own, others int, name string) {
	for ; f.next < len(f.calls) && f.calls[f.next].Send <= t; f.next++ {
		c := f.calls[f.next]
		if c.Answered() {
			f.open = append(f.open, c)
			continue
		}
		f.left[one(mine[c.ID])]++
	}
	f.open = slices.DeleteFunc(f.open, func(c *trace.Call) bool { return c.End < t })
	others, own = f.left[0], f.left[1]
	for _, c := range f.open {
		if mine[c.ID] {
			own, name = own+1, c.ID
			continue
		}
		others++
	}
	return own, others, name
}
