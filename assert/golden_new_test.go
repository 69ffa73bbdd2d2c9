package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// hanging is a fault that never answers.
func hanging() []fault.Rule {
	return unavailable(func(r *fault.Rule) { r.Action, r.Respond = fault.ActionHang, fault.Respond{} })
}

// hang is an outage of so long in which the dependency hangs, and nothing else.
func hang(long, timeout time.Duration) func(*setup) {
	return func(s *setup) {
		s.SUTTimeout = timeout
		s.Phases = []phase{
			{Name: "baseline", Duration: 2 * time.Second, Rate: 50},
			{Name: "hang", Duration: long, Rate: 50, Faults: hanging()},
			{Name: "end", Duration: 2 * time.Second, Rate: 50},
		}
	}
}

func atLeast(subject string, share float64) assert.Share {
	return assert.Share{Subject: subject, Min: &share}
}

func atMost(subject string, share float64) assert.Share {
	return assert.Share{Subject: subject, Breaker: "cb", Max: &share}
}

func p99(subject string, limit time.Duration) assert.Latency {
	return assert.Latency{Subject: subject, Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: limit}}}
}

func pays(s *setup) { s.Pay = 2 }

// inPhase changes the calls of a phase.
func inPhase(name string, f func(*trace.Call)) func(*trace.Trace) { return every(1, name, f) }

// every changes one in so many calls of a phase.
func every(k int, name string, f func(*trace.Call)) func(*trace.Trace) {
	return func(t *trace.Trace) {
		n := 0
		for i := range t.Calls {
			if t.Calls[i].Phase != name {
				continue
			}
			if n++; n%k == 0 {
				f(&t.Calls[i])
			}
		}
	}
}

// broken is an answer that nobody wants.
func broken(c *trace.Call) { c.Status, c.Class = 500, match.Unclassified }

// clientGoldens are the rules about what clients get.
func clientGoldens() []golden {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	noPay := assert.FallbackForbidden{Routes: []string{"/pay*"}, Methods: []string{"POST"}}
	return []golden{
		{name: "share of primary", phase: "end", rule: atLeast("primary", 0.995), want: pass},
		{name: "share of primary, too small", phase: "recovery", rule: atLeast("primary", 0.995), want: fail},
		{name: "share of errors", phase: "outage", rule: atMost("error", 0), want: pass},
		{name: "share of errors, too large", with: func(s *setup) { s.NoFallback = true }, phase: "outage", rule: atMost("error", 0.01), want: fail},
		{name: "share of rejected calls", phase: "end", rule: atMost("short", 0.001), want: pass},
		{name: "share of rejected calls, too large", phase: "outage", rule: atMost("short", 0.1), want: fail},
		{name: "share of fallback, to some targets", with: pays, phase: "outage", rule: assert.Share{Subject: "fallback", Targets: []string{"checkout"}, Min: new(0.9), Max: new(1.0)}, want: pass},
		{name: "share, few calls", with: func(s *setup) { s.Phases[5].Rate = 5 }, phase: "end", rule: atLeast("primary", 0.9), want: dunno},
		{name: "share, calls cut by the end of the phase", with: hang(time.Second, 3*time.Second), phase: "hang", rule: atLeast("fallback", 0.9), want: dunno},
		{name: "share, some cut by the end of the phase", with: both(hang(2*time.Second, 3*time.Second), func(s *setup) { ratio(30)(&s.Phases[1].Faults[0]) }), phase: "hang", rule: atLeast("primary", 0.8), want: dunno},
		{name: "share of a class that is not declared", phase: "end", rule: atMost("queued", 0), want: dunno},
		{name: "share, of a saturated service", trace: func(t *trace.Trace) { t.Phases[5].Saturated, t.Phases[5].Sent = 50, t.Phases[5].Sent-50 }, phase: "end", rule: atLeast("primary", 0.9), want: dunno},
		{name: "share in a phase that did not run", phase: "nowhere", rule: atLeast("primary", 0.9), want: dunno},

		{name: "latency", phase: "end", rule: p99("all", 50*ms), want: pass},
		{name: "latency, too slow", phase: "end", rule: p99("all", 2*ms), want: fail},
		{name: "latency of a class", phase: "outage", rule: p99("fallback", 50*ms), want: pass},
		{name: "latency, sent late", trace: inPhase("end", func(c *trace.Call) { c.Sched -= 8 * ms }), phase: "end", rule: p99("all", 12*ms), want: dunno},
		{name: "latency, few calls", with: func(s *setup) { s.Phases[5].Rate = 4 }, phase: "end", rule: p99("all", 50*ms), want: dunno},
		{name: "latency, fewer than for p99", with: func(s *setup) { s.Phases[5].Rate = 10 }, phase: "end", rule: p99("all", 50*ms), want: pass},
		{name: "latency, without answers", with: both(hang(4*time.Second, 0), func(s *setup) { s.ClientTimeout = 300 * ms }), phase: "hang", rule: p99("all", time.Second), want: dunno},
		{name: "latency, load dropped", trace: func(t *trace.Trace) { t.Phases[5].Dropped = 5 }, phase: "end", rule: p99("all", 50*ms), want: dunno},

		{name: "fallback forbidden", with: pays, phase: "outage", rule: noPay, want: pass},
		{name: "fallback where it is forbidden", with: both(pays, func(s *setup) { s.FallsBack = true }), phase: "outage", rule: noPay, want: fail},
		{name: "fallback forbidden, nothing failed", with: pays, phase: "end", rule: noPay, want: dunno},
		{name: "fallback forbidden, few calls", with: func(s *setup) { s.Pay = 50 }, phase: "outage", rule: noPay, want: dunno},
		{name: "fallback forbidden, no such route", with: pays, phase: "outage", rule: assert.FallbackForbidden{Routes: []string{"/pay"}, Methods: []string{"GET"}}, want: dunno},
		{name: "fallback forbidden, no class", with: pays, spec: func(s *assert.Spec) { s.Classes = nil }, trace: func(t *trace.Trace) {
			for i := range t.Calls {
				t.Calls[i].Class = match.Unclassified
			}
		}, phase: "outage", rule: noPay, want: dunno},
	}
}

