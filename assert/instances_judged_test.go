package assert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
)

// pair is a service in two instances that name themselves in their answers.
func pair(change ...func(*setup)) setup {
	s := plain()
	s.Instances = 2
	s.Phases[0].Calls, s.Phases[0].Until = 40, false
	s.Phases[2].Rate = 400
	for _, f := range change {
		f(&s)
	}
	return s
}

// alone is a rule by itself.
func alone(phase string, r assert.Rule) []assert.Assertion {
	return []assert.Assertion{{ID: "this", Phase: phase, Rule: r}}
}

// Instances are judged apart, or together where they are said to share their breaker, and what
// is said wrongly of them is found out. Totals grow with the instances.
func TestInstances(t *testing.T) {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	shared := func(s *setup) { s.Shared, s.SaidShared = true, true }
	tenth := assert.Opens{Breaker: "cb", AtCall: 10}
	three := assert.HalfOpenProbes{Breaker: "cb", Exactly: 3}
	counted := func(least, most int) assert.DownstreamCalls {
		return assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateHalfOpen, Min: &least, Max: &most, PerInstance: true}
	}
	for name, c := range map[string]struct {
		with  func(*setup)
		phase string
		rule  assert.Rule
		want  assert.Result
		says  string
	}{
		"apart, opens":                         {nil, "trip", tenth, pass, ""},
		"apart, probes":                        {func(s *setup) { s.Phases[2].Faults = unavailable(heldForBoth) }, "probes", three, pass, "; 6 in total, over 2 instances"},
		"together, opens":                      {shared, "trip", tenth, pass, ""},
		"together, probes":                     {shared, "probes", three, pass, ""},
		"apart, but said to be shared, opens":  {func(s *setup) { s.SaidShared = true }, "trip", tenth, fail, ""},
		"apart, but said to be shared, probes": {func(s *setup) { s.SaidShared = true; s.Phases[2].Faults = unavailable(heldForBoth) }, "probes", three, fail, "6 probes"},
		"together, but not said to be":         {func(s *setup) { s.Shared = true }, "trip", tenth, fail, "opened at outcome 5"},
		"one sees nothing":                     {func(s *setup) { s.Replicas, s.Starved = true, true }, "trip", tenth, dunno, "instance i1"},
		"one permits more": {func(s *setup) {
			s.Phases[2].Faults = unavailable(heldForBoth)
			s.Make = second(func(c *breakerref.Config) { c.Permitted = 5 })
		}, "probes", three, fail, "instance i1"},
		"probes of all":   {func(s *setup) { s.Phases[2].Faults = unavailable(heldForBoth) }, "probes", counted(9, 12), pass, ""},
		"too many of all": {func(s *setup) { s.Phases[2].Faults = unavailable(heldForBoth) }, "probes", counted(1, 3), fail, ""},
		"too many of one": {func(s *setup) {
			s.Phases[2].Faults = unavailable(heldForBoth)
			s.Make = second(func(c *breakerref.Config) { c.Permitted = 5 })
		}, "probes", counted(1, 11), fail, "i1: "},
		"too many of one, at any time": {func(s *setup) {
			s.Phases[2].Faults = unavailable(heldForBoth)
			s.Make = second(func(c *breakerref.Config) { c.Permitted = 5 })
		}, "probes", assert.DownstreamCalls{Injector: "payments", Max: new(13), PerInstance: true}, fail, "i1: "},
		"nobody is named": {func(s *setup) { s.Instances = 0 }, "probes", counted(1, 12), dunno, "no call names an instance"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds() {
				s := pair()
				s.Seed = seed
				if c.with != nil {
					c.with(&s)
				}
				r, rep := judged(s, alone(c.phase, c.rule))
				if v := rep.Verdicts[0]; v.Result != c.want || !strings.Contains(v.Observed, c.says) {
					t.Fatalf("seed %d: %s, %q; want %s, %q\n%s", seed, v.Result, v.Observed, c.want, c.says, describe(r, rep))
				}
			}
		})
	}
}

// second makes the breaker of the second instance otherwise.
func second(f func(*breakerref.Config)) func(breakerref.Config, time.Time) breaker {
	made := 0
	return func(c breakerref.Config, now time.Time) breaker {
		if made++; made == 2 {
			f(&c)
		}
		return reference(c, now)
	}
}

// A call that is never answered is its instance's by the connection of its attempts, so that
// its outcome counts there, and by that alone nothing is found wrong.
func TestInstancesByPeer(t *testing.T) {
	const pass, fail, dunno = assert.Pass, assert.Fail, assert.Inconclusive
	hangs := func(s *setup) {
		s.SUTTimeout, s.ClientTimeout = 0, 300*ms
		s.Propagates = true
		s.Phases[0].Faults = hanging()
	}
	for name, with := range map[string]func(*setup){
		"connections": func(s *setup) { s.Connections = true },
		"hosts":       func(s *setup) { s.OwnPeers = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := pair(hangs, with, func(s *setup) { s.Phases = append([]phase{{Name: "before", Calls: 40, Workers: 1}}, s.Phases...) })
			r, rep := judged(s, alone("trip", assert.Opens{Breaker: "cb"}))
			if v := rep.Verdicts[0]; v.Result != pass {
				t.Errorf("%s: %s\n%s", v.Result, v.Reason, describe(r, rep))
			}
		})
	}
	t.Run("hosts alone", func(t *testing.T) {
		s := pair(func(s *setup) { s.Instances, s.OwnPeers = 2, true })
		r := simulate(s)
		for i := range r.trace.Calls {
			r.trace.Calls[i].Instance = ""
		}
		r.spec.Assertions = goodRules(s)
		rep := assert.Evaluate(r.spec, r.trace)
		for _, v := range rep.Verdicts {
			if v.Result == fail {
				t.Errorf("%s fails\n%s", v.ID, describe(r, rep))
			}
		}
		if v := verdict(rep, "trips"); v.Result != dunno || !strings.Contains(v.Remedy, "instance_header") {
			t.Errorf("%s: %s", v.Result, v.Remedy)
		}
	})
}

// heldForBoth parks the probes of both instances, until each has rejected enough.
func heldForBoth(r *fault.Rule) { r.Hold = &fault.Hold{Probes: 6, Rejected: 40, Max: 250 * ms} }
