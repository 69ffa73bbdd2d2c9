package assert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// Seen is what was seen of calls, with which a counter of the SUT is compared.
type Seen string

// What can be counted from outside.
const (
	SeenCalls    Seen = "calls"    // that were sent to the breaker's targets
	SeenShort    Seen = "short"    // that the breaker rejected
	SeenAdmitted Seen = "admitted" // that it let through, or attempts where each asks it
	SeenFailed   Seen = "failed"   // of those, the ones whose outcome is a failure
)

// MetricAgrees says that a counter of the SUT grew over the phase by as much as was seen
// from outside in the same time, which lies between the last reading before the phase and
// the first after it. A call that was under way at one of these readings, or ended less than
// MaxLag before it, may be counted or not; so what was seen is a range. The counter fails
// when it is outside of the range, stretched by Tolerance, and passes when it is inside of
// it whatever became of those calls.
type MetricAgrees struct {
	Breaker    string
	Prometheus string // the page: a path of the SUT, or an address
	Name       string // of the series
	Labels     map[string]string
	Equals     Seen
	Tolerance  float64 // share of what was seen, 0..1
	MaxLag     time.Duration
}

// Kind implements [Rule].
func (MetricAgrees) Kind() string { return "metric.agrees" }

// Series is the series as a page writes it, labels sorted.
func (r MetricAgrees) Series() string {
	if len(r.Labels) == 0 {
		return r.Name
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		parts = append(parts, fmt.Sprintf("%s=%q", k, r.Labels[k]))
	}
	return r.Name + "{" + strings.Join(parts, ",") + "}"
}

// Subject is what the marks of its readings are about: the series and its page.
func (r MetricAgrees) Subject() string { return r.Series() + " of " + r.Prometheus }

// expected says what the rule asks.
func (r MetricAgrees) expected() string {
	what := map[Seen]string{
		SeenCalls: "calls that were sent", SeenShort: "calls that were rejected", SeenAdmitted: "admissions", SeenFailed: "admissions that failed",
	}[r.Equals]
	text := fmt.Sprintf("%s grows by the number of %s", r.Series(), what)
	if r.Tolerance > 0 {
		text += ", give or take " + percent(r.Tolerance)
	}
	return text
}

// judge implements [Rule].
func (r MetricAgrees) judge(e *evidence, a Assertion) Verdict {
	all := e.told(trace.MarkCounter, r.Subject())
	return e.worst(r.Breaker, a, func(vs []*view, w Interval) Verdict {
		v := vs[0]
		own, reason, remedy := all.of(v)
		switch {
		case len(vs) > 1:
			return Verdict{Result: Inconclusive, Observed: "nothing", Reason: "the dependency's door was shut during the run, and what asked the breaker then was not seen"}
		case v.uncounted() && r.Equals != SeenCalls && r.Equals != SeenShort:
			return v.uncountedVerdict(r.expected())
		case reason != "":
			return Verdict{Result: Inconclusive, Observed: "nothing of this instance", Reason: reason, Remedy: remedy}
		case e.exited > 0:
			return Verdict{Result: Inconclusive, Observed: "nothing", Reason: "the SUT died during the run, and its counters with it"}
		}
		return r.compare(v, w, own)
	})
}

// compare holds the growth of the counter to what was seen.
func (r MetricAgrees) compare(v *view, w Interval, own told) Verdict {
	const remedy = "correct prometheus, name and labels, and let the page answer all the time"
	span := own.around(w, v.sentFrom(w.Hi))
	if len(span.readings) < 2 {
		return Verdict{Result: Inconclusive, Observed: "no two readings of " + r.Series(), Reason: own.silence(), Remedy: remedy}
	}
	delta, absent, ok := growth(span.readings)
	first, last := span.readings[0], span.readings[len(span.readings)-1]
	out := Verdict{Resolution: short(last.asked - first.answered)}
	switch {
	case absent:
		out.Result, out.Observed = Inconclusive, "the page has no such series"
		out.Reason, out.Remedy = "a series that is not there counts nothing, or has another name", remedy
		return out
	case !ok:
		out.Result, out.Observed = Inconclusive, "it went down meanwhile"
		out.Reason = "the SUT was restarted, or this is no counter"
		out.Remedy = "name a counter, and keep the SUT running"
		return out
	}
	seen := r.count(v, first, last)
	out.Observed = fmt.Sprintf("it grew by %s, while %s %s seen, in %s around the phase", plain(delta), seen, seen.verb(), short(last.answered-first.asked))
	out.Evidence = seen.ids
	return r.verdict(out, delta, seen)
}

