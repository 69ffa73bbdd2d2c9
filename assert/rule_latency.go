package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// Latency bounds the time to answer calls of a subject. It passes by the time
// since a call was due and fails by the time since it was sent, so that what the
// generator was late never fails a SUT.
type Latency struct {
	Subject string // SubjectAll or a class
	Targets []string
	Bounds  []QuantileBound
}

// Kind implements [Rule].
func (r Latency) Kind() string {
	return strings.TrimPrefix(r.Subject+".latency", SubjectAll+".")
}

// expected says what the rule asks.
func (r Latency) expected() string {
	s := boundsText(r.Bounds)
	if r.Subject != SubjectAll {
		s += " of class " + r.Subject
	}
	if len(r.Targets) > 0 {
		s += ", " + callsTo(r.Targets)
	}
	return s
}

// boundsText prints bounds of quantiles.
func boundsText(bounds []QuantileBound) string {
	parts := make([]string, 0, len(bounds))
	for _, b := range bounds {
		parts = append(parts, fmt.Sprintf("%s <= %s", quantileName(b.Quantile), short(b.Max)))
	}
	return strings.Join(parts, ", ")
}

// latencies are how long the calls of a phase took: since they were due, which is
// forever where no answer came, and since they were sent. Both are sorted.
type latencies struct {
	planned, service []time.Duration
	unanswered       int
	unsent           int // slots that the SUT left no room for; they are in planned
	slowest          []*trace.Call
}

// judge implements [Rule].
func (r Latency) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	if why := e.known(r.Subject); why != "" {
		return Verdict{Result: Inconclusive, Observed: "no call", Reason: why, Remedy: "declare the class under load.classify, or correct its name"}
	}
	l := r.took(e, a)
	parts := make([]Verdict, 0, len(r.Bounds))
	for _, b := range r.Bounds {
		parts = append(parts, l.judge(b, a))
	}
	if len(parts) == 0 {
		return Verdict{Result: Inconclusive, Reason: "no quantile is asked", Remedy: "give p50, p90, p95, p99 or max"}
	}
	return merge(r.expected(), parts)
}

// took measures the calls of a phase.
func (r Latency) took(e *evidence, a Assertion) *latencies {
	pop, to := e.population(a.Phase, r.Targets, ""), e.endOf(a.Phase)
	l := &latencies{planned: make([]time.Duration, 0, len(pop)), service: make([]time.Duration, 0, len(pop))}
	worst := time.Duration(-1)
	for _, s := range pop {
		c := s.call
		if sure, _ := s.member(r.Subject); !sure {
			continue
		}
		planned, service := c.End-c.Sched, e.service(c, to)
		if !c.Answered() {
			planned = forever
			l.unanswered++
		}
		l.planned, l.service = append(l.planned, planned), append(l.service, service)
		if service > worst {
			worst, l.slowest = service, []*trace.Call{c}
		}
	}
	l.unsent, _ = e.saturated(a.Phase)
	if len(l.service) > 0 {
		for range l.unsent {
			l.planned = append(l.planned, forever)
		}
	}
	slices.Sort(l.planned)
	slices.Sort(l.service)
	return l
}

// timed is how many calls a bound in time needs to pass, whatever its quantile.
const timed = 10

// need is how many calls show a quantile.
func (b QuantileBound) need() int {
	if b.Quantile >= 1 {
		return timed
	}
	return max(timed, int(1/(1-b.Quantile)+0.5))
}

// quantileOf picks the q-quantile (nearest rank) of sorted durations.
func quantileOf(sorted []time.Duration, q float64) time.Duration {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// judge judges one bound. Where there are too few calls for the quantile the
// greatest stands for it: that it is within the bound proves the quantile to be,
// but not the other way round.
func (l *latencies) judge(b QuantileBound, a Assertion) Verdict {
	n, need := len(l.service), b.need()
	out := Verdict{Result: Inconclusive, Observed: plural(n, "call")}
	if n < timed {
		out.Reason = fmt.Sprintf("%s %s, %d are needed", plural(n, "call"), inPhase(a), timed)
		out.Remedy = fmt.Sprintf("send at least %d calls in this phase", need)
		return out
	}
	q, name := b.Quantile, quantileName(b.Quantile)
	if n < need {
		q, name = 1, fmt.Sprintf("max (too few for %s)", name)
	}
	planned, service := quantileOf(l.planned, q), quantileOf(l.service, q)
	out.Observed = fmt.Sprintf("%s %s since due, %s since sent, of %s", name, short(planned), short(service), plural(n, "call"))
	if planned == forever {
		out.Observed = fmt.Sprintf("%s without an answer for at least %s, of %s", name, short(service), plural(n, "call"))
	}
	switch {
	case planned <= b.Max:
		out.Result, out.Margin = Pass, short(b.Max-planned)
	case n >= need && service > b.Max:
		out.Result, out.miss, out.Evidence = Fail, service-b.Max, callsOf(l.slowest)
		out.Reason = "answers took longer than that since their calls were sent"
	case quantileOf(l.service, 0.5) > b.Max:
		out.Result, out.miss, out.Evidence = Fail, quantileOf(l.service, 0.5)-b.Max, callsOf(l.slowest)
		out.Reason = "half of the answers took longer than that"
	case n < need:
		out.Reason = fmt.Sprintf("%s, too few for %s", plural(n, "call"), quantileName(b.Quantile))
		out.Remedy = fmt.Sprintf("send at least %d calls in this phase", need)
	case planned == forever:
		out.Reason = fmt.Sprintf("%s had no answer and %d more could not be sent, so how long they would have taken is not known", plural(l.unanswered, "call"), l.unsent)
		out.Remedy = "bound error.share first; raise load.timeout and load.max_in_flight above what the SUT takes"
	default:
		out.Reason = "calls were sent later than they were due: the SUT kept the bound from when they were sent, but not from when they were due"
		out.Remedy = "lower the rate, or run on a machine with more free CPU"
	}
	return out
}
