package predict

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// selfReported reports whether a rule compares calls with what the service says of its breaker.
func selfReported(r assert.Rule) bool {
	switch r.(type) {
	case assert.ReportedStateAgrees, assert.MetricAgrees:
		return true
	}
	return false
}

// interviewed reports whether the service is asked what it thinks of itself, and the answers matter.
func interviewed(plan *experiments.Plan) bool {
	return slices.ContainsFunc(plan.Assertions, func(a experiments.PlanAssertion) bool { return selfReported(a.Rule) })
}

// interviewSupposed says what is taken for granted of what a service says of itself whose inside
// is not known.
func interviewSupposed(plan *experiments.Plan) []string {
	if !interviewed(plan) || plan.SUT.Reference != nil {
		return nil
	}
	return []string{"it reports of itself what it is, at once, wherever it is asked"}
}

// untold says why it cannot be foreseen what the fallback's answers say of their age; empty: it can.
func untold(plan *experiments.Plan, r assert.Rule) string {
	if _, ok := r.(assert.FallbackStaleness); ok && plan.SUT.Reference == nil {
		return "how long the service keeps answers, and what they say of their age"
	}
	return ""
}

// wrongReports are the defects of rules about what a service says of itself.
func wrongReports(r assert.Rule) []defect {
	switch r := r.(type) {
	case assert.ReportedStateAgrees:
		if r.OnCall {
			return []defect{mutated("half_open_by_timer", r.Breaker, "becomes half-open without a call")}
		}
		return []defect{mutated("says_open_closed", r.Breaker, "says that it is open when it is closed, and closed when it is open")}
	case assert.MetricAgrees:
		return []defect{{breaker: r.Breaker, miscounts: true, says: "counts every other one in " + r.Name}}
	case assert.FallbackStaleness:
		return []defect{mutated("cache_without_bound", "", "serves what it has kept however old it is")}
	}
	return nil
}

// interview asks the service what it thinks of itself until the load is over, as a run does.
func (w *playing) interview() {
	for _, in := range w.sut.instances {
		for _, p := range w.plan.Probes {
			b := in.breakers[p.Breaker]
			w.poll(in, cmp.Or(p.Every, experiments.ProbeEvery), func() trace.Mark {
				b.made.Advance(w.clock())
				b.note()
				return trace.Mark{Kind: trace.MarkReported, Subject: p.Breaker, Text: b.made.Told().String()}
			})
		}
		for _, a := range w.plan.Assertions {
			if r, ok := a.Rule.(assert.MetricAgrees); ok {
				w.poll(in, experiments.ProbeEvery, func() trace.Mark {
					return trace.Mark{Kind: trace.MarkCounter, Subject: r.Subject(), Text: strconv.Itoa(in.counted(r))}
				})
			}
		}
	}
}

// poll asks an instance again and again. It answers half-way between question and mark.
func (w *playing) poll(in *instance, every time.Duration, read func() trace.Mark) {
	asked := w.now
	w.after(hop+in.own, func() {
		m := read()
		w.after(hop, func() {
			m.At, m.Dur, m.Instance = w.now, w.now-asked, in.name
			w.trace.Marks = append(w.trace.Marks, m)
			if w.phase < len(w.plan.Phases) {
				w.after(max(0, every-m.Dur), func() { w.poll(in, every, read) })
			}
		})
	})
}

// counted is what a counter shows that counts what a rule says.
func (in *instance) counted(r assert.MetricAgrees) int {
	t := in.breakers[r.Breaker].tally
	if in.defect.miscounts || in.defect.mutant.Around.HidesRejected && r.Equals == assert.SeenShort {
		t = tally{t.rejected / 2, t.admitted / 2, t.failed / 2}
	}
	switch r.Equals {
	case assert.SeenShort:
		return t.rejected
	case assert.SeenAdmitted:
		return t.admitted
	case assert.SeenFailed:
		return t.failed
	default:
		return t.admitted + t.rejected
	}
}
