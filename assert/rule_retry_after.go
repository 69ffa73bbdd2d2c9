package assert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// asking is what a Retry-After asks for, as offsets of the trace: not before an instant within
// this interval.
type asking struct {
	until Interval
	said  string
}

// asked is what the fault that hit an attempt asked for in its answer, or nil. The trace names
// the fault, and the plan what it sends.
func (r *retries) asked(at *trace.Attempt) *asking {
	if at.Rule == "" || at.Abandon != trace.None || at.Outcome != trace.OutcomeAnswered || at.Dep == trace.None {
		return nil
	}
	rules := r.e.faults[at.Phase][r.injector]
	i := slices.IndexFunc(rules, func(f fault.Rule) bool { return f.ID == at.Rule })
	if i < 0 || rules[i].Action != fault.ActionRespond {
		return nil
	}
	// The head left when the latency was over, or, where the rest came late, some time after.
	sent := Interval{at.Arr + at.Delay, at.Dep}
	if rules[i].Form.Takes(0) == 0 && rules[i].Hold == nil && rules[i].Form.Drip == nil {
		sent.Lo = max(sent.Lo, at.Dep-r.slack)
	}
	return r.askedBy(rules[i].Respond, sent)
}

// askedBy reads the header of an answer whose head left within an interval.
func (r *retries) askedBy(answer fault.Respond, sent Interval) *asking {
	if a := answer.RetryAfter; a != nil {
		if a.Date {
			return r.dated(Interval{sent.Lo + a.In, sent.Hi + a.In}, "a date "+short(a.In)+" on")
		}
		return &asking{Interval{sent.Lo + a.In, sent.Hi + a.In}, short(a.In)}
	}
	for k, v := range answer.Headers {
		if !strings.EqualFold(k, "Retry-After") {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n >= 0 {
			d := time.Duration(n) * time.Second
			return &asking{Interval{sent.Lo + d, sent.Hi + d}, short(d)}
		}
		if when, ok := httpDate(v); ok {
			d := when.Sub(r.e.trace.Header.Epoch)
			return &asking{Interval{d, d}, v}
		}
	}
	return nil
}

// httpDate reads a date in one of the three forms of RFC 9110, section 5.6.7.
func httpDate(s string) (time.Time, bool) {
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if when, err := time.Parse(form, s); err == nil {
			return when, true
		}
	}
	return time.Time{}, false
}

// dated is what an HTTP-date asks for that stands for an instant within an interval: it has
// whole seconds, and what is left of one is cut off.
func (r *retries) dated(when Interval, said string) *asking {
	epoch := r.e.trace.Header.Epoch
	cut := func(d time.Duration) time.Duration { return epoch.Add(d).Truncate(time.Second).Sub(epoch) }
	return &asking{Interval{cut(when.Lo), cut(when.Hi)}, said}
}

// early is how much sooner than asked a timer may fire: timers have a grain.
const early = 5 * time.Millisecond

// honours judges whether the SUT came again sooner than it was asked to.
func (r RetrySpacing) honours(g *gaps) Verdict {
	out := Verdict{Result: Inconclusive, Observed: "no retry after a Retry-After"}
	var soon, vague []gap
	least := forever
	for _, x := range g.asked {
		arrived := x.t.list[x.i].Arr
		left := arrived - x.asked.until.Hi
		least = min(least, left)
		switch {
		case arrived < x.asked.until.Lo-early:
			soon = append(soon, x)
		case left < -early:
			vague = append(vague, x)
		}
	}
	if len(g.asked) > 0 {
		out.Observed = fmt.Sprintf("%s that followed a Retry-After of %s, the soonest %s", plural(len(g.asked), "attempt"), g.asked[0].asked.said, sooner(least))
	}
	switch {
	case len(soon) > 0:
		out.Result = Fail
		out.Evidence = gapIDs(soon, func(gap) bool { return true })
		out.Reason = fmt.Sprintf("%d of them came sooner than the dependency had asked for", len(soon))
	case len(g.asked) < someGaps:
		out.Reason = fmt.Sprintf("%s followed an answer of a fault with Retry-After, %d are needed", plural(len(g.asked), "attempt"), someGaps)
		out.Remedy = "let a fault answer with respond: {status: 503, retry_after: 1s}, and let the clients wait for longer than that"
	case len(vague) > 0:
		out.Reason = "when the answers were on their way is not known as exactly as it takes to tell"
		out.Remedy = "let the answer come whole, without hold, drip or bandwidth"
	default:
		out.Result, out.Margin = Pass, short(max(least, 0))
	}
	return out
}

// sooner words when something came, against when it should.
func sooner(left time.Duration) string {
	if left < 0 {
		return short(-left) + " too soon"
	}
	return short(left) + " after that"
}
