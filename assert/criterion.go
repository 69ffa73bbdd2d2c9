package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// The subjects of shares and latencies beside the names of classes.
const (
	SubjectAll   = "all"   // every call; of a latency only
	SubjectShort = "short" // rejected, see SetShort
	SubjectError = "error" // no complete answer, or a status of 500 and above that no class but rejected and unclassified claims
)

// Criterion bounds one number of the calls of a stretch of time, such as
// "primary.share >= 99.5%" or "latency.p99 <= 300ms".
type Criterion struct {
	Subject  string        `json:"subject" yaml:"subject"`                       // a class, short, error; all for the latency of every call
	Quantile float64       `json:"quantile,omitempty" yaml:"quantile,omitempty"` // of a latency, see QuantileBound; 0: a share
	AtLeast  bool          `json:"at_least" yaml:"at_least"`                     // >=; else <=
	Share    float64       `json:"share,omitempty" yaml:"share,omitempty"`       // 0..1
	Latency  time.Duration `json:"latency,omitempty" yaml:"latency,omitempty"`
}

// String is the criterion as it is written in an experiment.
func (c Criterion) String() string {
	op := "<="
	if c.AtLeast {
		op = ">="
	}
	if c.Quantile == 0 {
		return fmt.Sprintf("%s.share %s %s", c.Subject, op, percent(c.Share))
	}
	subject := strings.TrimPrefix(c.Subject+".", SubjectAll+".")
	return fmt.Sprintf("%slatency.%s %s %s", subject, quantileName(c.Quantile), op, short(c.Latency))
}

// rule is the criterion as a rule about the calls of a phase; breaker is whose
// rejections count, for the subject short.
func (c Criterion) rule(breaker string) Rule {
	switch {
	case c.Quantile > 0:
		return Latency{Subject: c.Subject, Bounds: []QuantileBound{{Quantile: c.Quantile, Max: c.Latency}}}
	case c.AtLeast:
		return Share{Subject: c.Subject, Breaker: breaker, Min: &c.Share}
	default:
		return Share{Subject: c.Subject, Breaker: breaker, Max: &c.Share}
	}
}

// holds reports whether a criterion holds for n calls of which so many are
// good: of the subject (a share of at least), not of it (at most), or answered
// in time (a latency).
func (c Criterion) holds(n, good int) bool {
	switch {
	case c.Quantile > 0:
		return good >= int(math.Ceil(c.Quantile*float64(n)))
	case c.AtLeast:
		return float64(good)/float64(n) >= c.Share
	default:
		return float64(n-good)/float64(n) <= c.Share
	}
}

// seen is a call as shares and latencies look at it.
type seen struct {
	call *trace.Call
	kind trace.Kind // at the injector of the breaker that was asked for, or empty
}

// enough is how many calls a share needs.
const enough = 20

// population returns the calls of a phase (of all measured phases, if it is
// empty) to some targets, but for those that faultline stopped itself. With a
// breaker they are the calls that ask it, and their kind is known.
func (e *evidence) population(phase string, targets []string, breaker string) []seen {
	var measured []string
	for _, p := range e.trace.Phases {
		if p.Measure {
			measured = append(measured, p.Name)
		}
	}
	var out []seen
	add := func(c *trace.Call, kind trace.Kind) {
		switch {
		case c.Err == trace.ErrCanceled:
		case phase != "" && c.Phase != phase, phase == "" && !slices.Contains(measured, c.Phase):
		case len(targets) > 0 && !slices.Contains(targets, c.Target):
		default:
			out = append(out, seen{c, kind})
		}
	}
	if breaker == "" {
		for i := range e.trace.Calls {
			add(&e.trace.Calls[i], "")
		}
		return out
	}
	if vs := e.views[breaker]; len(vs) > 0 {
		for i := range vs[0].join.Calls {
			add(&vs[0].join.Calls[i].Call, vs[0].join.Calls[i].Kind)
		}
	}
	e.setAside(out, breaker)
	return out
}

