package assert_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// served is how a call was answered.
type served struct {
	took   time.Duration
	status int
	class  string
	err    trace.ErrKind
}

func well(took time.Duration) served {
	return served{took: took, status: 200, class: match.ClassPrimary}
}

func ill(took time.Duration) served {
	return served{took: took, status: 500, class: match.Unclassified}
}

func unheard(took time.Duration) served {
	return served{took: took, class: match.Unclassified, err: trace.ErrTimeout}
}

// shift is a phase in which calls are sent every 5 ms, to both targets in turn; k counts those
// of the target.
type shift struct {
	name             string
	calls            int
	faulted          bool
	checkout, browse func(k int) served
}

// worked is a trace of such phases: checkout needs payments, browse needs nothing.
func worked(shifts ...shift) *trace.Trace {
	t := &trace.Trace{Marks: []trace.Mark{{Kind: trace.MarkLaunch}, {Kind: trace.MarkRung, Text: "traceparent"}}}
	at := 10 * ms
	for _, s := range shifts {
		p := trace.Phase{Name: s.name, From: at, Measure: true, OpenLoop: true, Planned: s.calls, Sent: s.calls}
		for k := range s.calls {
			how, target := s.checkout, "checkout"
			if k%2 == 1 {
				how, target = s.browse, "browse"
			}
			a := how(k / 2)
			c := trace.Call{
				ID: fmt.Sprintf("%s/%d", s.name, k), Phase: s.name, Target: target, Sched: at, Send: at + 10*time.Microsecond, First: trace.None,
				End: at + a.took, Status: a.status, Class: a.class, Err: a.err,
			}
			if c.Answered() {
				c.First = c.End
			}
			t.Calls = append(t.Calls, c)
			if target == "checkout" {
				t.Attempts = append(t.Attempts, attemptOf(c, len(t.Attempts)+1, s.faulted))
			}
			at += 5 * ms
		}
		p.To = at
		t.Phases = append(t.Phases, p)
		at += ms
	}
	return t
}

// attemptOf is the one attempt of a call.
func attemptOf(c trace.Call, seq int, faulted bool) trace.Attempt {
	a := trace.Attempt{
		Seq: seq, Injector: "payments", ID: c.ID, By: "traceparent", Phase: c.Phase, Method: "GET", Path: "/",
		Arr: c.Send + 100*time.Microsecond, Dep: c.End - 100*time.Microsecond, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 200,
	}
	if faulted {
		a.Rule, a.Action = c.Phase+"/payments/0", "pass"
	}
	return a
}

// shop is what such traces are judged against.
func shop() assert.Spec {
	return assert.Spec{
		Targets: []match.Target{
			{Name: "checkout", Method: "GET", Path: "/", DependsOn: []string{"payments"}, Weight: 1},
			{Name: "browse", Method: "GET", Path: "/browse", Weight: 1},
		},
		Classes:   match.Classes{{Name: match.ClassPrimary}, {Name: match.ClassFallback}, {Name: match.ClassRejected}},
		Integrity: assert.DefaultIntegrity(),
		Breakers:  []assert.Breaker{{Name: "cb", Injector: "payments", Targets: []string{"checkout"}, Unit: assert.UnitAttempt, Config: breakerref.Default()}},
		Phases:    []assert.Phase{{Name: "baseline", Measure: true}, {Name: "zombie", Measure: true, Faults: map[string][]fault.Rule{"payments": {{ID: "zombie/payments/0"}}}}},
	}
}

// each answers all alike.
func each(s served) func(int) served { return func(int) served { return s } }

// sometimes answers one in so many otherwise.
func sometimes(k int, usual, other served) func(int) served {
	return func(i int) served {
		if i%k == k-1 {
			return other
		}
		return usual
	}
}

// day is a baseline, and a phase in which payments is slow.
func day(browse func(int) served) []shift {
	return []shift{
		{"baseline", 400, false, each(well(4 * ms)), each(well(3 * ms))},
		{"zombie", 800, true, each(well(300 * ms)), browse},
	}
}

// story is a verdict about such a trace.
type story struct {
	name   string
	shifts []shift
	change func(*trace.Trace)
	phase  string
	rule   assert.Rule
	want   assert.Result
}

func apart(share float64, longer time.Duration) assert.Isolation {
	return assert.Isolation{Targets: []string{"browse"}, Baseline: "baseline", Share: &share, Latency: []assert.QuantileBound{{Quantile: 0.95, Max: longer}}}
}