// backGoldens are the rules about the dependency, and about what needs both sides.
func backGoldens() []golden {
	const pass, fail, dunno, skipped = assert.Pass, assert.Fail, assert.Inconclusive, assert.Skipped
	recovers := assert.RecoveryTime{Breaker: "cb", Max: 3 * time.Second, Target: assert.Criterion{Subject: "primary", AtLeast: true, Share: 0.99}, For: 2 * time.Second}
	calm := assert.Criterion{Subject: "error", Share: 0.01}
	gives := assert.AbandonedAfter{Injector: "payments", Equals: 500 * ms, Tolerance: 0.1}
	calls := func(when assert.State, lo, hi *int) assert.DownstreamCalls {
		return assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: when, Min: lo, Max: hi}
	}
	return []golden{
		{name: "recovers", phase: "recovery", rule: recovers, want: pass},
		{name: "recovers, by latency", with: func(s *setup) {
			s.Phases[1].Faults = unavailable(passing, slowly(300*ms))
			s.Phases = []phase{s.Phases[1], s.Phases[3]}
		}, phase: "recovery", rule: assert.RecoveryTime{Breaker: "cb", Max: time.Second, Target: assert.Criterion{Subject: "all", Quantile: 0.99, Latency: 100 * ms}, For: 2 * time.Second}, want: pass},
		{name: "recovers too late", phase: "recovery", rule: assert.RecoveryTime{Breaker: "cb", Max: 200 * ms, Target: recovers.Target, For: 2 * time.Second}, want: fail},
		{name: "never recovers", with: made(lies("", breakerref.HalfOpen, true)), phase: "recovery", rule: recovers, want: fail},
		{name: "recovers, load too short", with: func(s *setup) { s.Phases[3].Duration = 2 * time.Second }, phase: "recovery", rule: recovers, want: dunno},
		{name: "recovers, seldom asked", with: func(s *setup) { s.Phases[3].Rate = 5 }, phase: "recovery", rule: recovers, want: dunno},
		{name: "recovers from nothing", phase: "recovery", rule: assert.RecoveryTime{Breaker: "cb", Max: time.Second, Target: calm, For: 2 * time.Second}, want: dunno},
		{name: "recovers while the fault is on", phase: "outage", rule: recovers, want: dunno},
		{name: "recovers, without a fault before", with: baseline, phase: "baseline", rule: recovers, want: dunno},
		{name: "recovers at once, as nothing opened", with: both(defaults, only("trip", "recovery")), phase: "recovery", rule: recovers, want: pass},

		{name: "gives up in time", with: hang(4*time.Second, 500*ms), phase: "hang", rule: gives, want: pass},
		{name: "gives up by then", with: hang(4*time.Second, 500*ms), phase: "hang", rule: assert.AbandonedAfter{Injector: "payments", Max: 600 * ms}, want: pass},
		{name: "gives up too late", with: hang(4*time.Second, 800*ms), phase: "hang", rule: gives, want: fail},
		{name: "gives up too early", with: hang(4*time.Second, 300*ms), phase: "hang", rule: gives, want: fail},
		{name: "never gives up", with: hang(4*time.Second, 0), phase: "hang", rule: gives, want: fail},
		{name: "answers, and never gives up", with: hang(4*time.Second, 500*ms), trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Abandon != trace.None {
					a.Dep, a.Abandon = a.Abandon+3*time.Second, trace.None
				}
			}
		}, phase: "hang", rule: gives, want: fail},
		{name: "gives up as faultline leaves", with: both(hang(4*time.Second, 2*time.Second), func(s *setup) { s.ClientTimeout, s.Propagates = 300*ms, true }), phase: "hang", rule: gives, want: dunno},
		{name: "gives up, fault too short", with: hang(300*ms, 500*ms), phase: "hang", rule: gives, want: dunno},
		{name: "gives up, nothing kept", with: hang(4*time.Second, 500*ms), phase: "end", rule: gives, want: dunno},
		{name: "gives up, now and then", with: hang(4*time.Second, 500*ms), trace: func(t *trace.Trace) {
			for i := range t.Attempts {
				if a := &t.Attempts[i]; a.Abandon != trace.None && i%4 == 0 {
					a.Abandon += 300 * ms
				}
			}
		}, phase: "hang", rule: gives, want: dunno},

		{name: "attempts", phase: "end", rule: calls("", new(50), new(200)), want: pass},
		{name: "attempts, too many", phase: "end", rule: calls("", nil, new(50)), want: fail},
		{name: "attempts, too few", phase: "outage", rule: calls("", new(100), nil), want: fail},
		{name: "attempts, few calls", with: func(s *setup) { s.Phases[5].Rate = 4 }, phase: "end", rule: calls("", nil, new(100)), want: dunno},
		{name: "attempts while open", phase: "outage", rule: calls(assert.StateOpen, nil, new(0)), want: pass},
		{name: "attempts while open, too many", with: made(leaky("", 10)), phase: "outage", rule: calls(assert.StateOpen, nil, new(5)), want: fail},
		{name: "attempts while open, never open", phase: "end", rule: calls(assert.StateOpen, nil, new(0)), want: dunno},
		{name: "attempts while open, of a breaker that does not open", with: both(defaults, only("trip", "recovery")), first: tenth, phase: "recovery", rule: calls(assert.StateOpen, nil, new(0)), want: skipped},
		{name: "attempts while half-open", phase: "probes", rule: calls(assert.StateHalfOpen, nil, new(10)), want: pass},
		{name: "attempts while half-open, in doubt", phase: "outage", rule: calls(assert.StateHalfOpen, new(9), new(9)), want: dunno},
		{name: "attempts while closed", phase: "end", rule: calls(assert.StateClosed, new(50), new(100)), want: pass},
		{name: "attempts while closed, too few", phase: "end", rule: calls(assert.StateClosed, new(200), nil), want: fail},
	}
}

