package predict_test

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments/predict"
)

// limits has a bulkhead and a limiter before two dependencies, and asks all that can be asked of
// what they let through and of what others get meanwhile.
const limits = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: limits }
sut:
  reference:
    injector: payments
    breaker: { window: 100, minimum_calls: 100 }
    bulkhead: 10
    workers: 60
    routes:
      - path: /browse
        respond: { status: 200, body: shelf }
      - path: /search
        injector: search
        rate_limiter: { kind: token_bucket, limit: 50, burst: 10 }
        order: [rate_limiter, breaker]
injectors: { payments: { stub: { latency: 2ms } }, search: { stub: { latency: 1ms } } }
load:
  timeout: 2s
  rate: 200/s
  targets:
    - { name: checkout, path: /checkout, depends_on: [payments] }
    - { name: search, path: /search, depends_on: [search] }
    - { name: browse, path: /browse, depends_on: [] }
  classify: { primary: { status: 200 }, limited: { status: 429 } }
breakers:
  payments: { injector: payments, window: 100, minimum_calls: 100 }
  search: { injector: search, window: 100, minimum_calls: 100 }
phases:
  - { name: baseline, duration: 3s, load: { rate: 100/s } }
  - { name: press, duration: 4s, targets: [checkout, browse], faults: [{ injector: payments, latency: { fixed: 200ms } }] }
  - { name: flood, duration: 4s, targets: [search] }
assert:
  - { id: places, downstream.concurrency: { injector: payments, max: 10, reaches: true }, phase: press }
  - { id: unharmed, isolation: { targets: [browse], baseline: baseline, share: 2%, latency: { p95: 50ms } }, phase: press }
  - { id: limited, downstream.rate: { injector: search, window: 1s, max: 50, burst: 12, min: 45, rejected: { retry_after: true } }, phase: flood }
  - { id: objective, slo: { objective: 95%, good: [primary, limited], phases: [flood], burn: [{ long: 2s, short: 500ms, max: 5 }] }, targets: [browse, search], phase: baseline }
`

// twin is a wrong service, and the assertion that it fails.
type twin struct{ id, from, to, also string }

func twins() map[string]twin {
	return map[string]twin{
		"one place more":     {"places", "bulkhead: 10", "bulkhead: 11", ""},
		"one place less":     {"places", "bulkhead: 10", "bulkhead: 9", ""},
		"no bulkhead":        {"places", "bulkhead: 10\n    workers: 60", "workers: 60", ""},
		"workers are stuck":  {"unharmed", "bulkhead: 10\n    workers: 60", "workers: 12", "places"},
		"a limit twice that": {"limited", "limit: 50,", "limit: 100,", ""},
		"half of the limit":  {"limited", "limit: 50,", "limit: 25,", ""},
		"a burst too large":  {"limited", "burst: 10 }", "burst: 100 }", ""},
	}
}

// What a load asks for can be told before a run, and the run comes to the same.
func TestLimits(t *testing.T) {
	f := forecast(t, limits)
	if bad := undecided(f); len(bad) > 0 {
		t.Errorf("cannot be decided: %v", bad)
	}
	for _, a := range f.Assertions {
		if a.Notices == "" {
			t.Errorf("no wrong service was tried on %s", a.ID)
		}
	}
	plan := load(t, limits)
	for _, v := range assert.Evaluate(plan.Spec(), carriedOut(t, plan)).Verdicts {
		if v.Result != assert.Pass {
			t.Errorf("%s is %s: %s: %s", v.ID, v.Result, v.Observed, v.Reason)
		}
	}
	for name, w := range twins() {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(limits, w.from, w.to, 1)
			if src == limits {
				t.Fatalf("there is no %q", w.from)
			}
			if a := about(t, forecast(t, src), w.id); a.Can != predict.Contradicts {
				t.Errorf("the forecast of %s is that it %s: %s", a.ID, a.Can, a.Reason)
			}
			plan := load(t, src)
			for _, v := range assert.Evaluate(plan.Spec(), carriedOut(t, plan)).Verdicts {
				if fails := v.Result == assert.Fail; fails != (v.ID == w.id) && v.ID != w.also {
					t.Errorf("%s is %s: %s: %s", v.ID, v.Result, v.Observed, v.Reason)
				}
			}
		})
	}
}

// Loads that are too weak for what is asked are told, with what to do.
func TestWeakLimits(t *testing.T) {
	for name, c := range map[string]struct{ from, to, id, remedy string }{
		"too few at once":     {"latency: { fixed: 200ms }", "latency: { fixed: 50ms }", "places", "raise the rate"},
		"too quick":           {"latency: { fixed: 200ms }", "latency: { fixed: 10ms }", "places", "raise the rate"},
		"too few in a second": {"{ name: flood, duration: 4s,", "{ name: flood, duration: 4s, load: { rate: 60/s },", "limited", "send more than"},
		"too few to compare":  {"load: { rate: 100/s }", "load: { rate: 30/s }", "unharmed", "send more calls"},
		"nothing in trouble":  {", faults: [{ injector: payments, latency: { fixed: 200ms } }]", "", "unharmed", "give another dependency a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(limits, c.from, c.to, 1)
			a := about(t, forecast(t, src), c.id)
			if src == limits || a.Can != predict.CannotDecide || !strings.Contains(a.Remedy, c.remedy) {
				t.Errorf("%s %s: %s, to do %q; want it not to be decided, to do %q", a.ID, a.Can, a.Reason, a.Remedy, c.remedy)
			}
		})
	}
}

// What a service does not declare of itself is not predicted.
func TestUndeclaredLimits(t *testing.T) {
	f := forecast(t, `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: undeclared }
sut: { replicas: { a: "http://127.0.0.1:8081", b: "http://127.0.0.1:8082" } }
injectors: { payments: { listen: "127.0.0.1:9901", stub: {} } }
load: { rate: 200/s, targets: [{ name: pay, path: / }] }
breakers: { payments: { window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: baseline, duration: 2s }
  - { name: outage, duration: 4s, faults: [{ respond: { status: 503 } }] }
assert:
  - { id: apart, herd.sync: { max: 1, within: 100ms }, phase: outage }
  - { id: places, downstream.concurrency: { max: 10 }, phase: baseline }
  - { id: limited, downstream.rate: { window: 1s, max: 50 }, phase: baseline }
`)
	for _, a := range f.Assertions {
		if a.Can != predict.NotPredicted || a.Reason == "" {
			t.Errorf("%s %s: %s", a.ID, a.Can, a.Reason)
		}
	}
}
