package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// SLO says that clients were served well enough: the share of good calls among all calls to
// Targets in the phase, and in Phases beside it, is at least Objective; and the error budget,
// 1 - Objective, was not burnt too fast. The burn rate is the share of bad calls over a
// stretch of time, divided by the budget; a Burn is broken at an instant at which it was above
// Max over the Long stretch before it, and over the Short one, if there is one (multiwindow,
// multi-burn-rate alerts; "Alerting on SLOs" in Google's SRE workbook).
//
// A call is good if it has a complete answer of a class in Good; without Good, if it is no
// error (see SubjectError) and not of class rejected. A call that has no answer is bad,
// whether it reached the dependency or not, unless this process stood still meanwhile: then it
// may be either, as one whose end a later phase may have harmed, and one that could not be
// sent since the SUT held all that are allowed.
//
// It takes 20 calls, and as many that one bad one is within the budget; for a Burn stretches
// as long as Long within the phases, and 20 calls in the shorter of the two.
type SLO struct {
	Objective float64 // 0..1, below 1
	Good      []string
	Targets   []string // empty: all
	Phases    []string // beside that of the assertion
	Burn      []Burn
}

// Burn bounds how fast the error budget is burnt.
type Burn struct {
	Long  time.Duration
	Short time.Duration // 0: none
	Max   float64       // times the rate that spends exactly the budget
}

// Kind implements [Rule].
func (SLO) Kind() string { return "slo" }

// expected says what the rule asks.
func (r SLO) expected() string {
	what := "good"
	if len(r.Good) > 0 {
		what = strings.Join(r.Good, " or ")
	}
	parts := []string{fmt.Sprintf("%s of %s are %s", exactly(r.Objective), callsTo(r.Targets), what)}
	for _, b := range r.Burn {
		parts = append(parts, b.expected())
	}
	return strings.Join(parts, "; ")
}

// exactly prints a share with all its digits.
func exactly(share float64) string { return plain(math.Round(share*1e9)/1e7) + "%" }

// expected says what is asked.
func (b Burn) expected() string {
	s := fmt.Sprintf("burn at most %s over %s", plain(b.Max), short(b.Long))
	if b.Short > 0 {
		s += " and " + short(b.Short)
	}
	return s
}

// rated is a call as an objective sees it.
type rated struct {
	call     *trace.Call
	bad, may bool // for certain; or not known
}

// judge implements [Rule].
func (r SLO) judge(e *evidence, a Assertion) Verdict {
	phases := slices.Concat([]string{a.Phase}, r.Phases)
	for _, p := range phases {
		if one := (Assertion{Phase: p}); !e.ran(one) {
			return notRun(one)
		}
	}
	for _, class := range r.Good {
		if why := e.known(class); why != "" {
			return Verdict{Result: Inconclusive, Observed: "no call", Reason: why, Remedy: "declare the class under load.classify, or correct its name"}
		}
	}
	all := r.rate(e, phases)
	parts := []Verdict{r.share(e, phases, all)}
	for _, b := range r.Burn {
		parts = append(parts, r.burn(b, all, e.ranges(phases)))
	}
	return merge(r.expected(), parts)
}

// rate looks at all calls of some phases, in the order of sending.
func (r SLO) rate(e *evidence, phases []string) []rated {
	var all []rated
	for _, p := range phases {
		to := e.endOf(p)
		for _, s := range e.population(p, r.Targets, "") {
			c := s.call
			one := rated{call: c, bad: !r.good(s)}
			harmed := c.End > to && !slices.ContainsFunc(phases, func(next string) bool { return e.endOf(next) >= c.End })
			one.may = one.bad && (harmed || !c.Answered() && e.stalled(c.Send, c.End))
			one.bad = one.bad && !one.may
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b rated) int { return int(a.call.Send - b.call.Send) })
	return all
}

// good reports whether a call is good.
func (r SLO) good(s seen) bool {
	if len(r.Good) == 0 {
		return s.good()
	}
	return s.call.Answered() && slices.Contains(r.Good, s.call.Class)
}

// ranges is the time from the first of some phases to the last.
func (e *evidence) ranges(phases []string) Interval {
	out := Interval{forever, 0}
	for _, p := range phases {
		w := e.windowsOf(p)
		for _, one := range w {
			out.Lo, out.Hi = min(out.Lo, one.Lo), max(out.Hi, one.Hi)
		}
	}
	return out
}

