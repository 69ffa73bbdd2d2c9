package assert

import (
	"fmt"
	"strings"
	"time"
)

// grows judges how the wait grows from one attempt to the next.
func (r RetrySpacing) grows(g *gaps) Verdict {
	var parts []Verdict
	var seen []string
	rows := g.rows()
	for k, w := range rows {
		seen = append(seen, fmt.Sprintf("%s after attempt %d", short(quantileOf(w.took, 0.5)), w.i))
		if k+1 < len(rows) && rows[k+1].target == w.target && rows[k+1].i == w.i+1 {
			parts = append(parts, r.growth(g, w, rows[k+1]))
		}
	}
	if len(parts) == 0 {
		out := g.few(0, manyGaps, "after a second attempt")
		if len(rows) > 0 {
			out.Observed = "medians " + strings.Join(seen, ", ")
		}
		return out
	}
	out := byResult(parts)
	out.Observed = "medians " + strings.Join(seen, ", ")
	return out
}

// growth judges one step of it.
func (r RetrySpacing) growth(g *gaps, from, to *row) Verdict {
	if n := min(len(from.took), len(to.took)); n < manyGaps {
		return g.few(n, manyGaps, fmt.Sprintf("after attempt %d", to.i))
	}
	a, b := from.around(0.5), to.around(0.5)
	want := func(d time.Duration) time.Duration {
		w := time.Duration(float64(d) * r.Growth)
		if r.Max > 0 {
			w = min(w, r.Max)
		}
		return time.Duration(float64(w) * (1 - growthSlip))
	}
	out := Verdict{Result: Inconclusive, Evidence: to.ids}
	switch {
	case a.Lo < fine*g.resolution:
		out.Reason = fmt.Sprintf("first attempts take up to %s longer than the fastest to arrive, too much to measure waits of %s", short(g.resolution), a)
		out.Remedy = "lower the rate, or let the SUT wait longer"
	case b.Hi < want(a.Lo-g.sending):
		out.Result = Fail
		out.Reason = fmt.Sprintf("the wait after attempt %d (median within %s) is %s the one before (%s)", to.i, b, factor(ratioOf(int(b.Hi), int(max(a.Lo, 1)))), a)
	case b.Lo-g.sending < want(a.Hi):
		out.Reason = fmt.Sprintf("the median of the waits after attempt %d lies within %s, and the one before within %s: too wide to tell", to.i, b, a)
		out.Remedy = "let more calls fail in this phase: four times as many halve the range"
	default:
		out.Result = Pass
		out.Margin = fmt.Sprintf("grows by at least %s", factor(ratioOf(int(b.Lo), int(max(a.Hi, 1)))))
	}
	return out
}

// spreads judges whether waits differ.
func (r RetrySpacing) spreads(g *gaps) Verdict {
	var parts []Verdict
	var seen []string
	for _, w := range g.rows() {
		if len(w.took) < manyGaps {
			continue
		}
		mid, q1, q3 := quantileOf(w.took, 0.5), quantileOf(w.took, 0.25), quantileOf(w.took, 0.75)
		seen = append(seen, fmt.Sprintf("%s (quartiles %s and %s) after attempt %d", percent(share(q3-q1, mid)), short(q1), short(q3), w.i))
		parts = append(parts, r.spread(g, w))
	}
	if len(parts) == 0 {
		most := 0
		for _, w := range g.rows() {
			most = max(most, len(w.took))
		}
		return g.few(most, manyGaps, "after the same attempt")
	}
	out := byResult(parts)
	out.Observed = "spread " + strings.Join(seen, ", ")
	return out
}

// spread judges the waits after one attempt.
func (r RetrySpacing) spread(g *gaps, w *row) Verdict {
	q1, mid, q3 := w.around(0.25), w.around(0.5), w.around(0.75)
	out := Verdict{Result: Inconclusive, Evidence: w.ids}
	least, most := share(q3.Lo-q1.Hi-g.resolution, mid.Hi), share(q3.Hi-q1.Lo, max(mid.Lo-g.sending, 1))
	switch {
	case mid.Lo < fine*g.resolution:
		out.Reason = fmt.Sprintf("first attempts take up to %s longer than the fastest to arrive, too much to see waits of %s differ", short(g.resolution), mid)
		out.Remedy = "lower the rate, or let the SUT wait longer"
	case most < r.Jitter:
		out.Result = Fail
		out.Reason = fmt.Sprintf("the waits after attempt %d are alike: all who fail together come again together", w.i)
	case least < r.Jitter:
		out.Reason = fmt.Sprintf("the spread of all such waits lies between %s and %s: too wide to tell", percent(max(0, least)), percent(most))
		out.Remedy = "let more calls fail in this phase: four times as many halve the range"
	default:
		out.Result, out.Margin = Pass, percent(least-r.Jitter)
	}
	return out
}

// share divides durations.
func share(part, of time.Duration) float64 { return float64(part) / float64(of) }
