package assert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// DownstreamConcurrency bounds how many attempts are under way at a dependency at once, over
// all instances of the SUT: a bulkhead, as seen from behind it (judging.md, section 6).
//
// An attempt is under way from its arrival to its outcome. Attempts overlap when they have
// more than 5 ms in common, so that an answer that is on its way while the next request comes
// is none. What ended only by being given up was let go of before the dependency saw that, and
// does not count for that long; neither do streams, and requests that waited behind a shut
// door, of which it is not known how long the SUT was at them. So there are overlaps that are
// certain, and more of them that may be. More than Max of the certain ones fail, which no busy
// machine feigns where the latencies of faults alone overlap, for which the SUT waited as its
// good answers show. It passes when there are no more than Max of either.
//
// Calls that were answered well without an attempt, as by a cache, ask for nothing.
//
// To pass, half of the attempts stay for 20 ms, and the load must have been able to show more:
// had each call stayed at the dependency for as long as calls do, there would have been 1.5
// times Max at once; or, of a load that waits for its answers, 1.5 times Max calls were under
// way on average, and three quarters of Max at the dependency. With Reaches, Max has to have
// been used as well, for certain: a bulkhead of 20 that lets 10 through is as wrong as one that
// lets 30 through. It fails only where the rate of the load asked for 1.5 times Max, for ten
// times as long as an attempt stays, and no breaker can have kept calls away.
//
// All this is asked of arrivals and of the rate, so that attempts without ids do as well: what
// asked for the dependency is then what came there, and what was refused while nothing came.
type DownstreamConcurrency struct {
	Injector string
	Max      int
	Reaches  bool
}

// Kind implements [Rule].
func (DownstreamConcurrency) Kind() string { return "downstream.concurrency" }

// expected says what the rule asks.
func (r DownstreamConcurrency) expected() string {
	s := fmt.Sprintf("at most %s under way at %s at once", plural(r.Max, "attempt"), r.Injector)
	if r.Reaches {
		s += ", and so many at times"
	}
	return s
}

// overload is by how much more than a limit a load must ask for to show that it is kept.
const overload = 1.5

// judge implements [Rule].
func (r DownstreamConcurrency) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	all, windows := e.stints(r.Injector), e.windowsOf(a.Phase)
	sure := r.crowd(all, windows, func(s stint) Interval { return s.sure })
	may := r.crowd(all, windows, func(s stint) Interval { return s.may })
	out := Verdict{Result: Inconclusive, Observed: observedCrowd(sure, may), Resolution: short(glimpse)}
	for _, k := range sure.who[:min(len(sure.who), 10)] {
		out.Evidence = append(out.Evidence, cmp.Or(all[k].attempt.ID, nameOf(all[k].attempt, nil)))
	}
	proven := r.crowd(all, windows, func(s stint) Interval { return s.proven })
	need := overload * float64(r.Max)
	asked := e.demand(r.Injector, a.Phase, all, windows)
	switch {
	case sure.depth > r.Max:
		out.Result = Fail
		if proven.depth <= r.Max {
			out.miss = sure.over // The ends of some may have been noted late.
		}
		out.Reason = fmt.Sprintf("%d attempts were under way together for %s, from %s on", sure.depth, short(sure.to-sure.from), short(sure.from))
	case may.depth > r.Max:
		out.Reason = "some of those that may have been under way together were given up, or are streams, or had waited at a shut door, or ended while this machine stood still: when the SUT let go of them is not known that well"
		out.Remedy = "let the dependency answer before the SUT gives up"
	case r.Reaches && sure.depth < r.Max:
		r.unused(e, a, &out, all, may.depth)
	case asked.stay < 4*glimpse:
		out.Reason, out.Remedy = r.tooQuick()
	case max(asked.steady, asked.peak) < need && !r.waitedFor(e, a, all, windows):
		out.Reason = fmt.Sprintf("the load asks for %s at once, so that a larger limit would not show; %s are needed", about1(max(asked.steady, asked.peak)), about1(need))
		out.Remedy = r.harder()
	default:
		out.Result, out.Margin = Pass, fmt.Sprintf("%d of %d left", r.Max-sure.depth, r.Max)
		if sure.depth == r.Max {
			out.Margin = "exact"
		}
	}
	return out
}

