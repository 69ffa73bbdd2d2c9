package assert

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// RetrySpacing says how long the SUT waits before it tries again: from the end o(d_i) of an
// attempt to the arrival of the next one. What of it is not asked is zero.
//
// A gap holds the SUT's wait and what it takes to send, which the trace cannot take apart. How long
// that may be is how long the first attempts of the phase's calls took from their sending to
// their arrival, at the 90th percentile: a pool that calls wait for shows in both. The resolution
// is by how much longer that was than the fastest took.
//
//   - Min fails by a gap that is shorter by more than the grain of timers (after an attempt
//     that was given up, also by what it takes the dependency to see that), as no wait is longer
//     than its gap; it passes if none is shorter and first attempts take at most a quarter of Min.
//   - Max fails by three gaps that are longer by more than the SUT needs to act, and passes if
//     none is longer.
//   - Growth: the median of the gaps after attempt i+1 is at least Growth times that after
//     attempt i (or Max, where that is less), give or take 15 %.
//   - Jitter: the interquartile range of the gaps after attempt i is at least this share of
//     their median.
//   - RetryAfter: after an answer with a Retry-After by a fault, the next attempt of the same
//     request does not come sooner than asked (RFC 9110, section 10.2.3), in seconds or as a
//     date. These gaps are the dependency's, and not among those above.
//
// Growth and Jitter need 30 gaps of an index and a target and a median of 20 times the
// resolution; of the median and the quartiles they take what 95 % of such samples would have.
// The others need ten gaps. Gaps during which a breaker may have rejected an attempt are
// left out, as are attempts that may be none of the SUT's own retries.
type RetrySpacing struct {
	Injector   string
	Min        time.Duration
	Max        time.Duration
	Growth     float64
	Jitter     float64 // share of the median, 0..1
	RetryAfter bool
}

// Kind implements [Rule].
func (RetrySpacing) Kind() string { return "retry.spacing" }

func (r RetrySpacing) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r RetrySpacing) expected() string {
	var parts []string
	if r.Min > 0 {
		parts = append(parts, "waits at least "+short(r.Min))
	}
	if r.Max > 0 {
		parts = append(parts, "waits at most "+short(r.Max))
	}
	if r.Growth > 0 {
		parts = append(parts, fmt.Sprintf("each wait %s the one before", factor(r.Growth)))
	}
	if r.Jitter > 0 {
		parts = append(parts, fmt.Sprintf("waits spread by %s of their median", percent(r.Jitter)))
	}
	if r.RetryAfter {
		parts = append(parts, "not sooner than Retry-After asks")
	}
	return strings.Join(parts, ", ") + ", before a retry at " + r.Injector
}

const (
	manyGaps   = 30   // of an index and a target, to speak of their median and spread
	someGaps   = 10   // to speak of all of them
	fine       = 20   // times the resolution a median has to be
	coarse     = 4    // times as long as a first attempt takes a least wait has to be
	growthSlip = 0.15 // by how much less than asked a wait may grow
)

// gap is the time between two attempts of a request.
type gap struct {
	t      *tries
	i      int // after so many attempts
	took   time.Duration
	over   time.Duration // by how much it may be too long for what is no wait
	under  time.Duration // by how much it may be too short
	resend bool          // the HTTP library may have sent it by itself
	asked  *asking       // the dependency said when to come again
}

// gaps are those of a phase.
type gaps struct {
	own        []gap         // of the SUT's own choosing
	asked      []gap         // of the dependency's
	hidden     int           // during which a breaker may have rejected an attempt
	overlap    int           // attempts that came while the one before was under way
	sending    time.Duration // a first attempt, p90
	resolution time.Duration
}

