package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// RetryBudget says that in any sliding window the SUT makes no more retries (attempts beyond
// the first) than Ratio times the first attempts, and PerSecond for each second of the window,
// and Burst. It is how Finagle, Linkerd, Envoy and the AWS SDKs bound retries: with a window
// that is their time to live, or a Burst that is what their bucket holds.
//
// A SUT takes from its budget somewhere between the end of an attempt and the arrival of the
// next, and pays in between the sending of a call, which its breaker may reject, and the
// arrival of its first attempt. So a window fails if the retries that were decided wholly in it
// are more than the calls that may have paid into it allow, a tenth of the window more on either
// side, as budgets count in slices of time. It passes if there is no window in which all that may
// have been decided are more than what certainly was paid. At least in one window more first
// attempts have to fail than it allows retries, or the budget was not needed.
type RetryBudget struct {
	Injector  string
	Ratio     float64 // retries for each first attempt, 0..1
	PerSecond int     // retries in each second that are always allowed
	Burst     int     // retries in each window that are always allowed
	Window    time.Duration
}

// Kind implements [Rule].
func (RetryBudget) Kind() string { return "retry.budget" }

func (r RetryBudget) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r RetryBudget) expected() string {
	s := fmt.Sprintf("in any %s, retries are at most %s of first attempts", short(r.Window), percent(r.Ratio))
	if r.PerSecond > 0 {
		s += fmt.Sprintf(" and %d/s", r.PerSecond)
	}
	if r.Burst > 0 {
		s += fmt.Sprintf(" and %d", r.Burst)
	}
	return s
}

// allowed is how many retries a window may have with so many first attempts.
func (r RetryBudget) allowed(firsts int) float64 {
	return r.Ratio*float64(firsts) + float64(r.PerSecond)*r.Window.Seconds() + float64(r.Burst)
}

// tiny is less than any number of retries, and more than what sums of shares are inexact by.
const tiny = 1e-6

// spans are intervals, of which the ends that are asked for are sorted.
type spans struct {
	all    []Interval
	lo, hi []time.Duration
}

func (s *spans) add(x Interval) { s.all = append(s.all, x) }

// sort prepares the questions.
func (s *spans) sort() {
	s.lo, s.hi = make([]time.Duration, len(s.all)), make([]time.Duration, len(s.all))
	for i, x := range s.all {
		s.lo[i], s.hi[i] = x.Lo, x.Hi
	}
	slices.Sort(s.lo)
	slices.Sort(s.hi)
}

// before counts the instants of a sorted list before t.
func before(sorted []time.Duration, t time.Duration) int {
	i, _ := slices.BinarySearch(sorted, t)
	return i
}

// inside counts the intervals that lie wholly in w, or fewer where one of them is longer
// than w.
func (s *spans) inside(w Interval) int { return max(0, before(s.hi, w.Hi+1)-before(s.lo, w.Lo)) }

// touching counts the intervals that have an instant in common with w.
func (s *spans) touching(w Interval) int { return before(s.lo, w.Hi+1) - before(s.hi, w.Lo) }

// accounts are the instants at which a budget was paid into and taken from.
type accounts struct {
	retries spans    // that are certain
	may     spans    // all
	paid    spans    // first attempts
	calls   spans    // all that may have paid
	failed  spans    // first attempts that failed, and that were, or had every reason to be, tried again
	ids     []string // of retries.all
}

// judge implements [Rule].
func (r RetryBudget) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	rs := e.retriesOf(r.Injector, a)
	out := Verdict{Result: Inconclusive, Observed: "nothing"}
	if out.Reason, out.Remedy = rs.unsaid(); out.Reason != "" {
		return out
	}
	acc := rs.accounts()
	sure, may := r.worst(acc), r.worstCase(acc)
	out.Observed = fmt.Sprintf("%s, of %s in the run; most at a time %d in %s, of which %.1f are allowed", plural(len(acc.may.all), "further attempt"), plural(len(acc.paid.all), "first attempt"), sure.n, short(r.Window), sure.allowed)
	switch {
	case sure.beyond() > tiny:
		out.Result, out.Evidence = Fail, acc.within(sure.window)
		out.Reason = fmt.Sprintf("from %s to %s of the run %d attempts were retries, and %d calls allow for %.1f", short(max(0, sure.window.Lo)), short(sure.window.Hi), sure.n, sure.firsts, sure.allowed)
	case len(acc.may.all) == 0:
		out.Reason, out.Remedy = "nothing was tried again, so there was nothing to be paid for", "name a phase in which the dependency fails, and let the SUT retry"
	case !r.needed(acc):
		out.Reason = "in no window did more requests have every reason to be tried again than retries are allowed, so the budget was not needed"
		out.Remedy = "let the dependency fail for more calls, for longer than the window, while the breaker stays closed"
	case may.beyond() > tiny:
		out.Reason = fmt.Sprintf("in one window there may have been %d retries, of which %.1f are allowed: some were decided about its ends, or may be none, and rejected calls may have paid as well", may.n, may.allowed)
		out.Remedy = "allow for them by burst; " + doubtRemedy
	default:
		out.Result, out.Margin = Pass, fmt.Sprintf("%.1f retries", may.allowed-float64(may.n))
	}
	return out
}

