package assert

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// herdFor is for how long after a breaker has closed its clients may come back all at once.
const herdFor = 3 * time.Second

// HerdPeak says that clients do not come back all at once when a breaker closes (judging.md,
// section 6): the fullest stretch of Window, from half-open until 3 s after the close, has at
// most Max times as many arrivals as the fullest one in as long a time at the end of phase
// Baseline.
//
// It takes clients that wait for their answers and think between their calls, as
// many in both phases: an open loop sends at the same rate whatever happens to it. Nor
// is it the SUT's herd where faultline sent more than 1.2 times of what the clients are meant
// to send in that time. The fullest stretch of the baseline must have 5 arrivals, as else it
// is chance.
type HerdPeak struct {
	Breaker  string
	Baseline string // the phase
	Window   time.Duration
	Max      int
}

// Kind implements [Rule].
func (HerdPeak) Kind() string { return "herd.peak" }

// expected says what the rule asks.
func (r HerdPeak) expected() string {
	return fmt.Sprintf("at most %d times as many arrivals in any %s, from half-open until %s after the close, as in phase %s", r.Max, short(r.Window), short(herdFor), r.Baseline)
}

// judge implements [Rule].
func (r HerdPeak) judge(e *evidence, a Assertion) Verdict {
	if before := (Assertion{Phase: r.Baseline}); !e.ran(before) {
		return notRun(before)
	}
	return e.each(r.Breaker, a, func(v *view, w Interval) Verdict {
		for _, vis := range v.visits {
			if vis.end == StateClosed && !vis.presumed && w.in(vis.endAt.Hi) {
				return r.visit(e, a, v, vis)
			}
		}
		return e.noOpening(r.Breaker, r.expected(), "the breaker did not close in this phase, as far as can be told", "name the phase in which it closes, and let that last longer")
	})
}

// visit judges what came with one half-open visit and after it.
func (r HerdPeak) visit(e *evidence, a Assertion, v *view, vis *visit) Verdict {
	out := Verdict{Result: Inconclusive, Observed: "nothing"}
	// The first probe is the first to arrive, so nothing is lost at the beginning.
	sure := Interval{vis.half.Hi, vis.endAt.Lo + herdFor}
	may := Interval{vis.half.Lo, vis.endAt.Hi + herdFor}
	now, then := e.clientsOf(a.Phase), e.clientsOf(r.Baseline)
	base := Interval{e.endOf(r.Baseline) - may.width(), e.endOf(r.Baseline)}
	start, _ := e.window(Assertion{Phase: r.Baseline})
	switch {
	case now == nil || then == nil:
		out.Reason = "an open loop, or calls without a pause, cannot show whether clients come back all at once"
		out.Remedy = "give this phase and the baseline the same load of clients with a think time"
		return out
	case *now != *then:
		out.Reason = fmt.Sprintf("phase %s has other clients, so its arrivals cannot be compared", r.Baseline)
		out.Remedy = "give both phases the same clients"
		return out
	case e.endOf(a.Phase) < sure.Hi:
		out.Reason = fmt.Sprintf("the phase ends %s after the close, %s are needed", short(max(0, e.endOf(a.Phase)-vis.endAt.Lo)), short(herdFor))
		out.Remedy = "make the phase longer"
		return out
	case base.Lo < start.Lo:
		out.Reason = fmt.Sprintf("phase %s lasts for %s, and it took %s from half-open until %s after the close", r.Baseline, short(base.Hi-start.Lo), short(may.width()), short(herdFor))
		out.Remedy = fmt.Sprintf("make phase %s longer", r.Baseline)
		return out
	}
	return r.compare(e, v.breaker.Injector, *now, sure, may, base)
}

// compare holds the fullest stretches of arrivals against each other.
func (r HerdPeak) compare(e *evidence, injector string, c clients, sure, may, base Interval) Verdict {
	const least, slack = 5, 1.2
	arrivals, names := e.arrivalsIn(injector, sure)
	wide, _ := e.arrivalsIn(injector, may)
	before, _ := e.arrivalsIn(injector, base)
	peak, most, usual := fullest(arrivals, r.Window), fullest(wide, r.Window), fullest(before, r.Window)
	sent := 0
	for i := range e.trace.Calls {
		if c := &e.trace.Calls[i]; c.Send >= may.Lo && c.Send <= may.Hi {
			sent++
		}
	}
	plan := float64(c.n) * float64(may.width()) / float64(c.think)
	out := Verdict{Result: Inconclusive, Observed: fmt.Sprintf("%d arrivals in the fullest %s, %d in as long a time of phase %s", most, short(r.Window), usual, r.Baseline)}
	out.Resolution = short(max(sure.Lo-may.Lo, may.Hi-sure.Hi))
	switch {
	case usual < least:
		out.Reason = fmt.Sprintf("the fullest %s of phase %s has %s, %d are needed", short(r.Window), r.Baseline, plural(usual, "arrival"), least)
		out.Remedy = "take a longer window, or more clients"
	case float64(sent) > slack*plan:
		out.Reason = fmt.Sprintf("faultline itself sent %d calls in that time, where its clients are meant to send %.0f", sent, plan)
		out.Remedy = "run on a machine with more free CPU"
	case peak > r.Max*usual:
		first := fullestFrom(arrivals, r.Window)
		out.Result, out.Evidence = Fail, names[first:min(len(names), first+10)]
		out.Reason = fmt.Sprintf("that is %s times as many: clients came back all at once, %s after half-open", about1(float64(peak)/float64(usual)), short(arrivals[first]-sure.Lo))
	case most > r.Max*usual:
		out.Reason = "whether the fullest stretch lies before the end of the time that counts is not known, as the close is not pinned down"
		out.Remedy = "raise the number of clients"
	default:
		out.Result, out.Margin = Pass, fmt.Sprintf("%s of %d times", about1(float64(most)/float64(usual)), r.Max)
	}
	return out
}

