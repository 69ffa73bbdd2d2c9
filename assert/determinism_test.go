package assert_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// written is a value as it is stored.
func written(t *rapid.T, v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

// Judging twice gives the same report, the trace is left as it was, and the order
// in which records are stored does not matter.
func TestReportDependsOnTheTraceAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, as := drawn{rt}.experiment()
		r := simulate(s)
		r.spec.Assertions = as
		before := written(rt, r.trace)
		first := written(rt, assert.Evaluate(r.spec, r.trace))
		if before != written(rt, r.trace) {
			rt.Fatal("judging changed the trace")
		}
		if diff := cmp.Diff(first, written(rt, assert.Evaluate(r.spec, r.trace))); diff != "" {
			rt.Fatalf("the second report differs (-first +second):\n%s", diff)
		}
		rng := rand.New(rand.NewPCG(s.Seed, 5))
		shuffle(rng, r.trace.Phases)
		shuffle(rng, r.trace.Calls)
		shuffle(rng, r.trace.Attempts)
		shuffle(rng, r.trace.Marks)
		if diff := cmp.Diff(first, written(rt, assert.Evaluate(r.spec, r.trace))); diff != "" {
			rt.Fatalf("shuffled records give another report (-sorted +shuffled):\n%s", diff)
		}
	})
}

// In a lockstep every outcome is recorded before the next one comes, so the
// bounds on the sliding window must meet in what the reference does.
func TestBoundsMeetTheReferenceInALockstep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		s := plain()
		s.Breaker = breakerref.Default()
		s.Breaker.Window = d.int(1, 20, "window")
		s.Breaker.MinimumCalls = d.int(1, 25, "minimum")
		s.Breaker.FailureRate = float32(d.int(1, 100, "rate"))
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("X.")), 1, 80, -1).Draw(rt, "pattern")
		s.Phases = []phase{{Name: "script", Calls: len(pattern) + 10, Workers: 1, Gap: ms, Faults: unavailable(func(r *fault.Rule) {
			r.Select = fault.Select{Kind: fault.SelectScript, Pattern: pattern}
		})}}
		r := simulate(s)
		if len(r.truth) == 0 || r.truth[0].recorded > len(pattern)+7 {
			return // three rejections are needed to see it
		}
		at := r.truth[0].recorded
		for n, want := range map[int]assert.Result{at: assert.Pass, at + 1: assert.Inconclusive} {
			r.spec.Assertions = []assert.Assertion{{ID: "trips", Phase: "script", Rule: assert.Opens{Breaker: "cb", AtCall: n}}}
			rep := assert.Evaluate(r.spec, r.trace)
			if v := rep.Verdicts[0]; v.Result != want {
				rt.Fatalf("opened at %d, asked for %d: %s, want %s\n%s", at, n, v.Result, want, describe(r, rep))
			}
		}
	})
}

// many is a trace of about so many spans: phases in which all is well take turns
// with outages.
func many(spans int, outage []fault.Rule) (assert.Spec, *trace.Trace) {
	s := plain()
	s.Breaker.Wait = 300 * ms
	s.Phases = nil
	d := time.Duration(spans/5) * time.Second / 20_000
	for i := range 5 {
		s.Phases = append(s.Phases,
			phase{Name: fmt.Sprintf("well%d", i), Duration: d, Rate: 10_000},
			phase{Name: fmt.Sprintf("outage%d", i), Duration: d / 2, Rate: 10_000, Faults: outage})
	}
	r := simulate(s)
	return asked(s, r), r.trace
}

// leaking is such a trace of a breaker that lets every tenth call through while
// open.
func leaking(spans int) (assert.Spec, *trace.Trace) {
	s := plain()
	s.Make = leaky("", 10).make
	s.Phases = []phase{
		{Name: "trip", Calls: 20, Workers: 1, Gap: 5 * ms, Until: true, Faults: unavailable()},
		{Name: "outage", Duration: time.Duration(spans) * time.Second / 11_000, Rate: 10_000, Faults: unavailable()},
	}
	r := simulate(s)
	return asked(s, r), r.trace
}

// asked asks every rule of some phases.
func asked(s setup, r result) assert.Spec {
	spec := r.spec
	for _, p := range s.Phases[:2] {
		for _, a := range goodRules(s) {
			a.ID, a.Phase = a.ID+" "+p.Name, p.Name
			spec.Assertions = append(spec.Assertions, a)
		}
	}
	return spec
}

// dozen is 12 assertions of every kind of cost about a million spans: half of them
// calls, and half attempts.
func dozen() (assert.Spec, *trace.Trace) {
	s := plain()
	s.Breaker.Wait = 300 * ms
	s.Phases = []phase{
		{Name: "baseline", Duration: 20 * time.Second, Rate: 10_000},
		{Name: "outage", Duration: 2 * time.Second, Rate: 10_000, Faults: unavailable(slowly(20 * ms))},
		{Name: "recovery", Duration: 30 * time.Second, Rate: 10_000},
	}
	r := simulate(s)
	share := func(subject string, at float64) assert.Share {
		return assert.Share{Subject: subject, Breaker: "cb", Min: &at}
	}
	for _, a := range []assert.Assertion{
		{Phase: "outage", Rule: assert.Opens{Breaker: "cb", Within: time.Second}},
		{Phase: "outage", Rule: assert.Leak{Breaker: "cb"}},
		{Phase: "outage", Rule: assert.OpenDuration{Breaker: "cb", Equals: 300 * ms, Tolerance: 0.1}},
		{Phase: "recovery", Rule: assert.Closes{Breaker: "cb", Within: 2 * time.Second}},
		{Phase: "baseline", Rule: assert.StaysClosed{Breaker: "cb"}},
		{Phase: "outage", Rule: assert.FallbackShare{Breaker: "cb", Min: new(0.9), Of: []assert.CallSet{assert.SetShort, assert.SetFailed}}},
		{Phase: "baseline", Rule: share("primary", 0.99)},
		{Phase: "outage", Rule: share("short", 0.5)},
		{Phase: "recovery", Rule: p99("all", time.Second)},
		{Phase: "recovery", Rule: assert.RecoveryTime{Breaker: "cb", Max: 2 * time.Second, Target: healthy[0], For: 3 * time.Second}},
		{Phase: "recovery", Rule: assert.DownstreamCalls{Injector: "payments", Breaker: "cb", When: assert.StateClosed, Min: new(1)}},
		{Phase: "baseline", Rule: assert.AbandonedAfter{Injector: "payments", Equals: time.Second, Tolerance: 0.1}},
	} {
		a.ID = fmt.Sprint(len(r.spec.Assertions))
		r.spec.Assertions = append(r.spec.Assertions, a)
	}
	return r.spec, r.trace
}

func BenchmarkEvaluate(b *testing.B) {
	for name, make := range map[string]func() (assert.Spec, *trace.Trace){
		"outages": func() (assert.Spec, *trace.Trace) { return many(1_000_000, unavailable(slowly(20*ms))) },
		"ratio":   func() (assert.Spec, *trace.Trace) { return many(1_000_000, unavailable(ratio(45))) },
		"dozen":   dozen,
		"leaks":   func() (assert.Spec, *trace.Trace) { return leaking(1_000_000) },
	} {
		b.Run(name, func(b *testing.B) {
			spec, tr := make()
			for b.Loop() {
				assert.Evaluate(spec, tr)
			}
			b.ReportMetric(float64(len(tr.Calls)+len(tr.Attempts)), "spans")
		})
	}
}