// judge implements [Rule].
func (r RetrySpacing) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	rs := e.retriesOf(r.Injector, a)
	if reason, remedy := rs.unsaid(); reason != "" {
		return Verdict{Result: Inconclusive, Observed: "nothing", Reason: reason, Remedy: remedy}
	}
	g := rs.gaps()
	var parts []Verdict
	add := func(asked bool, judge func(*gaps) Verdict) {
		if asked {
			parts = append(parts, judge(g))
		}
	}
	add(r.Min > 0, r.least)
	add(r.Max > 0, r.most)
	add(r.Growth > 0, r.grows)
	add(r.Jitter > 0, r.spreads)
	add(r.RetryAfter, r.honours)
	if len(parts) == 0 {
		return Verdict{Result: Inconclusive, Observed: "nothing", Reason: "nothing is asked of the waits", Remedy: "give min, max, growth, jitter or retry_after"}
	}
	out := merge(r.expected(), parts)
	out.Resolution = short(g.resolution)
	return out
}

// gaps measures the gaps of a phase's requests.
func (r *retries) gaps() *gaps {
	g := &gaps{}
	g.sending, g.resolution = r.sending()
	for _, t := range r.all {
		for i, l := range t.links {
			before, at := t.list[i], t.list[i+1]
			o := before.Done()
			switch {
			case l == linkAgain:
				continue
			case o == trace.None || o > at.Arr:
				g.overlap++
				continue
			}
			x := gap{t: t, i: i + 1, took: at.Arr - o, resend: l == linkResend, over: max(r.slack, 3*g.sending) + r.e.slept(o, at.Arr), under: early, asked: r.asked(before)}
			if before.Abandon != trace.None {
				x.under += r.slack // The SUT let go before the dependency saw it.
			}
			switch {
			case x.asked != nil:
				g.asked = append(g.asked, x)
			case !r.free(t, at.Arr):
				g.hidden++
			default:
				g.own = append(g.own, x)
			}
		}
	}
	return g
}

// sending is how long the first attempts of a phase's calls took to arrive, and by how much more
// than the fastest.
func (r *retries) sending() (took90, spread time.Duration) {
	var took []time.Duration
	for _, t := range r.all {
		took = append(took, t.list[0].Arr-t.call.Send)
	}
	if len(took) == 0 {
		return 0, 0
	}
	took90 = quantile(took, 0.9)
	return took90, took90 - took[0] // quantile has sorted them.
}

// few is the verdict where there are too few gaps.
func (g *gaps) few(n, need int, what string) Verdict {
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%s %s", plural(n, "wait"), what)}
	out.Reason = fmt.Sprintf("%s %s can be measured, %d are needed", plural(n, "wait"), what, need)
	out.Remedy = "let more calls fail in this phase"
	if g.hidden > 0 {
		out.Reason += fmt.Sprintf("; during %d more a breaker may have rejected an attempt", g.hidden)
		out.Remedy = "let more calls fail while the breaker stays closed, or say unit: call if it does not ask for each attempt"
	}
	if g.overlap > 0 {
		out.Reason += fmt.Sprintf("; %s came while the one before was still under way", plural(g.overlap, "attempt"))
	}
	return out
}

// least judges the shortest wait.
func (r RetrySpacing) least(g *gaps) Verdict {
	sure := slices.DeleteFunc(slices.Clone(g.own), func(x gap) bool { return x.resend })
	if len(sure) == 0 {
		if len(g.own) == 0 {
			return g.few(0, someGaps, "before a retry")
		}
		return Verdict{Result: Inconclusive, Observed: "no wait", Reason: doubtWords(len(g.own), 0), Remedy: doubtRemedy}
	}
	shortest := slices.MinFunc(sure, func(a, b gap) int { return cmp.Compare(a.took, b.took) })
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("shortest wait %s, of %d", short(shortest.took), len(sure))}
	soon, shaky, solid := func(x gap) bool { return x.took+x.under < r.Min }, 0, 0
	for _, x := range sure {
		late := broken(x.t.list[x.i-1]) // It may be the library's, and a pause of the SUT made it late.
		shaky += one(soon(x) && late)
		solid += one(soon(x) && !late)
	}
	switch {
	case solid > 0 || shaky >= fewest:
		out.Result, out.miss, out.Evidence = Fail, r.Min-shortest.took, gapIDs(sure, soon)
		out.Reason = fmt.Sprintf("the next attempt came %s after the one before had ended", short(shortest.took))
		if shortest.took <= shortest.over {
			out.Reason += ": the SUT does not wait at all"
		}
	case shortest.took < r.Min:
		out.Reason = fmt.Sprintf("the shortest wait was below that by %s, less than timers and the seeing of an end are exact", short(r.Min-shortest.took))
		out.Remedy = fmt.Sprintf("ask for %s less", short(shortest.under))
	case len(sure) < len(g.own):
		out.Reason, out.Remedy = doubtWords(len(g.own)-len(sure), 0), doubtRemedy
	case len(sure) < someGaps:
		return g.few(len(sure), someGaps, "before a retry")
	case coarse*g.sending > r.Min:
		out.Reason = fmt.Sprintf("a first attempt takes up to %s to arrive as well, so a gap of %s need not be a wait", short(g.sending), short(r.Min))
		out.Remedy = "lower the rate, or give the SUT more connections"
	default:
		out.Result, out.Margin = Pass, short(shortest.took-r.Min)
	}
	return out
}