// clients are what a load of clients is meant to be.
type clients struct {
	n     int
	think time.Duration // on average
}

// clientsOf are the clients of a phase, or nil if it has none that think.
func (e *evidence) clientsOf(phase string) *clients {
	i := slices.IndexFunc(e.spec.Phases, func(p Phase) bool { return p.Name == phase })
	if i < 0 || e.spec.Phases[i].Clients == 0 || e.spec.Phases[i].Think == 0 {
		return nil
	}
	return &clients{e.spec.Phases[i].Clients, e.spec.Phases[i].Think}
}

// arrivalsIn are the arrivals at an injector in a time, in order, and the names of their calls.
func (e *evidence) arrivalsIn(injector string, in Interval) (at []time.Duration, names []string) {
	for i := range e.trace.Attempts {
		if a := &e.trace.Attempts[i]; a.Injector == injector && !a.Unread() && a.Arr >= in.Lo && a.Arr <= in.Hi {
			at, names = append(at, a.Arr), append(names, cmp.Or(a.ID, nameOf(a, nil)))
		}
	}
	return at, names
}

// fullestFrom is where the fullest stretch begins, see [fullest].
func fullestFrom(at []time.Duration, within time.Duration) int {
	most, first, from := 0, 0, 0
	for i := range at {
		for at[i]-at[first] > within {
			first++
		}
		if i-first+1 > most {
			most, from = i-first+1, first
		}
	}
	return from
}

// HerdSync says that the breakers of several instances do not all try their dependency at the
// same time: at most Max instances become half-open within any time of Within. It fails where
// more of them did whenever in its interval each became half-open, and passes where no
// more can have. It takes visits of more than Max instances, which are told apart.
type HerdSync struct {
	Breaker string
	Within  time.Duration
	Max     int
}

// Kind implements [Rule].
func (HerdSync) Kind() string { return "herd.sync" }

// expected says what the rule asks.
func (r HerdSync) expected() string {
	return fmt.Sprintf("at most %s half-open within any %s", plural(r.Max, "instance"), short(r.Within))
}

// waking is when an instance became half-open.
type waking struct {
	instance string
	half     Interval
	id       string
}

// judge implements [Rule].
func (r HerdSync) judge(e *evidence, a Assertion) Verdict {
	w, ok := e.window(a)
	if !ok {
		return notRun(a)
	}
	sure, may, seen := e.wakings(r.Breaker, w)
	out := Verdict{Result: Inconclusive, Observed: plural(len(seen), "instance") + " became half-open"}
	if len(seen) <= r.Max {
		return e.noOpening(r.Breaker, r.expected(), fmt.Sprintf("%s became half-open in this phase, as far as they are told apart; %d are needed", plural(len(seen), "instance"), r.Max+1),
			"send calls to more replicas, or name instance_header, and let the breakers of all of them open and wait in this phase")
	}
	together := r.most(sure, func(x waking, from time.Duration) bool { return x.half.Lo >= from && x.half.Hi <= from+r.Within })
	perhaps := r.most(may, func(x waking, from time.Duration) bool { return x.half.Lo <= from+r.Within && x.half.Hi >= from })
	out.Observed += fmt.Sprintf(", at most %d within %s", len(perhaps), short(r.Within))
	switch {
	case len(together) > r.Max:
		out.Result = Fail
		for _, x := range together {
			out.Evidence = append(out.Evidence, x.id)
		}
		out.Evidence = out.Evidence[:min(10, len(out.Evidence))]
		out.Reason = fmt.Sprintf("%d of them did so within %s: they wait for the same time, without jitter", len(together), short(r.Within))
	case len(perhaps) > r.Max:
		out.Reason = fmt.Sprintf("%d of them may have done so within %s: when is not known well enough", len(perhaps), short(r.Within))
		out.Remedy = "raise the rate at each instance, or take a longer time"
	default:
		out.Result, out.Margin = Pass, fmt.Sprintf("%d of %d", len(perhaps), r.Max)
	}
	return out
}

// wakings are when the instances of a breaker became half-open in a window, for certain and
// perhaps, and which did.
func (e *evidence) wakings(breaker string, w Interval) (sure, may []waking, seen map[string]bool) {
	seen = map[string]bool{}
	for _, v := range e.views[breaker] {
		for _, vis := range v.visits {
			if v.instance == "" || !w.in(vis.half.Hi) || len(vis.probes) == 0 {
				continue
			}
			one := waking{v.instance, vis.half, vis.probes[0].id()}
			may, seen[v.instance] = append(may, one), true
			if vis.sure && len(vis.maybe) == 0 {
				sure = append(sure, one)
			}
		}
	}
	return sure, may, seen
}

// most finds the most instances that fit into a stretch that begins when one of them may have
// become half-open.
func (r HerdSync) most(all []waking, fits func(waking, time.Duration) bool) []waking {
	var best []waking
	for _, first := range all {
		for _, from := range []time.Duration{first.half.Lo, first.half.Hi - r.Within, first.half.Hi} {
			var in []waking
			for _, x := range all {
				if fits(x, from) && !slices.ContainsFunc(in, func(y waking) bool { return x.instance == y.instance }) {
					in = append(in, x)
				}
			}
			if len(in) > len(best) {
				best = in
			}
		}
	}
	return best
}