// stories are the verdicts about what clients get while others are in trouble, and over all.
func servedStories() []story {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	fine := each(well(3 * ms))
	late := func(n time.Duration) func(*trace.Trace) {
		return inPhase("zombie", func(c *trace.Call) { c.Sched -= n })
	}
	objective := func(share float64, burn ...assert.Burn) assert.SLO { return assert.SLO{Objective: share, Burn: burn} }
	fast := assert.Burn{Long: time.Second, Short: 200 * ms, Max: 14.4}
	outage := func(k int) served { // for a quarter of the time
		if k >= 150 && k < 250 {
			return ill(3 * ms)
		}
		return well(3 * ms)
	}
	few := []shift{day(fine)[0], {"zombie", 60, true, each(well(300 * ms)), fine}}
	return []story{
		{"isolated", day(fine), nil, "zombie", apart(0.01, 20*ms), pass},
		{"workers are stuck", day(each(unheard(2 * time.Second))), nil, "zombie", apart(0.01, 20*ms), fail},
		{"others are slow as well", day(each(well(100 * ms))), nil, "zombie", apart(0.01, 20*ms), fail},
		{"others fail as well", day(sometimes(3, well(3*ms), ill(3*ms))), nil, "zombie", apart(0.01, 20*ms), fail},
		{"others fail as well, now and then", day(sometimes(50, well(3*ms), ill(3*ms))), nil, "zombie", apart(0.01, 20*ms), dunno},
		{"others fail as ever", []shift{{"baseline", 400, false, each(well(4 * ms)), sometimes(20, well(3*ms), ill(3*ms))}, {"zombie", 800, true, each(well(300 * ms)), sometimes(20, well(3*ms), ill(3*ms))}}, nil, "zombie", apart(0.01, 20*ms), pass},
		{"isolated, sent late", day(fine), late(40 * ms), "zombie", apart(0.01, 20*ms), dunno},
		{"isolated, some could not be sent", day(fine), func(t *trace.Trace) { t.Phases[1].Saturated = 100 }, "zombie", apart(0.01, 20*ms), dunno},
		{"isolated, few calls", few, nil, "zombie", apart(0.01, 20*ms), dunno},
		{"isolated from next to nothing", []shift{day(fine)[0], {"zombie", 800, false, each(well(4 * ms)), fine}}, func(t *trace.Trace) { t.Attempts[300].Rule = "zombie/payments/0" }, "zombie", apart(0.01, 20*ms), dunno},
		{"isolated, from a door that is shut", []shift{day(fine)[0], {"zombie", 800, false, each(well(4 * ms)), fine}}, func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].From, Kind: trace.MarkDoorShut, Subject: "payments", Text: "deaf"})
			t.Attempts = slices.DeleteFunc(t.Attempts, func(a trace.Attempt) bool { return a.Phase == "zombie" })
		}, "zombie", apart(0.01, 20*ms), pass},
		{"isolated, and the baseline did not run", day(fine)[1:], nil, "zombie", apart(0.01, 20*ms), dunno},

		{"objective", day(sometimes(100, well(3*ms), ill(3*ms))), nil, "zombie", objective(0.99), pass},
		{"objective, missed", day(sometimes(10, well(3*ms), ill(3*ms))), nil, "zombie", objective(0.99), fail},
		{"objective, of two phases", day(sometimes(50, well(3*ms), ill(3*ms))), nil, "zombie", assert.SLO{Objective: 0.99, Phases: []string{"baseline"}, Targets: []string{"browse"}}, fail},
		{"objective, of classes", day(fine), nil, "zombie", assert.SLO{Objective: 0.99, Good: []string{"primary", "fallback"}}, pass},
		{"objective, of a class that is missing", day(fine), nil, "zombie", assert.SLO{Objective: 0.99, Good: []string{"gold"}}, dunno},
		{"objective, of another class", day(fine), nil, "zombie", assert.SLO{Objective: 0.99, Good: []string{"fallback"}}, fail},
		{"objective, few calls", few, nil, "zombie", objective(0.999), dunno},
		{"objective, nobody is answered", day(each(unheard(2 * time.Second))), nil, "zombie", objective(0.99), fail},
		{"objective, nobody is answered, without CPU", day(sometimes(10, well(3*ms), unheard(500*ms))), func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].To, Dur: t.Phases[1].To - t.Phases[1].From, Kind: trace.MarkPressure, Text: "0.9"})
		}, "zombie", objective(0.99), dunno},
		{"objective, nobody is answered while this process stands still", day(fine), func(t *trace.Trace) {
			t.Marks = append(t.Marks, trace.Mark{At: t.Phases[1].From + time.Second, Dur: 300 * ms, Kind: trace.MarkStall})
			for i := range t.Calls {
				if c := &t.Calls[i]; c.Phase == "zombie" && c.Send > t.Phases[1].From+900*ms && c.Send < t.Phases[1].From+time.Second {
					c.Status, c.Err, c.Class, c.End = 0, trace.ErrTimeout, match.Unclassified, c.Send+300*ms
				}
			}
		}, "zombie", objective(0.99), dunno},
		{"objective, some could not be sent", day(fine), func(t *trace.Trace) { t.Phases[1].Saturated = 100 }, "zombie", objective(0.99), dunno},
		{"burn", day(sometimes(100, well(3*ms), ill(3*ms))), nil, "zombie", objective(0.99, fast), pass},
		{"burn, too fast for a while", day(outage), nil, "zombie", objective(0.85, assert.Burn{Long: 500 * ms, Short: 100 * ms, Max: 3}), fail},
		{"burn, too fast for a moment only", day(func(k int) served {
			if k >= 150 && k < 160 {
				return ill(3 * ms)
			}
			return well(3 * ms)
		}), nil, "zombie", objective(0.9, assert.Burn{Long: time.Second, Short: 200 * ms, Max: 3}), pass},
		{"burn, stretch too long", day(fine), nil, "zombie", objective(0.99, assert.Burn{Long: time.Minute, Max: 6}), dunno},
		{"burn, too few calls", day(fine), nil, "zombie", objective(0.99, assert.Burn{Long: time.Second, Short: 20 * ms, Max: 6}), dunno},
	}
}