// most judges the longest wait.
func (r RetrySpacing) most(g *gaps) Verdict {
	var over []time.Duration
	longest := time.Duration(0)
	for _, x := range g.own {
		longest = max(longest, x.took)
		if miss := x.took - x.over - r.Max; miss > 0 {
			over = append(over, miss)
		}
	}
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("longest wait %s, of %d", short(longest), len(g.own))}
	switch {
	case len(over) >= fewest:
		slices.Sort(over)
		out.Result, out.miss = Fail, over[len(over)-fewest]
		out.Evidence = gapIDs(g.own, func(x gap) bool { return x.took-x.over > r.Max })
		out.Reason = fmt.Sprintf("%s longer than that, by more than it takes to send", plural(len(over), "wait"))
	case len(g.own) < someGaps:
		return g.few(len(g.own), someGaps, "before a retry")
	case longest > r.Max:
		out.Reason = fmt.Sprintf("the longest wait was above that by %s, which may be the sending", short(longest-r.Max))
		out.Remedy = "lower the rate, run on a machine with more free CPU, or allow for it"
	default:
		out.Result, out.Margin = Pass, short(r.Max-longest)
	}
	return out
}

// gapIDs is the ids of the calls of some gaps.
func gapIDs(all []gap, is func(gap) bool) []string {
	var ts []*tries
	for _, x := range all {
		if is(x) {
			ts = append(ts, x.t)
		}
	}
	return callIDs(ts)
}

// row is the gaps of one target after so many attempts, sorted.
type row struct {
	target string
	i      int
	took   []time.Duration
	ids    []string
}

// rows groups gaps, in the order of targets and attempts. Attempts that the library may have
// sent are not among them.
func (g *gaps) rows() []*row {
	type key struct {
		target string
		i      int
	}
	by := map[key]*row{}
	for _, x := range g.own {
		k := key{x.t.call.Target, x.i}
		if x.resend {
			continue
		}
		if by[k] == nil {
			by[k] = &row{target: k.target, i: k.i}
		}
		w := by[k]
		if w.took = append(w.took, x.took); len(w.ids) < fewest {
			w.ids = append(w.ids, x.t.call.ID)
		}
	}
	out := slices.Collect(maps.Values(by))
	slices.SortFunc(out, func(a, b *row) int { return cmp.Or(strings.Compare(a.target, b.target), cmp.Compare(a.i, b.i)) })
	for _, w := range out {
		slices.Sort(w.took)
	}
	return out
}

// around is between which of the sorted gaps the q-quantile of all such gaps lies, as 95 % of
// samples of this size have it (the normal bounds of its rank).
func (w *row) around(q float64) Interval {
	n := float64(len(w.took))
	by := 2 * math.Sqrt(n*q*(1-q))
	at := func(rank float64) time.Duration {
		return w.took[min(max(int(math.Round(rank)), 0), len(w.took)-1)]
	}
	return Interval{at(q*n - by - 1), at(q*n + by)}
}
