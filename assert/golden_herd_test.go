package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// crowded is 60 clients that think for half a second to one and a half before, during and after
// an outage.
func crowded(s *setup) {
	s.Breaker.Wait = time.Second
	think := span{500 * ms, 1500 * ms}
	of := func(name string, long time.Duration, faults []fault.Rule) phase {
		return phase{Name: name, Duration: long, Clients: 60, Think: think, Faults: faults}
	}
	s.Phases = []phase{of("baseline", 8*time.Second, nil), of("outage", 4*time.Second, unavailable()), of("recovery", 8*time.Second, nil)}
}

// stampede has all calls of the recovery that reach the dependency within so long arrive at
// once, at the end of that time.
func stampede(within time.Duration) func(*trace.Trace) {
	return func(t *trace.Trace) {
		from := t.Phases[2].From + 1500*ms
		for i := range t.Attempts {
			if a := &t.Attempts[i]; a.Arr > from && a.Arr < from+within {
				took := a.Dep - a.Arr
				a.Arr = from + within + time.Duration(i)
				a.Dep = a.Arr + took
				for k := range t.Calls {
					if c := &t.Calls[k]; c.ID == a.ID {
						c.First, c.End = a.Dep+ms, a.Dep+ms
					}
				}
			}
		}
	}
}

// outageOf is an outage of several instances, under a rate.
func outageOf(instances int) func(*setup) {
	return func(s *setup) {
		s.Instances, s.Replicas = instances, true
		s.Breaker.Wait = time.Second
		s.Phases = []phase{
			{Name: "baseline", Duration: time.Second, Rate: 300},
			{Name: "outage", Duration: 4 * time.Second, Rate: 300, Faults: unavailable()},
			{Name: "recovery", Duration: 3 * time.Second, Rate: 300},
		}
	}
}

// jittered has each instance wait for longer than the one before; nothing is declared.
func jittered(by time.Duration) func(*setup) {
	return func(s *setup) {
		n := time.Duration(0)
		s.Undeclared = true
		s.Make = func(c breakerref.Config, now time.Time) breaker {
			c.Wait += n * by
			n++
			return reference(c, now)
		}
	}
}

// herdGoldens are about clients that come back, and instances that try again.
func herdGoldens() []golden {
	const pass, fail, dunno, skipped = assert.Pass, assert.Fail, assert.Inconclusive, assert.Skipped
	peak := assert.HerdPeak{Breaker: "cb", Baseline: "baseline", Window: 200 * ms, Max: 2}
	sync := assert.HerdSync{Breaker: "cb", Within: 100 * ms, Max: 1}
	small := func(s *setup) {
		for i := range s.Phases {
			s.Phases[i].Clients = 6
		}
	}
	rated := func(s *setup) {
		for i := range s.Phases {
			s.Phases[i].Clients, s.Phases[i].Rate = 0, 60
		}
	}
	return []golden{
		{name: "no herd", with: crowded, phase: "recovery", rule: peak, want: pass},
		{name: "herd", with: crowded, trace: stampede(900 * ms), phase: "recovery", rule: peak, want: fail},
		{name: "aggregate: herd", with: both(crowded, func(s *setup) { s.Aggregate = true }), trace: stampede(900 * ms), phase: "recovery", rule: peak, want: fail},
		{name: "herd, of an open loop", with: both(crowded, rated), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, few clients", with: both(crowded, small), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, phase too short", with: both(crowded, func(s *setup) { s.Phases[2].Duration = 3 * time.Second }), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, baseline too short", with: both(crowded, func(s *setup) { s.Phases[0].Duration = 3 * time.Second }), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, of other clients", with: both(crowded, func(s *setup) { s.Phases[0].Clients = 30 }), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, that faultline itself sends", with: crowded, spec: func(s *assert.Spec) {
			for i := range s.Phases {
				s.Phases[i].Think *= 2
			}
		}, trace: stampede(900 * ms), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, never closed", with: both(crowded, made(lies("", breakerref.HalfOpen, true))), phase: "recovery", rule: peak, want: dunno},
		{name: "herd, of a breaker that never opens", with: both(crowded, made(lies("", breakerref.Closed, false)), func(s *setup) { s.Phases[1].Name = "trip" }), first: assert.Opens{Breaker: "cb"}, phase: "recovery", rule: peak, want: skipped},

		{name: "all instances try at once", with: outageOf(3), phase: "outage", rule: sync, want: fail},
		{name: "instances try one after the other", with: both(outageOf(3), jittered(400*ms)), phase: "outage", rule: assert.HerdSync{Breaker: "cb", Within: 50 * ms, Max: 2}, want: pass},
		{name: "instances try one after the other, and too many would be one", with: both(outageOf(2), jittered(400*ms)), phase: "recovery", rule: assert.HerdSync{Breaker: "cb", Within: 20 * ms, Max: 1}, want: pass},
		{name: "instances try at once, if so many may", with: outageOf(3), phase: "outage", rule: assert.HerdSync{Breaker: "cb", Within: 100 * ms, Max: 3}, want: dunno},
		{name: "instances that are asked too seldom", with: both(outageOf(3), func(s *setup) { s.Phases[1].Rate, s.Phases[1].Duration = 20, 10*time.Second }), phase: "outage", rule: assert.HerdSync{Breaker: "cb", Within: 50 * ms, Max: 1}, want: dunno},
		{name: "one instance tries", with: crowded, phase: "recovery", rule: sync, want: dunno},
	}
}
