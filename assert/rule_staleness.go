package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// FallbackStaleness says that what the fallback answers is at most Max old, by what the answer
// itself says of its age at From: seconds that it was kept (RFC 9111, Age), or since when it
// is so (RFC 3339, HTTP-date, or seconds since 1970); see [match.ParseAge].
//
// Of an instant the age lies between the call's sending and its end, by faultline's clock, or
// by the SUT's own, which its header Date shows, where the two are more than a second apart. An
// answer is too old only if it is so by more than the unit in which it says its age, and the
// time that the call took, leave open. One that says to be older, by no more than its unit, is not
// known to be fresh enough either.
//
// An answer that does not say its age is not too old, nor is it known not to be: where there
// are any, the rule does not pass. And it passes only if an answer without a bound would have
// been too old: some calls were sent when the dependency had given no good answer for longer
// than Max.
type FallbackStaleness struct {
	Breaker string // whose dependency the fallback stands in for
	Max     time.Duration
	From    match.AgeFrom
}

// AgeOfDate is where the SUT's clock stands in its answers.
const AgeOfDate match.AgeFrom = "header:Date"

// Kind implements [Rule].
func (FallbackStaleness) Kind() string { return "fallback.staleness" }

// expected says what the rule asks.
func (r FallbackStaleness) expected() string {
	return fmt.Sprintf("no fallback older than %s, by its %s", short(r.Max), r.From)
}

// ages sums up what the answers of the fallback say.
type ages struct {
	told, untold, odd int
	ahead             int           // they are of the future
	unsure            []*trace.Call // that say to be older than they may be, by less than the unit in which they do
	old               []*trace.Call
	oldest            Interval      // the age of the oldest
	over              time.Duration // by how much the worst is too old
	fine              time.Duration // the widest of what is left open
	tried             int           // calls at which an answer without a bound would have been too old
	silent            []*trace.Call
	example           string
}

// judge implements [Rule].
func (r FallbackStaleness) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	if why := e.known(match.ClassFallback); why != "" {
		return Verdict{Result: Inconclusive, Observed: "no such answer", Reason: why, Remedy: "declare class fallback under load.classify"}
	}
	n := &ages{}
	good := e.goodOutcomes(r.Breaker)
	for _, s := range e.population(a.Phase, nil, r.Breaker) {
		c := s.call
		if !c.Answered() {
			continue
		}
		if last := lastUpTo(good, c.End); c.Send-last > r.Max {
			n.tried++
		}
		if c.Class == match.ClassFallback {
			r.take(e, n, c)
		}
	}
	return r.conclude(n, a)
}

// goodOutcomes is when the dependency of a breaker gave good answers, sorted.
func (e *evidence) goodOutcomes(breaker string) []time.Duration {
	var out []time.Duration
	for _, v := range e.views[breaker] {
		for _, x := range v.adm {
			if x.o != forever && !x.ghost && !x.failed {
				out = append(out, x.o)
			}
		}
	}
	slices.Sort(out)
	return out
}

// lastUpTo is the last of some sorted instants that is not after t; 0 if there is none: what
// there was before the trace is at least as old.
func lastUpTo(sorted []time.Duration, t time.Duration) time.Duration {
	if n := atMost(sorted, t); n > 0 {
		return sorted[n-1]
	}
	return 0
}

// take reads the age of one answer.
func (r FallbackStaleness) take(e *evidence, n *ages, c *trace.Call) {
	text := c.Age(string(r.From))
	age, ok := match.ParseAge(text)
	switch {
	case text == "":
		n.untold++
		n.silent = append(n.silent, c)
		return
	case !ok:
		n.odd++
		n.example, n.silent = text, append(n.silent, c)
		return
	}
	n.told++
	in := r.age(e, c, age)
	n.fine = max(n.fine, in.width())
	if in.Hi < -time.Second {
		n.ahead++
		return
	}
	if in.Hi > n.oldest.Hi {
		n.oldest = Interval{max(in.Lo, 0), in.Hi}
	}
	switch {
	case in.Lo > r.Max:
		n.old = append(n.old, c)
		n.over = max(n.over, in.Lo-r.Max)
	case age.At.IsZero() && age.For > r.Max:
		n.unsure = append(n.unsure, c)
	}
}

