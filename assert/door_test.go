package assert_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// doors are the faults of all who connect.
func doors() []fault.Action {
	return slices.DeleteFunc(fault.Actions(), func(a fault.Action) bool { return !a.Door() })
}

// behind is the run of a good experiment whose outage is a shut door.
func behind(a fault.Action) setup {
	s := plain()
	s.Phases = []phase{
		{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Until: true, Faults: unavailable()},
		{Name: "heal", Duration: 4 * time.Second, Rate: 100},
		// It ends while the breaker is open: after its first wait, where calls fail at once,
		// within it, where they take as long as the service is patient.
		{Name: "outage", Duration: 3 * time.Second, Rate: 100, Faults: shutting(a)},
		{Name: "recovery", Duration: 8 * time.Second, Rate: 100},
		{Name: "again", Calls: 20, Workers: 1, Gap: 5 * ms, Until: true, Faults: unavailable()},
	}
	return s
}

// doorRules are asked of such a run, with what is known of a right service.
func doorRules() ([]assert.Assertion, map[string]assert.Result) {
	type row struct {
		phase string
		rule  assert.Rule
		want  assert.Result
	}
	both := []assert.CallSet{assert.SetShort, assert.SetFailed}
	recovers := assert.RecoveryTime{Breaker: "cb", Max: 5 * time.Second, Target: assert.Criterion{Subject: "primary", AtLeast: true, Share: 0.95}, For: time.Second}
	rows := map[string]row{
		"opens":           {"outage", assert.Opens{Breaker: "cb"}, assert.Pass},
		"opens-within":    {"outage", assert.Opens{Breaker: "cb", Within: 4 * time.Second}, assert.Pass},
		"fallback":        {"outage", assert.FallbackShare{Breaker: "cb", Min: new(1.0), Of: both}, assert.Pass},
		"fallback-all":    {"outage", assert.FallbackShare{Breaker: "cb", Min: new(0.9), Of: []assert.CallSet{assert.SetAll}}, assert.Pass},
		"errors":          {"outage", assert.Share{Subject: assert.SubjectError, Max: new(0.0)}, assert.Pass},
		"answers":         {"outage", assert.Latency{Subject: assert.SubjectAll, Bounds: []assert.QuantileBound{{Quantile: 1, Max: 3 * time.Second}}}, assert.Pass},
		"closes":          {"recovery", assert.Closes{Breaker: "cb"}, assert.Pass},
		"recovers":        {"recovery", recovers, assert.Pass},
		"trips":           {"trip", assert.Opens{Breaker: "cb", AtCall: 10}, assert.Pass},
		"trips-again":     {"again", assert.Opens{Breaker: "cb", AtCall: 5}, assert.Pass}, // The window is full of what recovered.
		"opens-at-10":     {"outage", assert.Opens{Breaker: "cb", AtCall: 10}, assert.Inconclusive},
		"opens-soon":      {"outage", assert.Opens{Breaker: "cb", Within: time.Second}, assert.Inconclusive},
		"stays":           {"outage", assert.StaysClosed{Breaker: "cb"}, assert.Inconclusive},
		"no-leak":         {"outage", assert.Leak{Breaker: "cb"}, assert.Inconclusive},
		"waits":           {"outage", assert.OpenDuration{Breaker: "cb", Equals: 2 * time.Second, Tolerance: 0.05}, assert.Inconclusive},
		"probes":          {"outage", assert.HalfOpenProbes{Breaker: "cb", Exactly: 3}, assert.Inconclusive},
		"reopens":         {"outage", assert.ReopensOnFailedProbe{Breaker: "cb"}, assert.Inconclusive},
		"fail-fast":       {"outage", assert.ShortLatency{Breaker: "cb", Bounds: []assert.QuantileBound{{Quantile: 0.99, Max: time.Second}}}, assert.Inconclusive},
		"fallback-short":  {"outage", assert.FallbackShare{Breaker: "cb", Min: new(1.0), Of: both[:1]}, assert.Inconclusive},
		"short":           {"outage", assert.Share{Subject: assert.SubjectShort, Breaker: "cb", Min: new(0.5)}, assert.Inconclusive},
		"no-short":        {"outage", assert.Share{Subject: assert.SubjectShort, Breaker: "cb", Max: new(0.2)}, assert.Inconclusive},
		"calls":           {"outage", assert.DownstreamCalls{Injector: "payments", Max: new(100)}, assert.Inconclusive},
		"calls-open":      {"outage", assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateOpen, Max: new(0)}, assert.Inconclusive},
		"probes-recovery": {"recovery", assert.HalfOpenProbes{Breaker: "cb", Exactly: 3}, assert.Inconclusive},
	}
	var as []assert.Assertion
	want := map[string]assert.Result{}
	for id, r := range rows {
		as = append(as, assert.Assertion{ID: id, Phase: r.phase, Rule: r.rule})
		want[id] = r.want
	}
	return as, want
}