// healthy is the steady state of plain.
var healthy = []assert.Criterion{
	{Subject: "primary", AtLeast: true, Share: 0.995}, {Subject: "all", Quantile: 0.99, Latency: 50 * ms}, {Subject: "short", Share: 0.001},
}

func steady(s *assert.Spec) { s.SteadyState = healthy }

// withBaseline puts a baseline before everything.
func withBaseline(s *setup) {
	s.Phases = append([]phase{{Name: "baseline", Duration: 2 * time.Second, Rate: 50}}, s.Phases...)
}

// runGoldens are about the whole run: its steady state, its machine, its
// correlation.
func runGoldens() []golden {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	ill := every(10, "baseline", broken)
	blind := func(s *setup) { s.Aggregate = true }
	slow := func(t *trace.Trace) {
		for i := range t.Attempts {
			if a := &t.Attempts[i]; a.Phase == "baseline" && i%5 == 0 {
				a.Arr += 4 * ms
			}
		}
	}
	return []golden{
		{name: "steady again", spec: steady, last: true, phase: "end", want: pass},
		{name: "not steady again", spec: steady, last: true, trace: every(25, "end", broken), phase: "end", want: fail},
		{name: "steady again, few calls", spec: steady, last: true, with: func(s *setup) { s.Phases[5].Rate = 5 }, phase: "end", want: dunno},
		{name: "not steady before anything", with: withBaseline, spec: steady, trace: ill, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: dunno},
		{name: "steady before, and all is judged", with: withBaseline, spec: steady, phase: "outage", rule: assert.Leak{Breaker: "cb"}, want: pass},
		{name: "missed by less than arrivals wait", with: withBaseline, trace: slow, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 322 * ms}, want: dunno},
		{name: "missed by more than arrivals wait", with: withBaseline, trace: slow, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 100 * ms}, want: fail},

		{name: "aggregate: opens in time", with: blind, phase: "trip", rule: assert.Opens{Breaker: "cb", Within: time.Second}, want: pass},
		{name: "aggregate: opens at the tenth", with: blind, phase: "trip", rule: tenth, want: dunno},
		{name: "aggregate: does not open", with: both(blind, defaults), phase: "trip", rule: assert.Opens{Breaker: "cb", Within: time.Second}, want: fail},
		{name: "aggregate: stays closed", with: blind, phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: pass},
		{name: "aggregate: opens where it should stay closed", with: both(blind, atForty), phase: "ratio", rule: assert.StaysClosed{Breaker: "cb"}, want: fail},
		{name: "aggregate: closes in time", with: blind, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 4 * time.Second}, want: pass},
		{name: "aggregate: one call that a cache answers", with: both(blind, withBaseline), trace: func(t *trace.Trace) { t.Attempts = t.Attempts[1:] }, phase: "recovery", rule: assert.Closes{Breaker: "cb", Within: 4 * time.Second}, want: pass},
		{name: "aggregate: leaks", with: blind, phase: "outage", rule: assert.Leak{Breaker: "cb", Max: 3}, want: dunno},
		{name: "aggregate: probes", with: blind, phase: "probes", rule: three, want: dunno},
		{name: "aggregate: fallback of rejected calls", with: blind, phase: "outage", rule: fallbacks, want: dunno},
		{name: "aggregate: recovers", with: blind, phase: "recovery", rule: assert.RecoveryTime{Breaker: "cb", Max: 3 * time.Second, Target: healthy[0], For: 2 * time.Second}, want: pass},
		{name: "aggregate: gives up in time", with: both(blind, hang(4*time.Second, 500*ms)), phase: "hang", rule: assert.AbandonedAfter{Injector: "payments", Equals: 500 * ms, Tolerance: 0.1}, want: pass},
		{name: "aggregate: gives up as faultline leaves", with: both(blind, hang(4*time.Second, 2*time.Second), func(s *setup) { s.ClientTimeout, s.Propagates = 300*ms, true }), phase: "hang", rule: assert.AbandonedAfter{Injector: "payments", Max: 600 * ms}, want: dunno},
		{name: "aggregate: attempts while open", with: blind, phase: "outage", rule: assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateOpen, Max: new(0)}, want: pass},
		{name: "aggregate: share of primary", with: blind, phase: "end", rule: atLeast("primary", 0.995), want: pass},
		{name: "aggregate: share of rejected calls", with: blind, phase: "outage", rule: assert.Share{Subject: "short", Breaker: "cb", Min: new(0.9)}, want: pass},
		{name: "aggregate: latency", with: blind, phase: "end", rule: p99("all", 50*ms), want: pass},
	}
}
