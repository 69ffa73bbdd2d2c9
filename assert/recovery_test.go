package assert_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// recovery is a run of a fault of one second, and calls after it at some gaps of
// which some are good.
func recovery(gaps []time.Duration, good []bool, long time.Duration) (assert.Spec, *trace.Trace) {
	spec := assert.Spec{
		Targets:   []match.Target{{Name: "checkout", DependsOn: []string{"payments"}}},
		Classes:   match.Classes{{Name: "primary"}},
		Breakers:  []assert.Breaker{{Name: "cb", Injector: "payments", Targets: []string{"checkout"}, Unit: assert.UnitAttempt, Failure: match.DefaultFailure()}},
		Phases:    []assert.Phase{{Name: "outage", Measure: true, Faults: map[string][]fault.Rule{"payments": unavailable()}}, {Name: "recovery", Measure: true}},
		Integrity: assert.DefaultIntegrity(),
	}
	t := &trace.Trace{
		Phases: []trace.Phase{{Name: "outage", To: time.Second, Measure: true}, {Name: "recovery", From: time.Second, To: time.Second + long, Measure: true}},
		Marks:  []trace.Mark{{At: time.Second, Kind: trace.MarkFaultOff, Subject: "payments"}},
	}
	call := func(phase string, at time.Duration, ok bool) {
		c := trace.Call{ID: fmt.Sprintf("%s/%d", phase, len(t.Calls)), Phase: phase, Target: "checkout", Sched: at, Send: at, First: at + ms, End: at + ms, Status: 502, Class: match.Unclassified}
		a := trace.Attempt{Seq: len(t.Attempts) + 1, Injector: "payments", ID: c.ID, Phase: phase, Arr: at + ms/4, Dep: at + ms/2, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 503}
		if phase == "outage" {
			a.Rule = "x"
		}
		if ok {
			c.Status, c.Class, a.Status = 200, "primary", 200
		}
		t.Calls, t.Attempts = append(t.Calls, c), append(t.Attempts, a)
	}
	for i := range 10 {
		call("outage", time.Duration(i)*100*ms, false)
	}
	at := time.Second
	for i, g := range gaps {
		if at += g; at >= time.Second+long-ms {
			break
		}
		call("recovery", at, good[i])
	}
	return spec, t
}

// heldFrom looks at every start of a stretch, on a fine grid, and says when the
// first began in which the target held, and the first that cannot be told: it has
// too few calls, or goes on after the load. What there is none of is at the end.
func heldFrom(t *trace.Trace, share float64, stretch time.Duration) (at, unclear time.Duration) {
	end := t.Phases[1].To
	at, unclear = time.Hour, max(end-stretch-time.Second, 0)
	for from := time.Second; from+stretch <= end; from += ms / 2 {
		n, good := 0, 0
		for _, c := range t.Calls {
			if c.Send >= from && c.Send < from+stretch {
				n++
				if c.Class == "primary" {
					good++
				}
			}
		}
		if n < 20 {
			unclear = min(unclear, from-time.Second)
		} else if float64(good)/float64(n) >= share {
			return from - time.Second, unclear
		}
	}
	return at, unclear
}

// The rule agrees with a look at every possible stretch: what passes did hold by
// then, and what fails did not, nor can it have held where nobody could tell.
func TestRecoveryAgreesWithEveryStretch(t *testing.T) {
	results := map[assert.Result]int{}
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		n := d.int(40, 200, "calls")
		gaps, good := make([]time.Duration, n), make([]bool, n)
		from := d.int(0, n, "recovers at")
		flaw := d.int(2, 30, "one in so many is bad")
		pace, total := d.int(1, 20, "gap"), time.Duration(0)
		for i := range n {
			gaps[i], good[i] = d.ms(1, pace, "gap"), i >= from && !d.rare(flaw, "bad")
			total += gaps[i]
		}
		spec, tr := recovery(gaps, good, max(total-d.ms(0, 400, "cut"), 50*ms))
		stretch := d.ms(100, 700, "for")
		const share = 0.9
		at, unclear := heldFrom(tr, share, stretch)
		limit := d.ms(0, 3000, "max")
		if at < time.Hour && d.rare(2, "near") {
			limit = max(at+d.ms(-15, 15, "off"), 0)
		}
		spec.Assertions = []assert.Assertion{{ID: "recovers", Phase: "recovery", Rule: assert.RecoveryTime{
			Breaker: "cb", Max: limit, Target: assert.Criterion{Subject: "primary", AtLeast: true, Share: share}, For: stretch,
		}}}
		v := assert.Evaluate(spec, tr).Verdicts[0]
		results[v.Result]++
		switch {
		case v.Result == assert.Pass && at > limit:
			rt.Fatalf("passes, but held from %v, limit %v: %s", at, limit, v.Observed)
		case v.Result == assert.Fail && min(at, unclear)+ms < limit:
			rt.Fatalf("fails, but held from %v, not clear from %v, limit %v: %s", at, unclear, limit, v.Observed)
		}
	})
	if results[assert.Pass] == 0 || results[assert.Fail] == 0 || results[assert.Inconclusive] == 0 {
		t.Errorf("%v: not every result was seen", results)
	}
}

// A stretch may begin between two calls and end before the next bad one: that it
// held there is not known by any call, and fails nobody.
func TestRecoveryBetweenTwoCalls(t *testing.T) {
	gaps, good := []time.Duration{ms}, []bool{false}
	for range 20 {
		gaps, good = append(gaps, 10*ms), append(good, true)
	}
	for i := range 60 {
		gap := 10 * ms
		if i == 0 {
			gap = 5 * ms
		}
		gaps, good = append(gaps, gap), append(good, false)
	}
	spec, tr := recovery(gaps, good, 700*ms)
	spec.Assertions = []assert.Assertion{{ID: "recovers", Phase: "recovery", Rule: assert.RecoveryTime{
		Breaker: "cb", Max: 5 * ms, Target: assert.Criterion{Subject: "primary", AtLeast: true, Share: 1}, For: 200 * ms,
	}}}
	if v := assert.Evaluate(spec, tr).Verdicts[0]; v.Result != assert.Inconclusive {
		t.Errorf("%s: %s; %s", v.Result, v.Observed, v.Reason)
	}
}
