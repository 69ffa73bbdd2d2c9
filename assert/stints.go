package assert

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// glimpse is how long attempts have to be under way together to overlap.
const glimpse = 5 * time.Millisecond

// stint is when an attempt was under way: for certain, which may be never, and perhaps.
type stint struct {
	attempt   *trace.Attempt
	sure, may Interval
	proven    Interval // for certain, however late a busy machine notes what happens
}

// crowding is what came of attempts being under way together.
type crowding struct {
	depth    int           // most of them
	from, to time.Duration // when that was first
	who      []int         // those of then
	over     time.Duration // the longest time for which there were more than allowed, without a glimpse
}

// stints are the times of all attempts at an injector, in the order of arrival.
func (e *evidence) stints(injector string) []stint {
	slack, served := e.noticed(injector), e.servedBy(injector)
	var all []stint
	for i := range e.trace.Attempts {
		at := &e.trace.Attempts[i]
		if at.Injector != injector {
			continue
		}
		s := e.stint(at, slack)
		s.proven = Interval{at.Arr, at.Arr}
		if end, ok := served[at.Seq]; ok {
			// A fault's latency passes before the first byte of the answer, which the SUT had to wait for.
			s.proven.Hi = min(at.Arr+at.Delay, s.may.Hi, end)
		}
		all = append(all, s)
	}
	return all
}

// servedBy is when the calls ended whose good answers came from an injector by their only attempt,
// by the numbers of those.
func (e *evidence) servedBy(injector string) map[int]time.Duration {
	served := map[int]time.Duration{}
	j := e.joinOf(injector)
	for i := range j.Calls {
		c := &j.Calls[i]
		if len(c.Attempts) != 1 || !contented(&c.Call) {
			continue
		}
		if at := c.Attempts[0]; at.Abandon == trace.None && at.Outcome == trace.OutcomeAnswered && !at.Late && !at.Stream && at.Dep >= at.Arr+at.Delay && at.Dep <= c.Call.End {
			served[at.Seq] = c.Call.End
		}
	}
	return served
}

// stint is the time of one attempt. What this process slept may have made it see an end later
// than it was; and the SUT let go of what it gave up before that could be seen.
func (e *evidence) stint(at *trace.Attempt, slack time.Duration) stint {
	s := stint{attempt: at, sure: Interval{at.Arr, at.Arr}, may: Interval{at.Arr, e.end}}
	switch {
	case at.Stream && at.Closed > 0:
		s.may.Hi = at.Closed
	case at.Stream:
	case at.Done() != trace.None:
		s.may.Hi = at.Done()
	}
	if at.Stream || at.Late || at.Unread() {
		return s
	}
	s.sure.Hi = s.may.Hi - e.slept(at.Arr, s.may.Hi)
	if at.Dep == trace.None || at.Abandon != trace.None {
		s.sure.Hi -= slack
	}
	return s
}

// stay is how long the dependency kept an attempt, if that is known.
func (s stint) stay() (time.Duration, bool) {
	at := s.attempt
	return at.Done() - at.Arr, at.Done() != trace.None && !at.Stream && !at.Late && !at.Unread()
}

// windowsOf are the times of a phase, or of all measured ones.
func (e *evidence) windowsOf(phase string) []Interval {
	var ws []Interval
	for i, p := range e.trace.Phases {
		if p.Name != phase && (phase != "" || !p.Measure) {
			continue
		}
		w := Interval{p.From, p.To}
		if i+1 < len(e.trace.Phases) {
			w.Hi = max(w.Hi, e.trace.Phases[i+1].From)
		}
		ws = append(ws, w)
	}
	return ws
}

// upTo is what of some windows lies before an instant.
func upTo(windows []Interval, until time.Duration) []Interval {
	var ws []Interval
	for _, w := range windows {
		if w.Hi = min(w.Hi, until); w.Lo < w.Hi {
			ws = append(ws, w)
		}
	}
	return ws
}

// span is how long some windows are together.
func span(windows []Interval) time.Duration {
	total := time.Duration(0)
	for _, w := range windows {
		total += w.width()
	}
	return total
}

// clipped is how much of a time lies in some windows.
func clipped(in Interval, windows []Interval) time.Duration {
	total := time.Duration(0)
	for _, w := range windows {
		total += max(0, min(in.Hi, w.Hi)-max(in.Lo, w.Lo))
	}
	return total
}

// step is an instant at which an attempt joins the others, or leaves them.
type step struct {
	at    time.Duration
	joins int
	s     int // which
}

// steps are those of some times in some windows, in order; who leaves at an instant is
// gone by then. Each time is made shorter by a glimpse: those that then have an instant in
// common have more than a glimpse in common as they are.
func steps(times []Interval, windows []Interval) []step {
	var out []step
	for i, t := range times {
		for _, w := range windows {
			in := Interval{max(t.Lo, w.Lo), min(t.Hi, w.Hi) - glimpse}
			if in.Lo < in.Hi {
				out = append(out, step{in.Lo, 1, i}, step{in.Hi, 0, i})
			}
		}
	}
	slices.SortFunc(out, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.joins, b.joins), cmp.Compare(a.s, b.s))
	})
	return out
}

// crowd finds the most attempts that were under way together in some windows.
func (r DownstreamConcurrency) crowd(all []stint, windows []Interval, when func(stint) Interval) crowding {
	times := make([]Interval, 0, len(all))
	for _, s := range all {
		times = append(times, when(s))
	}
	var out crowding
	here, since := map[int]bool{}, time.Duration(0)
	for _, st := range steps(times, windows) {
		was := len(here)
		if st.joins == 1 {
			here[st.s] = true
		} else {
			delete(here, st.s)
		}
		switch n := len(here); {
		case n > r.Max && was == r.Max:
			since = st.at
		case n == r.Max && was > r.Max:
			out.over = max(out.over, st.at-since)
		}
		if len(here) > out.depth {
			out.depth, out.from, out.who = len(here), st.at, slices.Sorted(maps.Keys(here))
		}
	}
	out.to = forever
	for _, k := range out.who {
		out.to = min(out.to, times[k].Hi)
	}
	return out
}