// share judges the share of good calls.
func (r SLO) share(e *evidence, phases []string, all []rated) Verdict {
	var spoilt []*trace.Call
	doubt, unsent := 0, 0
	for _, x := range all {
		if x.bad {
			spoilt = append(spoilt, x.call)
		}
		doubt += one(x.may)
	}
	for _, p := range phases {
		missed, _ := e.saturated(p)
		unsent += missed
	}
	n := len(all)
	out := Verdict{Result: Inconclusive, Observed: plural(n, "call")}
	need := max(enough, int(math.Ceil(1/(1-r.Objective)-1e-6)))
	if n == 0 {
		out.Reason, out.Remedy = fmt.Sprintf("no call was sent, %d are needed", need), "send calls"
		return out
	}
	lo := float64(n-len(spoilt)-doubt) / float64(n+unsent)
	hi := float64(n-len(spoilt)+unsent) / float64(n+unsent)
	share := percentNear(hi, r.Objective)
	if lo < hi {
		share = percentNear(lo, r.Objective) + " to " + share
	}
	out.Observed = fmt.Sprintf("%s of %s good, %s of the error budget spent", share, plural(n+unsent, "call"), percent((1-hi)/(1-r.Objective)))
	switch {
	case n < need && len(spoilt) < enough:
		out.Reason = fmt.Sprintf("%s, %d are needed, so that one bad one is within the budget", plural(n, "call"), need)
		out.Remedy = "send more calls"
	case hi < r.Objective:
		out.Result, out.Evidence, out.miss = Fail, callsOf(spoilt), starved(spoilt)
		out.Reason = "these are bad: " + kinds(spoilt)
	case lo < r.Objective:
		out.Reason, out.Remedy = fmt.Sprintf("of %s it cannot be told what they would have been: they were under way when the phases ended, or this machine stood still", plural(doubt, "call")), longer
		if unsent > doubt {
			out.Reason, out.Remedy = plural(unsent, "call")+" that were due could not be sent, as the SUT held all that are allowed in flight", "raise load.max_in_flight, or lower the rate"
		}
	default:
		out.Result, out.Margin = Pass, percentNear(lo-r.Objective, 0)
	}
	return out
}

// starved is by how much calls fail in time alone, if they do: none of them was answered, for so
// long, which a machine without free CPU can have caused; else 0.
func starved(bad []*trace.Call) time.Duration {
	var waited []time.Duration
	for _, c := range bad {
		if c.Err != trace.ErrTimeout && c.Err != trace.ErrCanceled {
			return 0
		}
		waited = append(waited, c.End-c.Send)
	}
	return quantile(waited, 0.5)
}

// tide is what came of a burn rate while a stretch moved over the calls.
type tide struct {
	highest float64 // of the rates that had to be high both
	at      time.Duration
	sure    bool          // above the bound for certain
	may     bool          // above it perhaps
	looked  int           // stretches with enough calls
	show    []*trace.Call // the bad calls of the worst
}

// burn judges how fast the budget is burnt.
func (r SLO) burn(b Burn, all []rated, in Interval) Verdict {
	out := Verdict{Result: Inconclusive, Observed: "no burn rate"}
	short1 := b.Short
	if short1 == 0 {
		short1 = b.Long
	}
	if in.width() < b.Long {
		out.Reason = fmt.Sprintf("the phases last for %s together, and the stretch for %s", short(in.width()), short(b.Long))
		out.Remedy = "make the phases longer, or the stretch shorter"
		return out
	}
	t := r.tide(b, short1, all, in.Lo+b.Long)
	if t.looked == 0 {
		out.Reason = fmt.Sprintf("no stretch of %s has %d calls", short(short1), enough)
		out.Remedy = "send more calls, or take a longer stretch"
		return out
	}
	out.Observed = fmt.Sprintf("burn up to %s over %s", about1(t.highest), short(b.Long))
	if b.Short > 0 {
		out.Observed += " and " + short(b.Short)
	}
	switch {
	case t.sure:
		out.Result, out.Evidence, out.miss = Fail, callsOf(t.show), starved(t.show)
		out.Reason = fmt.Sprintf("the error budget burnt %s times as fast as it may in the time before %s: %s", about1(t.highest), short(t.at), kinds(t.show))
	case t.may:
		out.Reason = "of some calls it cannot be told what they would have been: they were under way when the phases ended, or this machine stood still"
		out.Remedy = longer
	default:
		out.Result, out.Margin = Pass, plain(math.Round((b.Max-t.highest)*10)/10)+" less"
	}
	return out
}

// tide moves both stretches over the calls; each ends with a call that was sent at from or
// later.
func (r SLO) tide(b Burn, brief time.Duration, all []rated, from time.Duration) tide {
	t := tide{}
	long, short := stretch{all: all, length: b.Long}, stretch{all: all, length: brief}
	budget := 1 - r.Objective
	for i := range all {
		long.end(i)
		short.end(i)
		if all[i].call.Send < from || short.n() < enough {
			continue
		}
		t.looked++
		least := min(long.least(), short.least()) / budget
		most := min(long.most(), short.most()) / budget
		t.may = t.may || most > b.Max
		if least > t.highest || t.at == 0 {
			t.highest, t.at = least, all[i].call.Send
			if least > b.Max {
				t.sure, t.show = true, long.spoilt()
			}
		}
	}
	return t
}

// stretch is a time that ends with a call.
type stretch struct {
	all         []rated
	length      time.Duration
	first, last int
	bad, may    int
}

// end moves the end to the next call.
func (s *stretch) end(i int) {
	s.last = i
	s.bad, s.may = s.bad+one(s.all[i].bad), s.may+one(s.all[i].may)
	for ; s.all[i].call.Send-s.all[s.first].call.Send >= s.length; s.first++ {
		s.bad, s.may = s.bad-one(s.all[s.first].bad), s.may-one(s.all[s.first].may)
	}
}

func (s *stretch) n() int { return s.last - s.first + 1 }

// least is the share of bad calls, for certain; most with those that may be.
func (s *stretch) least() float64 { return float64(s.bad) / float64(s.n()) }
func (s *stretch) most() float64  { return float64(s.bad+s.may) / float64(s.n()) }

// spoilt is the bad calls, the first ones.
func (s *stretch) spoilt() []*trace.Call {
	var out []*trace.Call
	for _, one := range s.all[s.first : s.last+1] {
		if one.bad {
			out = append(out, one.call)
		}
	}
	return out
}
