package assert

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// RateOf says what a rate limiter is seen by.
type RateOf string

// What can be counted of what a limiter lets through.
const (
	RateArrivals RateOf = "arrivals" // attempts at a dependency
	RateAnswers  RateOf = "answers"  // calls that the SUT did not reject: of a limiter at its own door
)

// DownstreamRate bounds what a rate limiter lets through (judging.md, section 6): in any
// stretch of time as long as Window at most Max; with Burst, in a stretch of any length w at
// most Burst + Max x w / Window, which is what a token bucket allows, and what a sliding
// window counter (previous window x its remaining share + current one) keeps with a Burst
// of Max. A fixed window that lets Max through at its end, and Max again at the beginning
// of the next one, breaks both.
//
// The limiter decided between the sending of a call and the arrival, or the end of the answer.
// It fails when there are no instants in all these intervals at which it would have kept the
// bound; no busy machine makes that so. It passes when there are,
// even if the interval before each arrival is no longer than what arrivals differ by in
// their delay, in the phase in which they differ the least: that is the resolution, and must
// not be above a tenth of Window.
//
// To pass, 1.5 times of what is allowed must have been asked for (of arrivals: by calls that
// were not answered well without one, as a cache does), and half of Max have passed
// in some stretch; with Min, the fullest one must hold as many. With By, the bounds hold for the calls of each value of that
// header apart, and one value has to have asked for so much. What arrived is not recorded
// with its headers: they are those that the client sent.
//
// A zero value leaves Burst, Min, By or Rejected out.
type DownstreamRate struct {
	Injector string   // of arrivals
	Of       RateOf   // empty: arrivals
	Targets  []string // of answers; empty: all
	Window   time.Duration
	Max      int
	Burst    int
	Min      int
	By       string
	Rejected *Rejection
}

// Kind implements [Rule].
func (DownstreamRate) Kind() string { return "downstream.rate" }

// expected says what the rule asks.
func (r DownstreamRate) expected() string {
	what := "arrivals at " + r.Injector
	if r.Of == RateAnswers {
		what = "answers that are no rejections, of " + callsTo(r.Targets) + ","
	}
	s := fmt.Sprintf("at most %d %s in any %s", r.Max, what, short(r.Window))
	if r.Burst > 0 {
		s = fmt.Sprintf("%s, and %d more at once", s, r.Burst)
	}
	if r.Min > 0 {
		s += fmt.Sprintf(", at least %d in the fullest", r.Min)
	}
	if r.By != "" {
		s += ", by " + r.By
	}
	if r.Rejected != nil {
		s += "; " + r.Rejected.expected()
	}
	return s
}

// judge implements [Rule].
func (r DownstreamRate) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	if w, _ := e.window(a); e.exited > 0 && e.exited < w.Hi {
		return Verdict{Result: Inconclusive, Observed: "not looked at", Reason: "the SUT died, and what its limiter knew with it", Remedy: "keep the SUT running"}
	}
	streams, problem := r.streams(e, a)
	if problem != "" {
		return Verdict{Result: Inconclusive, Observed: "not looked at", Reason: problem, Remedy: "send calls with that header, of targets whose calls are no steps of sessions"}
	}
	off := r.resolution(e)
	verdicts := make([]Verdict, 0, len(streams))
	for _, s := range streams {
		verdicts = append(verdicts, r.stream(e, a, s, off))
	}
	parts := []Verdict{r.worst(verdicts, len(streams))}
	if r.Rejected != nil {
		parts = append(parts, r.rejections(e, a))
	}
	return merge(r.expected(), parts)
}

// worst picks the verdict that counts: too much of one key is too much, and that the load of
// one shows the limit is enough.
func (r DownstreamRate) worst(vs []Verdict, keys int) Verdict {
	if len(vs) == 0 {
		return Verdict{Result: Inconclusive, Observed: "nothing", Reason: "no such call was sent", Remedy: "send calls in this phase"}
	}
	for _, want := range []Result{Fail, Inconclusive, Pass, Skipped} {
		if i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Result == want }); i >= 0 {
			out := vs[i]
			if keys > 1 {
				out.Observed += fmt.Sprintf(" (one of %d values of %s)", keys, r.By)
			}
			if want == Skipped { // all are of too little load
				out.Result = Inconclusive
			}
			return out
		}
	}
	return vs[0]
}

