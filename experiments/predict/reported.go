package predict

import (
	"cmp"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// selfReported reports whether a rule compares calls with what the service says of itself,
// which nothing declares before it says it.
func selfReported(r assert.Rule) bool {
	switch r.(type) {
	case assert.ReportedStateAgrees, assert.MetricAgrees, assert.FallbackStaleness:
		return true
	}
	return false
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
	switch r.Equals {
	case assert.SeenShort:
		if in.defect.mutant.Around.HidesRejected {
			return t.rejected / 2
		}
		return t.rejected
	case assert.SeenAdmitted:
		return t.admitted
	case assert.SeenFailed:
		return t.failed
	default:
		return t.admitted + t.rejected
	}
}