// TestDoorOfARightService shows what can be judged of a phase whose door is shut.
func TestDoorOfARightService(t *testing.T) {
	for _, a := range doors() {
		t.Run(string(a), func(t *testing.T) {
			for seed := range seeds() {
				s := behind(a)
				s.Seed = seed
				as, want := doorRules()
				r, rep := judged(s, as)
				for _, v := range rep.Verdicts {
					if v.Result != want[v.ID] {
						t.Errorf("seed %d: %s is %s, want %s: %s; %s\n%s", seed, v.ID, v.Result, want[v.ID], v.Observed, v.Reason, describe(r, rep))
					}
				}
			}
		})
	}
}

// absent is a service without a breaker.
type absent struct{}

func (absent) Acquire(time.Time) bool                { return true }
func (absent) Record(time.Time, bool, time.Duration) {}
func (absent) State() breakerref.State               { return breakerref.Closed }

// A service without a breaker that meets a shut door fails fast, and its answers look like
// those of one whose breaker is open. Nothing that speaks of rejected calls, or of an open
// breaker, passes; nor does anything else of the breaker.
func TestDoorWithoutABreaker(t *testing.T) {
	for _, a := range doors() {
		for seed := range seeds() {
			s := behind(a)
			s.Seed, s.Make = seed, func(breakerref.Config, time.Time) breaker { return absent{} }
			as, want := doorRules()
			r, rep := judged(s, as)
			mayPass := []string{"fallback", "fallback-all", "errors", "answers", "recovers"}
			if a == fault.ActionDeaf {
				mayPass = append(mayPass, "no-short") // What waited is read when the door opens: it was let through.
			}
			for _, v := range rep.Verdicts {
				if v.Phase != "trip" && v.Phase != "again" && v.Result == assert.Pass && !slices.Contains(mayPass, v.ID) {
					t.Errorf("%s, seed %d: %s passes: %s (wanted of a right one: %s)\n%s", a, seed, v.ID, v.Observed, want[v.ID], describe(r, rep))
				}
				if v.Phase == "outage" && v.Result == assert.Fail && a != fault.ActionDeaf {
					t.Errorf("%s, seed %d: %s fails, and nobody saw that: %s; %s", a, seed, v.ID, v.Observed, v.Reason)
				}
			}
		}
	}
}

// A trace that does not say when the door was shut proves nothing but what clients got.
func TestDoorWithoutMarks(t *testing.T) {
	as, _ := doorRules()
	r := simulate(behind(fault.ActionRefuse))
	r.trace.Marks = slices.DeleteFunc(r.trace.Marks, func(m trace.Mark) bool {
		return m.Kind == trace.MarkDoorShut || m.Kind == trace.MarkDoorOpen
	})
	r.spec.Assertions = as
	for _, v := range assert.Evaluate(r.spec, r.trace).Verdicts {
		client := v.ID == "errors" || v.ID == "answers"
		if v.Phase == "outage" && !client && v.Result != assert.Inconclusive && v.Result != assert.Skipped {
			t.Errorf("%s is %s: %s", v.ID, v.Result, v.Observed)
		}
	}
}

// A forbidden fallback is seen behind a shut door, and so is that none came though it would
// have been needed.
func TestDoorForbidsTheFallback(t *testing.T) {
	for wrong, want := range map[bool]assert.Result{false: assert.Pass, true: assert.Fail} {
		s := behind(fault.ActionRefuse)
		s.Pay, s.FallsBack = 4, wrong
		_, rep := judged(s, []assert.Assertion{{ID: "honest", Phase: "outage", Rule: assert.FallbackForbidden{Routes: []string{"/pay*"}}}})
		if v := verdict(rep, "honest"); v.Result != want {
			t.Errorf("falls back: %t, is %s, want %s: %s; %s", wrong, v.Result, want, v.Observed, v.Reason)
		}
	}
}

// Shut doors among whatever else may happen: a right service never fails.
func TestDoorsNeverFail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		s, _ := d.experiment()
		for i, p := range s.Phases {
			if len(p.Faults) > 0 && p.Workers == 0 {
				s.Phases[i].Faults = shutting(rapid.SampledFrom(doors()).Draw(rt, "door"))
			}
		}
		s.Undeclared = false
		r, rep := judged(s, everything(s))
		if bad := wronged(s, r, rep); len(bad) > 0 {
			rt.Fatalf("%v\n%+v\n%s", bad, s, describe(r, rep))
		}
	})
}