// setAside takes the kind from those calls that something else than the breaker answered.
func (e *evidence) setAside(calls []seen, breaker string) {
	told := e.toldApart(breaker)
	for i := range calls {
		if calls[i].kind == trace.Short && told[calls[i].call.ID] {
			calls[i].kind = ""
		}
	}
}

// member says whether a call is of a subject: for certain, or in some reading of
// the trace.
func (s seen) member(subject string) (sure, may bool) {
	c := s.call
	switch subject {
	case SubjectAll:
		return true, true
	case SubjectShort:
		return s.kind == trace.Short, s.kind == trace.Short || s.kind == trace.Unknown && c.Answered()
	case SubjectError:
		is := !c.Answered() || c.Status >= 500 && (c.Class == match.ClassRejected || c.Class == match.Unclassified)
		return is, is
	default:
		is := c.Class == subject && (c.Answered() || subject == match.Unclassified)
		return is, is
	}
}

// inTime says whether a call was answered within a time: for certain, since it
// was due, or in some reading, since it was sent. What this process slept
// meanwhile, or what came after to, is not the SUT's.
func (e *evidence) inTime(c *trace.Call, limit, to time.Duration) (sure, may bool) {
	return c.Answered() && c.End-c.Sched <= limit, e.service(c, to) <= limit
}

// service is how long a call kept the SUT at least: since it was sent, without
// what this process slept meanwhile and what came after to.
func (e *evidence) service(c *trace.Call, to time.Duration) time.Duration {
	return max(min(c.End, to)-c.Send-e.slept(c.Send, c.End), 0)
}

// slept is for how long this process stood still in [lo, hi].
func (e *evidence) slept(lo, hi time.Duration) time.Duration {
	total := time.Duration(0)
	for _, m := range e.stalls {
		total += max(0, min(m.Hi, hi)-max(m.Lo, lo))
	}
	return total
}

// known says why a subject can have no calls at all, so that nothing is said by
// there being none, or nothing.
func (e *evidence) known(subject string) string {
	switch subject {
	case SubjectAll, SubjectShort, SubjectError, match.Unclassified:
		return ""
	}
	if _, ok := e.spec.Classes.Find(subject); ok || slices.ContainsFunc(e.trace.Calls, func(c trace.Call) bool { return c.Class == subject }) {
		return ""
	}
	return "no class " + subject + " is declared, so no answer can be of it"
}

// endOf is when a phase ended, so that what came later may have harmed its
// calls; forever for the whole run.
func (e *evidence) endOf(phase string) time.Duration {
	for _, p := range e.trace.Phases {
		if p.Name == phase {
			return p.To
		}
	}
	return forever
}

// saturated is how many slots of a phase (of all measured ones) were not sent as
// the SUT held all allowed calls, and how many were planned.
func (e *evidence) saturated(phase string) (missed, planned int) {
	for _, p := range e.trace.Phases {
		if p.Name == phase || phase == "" && p.Measure {
			missed, planned = missed+p.Saturated, planned+p.Planned
		}
	}
	return missed, planned
}

// ran reports whether the phase of an assertion was run.
func (e *evidence) ran(a Assertion) bool {
	_, ok := e.window(a)
	return ok
}

// notRun is the verdict about a phase that did not come.
func notRun(a Assertion) Verdict {
	return Verdict{
		Result: Inconclusive, Observed: "nothing", Reason: fmt.Sprintf("phase %s did not run", a.Phase),
		Remedy: "let the run come that far",
	}
}

// inPhase words where calls were sent.
func inPhase(a Assertion) string {
	if a.Phase == "" {
		return "in the measured phases"
	}
	return "in phase " + a.Phase
}

// callsOf is the ids of at most ten calls.
func callsOf(cs []*trace.Call) []string {
	var out []string
	for _, c := range cs[:min(len(cs), 10)] {
		out = append(out, c.ID)
	}
	return out
}