// verdict compares a growth with what was seen.
func (r MetricAgrees) verdict(out Verdict, delta float64, seen tallied) Verdict {
	lo, hi := float64(seen.least)*(1-r.Tolerance), float64(seen.most)*(1+r.Tolerance)
	switch {
	case delta < lo || delta > hi:
		out.Result = Fail
		out.Margin = plain(max(lo-delta, delta-hi)) + " beyond what is allowed"
	case seen.least < fewestSeen:
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("%d for certain are too few to compare with; %d are needed", seen.least, fewestSeen)
		out.Remedy = "send more calls, in a phase in which this happens"
	case delta > float64(seen.least)*(1+r.Tolerance) || delta < float64(seen.most)*(1-r.Tolerance):
		out.Result = Inconclusive
		out.Reason = fmt.Sprintf("%d of them were under way at a reading, so the counter may have them or not", seen.most-seen.least)
		out.Remedy = "put a pause before and after the phase, longer than state_probe.every (200ms) and max_lag; or raise tolerance"
	default:
		out.Result = Pass
		out.Margin = fmt.Sprintf("%s off", plain(math.Abs(delta-float64(seen.most))))
	}
	return out
}

// fewestSeen is how many of what is counted have to be seen for certain.
const fewestSeen = 10

// around leaves the readings from the last before a window to one after it: the last before
// anything was sent again, when what was under way has been counted, or else the first. Where
// there is none outside, it begins and ends with those inside.
func (t told) around(w Interval, next time.Duration) told {
	from, to := 0, len(t.readings)
	for i, one := range t.readings {
		if one.answered <= w.Lo {
			from = i
		}
		if one.asked < w.Hi {
			continue
		}
		if to == len(t.readings) || one.answered < next {
			to = i + 1
		}
		if one.answered >= next {
			break
		}
	}
	return told{readings: t.readings[from:to]}
}

// sentFrom is when the first call was sent at t or later.
func (v *view) sentFrom(t time.Duration) time.Duration {
	for _, c := range v.calls {
		if c.Call.Send >= t {
			return c.Call.Send
		}
	}
	return forever
}

// growth is by how much a counter grew over its readings. One that was not there yet had
// counted nothing. It is false where the counter went down, and absent if it was never there.
func growth(all []reading) (delta float64, absent, ok bool) {
	absent = true
	first, last := 0.0, math.Inf(-1)
	for i, one := range all {
		value, err := 0.0, error(nil)
		if one.text != "" {
			value, err = strconv.ParseFloat(one.text, 64)
			absent = false
		}
		if err != nil || math.IsNaN(value) || value < last {
			return 0, absent, false
		}
		if i == 0 {
			first = value
		}
		last = value
	}
	return last - first, absent, true
}

// tallied is how many were seen: at least those that lie wholly between two readings, and at
// most those that touch the time between them.
type tallied struct {
	least, most int
	ids         []string // of some
}

// String implements fmt.Stringer.
func (n tallied) String() string {
	if n.least == n.most {
		return strconv.Itoa(n.least)
	}
	return fmt.Sprintf("%d to %d", n.least, n.most)
}

func (n tallied) verb() string {
	if n.least == 1 && n.most == 1 {
		return "was"
	}
	return "were"
}

// count counts what was seen between two readings.
func (r MetricAgrees) count(v *view, first, last reading) tallied {
	var n tallied
	take := func(lo, hi time.Duration, sure bool, id string) {
		in := lo > first.answered && hi < last.asked-r.MaxLag
		if hi >= first.asked-r.MaxLag && lo <= last.answered {
			n.add(id, sure && in)
		}
	}
	for i := range v.join.Calls {
		c := &v.join.Calls[i]
		mine := v.instance == "" || c.Call.Instance == v.instance
		if mine || c.Call.Instance == "" { // Of one that was never answered, the instance is not known.
			r.takeCall(c, mine, take)
		}
	}
	if r.Equals == SeenAdmitted || r.Equals == SeenFailed {
		for _, a := range v.adm {
			r.takeAdmission(a, take)
		}
	}
	return n
}

// add counts one, for certain or perhaps.
func (n *tallied) add(id string, sure bool) {
	n.most++
	if !sure {
		return
	}
	if n.least++; len(n.ids) < 10 {
		n.ids = append(n.ids, id)
	}
}

// taking counts something that happened in [lo, hi], if it did for certain.
type taking func(lo, hi time.Duration, sure bool, id string)

// takeAdmission counts one admission, if it is one of those that are asked for.
func (r MetricAgrees) takeAdmission(a *admission, take taking) {
	if r.Equals == SeenAdmitted || a.failed || a.failMay {
		take(a.lo, a.settled, !a.ghost && (r.Equals == SeenAdmitted || a.failed), a.id())
	}
}

// takeCall counts one call, if it is one of those that are asked for, or may be: whether and
// when the SUT counted one that it did not answer, and whether the breaker was asked for one
// that left no sign, nobody knows.
func (r MetricAgrees) takeCall(c *trace.Joined, mine bool, take taking) {
	end := c.Call.End
	if !c.Call.Answered() {
		end = forever
	}
	silent := len(c.Attempts) == 0 && c.Kind != trace.Short
	switch r.Equals {
	case SeenCalls:
		take(c.Call.Send, end, mine && c.Call.Answered(), c.Call.ID)
	case SeenShort:
		if silent || c.Kind == trace.Short {
			take(c.Call.Send, end, mine && !silent, c.Call.ID)
		}
	case SeenAdmitted, SeenFailed: // Its attempts are counted, if there are any.
		if silent {
			take(c.Call.Send, forever, false, c.Call.ID)
		}
	}
}

// plain writes a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
