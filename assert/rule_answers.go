package assert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// judge implements [Rule].
func (r ShortLatency) judge(e *evidence, a Assertion) Verdict {
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		shorts, stalled := e.clean(v.rejectedOpen(w))
		if stalled > len(shorts) {
			return Verdict{
				Result: Inconclusive, Expected: r.expected(), Observed: fmt.Sprintf("%d of %d answers came while this machine stalled", stalled, stalled+len(shorts)),
				Reason: "faultline itself was not running, so it could not measure", Remedy: "run on a machine with more free CPU",
			}
		}
		took := make([]time.Duration, 0, len(shorts))
		for _, x := range shorts {
			took = append(took, x.hi-x.lo)
		}
		if len(took) == 0 {
			return e.noOpening(r.Breaker, r.expected(), "no call was rejected while the breaker was open", "send calls while the breaker is open")
		}
		slowest := slices.MaxFunc(shorts, func(x, y *rejection) int { return cmp.Compare(x.hi-x.lo, y.hi-y.lo) })
		var parts []Verdict
		for _, b := range r.Bounds {
			p := b.judge(took)
			p.Evidence = ids([]*rejection{slowest})
			parts = append(parts, p)
		}
		return merge(r.expected(), parts)
	})
}

// clean leaves out the rejections during which faultline itself was not running:
// their answers were there before it looked.
func (e *evidence) clean(rs []*rejection) (kept []*rejection, stalled int) {
	for _, r := range rs {
		if e.stalled(r.lo, r.hi) {
			stalled++
			continue
		}
		kept = append(kept, r)
	}
	return kept, stalled
}

// stalled reports whether this process stood still at some time in [lo, hi].
func (e *evidence) stalled(lo, hi time.Duration) bool {
	for _, m := range e.trace.Marks {
		if m.Kind == trace.MarkStall && m.At >= lo && m.At-m.Dur <= hi {
			return true
		}
	}
	return false
}

// rejectedOpen returns the rejections of a window while the breaker was open.
func (v *view) rejectedOpen(w Interval) []*rejection {
	var out []*rejection
	for _, s := range v.segs {
		if s.state != StateOpen {
			continue
		}
		for _, x := range v.rejectedBetween(max(s.from.Lo, w.Lo)-1, s.to.Hi) {
			if w.in(x.lo) {
				out = append(out, x)
			}
		}
	}
	return out
}

// expected says what the rule asks.
func (r ShortLatency) expected() string { return boundsText(r.Bounds) }

// quantileName prints p99, or max.
func quantileName(q float64) string {
	if q == 1 {
		return "max"
	}
	return strings.TrimSuffix(fmt.Sprintf("p%g", q*100), ".0")
}

// judge takes the maximum where there are too few samples for the quantile:
// 100 for p99, 20 for p95. A maximum above the bound does not prove the
// quantile to be, unless the median is. Fewer than timed samples show nothing.
func (b QuantileBound) judge(took []time.Duration) Verdict {
	n, need := len(took), b.need()
	q, name := b.Quantile, quantileName(b.Quantile)
	if n < need {
		q, name = 1, fmt.Sprintf("max (too few for %s)", name)
	}
	got := quantile(took, q)
	out := Verdict{Result: Pass, Observed: fmt.Sprintf("%s %s of %s", name, short(got), plural(n, "call")), Margin: short(b.Max - got)}
	switch half := quantile(took, 0.5); {
	case n >= timed && got <= b.Max:
	case n >= need:
		out.Result, out.Margin, out.miss = Fail, "", got-b.Max
	case n >= timed && half > b.Max:
		out.Result, out.Margin, out.miss = Fail, "", half-b.Max
	default:
		out.Result, out.Margin = Inconclusive, ""
		out.Reason, out.Remedy = fmt.Sprintf("%s, too few for %s", plural(n, "call"), quantileName(b.Quantile)), fmt.Sprintf("send at least %d calls while the breaker is open", need)
	}
	return out
}

