package assert_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
)

// wrongedOnce are right systems that an earlier judge failed, or misread.
func wrongedOnce() map[string]func(*setup) {
	outage := func(s *setup, f phase, after phase) {
		f.Name, after.Name = "outage", "recovery"
		s.Phases = []phase{{Name: "trip", Calls: 15, Workers: 1, Gap: 5 * ms, Faults: unavailable()}, f, after}
	}
	well := phase{Duration: 5 * time.Second, Rate: 100}
	return map[string]func(*setup){
		"half-open rejects while a slow probe is out, and calls are rare": func(s *setup) {
			s.Breaker.Wait, s.Breaker.Permitted, s.Base = 700*ms, 1, span{2 * time.Second, 3 * time.Second}
			s.SUTTimeout = 0
			s.Phases = []phase{{Name: "trip", Calls: 10, Workers: 1, Gap: 5 * ms, Faults: unavailable()}, {Name: "recovery", Duration: 20 * time.Second, Rate: 3}}
		},
		"the wait is shorter than the distance of calls": func(s *setup) {
			s.Breaker.Wait = 300 * ms
			outage(s, phase{Duration: 30 * time.Second, Rate: 2, Faults: unavailable()}, phase{Duration: 30 * time.Second, Rate: 2})
		},
		"the fallback takes longer than the wait": func(s *setup) {
			s.Breaker.Wait, s.Fallback = 300*ms, span{300 * ms, 500 * ms}
			outage(s, phase{Duration: 4 * time.Second, Rate: 100, Faults: unavailable(slowly(20 * ms))}, well)
		},
		"a call is rejected, tried again and then the first probe": func(s *setup) {
			s.Breaker.Wait, s.Breaker.Permitted = 400*ms, 1
			s.Retry = retry{Attempts: 3, Backoff: span{150 * ms, 250 * ms}, Rejections: true}
			outage(s, phase{Duration: 6 * time.Second, Rate: 4, Faults: unavailable(slowly(300 * ms))}, well)
		},
		"an outcome from before the opening decides half-open": func(s *setup) {
			s.Breaker.Wait, s.Breaker.Permitted = 300*ms, 1
			first := unavailable(func(r *fault.Rule) { r.Latency = fault.Latency{Min: 0, Max: 900 * ms} })
			s.Phases = []phase{{Name: "outage", Duration: 5 * time.Second, Rate: 100, Faults: first}, {Name: "recovery", Duration: 3 * time.Second, Rate: 100}}
		},
		"a probe from the outage fails when the dependency is well": func(s *setup) {
			s.Breaker.Wait = 500 * ms
			outage(s, phase{Duration: 1600 * ms, Rate: 50, Faults: unavailable(slowly(900 * ms))}, well)
		},
		"a call of one phase meets the fault of the next": func(s *setup) {
			s.Own = span{20 * ms, 60 * ms}
			s.Phases = []phase{{Name: "baseline", Duration: time.Second, Rate: 200}, {Name: "outage", Duration: 3 * time.Second, Rate: 200, Faults: unavailable()}}
		},
		"fewer connections than probes": func(s *setup) {
			s.Pool, s.Breaker.Permitted = 2, 8
			outage(s, phase{Duration: 8 * time.Second, Rate: 200, Faults: unavailable(held(8, 500*ms))}, well)
		},
		"the client leaves while the service stands still": func(s *setup) {
			s.Breaker.Wait, s.ClientTimeout = 300*ms, 120*ms
			s.Stalls = stalls{Every: 300 * ms, Took: span{100 * ms, 200 * ms}}
			outage(s, phase{Duration: 5 * time.Second, Rate: 100, Faults: unavailable(slowly(110 * ms))}, well)
		},
		"the window held failures before": func(s *setup) {
			s.Running = []bool{true, true, true, true}
			s.Phases = []phase{{Name: "ratio", Calls: 50, Workers: 1, Gap: ms, Faults: unavailable(ratio(40))}}
		},
		"a retry inside the breaker, which is not declared": func(s *setup) {
			s.Unit, s.Retry = assert.UnitUnknown, retry{Attempts: 3, Backoff: span{100 * ms, 200 * ms}, Inside: true}
			s.Phases = []phase{{Name: "outage", Duration: 5 * time.Second, Rate: 100, Faults: unavailable(slowly(20 * ms))}}
		},
		"it closes and trips again by what was under way": func(s *setup) {
			s.Breaker.Permitted, s.Breaker.MinimumCalls, s.Breaker.Window, s.Breaker.Wait = 20, 2, 5, 400*ms
			outage(s, phase{Duration: 6 * time.Second, Rate: 100, Faults: unavailable(ratio(50), slowly(100*ms))}, well)
		},
		"failures from the outage open it when the dependency is well": func(s *setup) {
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Wait = 40, 22, 20, time.Second
			s.Phases = []phase{{Name: "outage", Calls: 8, Workers: 1, Gap: 5 * ms, Faults: unavailable()}, {Name: "recovery", Duration: 4700 * ms, Rate: 4}}
		},
		"a half-open visit of failures and successes reopens late": func(s *setup) {
			s.Breaker.Permitted, s.Breaker.FailureRate, s.Breaker.MinimumCalls, s.Breaker.Wait = 20, 20, 20, time.Second
			outage(s, phase{Duration: 2500 * ms, Rate: 4, Faults: unavailable()}, phase{Duration: 4700 * ms, Rate: 4})
		},
		"two instances, and calls that were never answered": func(s *setup) {
			s.Instances, s.SUTTimeout, s.ClientTimeout = 2, 3*time.Second, time.Second
			hang := unavailable(func(r *fault.Rule) { r.Action, r.Respond = fault.ActionHang, fault.Respond{} })
			outage(s, phase{Duration: 12 * time.Second, Rate: 50, Faults: hang}, well)
		},
		"calls that were never answered leave it open what an instance recorded": func(s *setup) {
			s.Instances, s.Pool, s.ClientTimeout = 2, 1, 8*time.Second
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Permitted, s.Breaker.Wait = 42, 21, 97, 13, 3*time.Second
			s.Post, s.Base, s.Fallback, s.Probe = span{20 * time.Microsecond, 500 * time.Microsecond}, span{2500 * time.Microsecond, 6 * ms}, fixed(ms/5), 1
			hang := unavailable(func(r *fault.Rule) { r.Action, r.Respond = fault.ActionHang, fault.Respond{} })
			s.Phases = []phase{
				{Name: "trip", Calls: 62, Workers: 1, Gap: 19 * ms, Faults: unavailable()},
				{Name: "outage", Duration: 10 * time.Second, Rate: 21, Faults: hang},
				{Name: "recovery", Calls: 205, Workers: 4, Gap: 24 * ms},
				{Name: "again", Duration: 10 * time.Second, Rate: 21, Faults: unavailable()},
			}
		},
		"the service gives up before the dependency sees it leave": func(s *setup) {
			s.Breaker.Wait, s.SUTTimeout, s.Net = 300*ms, 400*ms, span{0, 15 * ms}
			hang := unavailable(func(r *fault.Rule) { r.Action, r.Respond = fault.ActionHang, fault.Respond{} })
			outage(s, phase{Duration: 6 * time.Second, Rate: 100, Faults: hang}, well)
		},
		"good probes are recorded in another order than they ended": func(s *setup) {
			s.Post, s.Breaker.Wait = span{ms, 80 * ms}, 500*ms
			outage(s, phase{Duration: time.Second, Rate: 100, Faults: unavailable()}, phase{Duration: 3 * time.Second, Rate: 800})
		},
		"an answer crosses the service's own timeout": func(s *setup) {
			s.SUTTimeout, s.Net = 400*ms, span{ms, 3 * ms}
			edge := unavailable(passing, func(r *fault.Rule) { r.Latency = fault.Latency{Min: 380 * ms, Max: 397 * ms} })
			s.Phases = []phase{{Name: "edge", Calls: 80, Workers: 1, Gap: ms, Faults: edge}}
		},
		"the wait grows": func(s *setup) {
			s.Breaker.Wait, s.Breaker.WaitMultiplier, s.Breaker.WaitMax = 500*ms, 3, 8*time.Second
			outage(s, phase{Duration: 14 * time.Second, Rate: 50, Faults: unavailable()}, phase{Duration: 12 * time.Second, Rate: 50})
		},
		"the wait is drawn": func(s *setup) {
			s.Breaker.Wait, s.Breaker.WaitRandom, s.Breaker.Seed = time.Second, 0.8, s.Seed
			outage(s, phase{Duration: 8 * time.Second, Rate: 50, Faults: unavailable()}, phase{Duration: 12 * time.Second, Rate: 50})
		},
		"the wait shrinks": func(s *setup) {
			s.Breaker.Wait, s.Breaker.WaitMultiplier = 4*time.Second, 0.5
			outage(s, phase{Duration: 8 * time.Second, Rate: 50, Faults: unavailable()}, phase{Duration: 4 * time.Second, Rate: 50})
		},
		"the waits are a table": func(s *setup) {
			s.Breaker.Waits = []time.Duration{2 * time.Second, 300 * ms, time.Second}
			outage(s, phase{Duration: 8 * time.Second, Rate: 50, Faults: unavailable()}, phase{Duration: 4 * time.Second, Rate: 50})
		},
		"the client leaves as the dependency answers, and the service lets go": func(s *setup) {
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Permitted, s.Breaker.Wait = 5, 2, 20, 1, 300*ms
			s.Pool, s.ClientTimeout, s.Propagates, s.Fallback = 1, 200*ms, true, fixed(ms/5)
			s.Net, s.Own, s.Post, s.Base = span{ms / 50, 3 * ms / 10}, span{ms / 20, ms}, span{ms / 50, ms / 2}, span{ms / 2, 2 * ms}
			s.Stalls = stalls{Every: 200 * ms, Took: span{50 * ms, 200 * ms}}
			s.Phases = []phase{{Name: "outage0", Duration: 1900 * ms, Rate: 20, Faults: hanging()}, {Name: "recovery0", Duration: 3600 * ms, Rate: 20, Jitter: ms}}
		},
		"nothing is declared, and the probes of one of two instances are never answered": func(s *setup) {
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Permitted, s.Breaker.Wait = 5, 2, 20, 1, 300*ms
			s.Undeclared, s.Instances, s.ClientTimeout, s.Propagates = true, 2, 200*ms, true
			outage(s, phase{Duration: 1900 * ms, Rate: 20, Faults: hanging()}, phase{Duration: 3600 * ms, Rate: 20})
		},
		"a call that nobody waits for meets the shut door, and attempts carry no id": func(s *setup) {
			s.Breaker.WindowType, s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Permitted, s.Breaker.Wait = breakerref.TimeBased, 5, 2, 20, 1, 300*ms
			s.Pool, s.ClientTimeout, s.Propagates, s.Aggregate = 1, 200*ms, true, true
			s.Phases = []phase{
				{Name: "baseline", Duration: 2 * time.Second, Rate: 20},
				{Name: "outage", Calls: 61, Workers: 3, Gap: ms, Faults: shutting(fault.ActionUnreachable)},
				{Name: "recovery", Duration: 3600 * ms, Rate: 20},
			}
		},
		"retries go on when the client has left, and attempts carry no id": func(s *setup) {
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate, s.Breaker.Permitted, s.Breaker.Wait = 5, 2, 20, 1, 695*ms
			s.Unit, s.Retry, s.ClientTimeout, s.Propagates, s.Aggregate = assert.UnitCall, retry{Attempts: 3, Backoff: span{2 * ms, 6 * ms}, Inside: true}, 659*ms, true, true
			s.Phases = []phase{{Name: "outage", Calls: 599, Workers: 5, Gap: 15 * ms, Faults: hanging()}, {Name: "recovery", Duration: 4390 * ms, Rate: 23, Jitter: 5 * ms}}
		},
		"a success is recorded late, among failures": func(s *setup) {
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.FailureRate = 11, 9, 95
			s.Stalls = stalls{Every: 200 * ms, Took: span{50 * ms, 200 * ms}}
			s.Phases = []phase{{Name: "baseline", Duration: time.Second, Rate: 90}, {Name: "trip", Calls: 30, Workers: 1, Gap: 5 * ms, Faults: unavailable()}}
		},
	}
}