// accounts collects what a SUT paid and took. Its calls are those of the whole run, as a
// window of the phase may begin before it.
func (r *retries) accounts() *accounts {
	acc := &accounts{}
	for _, t := range r.all {
		for i, l := range t.links {
			d := r.decision(t, i)
			acc.may.add(d)
			if l == linkRetry {
				acc.retries.add(d)
				acc.ids = append(acc.ids, t.call.ID)
			}
		}
		if len(t.links) > 0 || r.due(t) {
			acc.failed.add(Interval{t.call.Send, t.list[0].Arr})
		}
	}
	for i := range r.join.Calls {
		c := &r.join.Calls[i]
		acc.calls.add(Interval{c.Call.Send, max(c.Call.Send, c.Call.End)})
		for _, t := range r.split(c) {
			acc.paid.add(Interval{c.Call.Send, t.list[0].Arr})
		}
	}
	for _, s := range []*spans{&acc.retries, &acc.may, &acc.paid, &acc.calls, &acc.failed} {
		s.sort()
	}
	return acc
}

// decision is when the SUT took the retry that follows an attempt from its budget.
func (r *retries) decision(t *tries, i int) Interval {
	d := Interval{t.list[i].Arr, t.list[i+1].Arr}
	if o := t.list[i].Done(); o != trace.None && o <= d.Hi {
		d.Lo = max(d.Lo, o-r.slack)
	}
	return d
}

// budgeted is a window by how much it holds.
type budgeted struct {
	window    Interval
	n, firsts int
	allowed   float64
}

// beyond is by how much a window holds more than is allowed.
func (f budgeted) beyond() float64 { return float64(f.n) - f.allowed }

// worst finds the window with most retries beyond what is allowed, of those that are certain.
// A right budget keeps each window that ends with a retry, so those are looked at. It may have
// been decided as long before it arrived as it waited, and with it all that was paid.
func (r RetryBudget) worst(acc *accounts) budgeted {
	var f budgeted
	for i, last := range acc.retries.all {
		w := Interval{last.Hi - r.Window, last.Hi}
		slip := r.Window/10 + last.width()
		firsts := acc.calls.touching(Interval{w.Lo - slip, w.Hi + slip})
		got := budgeted{w, acc.retries.inside(w), firsts, r.allowed(firsts)}
		if i == 0 || got.beyond() > f.beyond() {
			f = got
		}
	}
	return f
}

// worstCase is the same of all that may be retries, against what was paid for certain.
func (r RetryBudget) worstCase(acc *accounts) budgeted {
	f := budgeted{allowed: r.allowed(0)}
	for i, last := range acc.may.all {
		w := Interval{last.Hi - r.Window, last.Hi}
		firsts := acc.paid.inside(w)
		got := budgeted{w, acc.may.touching(w), firsts, r.allowed(firsts)}
		if i == 0 || got.beyond() > f.beyond() {
			f = got
		}
	}
	return f
}

// needed reports whether in some window more first attempts failed than it allows retries.
func (r RetryBudget) needed(acc *accounts) bool {
	return slices.ContainsFunc(acc.failed.all, func(last Interval) bool {
		w := Interval{last.Hi - r.Window, last.Hi}
		return float64(acc.failed.inside(w)) > r.allowed(acc.calls.touching(w))
	})
}

// within is the ids of the retries of a window, at most ten.
func (acc *accounts) within(w Interval) []string {
	var out []string
	for i, d := range acc.retries.all {
		if id := acc.ids[i]; d.inside(w.Lo, w.Hi) && len(out) < 10 && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