// stream judges what came by one key; a verdict for want of load is Skipped.
func (r DownstreamRate) stream(e *evidence, a Assertion, s stream, off time.Duration) Verdict {
	at := s.arrivals()
	out := Verdict{Result: Inconclusive}
	if off < forever {
		out.Resolution = short(off)
	}
	out.Observed = fmt.Sprintf("%d of %s passed, at most %d in %s", len(at), plural(len(s.sends), "call"), fullest(at, r.Window), short(r.Window))
	if s.key != "" {
		out.Observed = s.key + ": " + out.Observed
	}
	sure := slices.DeleteFunc(slices.Clone(s.passed), func(p passage) bool { return p.lo == forever })
	_, worst := r.late(sure, false)
	tight, _ := r.late(s.within(off), true)
	switch {
	case worst > 0:
		excess, _ := r.late(sure, true)
		n := len(excess)
		excess = slices.Compact(excess)
		out.Result, out.Evidence = Fail, excess[:min(len(excess), 10)]
		out.Reason = fmt.Sprintf("%s passed beyond what the limit allows, whenever since they were sent they were let through; as a whole they came up to %s too early", plural(n, "attempt"), short(worst))
	case !r.asked(s.sends):
		out.Result = Skipped
		out.Reason = "the load asks for less than 1.5 times what is allowed, so that a larger limit would not show"
		out.Remedy = fmt.Sprintf("send more than %s in %s", r.asks(), short(r.Window))
	case off > r.Window/10:
		out.Reason = fmt.Sprintf("in no phase are there %d of which it is known, within a tenth of %s, when they were let through", enough, short(r.Window))
		out.Remedy = "take a longer window, or a phase before this one in which nothing makes calls wait"
	case len(tight) > 0:
		out.Reason = fmt.Sprintf("%s passed beyond what the limit allows, if they were let through shortly before they came, but they may have been held up since", plural(len(tight), "call"))
		out.Remedy = "lower the load so that calls do not wait for anything but the limiter, or run on a machine with more free CPU"
	case r.Min > 0:
		r.least(e, a, &out, at, off)
	case 2*fullest(at, r.Window) < r.Max:
		out.Reason = fmt.Sprintf("at most %d passed in %s, not even half of what may: something else keeps calls away", fullest(at, r.Window), short(r.Window))
		out.Remedy = "ask this of a phase in which calls get through; ask for min if the limiter itself is too strict"
	default:
		out.Result, out.Margin = Pass, fmt.Sprintf("%d below the most", max(0, r.Max+r.Burst-fullest(at, r.Window)))
	}
	return out
}

// asks words what the load has to ask for.
func (r DownstreamRate) asks() string {
	return fmt.Sprintf("%d calls", int(math.Ceil(overload*float64(r.Max+r.Burst))))
}

// least judges the lower bound.
func (r DownstreamRate) least(e *evidence, a Assertion, out *Verdict, at []time.Duration, off time.Duration) {
	most := fullest(at, r.Window)
	breaker := ""
	if r.Of != RateAnswers {
		breaker = e.openAt(r.Injector, a)
	}
	switch {
	case most >= r.Min:
		out.Result, out.Margin = Pass, fmt.Sprintf("%d above the least", most-r.Min)
	case breaker != "":
		out.Reason = fmt.Sprintf("breaker %s was open in this phase, or may have been, and kept calls away", breaker)
		out.Remedy = "ask this of a phase in which the breaker is closed"
	case fullest(at, r.Window+off) < r.Min:
		out.Result, out.miss = Fail, starvation
		out.Reason = fmt.Sprintf("no more than %d passed in any %s, though far more was asked for", most, short(r.Window))
	default:
		out.Reason = fmt.Sprintf("%d passed within %s, and %d within as much more as arrivals differ in their delay", most, short(r.Window), fullest(at, r.Window+off))
		out.Remedy = "ask for a little less, or take a longer window"
	}
}

// asked reports whether a load asks for far more than is allowed, in some stretch.
func (r DownstreamRate) asked(sends []time.Duration) bool {
	if r.Burst == 0 {
		return float64(fullest(sends, r.Window)) >= overload*float64(r.Max)
	}
	level, last := 0.0, time.Duration(0)
	for _, at := range sends { // A bucket that is larger and fills faster by half, and flows over.
		level = max(0, level-overload*float64(r.Max)*float64(at-last)/float64(r.Window)) + 1
		last = at
		if level >= overload*float64(r.Burst) {
			return true
		}
	}
	return false
}

// late finds who came although the limit did not allow it, and by how much at most: each is
// let through as early as can be, those that had to be through first before the others, which
// is the best that any limiter can do. Who came too early makes those after it wait, or is
// left out, so that those are counted who are too many.
func (r DownstreamRate) late(all []passage, leaveOut bool) (ids []string, worst time.Duration) {
	byLo := slices.SortedFunc(slices.Values(all), func(a, b passage) int { return int(a.lo - b.lo) })
	limit := limiter{rule: r}
	var waiting []passage // in the order of at
	now, next := time.Duration(0), 0
	for next < len(byLo) || len(waiting) > 0 {
		if len(waiting) == 0 {
			now = max(now, byLo[next].lo)
		}
		now = max(now, limit.from())
		for ; next < len(byLo) && byLo[next].lo <= now; next++ {
			i, _ := slices.BinarySearchFunc(waiting, byLo[next].at, func(p passage, at time.Duration) int { return int(p.at - at) })
			waiting = slices.Insert(waiting, i, byLo[next])
		}
		over := now - waiting[0].at
		if over > rounding {
			ids, worst = append(ids, waiting[0].id), max(worst, over)
		}
		if over <= rounding || !leaveOut {
			limit.take(now)
		}
		waiting = waiting[1:]
	}
	return ids, worst
}

// rounding is what sums of fractions of nanoseconds may be off by.
const rounding = time.Microsecond

// limiter keeps the bounds of a rule.
type limiter struct {
	rule DownstreamRate
	took []time.Duration // of a sliding window: the last ones
	paid float64         // of a bucket: until when what was taken out has flowed back, ns
}

// from is when the next one may pass.
func (l *limiter) from() time.Duration {
	switch r := l.rule; {
	case r.Burst > 0:
		return time.Duration(math.Ceil(l.paid - float64(r.Burst-1)*l.each()))
	case len(l.took) >= r.Max:
		return l.took[len(l.took)-r.Max] + r.Window
	default:
		return 0
	}
}

// each is how long a bucket takes for one, in ns.
func (l *limiter) each() float64 { return float64(l.rule.Window) / float64(l.rule.Max) }

// take lets one pass.
func (l *limiter) take(at time.Duration) {
	if l.rule.Burst > 0 {
		l.paid = max(l.paid, float64(at)) + l.each()
		return
	}
	l.took = append(l.took, at)
}
