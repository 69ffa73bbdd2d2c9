package assert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// rule is what an assertion of a random experiment asks, without its phase.
func rule(v assert.Verdict) string { return strings.TrimPrefix(v.ID, v.Phase+" ") }

// A right SUT never fails, whatever the traffic and its own peculiarities, and
// every inferred change of state holds a true one.
func TestRightServiceNeverFails(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, as := drawn{rt}.experiment()
		r, rep := judged(s, as)
		if bad := wronged(s, r, rep); len(bad) > 0 {
			rt.Fatalf("%v\n%+v\n%s", bad, s, describe(r, rep))
		}
	})
}

// TestRunningServiceNeverFails is TestRightServiceNeverFails with services that were not
// launched: their windows hold what nobody has seen.
func TestRunningServiceNeverFails(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, as := drawn{rt}.experiment()
		s.Running = rapid.SliceOfN(rapid.Bool(), 0, 60).Draw(rt, "before")
		r, rep := judged(s, as)
		if bad := wronged(s, r, rep); len(bad) > 0 {
			rt.Fatalf("%v\n%+v\n%s", bad, s, describe(r, rep))
		}
	})
}

// wronged lists what a report says against a right SUT that is not true.
func wronged(s setup, r result, rep assert.Report) []string {
	bad := untrue(s, r, rep)
	for _, v := range rep.Verdicts {
		if v.Result == assert.Fail && agrees(s, r, rule(v)) {
			bad = append(bad, v.ID+" fails")
		}
	}
	return bad
}

// agrees reports whether a rule of the random experiment is one that its right SUT
// fulfils, if the trace can tell.
func agrees(s setup, r result, rule string) bool {
	switch rule {
	case "opens", "opens within", "opens some time", "stays", "closes after":
		// They speak of an empty window and of the declared numbers.
		return !s.Undeclared
	case "fallback":
		return r.failed == 0 && s.Pay == 0
	case "errors", "latency":
		return r.failed == 0
	case "recovers": // A service that pauses is slow, and may open by itself.
		return r.failed == 0 && s.Stalls.Every == 0
	case "honest": // A service that ran before may be open, one that pauses may open by itself.
		return s.Running == nil && s.Stalls.Every == 0
	default:
		return true
	}
}

// untrue lists where an inferred change of state is not where a true one was.
func untrue(s setup, r result, rep assert.Report) []string {
	if s.Undeclared {
		return nil // how many probes it permits is guessed
	}
	states := map[assert.State]breakerref.State{
		assert.StateOpen: breakerref.Open, assert.StateHalfOpen: breakerref.HalfOpen, assert.StateClosed: breakerref.Closed,
	}
	var bad []string
	for _, tl := range rep.Breakers {
		for i, seg := range tl.Segments {
			before := i <= 1 && s.Running != nil // it may have been open when the trace began
			if i == 0 || before || firstOfEra(r, tl.Segments, i) || slices.ContainsFunc(r.truth, func(h happened) bool {
				mine := tl.Instance == "" || tl.Instance == fmt.Sprintf("i%d", h.instance)
				return mine && h.to == states[seg.State] && h.at >= seg.From.Lo && h.at <= seg.From.Hi
			}) {
				continue
			}
			bad = append(bad, fmt.Sprintf("segment %d of %q: no true change to %s in %v", i, tl.Instance, seg.State, seg.From))
		}
	}
	return bad
}

// firstOfEra reports whether a segment is the first that is seen after a door was shut, as the
// breaker may have been in that state for long; or the second, as it may have been half-open
// all the time.
func firstOfEra(r result, segs []assert.Segment, i int) bool {
	return slices.ContainsFunc(r.trace.Blind("payments"), func(b trace.Blind) bool {
		return segs[max(0, i-2)].From.Hi < b.From && segs[i].From.Hi >= b.To
	})
}

// No rule that names a defect passes.
func TestDefectsNeverPass(t *testing.T) {
	all := append(defects(), services()...)
	rapid.Check(t, func(rt *rapid.T) {
		s, as := drawn{rt}.experiment()
		m := rapid.SampledFrom(all).Draw(rt, "defect")
		if m.fits != nil && !m.fits(s) {
			return
		}
		if s.Make = m.make; m.with != nil {
			m.with(&s)
		}
		r, rep := judged(s, as)
		for _, v := range rep.Verdicts {
			if v.Result == assert.Pass && slices.Contains(m.rules, rule(v)) && shown(m, s, r, v) {
				rt.Fatalf("%s passes with a breaker that %s\n%+v\n%s", v.ID, m.name, s, describe(r, rep))
			}
		}
	})
}

// shown reports whether a defect showed itself in what a verdict speaks of.
func shown(m mutant, s setup, r result, v assert.Verdict) bool {
	end := r.trace.Phases[len(r.trace.Phases)-1].To
	in := assert.Interval{Lo: 0, Hi: end}
	for _, p := range r.trace.Phases {
		if p.Name == v.Phase {
			in = assert.Interval{Lo: p.From, Hi: p.To}
		}
	}
	if rule(v) == "recovers" {
		return v.Phase != "" && stuckOpen(s, r, in.Lo)
	}
	opened := func(h happened) bool { return h.from == breakerref.Closed && h.at > in.Lo && h.at < in.Hi }
	switch m.rules[0] {
	case "opens":
		// It opened by nothing but failures, or not at all.
		return !s.Undeclared && s.Running == nil && !slices.ContainsFunc(r.truth, func(h happened) bool {
			return opened(h) && h.recorded != h.failed
		})
	case "stays": // After the last call nobody is there to see, however late that is answered.
		last := time.Duration(0)
		for _, c := range r.trace.Calls {
			last = max(last, c.Send)
		}
		return slices.ContainsFunc(r.truth, func(h happened) bool { return opened(h) && h.at < last-300*ms })
	case "reopens":
		return !s.Undeclared // else more calls may have been permitted
	case "forbidden", "errors":
		return slices.ContainsFunc(r.trace.Calls, func(c trace.Call) bool {
			mine := v.Phase == "" && c.Phase != "probe" || c.Phase == v.Phase
			return mine && (c.Target == "pay" && c.Class == match.ClassFallback || m.rules[0] == "errors" && c.Target == "checkout" && c.Status >= 500 && c.End < in.Hi)
		})
	case "no leak":
		for _, at := range r.leaks {
			if at > in.Lo && at < in.Hi && clearly(s, r, at) {
				return true
			}
		}
		return false
	}
	return true
}

// stuckOpen reports whether the breaker opened before some instant and stayed open,
// so that nothing recovered.
func stuckOpen(s setup, r result, by time.Duration) bool {
	for i := range max(1, s.Instances) {
		last := breakerref.Closed
		for _, h := range r.truth {
			if h.instance == i {
				last = h.to
			}
		}
		if last != breakerref.Open {
			return false
		}
	}
	return len(r.truth) > 0 && r.truth[len(r.truth)-1].at < by
}

// clearly reports whether a leak lies well after the opening before it and well
// before the end of its wait.
func clearly(s setup, r result, at time.Duration) bool {
	opened := time.Duration(-1)
	for _, h := range r.truth {
		if h.at <= at && h.to == breakerref.Open {
			opened = h.at
		}
	}
	calm := 2*s.Own.hi + s.Fallback.hi + s.SecondTook.hi + 400*ms
	return opened >= 0 && at > opened+calm && at+calm < opened+s.Breaker.Wait
}