// age is how old an answer is, as an interval.
func (r FallbackStaleness) age(e *evidence, c *trace.Call, age match.Age) Interval {
	if age.At.IsZero() {
		return Interval{max(age.For-age.Fine, 0), age.For}
	}
	epoch := e.trace.Header.Epoch
	from, to := epoch.Add(c.Send), epoch.Add(c.End)
	if own, ok := match.ParseAge(c.Age(string(AgeOfDate))); ok && !own.At.IsZero() {
		if own.At.Add(2*time.Second).Before(from) || own.At.Add(-time.Second).After(to) {
			from, to = own.At, own.At.Add(time.Second)
		}
	}
	return Interval{from.Sub(age.At) - age.Fine, to.Sub(age.At)}
}

// conclude turns what was found into a verdict.
func (r FallbackStaleness) conclude(n *ages, a Assertion) Verdict {
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("the oldest of %s of the fallback is %s old", plural(n.told, "answer"), n.oldest)}
	if n.told == 0 {
		out.Observed = fmt.Sprintf("%s of the fallback that says its age", plural(0, "answer"))
	}
	all := n.told + n.untold + n.odd
	switch {
	case len(n.old) > 0:
		out.Result, out.Evidence, out.miss = Fail, callsOf(n.old), n.over
		out.Reason = fmt.Sprintf("%s older than %s, by up to %s", wereAnswers(len(n.old)), short(r.Max), short(n.over))
	case all < enough:
		out.Reason = fmt.Sprintf("%s of the fallback %s, %d are needed", plural(all, "answer"), inPhase(a), enough)
		out.Remedy = "name a phase in which the dependency fails and the fallback answers, and send more calls in it"
	case n.odd > 0:
		out.Evidence = callsOf(n.silent)
		out.Reason = fmt.Sprintf("%d of %d answers of the fallback have %q as %s, which is no age", n.odd, all, n.example, r.From)
		out.Remedy = "give seconds, or a date of RFC 3339"
	case n.untold > 0:
		out.Evidence = callsOf(n.silent)
		out.Reason = fmt.Sprintf("%d of %d answers of the fallback have no %s, so how old they are is not known", n.untold, all, r.From)
		out.Remedy = "let the fallback say how old its answer is, or correct the place"
	case n.ahead > 0:
		out.Reason = fmt.Sprintf("%s of the future, so the clocks of the SUT and of this machine differ", wereAnswers(n.ahead))
		out.Remedy = "set the clocks by one another, or let the SUT send the header Date"
	case len(n.unsure) > 0:
		out.Evidence, out.Resolution = callsOf(n.unsure), short(n.fine)
		out.Reason = fmt.Sprintf("%s older than %s by what it says, which is no more exact than %s", wereAnswers(len(n.unsure)), short(r.Max), short(n.fine))
		out.Remedy = "let the fallback say its age more exactly, or allow for " + short(n.fine) + " more"
	case n.tried < fewAttempts:
		out.Reason = fmt.Sprintf("%s sent when the dependency had given no good answer for longer than %s, %d are needed: an answer that is kept for ever would not be older yet", wereCalls(n.tried), short(r.Max), fewAttempts)
		out.Remedy = fmt.Sprintf("let the outage last well longer than %s", short(r.Max))
	default:
		out.Result, out.Margin, out.Resolution = Pass, short(r.Max-n.oldest.Hi), short(n.fine)
	}
	return out
}

func wereAnswers(n int) string {
	if n == 1 {
		return "1 answer was"
	}
	return fmt.Sprintf("%d answers were", n)
}

func wereCalls(n int) string {
	if n == 1 {
		return "1 call was"
	}
	return fmt.Sprintf("%d calls were", n)
}
