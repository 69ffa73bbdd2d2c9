package assert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/trace"
)

// Replicas have an address each, so that also calls without an answer name theirs:
// every breaker is judged by itself, and one that is wrong is named.
func TestReplicas(t *testing.T) {
	set := func() setup {
		s := plain()
		s.Instances, s.Replicas = 2, true
		s.Phases[0].Calls, s.Phases[0].Until = 40, false
		return s
	}
	t.Run("right", func(t *testing.T) {
		s := set()
		rules := goodRules(s)
		r, rep := judged(s, rules)
		if len(rep.Breakers) != 2 || rep.Breakers[0].Instance != "i0" || rep.Breakers[1].Instance != "i1" {
			t.Fatalf("timelines %+v", rep.Breakers)
		}
		for _, v := range rep.Verdicts {
			// The probes of two breakers share one hold, and calls alternate.
			if v.Result == assert.Fail || v.Result != assert.Pass && v.ID != "closes-after" && v.ID != "probes" {
				t.Errorf("%s is %s\n%s", v.ID, v.Result, describe(r, rep))
			}
		}
	})
	t.Run("one opens late", func(t *testing.T) {
		s, made := set(), 0
		late := change("", func(c *breakerref.Config) { c.Window, c.MinimumCalls = 12, 12 })
		s.Make = func(c breakerref.Config, now time.Time) breaker {
			if made++; made == 2 {
				return late.make(c, now)
			}
			return reference(c, now)
		}
		r, rep := judged(s, goodRules(s))
		if v := verdict(rep, "trips"); v.Result != assert.Fail || !strings.Contains(v.Observed, "instance i1") {
			t.Errorf("%s: %s\n%s", v.Result, v.Observed, describe(r, rep))
		}
	})
}

// Calls that reach nobody while nothing is wrong are told, and judge nothing.
func TestLostCallsAreTold(t *testing.T) {
	s := plain()
	withBaseline(&s)
	r := simulate(s)
	gone := map[string]bool{}
	for i := range r.trace.Calls {
		if c := &r.trace.Calls[i]; c.Phase == "baseline" && i%10 == 0 {
			c.Status, c.Err, gone[c.ID] = 0, trace.ErrRefused, true
		}
	}
	var kept []trace.Attempt
	for _, a := range r.trace.Attempts {
		if !gone[a.ID] {
			kept = append(kept, a)
		}
	}
	r.trace.Attempts = kept
	r.spec.Assertions = goodRules(s)
	rep := assert.Evaluate(r.spec, r.trace)
	for _, c := range rep.Integrity {
		if c.Name != "never_arrived" {
			continue
		}
		if c.OK || len(c.Affects) > 0 || !strings.Contains(c.Observed, "(10 of") {
			t.Errorf("%+v", c)
		}
		return
	}
	t.Errorf("no check tells of them\n%s", describe(r, rep))
}

// Without ids, an attempt that arrives when no call is under way is nobody's: it
// proves nothing, also where the breaker is open.
func TestAttemptsOfNobodyAreNoLeaks(t *testing.T) {
	s := plain()
	s.Aggregate = true
	r := simulate(s)
	outage := r.trace.Phases[1]
	for i := range 20 {
		at := outage.From + 500*ms + time.Duration(i)*20*ms
		for under := true; under; {
			at, under = at+ms/10, false
			for _, c := range r.trace.Calls {
				under = under || c.Send <= at && c.End >= at
			}
		}
		r.trace.Attempts = append(r.trace.Attempts, trace.Attempt{
			Seq: 9000 + i, Injector: "payments", Phase: "outage", Arr: at, Dep: at + ms, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 503, Rule: "outage/payments/1",
		})
	}
	for _, rule := range []assert.Rule{
		assert.Leak{Breaker: "cb"}, assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateOpen, Max: new(0)},
	} {
		r.spec.Assertions = []assert.Assertion{{ID: "this", Phase: "outage", Rule: rule}}
		if rep := assert.Evaluate(r.spec, r.trace); rep.Verdicts[0].Result == assert.Fail {
			t.Errorf("%s fails\n%s", rule.Kind(), describe(r, rep))
		}
	}
}
