package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/target/trace"
)

const application = `resilience4j:
  circuitbreaker:
    configs:
      shared:
        waitDurationInOpenState: 10s
        ignoreExceptions: java.io.IOException
    instances:
      payments:
        baseConfig: shared
        slidingWindowSize: 8
        minimumNumberOfCalls: 4
        permittedNumberOfCallsInHalfOpenState: 3
        automaticTransitionFromOpenToHalfOpenEnabled: true
  retry:
    instances:
      payments:
        maxAttempts: 2
        waitDuration: 20ms
        ignoreExceptions: io.github.resilience4j.circuitbreaker.CallNotPermittedException
  timelimiter:
    instances:
      payments:
        timeoutDuration: 2s
`

// declare reads a file.
func declare(t *testing.T, text string, scale float64) Declared {
	t.Helper()
	f, err := resilience4j.Read("application.yml", []byte(text), resilience4j.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Declare(f, "payments", scale)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeclare(t *testing.T) {
	d := declare(t, application, 0.1)
	if d.Breaker.Wait != time.Second || d.Breaker.Window != 8 || d.Retry == nil || d.Retry.MaxAttempts != 2 || !d.FinalRefusal || d.Inside {
		t.Errorf("%+v %+v", d.System, d.Retry)
	}
	got := map[Param]string{}
	for _, p := range []Param{Window, Wait, Permitted, FailureRate, Attempts} {
		got[p] = d.Origins[p]
	}
	want := map[Param]string{
		Window: "application.yml:10:28", Wait: "config shared, application.yml:5:34", Permitted: "application.yml:12:48",
		FailureRate: "library default", Attempts: "application.yml:17:22",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var beside []string
	for _, b := range d.Beside {
		beside = append(beside, b.Key)
	}
	for _, key := range []string{"ignoreExceptions", "automaticTransitionFromOpenToHalfOpenEnabled", "retry.ignoreExceptions", "timelimiter.timeoutDuration"} {
		if !slices.Contains(beside, key) {
			t.Errorf("%s is not among what is not told: %v", key, beside)
		}
	}
}

// TestOrderOfAspects has the breaker around the retry.
func TestOrderOfAspects(t *testing.T) {
	d := declare(t, strings.Replace(application, "  retry:\n", "  retry:\n    retryAspectOrder: 2147483646\n", 1), 1)
	if !d.Inside {
		t.Error("the breaker is not around the retry")
	}
	_, r := verified(t, d, d.System)
	if r.Difference != nil {
		t.Errorf("%+v", r.Difference)
	}
	outside := d.System
	outside.Inside = false
	if _, r = verified(t, d, outside); r.Difference == nil || !slices.Contains(r.Difference.Explained, "retryAspectOrder: the retry around the breaker") {
		t.Errorf("%+v", r.Difference)
	}
}

// TestPlansAreExperiments writes a plan and reads it again.
func TestPlansAreExperiments(t *testing.T) {
	for i := range 20 {
		p, err := Derive("random", Declared{System: random(i)}, service(), i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := experiments.MarshalPlan(p.Plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := experiments.LoadPlan("plan.yaml", text, 1)
		if err != nil && strings.Contains(err.Error(), ".hold.max: ") && strings.Count(err.Error(), "\n") == 0 {
			continue // Probes that fail may be held for longer than run has them in general: that they are slow changes nothing.
		}
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if diff := cmp.Diff(p.Plan.Phases, again.Phases); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}

// TestServiceThatRan verifies one of which nothing is known at first.
func TestServiceThatRan(t *testing.T) {
	for i := range 8 {
		s, sv := random(i), service()
		p, err := Derive("ran", Declared{System: s}, sv, false)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := predict.Play(Reference(p.Plan, s), mutant.Mutant{}, own)
		if err != nil {
			t.Fatal(err)
		}
		seen.Marks = slices.DeleteFunc(seen.Marks, func(m trace.Mark) bool { return m.Kind == trace.MarkLaunch })
		r := p.Judge(seen)
		if r.Failed() || !r.Decided() {
			t.Errorf("%d: %+v %s %+v", i, r.Difference, r.Reason, r.Rows)
		}
	}
}

// TestStrangersAreNotExplained has services that no configuration makes.
func TestStrangersAreNotExplained(t *testing.T) {
	s, sv := random(0), service()
	s.Breaker.WindowType, s.Breaker.Window, s.Breaker.MinimumCalls, s.Breaker.Permitted = 0, 10, 10, 3
	p, err := Derive("stranger", Declared{System: s}, sv, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutant.All() {
		if m.Name != "leak" && m.Name != "no_breaker" && m.Name != "never_closes" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			seen, err := predict.Play(Reference(p.Plan, s), m, own)
			if err != nil {
				t.Fatal(err)
			}
			r := p.Judge(seen)
			if !r.Failed() {
				t.Fatalf("it passes: %+v", r.Rows)
			}
			t.Logf("%s: %s %v", r.Difference.Sequence, r.Difference.Says, r.Difference.Explained)
		})
	}
}

// TestCachesAreNoBreakers has something else answer one call.
func TestCachesAreNoBreakers(t *testing.T) {
	s, sv := random(0), service()
	p, err := Derive("cached", Declared{System: s}, sv, true)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := predict.Play(Reference(p.Plan, s), mutant.Mutant{}, own)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(seen.Attempts, func(a trace.Attempt) bool { return a.Phase == "closed-2" && a.Status == 200 })
	seen.Attempts = slices.Delete(seen.Attempts, i, i+1)
	if r := p.Judge(seen); r.Failed() || r.Decided() || !strings.Contains(r.Reason, "cache") {
		t.Errorf("%+v %s", r.Difference, r.Reason)
	}
}