// judge implements [Rule].
func (r FallbackShare) judge(e *evidence, a Assertion) Verdict {
	return e.worst(r.Breaker, a, func(vs []*view, w Interval) Verdict {
		p := &fallbacks{}
		for i := range vs[0].join.Calls {
			c := &vs[0].join.Calls[i]
			if !vs[0].serves(c) || !w.in(c.Call.Send) || c.Call.Err == trace.ErrCanceled || straddles(c, a.Phase, w) {
				continue
			}
			p.add(c, r.Of, vs)
		}
		out := r.conclude(e, p)
		if out.Result == Pass && r.Max != nil && p.answered < enough {
			out.Result, out.Margin, out.Reason, out.Remedy = Inconclusive, "", silence(p.answered, p.calls()), speak
		}
		return out
	})
}

// fallbacks are the calls of some sets.
type fallbacks struct {
	answered         int
	present, missing []*trace.Call // answered by the fallback, and otherwise
	perhaps          int           // answered by the fallback, and perhaps in the sets
	perhapsNot       int           // answered otherwise, and perhaps in the sets
}

// calls is how many are in the sets for certain.
func (p *fallbacks) calls() int { return len(p.present) + len(p.missing) }

// add takes in a call, if it may belong to any of the sets.
func (p *fallbacks) add(c *trace.Joined, sets []CallSet, vs []*view) {
	sure, may := inSets(c, sets, vs)
	switch fell := c.Call.Class == match.ClassFallback; {
	case !may:
	case !sure && fell:
		p.perhaps++
	case !sure:
		p.perhapsNot++
	case fell:
		p.answered++
		p.present = append(p.present, &c.Call)
	default:
		p.answered += one(c.Call.Answered())
		p.missing = append(p.missing, &c.Call)
	}
}

// bounds are the least and the greatest share of the fallback.
func (p *fallbacks) bounds() (lo, hi float64) {
	n := p.calls()
	return float64(len(p.present)) / float64(n+p.perhapsNot), float64(len(p.present)+p.perhaps) / float64(n+p.perhaps)
}

// silence says that too few calls were answered for a class to be rare among them:
// what did not come is of no class.
func silence(answered, calls int) string {
	return fmt.Sprintf("only %d of %s were answered, %d are needed to say that few answers are of a class", answered, plural(calls, "call"), enough)
}

// speak is what to do about silence.
const speak = "let the SUT answer within load.timeout in this phase"

// straddles reports whether what came after a phase may have harmed a call of
// it.
func straddles(c *trace.Joined, phase string, w Interval) bool {
	if phase == "" {
		return false
	}
	for _, at := range c.Attempts {
		if at.Phase != phase {
			return true
		}
	}
	return c.Call.End >= w.Hi
}

// conclude turns counts into a verdict.
func (r FallbackShare) conclude(e *evidence, p *fallbacks) Verdict {
	expected, n := r.expected(), p.calls()
	if n < 20 {
		if r.needsOpening() {
			return e.noOpening(r.Breaker, expected, fmt.Sprintf("%d calls are in the set, 20 are needed", n), "send more calls in this phase")
		}
		return Verdict{Result: Inconclusive, Expected: expected, Observed: plural(n, "call"), Reason: "20 calls are needed", Remedy: "send more calls in this phase"}
	}
	lo, hi := p.bounds()
	out := Verdict{Result: Pass, Expected: expected, Observed: fmt.Sprintf("%s (%d of %d)", percent(lo), len(p.present), n)}
	if doubt := p.perhaps + p.perhapsNot; doubt > 0 {
		out.Observed = fmt.Sprintf("%s to %s (%d of %d, and %d calls that may be in the set)", percent(lo), percent(hi), len(p.present), n, doubt)
	}
	var margins []string
	if r.Min != nil {
		margins = append(margins, percent(lo-*r.Min))
		r.bound(&out, hi < *r.Min, lo < *r.Min)
		if hi < *r.Min {
			out.Evidence, out.Reason = callsOf(p.missing), "answered otherwise: "+kinds(p.missing)
		}
	}
	if r.Max != nil {
		margins = append(margins, percent(*r.Max-hi))
		r.bound(&out, lo > *r.Max, hi > *r.Max)
		if lo > *r.Max {
			out.Evidence, out.Reason = callsOf(p.present), "the fallback answered where it should not"
		}
	}
	if out.Result == Pass {
		out.Margin = strings.Join(margins, ", ")
	}
	return out
}

