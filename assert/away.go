package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// whyAway is what is said of a time in which the SUT was gone.
const whyAway = "the SUT was gone"

// briefest is how long a service is gone at least that is started anew.
const briefest = 100 * time.Millisecond

// away are the times in which the SUT (an instance of it; all of them if it is empty) was gone:
// it refused connections, and answered nobody, for at least as long as it takes to start it
// anew. It may have been, and its breaker with it: that begins closed, with an empty window, and
// what the calls that were under way did to it is not known. A call that was refused by itself,
// while others were served, is no sign of that.
func away(join trace.Join, instance string) []trace.Blind {
	var out []trace.Blind
	served := servedBy(join, instance)
	for i := range join.Calls {
		c := &join.Calls[i]
		if c.Kind != trace.Lost || c.Call.Err != trace.ErrRefused || instance != "" && c.Call.Instance != "" && c.Call.Instance != instance {
			continue
		}
		quiet := served.quiet(c.Call.Send, c.Call.End)
		if quiet.width() < briefest {
			continue
		}
		b := trace.Blind{From: max(quiet.Lo, c.Call.Send-briefest), To: min(quiet.Hi, c.Call.End+briefest), Why: whyAway}
		if n := len(out) - 1; n >= 0 && (out[n].To >= b.From || quiet.Lo <= out[n].From) {
			out[n].To = max(out[n].To, b.To)
			continue
		}
		out = append(out, b)
	}
	return out
}

// served is when answered calls were sent, and when they were answered, each sorted.
type served struct{ sends, ends []time.Duration }

func servedBy(join trace.Join, instance string) served {
	var s served
	for i := range join.Calls {
		if c := &join.Calls[i].Call; c.Answered() && (instance == "" || c.Instance == instance) {
			s.sends, s.ends = append(s.sends, c.Send), append(s.ends, c.End)
		}
	}
	slices.Sort(s.sends)
	slices.Sort(s.ends)
	return s
}

// quiet is the time around [from, to] in which nobody was answered: from the last answer
// before to the sending of the first call after that was answered. It has no width where one
// was under way meanwhile.
func (s served) quiet(from, to time.Duration) Interval {
	begun, over := atMost(s.sends, to-1), atMost(s.ends, from)
	if begun > over {
		return Interval{from, from}
	}
	quiet := Interval{0, forever}
	if over > 0 {
		quiet.Lo = s.ends[over-1]
	}
	if begun < len(s.sends) {
		quiet.Hi = s.sends[begun]
	}
	return quiet
}

// blindOf is a join in whose blind times are those in which an instance was gone.
func blindOf(join trace.Join, instance string) trace.Join {
	gone := away(join, instance)
	if len(gone) == 0 {
		return join
	}
	all := slices.Concat(join.Blind, gone)
	slices.SortFunc(all, func(a, b trace.Blind) int { return cmp.Compare(a.From, b.From) })
	var one []trace.Blind
	for _, b := range all {
		if n := len(one) - 1; n >= 0 && b.From <= one[n].To {
			one[n].To = max(one[n].To, b.To)
			continue
		}
		one = append(one, b)
	}
	join.Blind = one
	return join
}

// behindAway weakens a verdict about a phase in which the SUT was gone.
func (e *evidence) behindAway(a Assertion, v Verdict) Verdict {
	w, ok := e.window(a)
	if !ok || clientSide(a.Rule) {
		return v
	}
	for _, view := range e.views[a.Rule.About().Breaker] {
		for _, b := range view.join.Blind {
			if b.Why != whyAway || b.From >= w.Hi || b.To <= w.Lo || !harmOfDoor(a.Rule).hits(v, Check{}) || v.Result == Inconclusive || v.Result == Skipped {
				continue
			}
			v.Result, v.Margin = Inconclusive, ""
			v.Reason = fmt.Sprintf("the SUT refused connections %s into the run, so it may have been started anew, and its breaker with it", short(b.From))
			v.Remedy = "see why the SUT was gone, and let it run through the phase"
			return v
		}
	}
	return v
}