// unused judges a limit that was not reached for certain, by as much of the phase as no breaker
// can have kept calls away in.
func (r DownstreamConcurrency) unused(e *evidence, a Assertion, out *Verdict, all []stint, may int) {
	const turns = 10
	until, breaker := e.closedUntil(r.Injector, a)
	windows := upTo(e.windowsOf(a.Phase), until)
	asked := e.demand(r.Injector, a.Phase, all, windows)
	wanted, need := asked.steady, overload*float64(r.Max)
	switch {
	case wanted >= need && asked.stay < 4*glimpse:
		out.Reason, out.Remedy = r.tooQuick()
	case breaker != "" && (wanted < need || asked.long < turns*asked.stay):
		out.Reason = fmt.Sprintf("breaker %s was open in this phase, or may have been, and kept calls away", breaker)
		out.Remedy = "ask this of a phase in which the breaker is closed"
	case wanted < need:
		out.Reason = fmt.Sprintf("the load asks for %s at once, %s are needed to be sure that %d are used", about1(wanted), about1(need), r.Max)
		out.Remedy = r.harder()
	case asked.long < turns*asked.stay:
		out.Reason = fmt.Sprintf("the phase lasts for %s, and an attempt for %s: what was under way before it may have kept places", short(asked.long), short(asked.stay))
		out.Remedy = "make the phase longer"
	case may < r.Max:
		out.Result = Fail
		out.Reason = fmt.Sprintf("the load asks for %s at once, and no more than %d came: a smaller limit, or a pool or a queue before it, keeps the others away", about1(wanted), may)
	default:
		out.Reason = fmt.Sprintf("there were %d at once only if some are counted of which it is not known when the SUT let go of them, or that overlap by less than %s", may, short(glimpse))
		out.Remedy = "let the dependency take longer, and answer before the SUT gives up"
	}
}

// tooQuick is the reason and the remedy where attempts leave the dependency so soon that they
// hardly overlap.
func (r DownstreamConcurrency) tooQuick() (reason, remedy string) {
	return fmt.Sprintf("half of the attempts stay at the dependency for less than %s, so that more of them need not be seen to overlap", short(4*glimpse)), fmt.Sprintf("give %s more latency", r.Injector)
}

// harder says how more calls come to be under way.
func (r DownstreamConcurrency) harder() string {
	return fmt.Sprintf("raise the rate, or the latency of a fault at %s, until rate x latency is above %s; of clients that wait for their answers there have to be as many", r.Injector, about1(overload*float64(r.Max)))
}

// about1 prints a number of attempts that need not be whole.
func about1(n float64) string { return plain(math.Round(n*10) / 10) }

// observedCrowd words the most that were under way together.
func observedCrowd(sure, may crowding) string {
	switch {
	case may.depth == 0:
		return "no attempts"
	case sure.depth == may.depth:
		return fmt.Sprintf("%d at once", sure.depth)
	default:
		return fmt.Sprintf("%d to %d at once", sure.depth, may.depth)
	}
}

// demand is how many attempts the load of a phase asks for at once.
type demand struct {
	steady float64       // the rate of its calls times how long the dependency keeps one
	peak   float64       // sent within half of the time for which it keeps all but the quickest, if calls arrive faster than that
	stay   time.Duration // how long it keeps one
	long   time.Duration // the phase
}

// demand is that of a phase.
func (e *evidence) demand(injector, phase string, all []stint, windows []Interval) demand {
	var stays, ways []time.Duration
	sent := map[string]time.Duration{}
	for i := range e.trace.Calls {
		sent[e.trace.Calls[i].ID] = e.trace.Calls[i].Send
	}
	for _, s := range all {
		stay, known := s.stay()
		if !known || clipped(Interval{s.attempt.Arr, s.attempt.Arr + 1}, windows) == 0 {
			continue
		}
		stays = append(stays, stay)
		if at, ok := sent[s.attempt.ID]; ok {
			ways = append(ways, s.attempt.Arr-at)
		}
	}
	d := demand{long: span(windows)}
	if len(stays) == 0 || d.long == 0 {
		return d
	}
	sends := slices.DeleteFunc(e.asked(injector, phase), func(at time.Duration) bool { return clipped(Interval{at, at + 1}, windows) == 0 })
	d.stay = quantile(stays, 0.5)
	d.steady = float64(len(sends)) * float64(d.stay) / float64(d.long)
	if half := quantile(stays, 0.1) / 2; len(ways) > 0 && quantile(ways, 0.9) < half {
		d.peak = float64(fullest(sends, half))
	}
	return d
}

// fullest is the most of some instants, which are in order, that lie within a time.
func fullest(at []time.Duration, within time.Duration) int {
	most, first := 0, 0
	for i := range at {
		for at[i]-at[first] > within {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// waitedFor reports whether a load that waits for its answers pressed against the limit: far
// more calls were under way than may be at the dependency, which was kept busy.
func (r DownstreamConcurrency) waitedFor(e *evidence, a Assertion, all []stint, windows []Interval) bool {
	waiting, busy := time.Duration(0), time.Duration(0)
	for _, s := range e.population(a.Phase, nil, "") {
		if e.depends(s.call.Target, r.Injector) {
			waiting += clipped(Interval{s.call.Send, s.call.End}, windows)
		}
	}
	for _, s := range all {
		busy += clipped(s.sure, windows)
	}
	limit := float64(r.Max) * float64(span(windows))
	return float64(waiting) >= overload*limit && float64(busy) >= 0.75*limit && limit > 0
}