// bound settles one bound: missed for certain, or perhaps.
func (FallbackShare) bound(out *Verdict, missed, perhaps bool) {
	switch {
	case missed:
		out.Result = Fail
	case perhaps && out.Result == Pass:
		out.Result, out.Reason = Inconclusive, "of some calls it cannot be told whether they are in the set"
		out.Remedy = "ask it of short and failed calls together, or of all"
	}
}

// needsOpening reports whether every set of the rule is empty without an open
// breaker.
func (r FallbackShare) needsOpening() bool {
	return !slices.Contains(r.Of, SetAll) && !slices.Contains(r.Of, SetFailed)
}

// expected says what the rule asks.
func (r FallbackShare) expected() string {
	var parts []string
	if r.Min != nil {
		parts = append(parts, ">= "+percent(*r.Min))
	}
	if r.Max != nil {
		parts = append(parts, "<= "+percent(*r.Max))
	}
	of := make([]string, 0, len(r.Of))
	for _, s := range r.Of {
		of = append(of, string(s))
	}
	return fmt.Sprintf("fallback %s of %s calls", strings.Join(parts, " and "), strings.Join(of, "+"))
}

// serves reports whether a call is one of the view's instance, whatever its era.
func (v *view) serves(c *trace.Joined) bool { return v.instance == "" || c.Call.Instance == v.instance }

// inSets reports whether a call belongs to any of the sets: for certain, or perhaps. One
// that met a shut door and was answered was rejected or has failed: which of them is not
// known.
func inSets(c *trace.Joined, sets []CallSet, vs []*view) (sure, may bool) {
	has := func(s CallSet) bool { return slices.Contains(sets, s) }
	switch {
	case has(SetAll):
		return true, true
	case c.Unserved:
		sure = has(SetShort) && has(SetFailed) && c.Call.Answered()
		return sure, sure || has(SetShort) && c.Call.Answered() || has(SetFailed) || has(SetOpen)
	}
	if len(c.Attempts) > 0 && touched(vs[0].join.Blind, &c.Call) {
		// In which order its attempts were made is not known, nor whether all were seen.
		return false, has(SetFailed) || has(SetOpen)
	}
	v := vs[0] // What is asked of it is in the call alone, but for the states.
	sure = has(SetShort) && c.Kind == trace.Short && !slices.ContainsFunc(vs, func(v *view) bool { return v.aside[c] }) || has(SetFailed) && v.callFailed(c) ||
		has(SetOpen) && slices.ContainsFunc(vs, func(v *view) bool { return v.whileOpen(c) })
	return sure, sure
}

// callFailed reports whether the last attempt of a call failed.
func (v *view) callFailed(c *trace.Joined) bool {
	if len(c.Attempts) == 0 {
		return false
	}
	a := &admission{call: c, attempt: &c.Attempts[len(c.Attempts)-1], lo: c.Call.Send, hi: c.Attempts[len(c.Attempts)-1].Arr}
	v.settle(a, forever)
	return a.failed
}

// whileOpen reports whether a call was sent and answered while the breaker was
// certainly open.
func (v *view) whileOpen(c *trace.Joined) bool {
	i, _ := slices.BinarySearchFunc(v.segs, c.Call.Send, func(s segment, t time.Duration) int {
		if s.from.Hi <= t {
			return -1
		}
		return 1
	})
	return i > 0 && v.segs[i-1].state == StateOpen && c.Call.End <= v.segs[i-1].to.Lo
}

// kinds sums up how calls were answered, the most frequent first.
func kinds(cs []*trace.Call) string {
	counts := map[string]int{}
	for _, c := range cs {
		k := fmt.Sprintf("status %d, class %s", c.Status, c.Class)
		if c.Err != trace.ErrNone {
			k = "error " + string(c.Err)
		}
		counts[k]++
	}
	keys := sortedKeys(counts)
	slices.SortStableFunc(keys, func(a, b string) int { return counts[b] - counts[a] })
	var parts []string
	for _, k := range keys[:min(len(keys), 3)] {
		parts = append(parts, fmt.Sprintf("%s %s", plural(counts[k], "time"), k))
	}
	return strings.Join(parts, "; ")
}
