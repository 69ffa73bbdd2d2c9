package assert_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
)

// passedOnce is a wrong system that an earlier judge passed.
type passedOnce struct {
	phase string
	rule  assert.Rule
	want  assert.Result
	with  func(*setup)
}

func passings() map[string]passedOnce {
	whileOpen := assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateOpen, Max: new(0)}
	trip := phase{Name: "trip", Calls: 40, Workers: 1, Gap: 5 * ms, Faults: unavailable()}
	outage := phase{Name: "outage", Duration: 1500 * ms, Rate: 100, Faults: unavailable()}
	return map[string]passedOnce{
		"it leaks, on one of two instances, and attempts carry no id": {"outage", assert.Leak{Breaker: "cb"}, assert.Inconclusive, func(s *setup) {
			s.Make, s.Instances, s.Aggregate = leaky("", 3).make, 2, true
			s.Phases = []phase{trip, outage}
		}},
		"what leaks is never answered, so it is not known which instance it asked": {"outage", assert.Leak{Breaker: "cb"}, assert.Inconclusive, func(s *setup) {
			s.Make, s.Instances, s.ClientTimeout = leaky("", 3).make, 2, 300*ms
			s.Phases = []phase{trip, {Name: "outage", Calls: 60, Workers: 10, Gap: ms, Faults: hanging()}}
		}},
		"the last attempt of what leaks comes in the phase after": {"outage", whileOpen, assert.Fail, func(s *setup) {
			s.Make, s.Unit, s.Retry = leaky("", 10).make, assert.UnitCall, retry{Attempts: 2, Backoff: span{700 * ms, 750 * ms}, Inside: true}
			s.Phases = []phase{
				{Name: "trip", Calls: 10, Workers: 1, Gap: 5 * ms, Faults: unavailable()},
				{Name: "outage", Duration: 600 * ms, Rate: 200, Faults: unavailable()},
				{Name: "after", Duration: 800 * ms, Rate: 100, Faults: unavailable()},
			}
		}},
		"it leaks after calls that were never answered, and attempts carry no id": {"outage", whileOpen, assert.Inconclusive, func(s *setup) {
			s.Aggregate, s.ClientTimeout, s.Propagates, s.Unit = true, 300*ms, true, assert.UnitAttempt
			s.Make = leaky("", 3).make
			lost := phase{Name: "lost", Calls: 8, Workers: 8, Gap: ms, Faults: hanging()}
			s.Phases = []phase{lost, trip, outage}
		}},
		"it opens, its retries outlast the clients, and attempts carry no id": {"outage", assert.StaysClosed{Breaker: "cb"}, assert.Inconclusive, func(s *setup) {
			s.Retry, s.ClientTimeout = retry{Attempts: 3, Backoff: span{150 * ms, 200 * ms}, Rejections: true}, 200*ms
			s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.Wait, s.Aggregate = 5, 2, 300*ms, true
			s.Phases = []phase{outage, {Name: "after", Duration: time.Second, Rate: 100}}
		}},
		"it opens, and calls that are let through hide those that are not": {"outage", assert.StaysClosed{Breaker: "cb"}, assert.Inconclusive, func(s *setup) {
			s.Aggregate, s.Fallback, s.Make = true, span{200 * ms, 300 * ms}, leaky("", 2).make
			s.Phases = []phase{outage, {Name: "after", Duration: time.Second, Rate: 100}}
		}},
	}
}

// A defect that the trace cannot show is not passed, and one that it shows fails.
func TestPassedOnce(t *testing.T) {
	for name, c := range passings() {
		t.Run(name, func(t *testing.T) {
			for seed := range 4 * seeds() {
				s := plain()
				s.Seed = seed
				c.with(&s)
				r, rep := judged(s, []assert.Assertion{{ID: "once", Phase: c.phase, Rule: c.rule}})
				if opened := len(r.truth) > 0 && r.truth[0].to == breakerref.Open; !opened {
					t.Fatalf("seed %d: it never opened\n%s", seed, describe(r, rep))
				}
				if v := verdict(rep, "once"); v.Result != c.want {
					t.Fatalf("seed %d: %s, want %s\n%s", seed, v.Result, c.want, describe(r, rep))
				}
			}
		})
	}
}