func TestWrongedOnce(t *testing.T) {
	for name, with := range wrongedOnce() {
		t.Run(name, func(t *testing.T) {
			for seed := range 4 * seeds() {
				s := plain()
				s.Seed = seed
				with(&s)
				r, rep := judged(s, everything(s))
				if bad := wronged(s, r, rep); len(bad) > 0 {
					t.Fatalf("seed %d: %v\n%s", seed, bad, describe(r, rep))
				}
			}
		})
	}
}

// everything asks all that a right SUT fulfils, or may leave open, of every phase.
func everything(s setup) []assert.Assertion {
	var as []assert.Assertion
	add := func(id, phase string, r assert.Rule) {
		as = append(as, assert.Assertion{ID: phase + " " + id, Phase: phase, Rule: r})
	}
	c, faulty := s.Breaker, false
	tenth := assert.Opens{Breaker: "cb", AtCall: min(c.MinimumCalls, c.Window)}
	for _, p := range append(s.Phases, phase{}) {
		add("no leak", p.Name, assert.Leak{Breaker: "cb"})
		if c.WaitMultiplier == 0 && c.WaitRandom == 0 && len(c.Waits) == 0 {
			add("waits", p.Name, assert.OpenDuration{Breaker: "cb", Equals: c.Wait, Tolerance: 0.05})
		}
		add("probes", p.Name, assert.HalfOpenProbes{Breaker: "cb", Exactly: c.Permitted})
		add("probes max", p.Name, assert.HalfOpenProbes{Breaker: "cb", Max: c.Permitted})
		add("reopens", p.Name, assert.ReopensOnFailedProbe{Breaker: "cb"})
		add("fallback", p.Name, assert.FallbackShare{Breaker: "cb", Min: new(1.0), Of: []assert.CallSet{assert.SetShort, assert.SetFailed, assert.SetOpen}})
		add("errors", p.Name, assert.Share{Subject: assert.SubjectError, Targets: []string{"checkout"}, Max: new(0.0)})
		add("latency", p.Name, assert.Latency{Subject: assert.SubjectAll, Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: 8 * time.Second}}})
		add("forbidden", p.Name, assert.FallbackForbidden{Routes: []string{"/pay*"}})
		add("while open", p.Name, assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateOpen, Max: new(0)})
		if s.SUTTimeout > 0 {
			add("gives up", p.Name, assert.AbandonedAfter{Injector: "payments", Equals: s.SUTTimeout, Tolerance: 0.1})
			add("gives up max", p.Name, assert.AbandonedAfter{Injector: "payments", Max: s.SUTTimeout + s.SUTTimeout/10})
		}
		add("fail fast", p.Name, assert.ShortLatency{Breaker: "cb", Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: 5 * time.Second}}})
		switch {
		case p.Name == "":
		case len(p.Faults) > 0:
			add("opens", p.Name, tenth)
			add("opens within", p.Name, assert.Opens{Breaker: "cb", WithinCalls: 3 * c.Window})
			add("opens some time", p.Name, assert.Opens{Breaker: "cb"})
			add("stays", p.Name, assert.StaysClosed{Breaker: "cb"})
			faulty = true
		case faulty:
			add("closes", p.Name, assert.Closes{Breaker: "cb"})
			add("recovers", p.Name, assert.RecoveryTime{Breaker: "cb", Max: 4 * max(c.Wait, 500*ms), Target: assert.Criterion{Subject: "primary", AtLeast: true, Share: 0.95}, For: time.Second})
			add("closes after", p.Name, assert.Closes{Breaker: "cb", AfterSuccesses: min(c.MinimumCalls, c.Permitted)})
			add("not stuck", p.Name, assert.NeverStuck{Breaker: "cb", Tolerance: 0.1})
			add("stays", p.Name, assert.StaysClosed{Breaker: "cb"})
		default:
			add("honest", p.Name, assert.FallbackShare{Breaker: "cb", Max: new(0.0), Of: []assert.CallSet{assert.SetAll}})
			add("stays", p.Name, assert.StaysClosed{Breaker: "cb"})
		}
	}
	return as
}
