package predict_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// carriedOut carries an experiment out in virtual time and returns its trace.
func carriedOut(t *testing.T, plan *experiments.Plan) *trace.Trace {
	t.Helper()
	var out *trace.Trace
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		res, err := run.Run(t.Context(), plan, run.Options{Tool: "test", Listen: n.Listen, Dial: n.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		out = res.Trace
	})
	return out
}

// What is said of an assertion is what a real run of a right service comes to.
func TestAgreesWithTheRun(t *testing.T) {
	for name, swaps := range map[string][]string{
		"as it is":                       nil,
		"rate too low for the tolerance": {"rate: 200/s", "rate: 15/s"},
		"phase shorter than the wait":    {"duration: 1s", "duration: 300ms"},
		"no hold under the probes":       {"hold: { max: 200ms }, ", ""},
		"too few calls for a share":      {"duration: 400ms }", "duration: 50ms }"},
		"two at a time":                  {"load: { calls: 30, gap: 5ms, until: open }\n    faults: [{ script", "load: { calls: 30, concurrency: 2, gap: 5ms, until: open }\n    faults: [{ script"},
		"four probes of three":           {"exactly: 3", "exactly: 4"},
		"waits for something else":       {"equals: 400ms", "equals: 600ms"},
		"hangs":                          {"duration: 1s\n    faults: [{ respond: { status: 503 } }]", "duration: 3s\n    faults: [{ hang: true }]"},
		"counts alone":                   {"\nload:", "\ncorrelate: { order: [aggregate] }\nload:"},
		"resets":                         {"duration: 1s\n    faults: [{ respond: { status: 503 } }]", "duration: 1s\n    faults: [{ reset: true }]"},
		"retries, a pool, a bulkhead":    {"    timeout: 1s\n", "    timeout: 1s\n    retry: { attempts: 2, wait: 3ms }\n    pool: 8\n    bulkhead: 30\n    workers: 60\n", "\n  payments: { window", "\n  payments: { unit: attempt, window"},
	} {
		t.Run(name, func(t *testing.T) {
			src := quickstart(t, swaps...)
			f := forecast(t, src)
			plan := load(t, src)
			ran := carriedOut(t, plan)
			arrivals := map[string]int{}
			for _, a := range ran.Attempts {
				arrivals[a.Phase]++
			}
			for i, p := range f.Phases {
				if got := ran.Phases[i].Sent; got < p.Requests.Least-1 || got > p.Requests.Most+1 {
					t.Errorf("%d calls were sent in phase %s, the forecast was %s", got, p.Name, p.Requests)
				}
				for _, n := range p.Attempts {
					if got := arrivals[p.Name]; got < n.N.Least-1 || got > n.N.Most+1 {
						t.Errorf("%d attempts arrived in phase %s, the forecast was %s", got, p.Name, n.N)
					}
				}
			}
			for _, v := range assert.Evaluate(plan.Spec(), ran).Verdicts {
				a := about(t, f, v.ID)
				want := map[predict.Can][]assert.Result{
					predict.CanDecide:      {assert.Pass},
					predict.WouldNotNotice: {assert.Pass},
					predict.Contradicts:    {assert.Fail},
					// The real run may have had good luck, but no bad one.
					predict.CannotDecide: {assert.Inconclusive, assert.Skipped, assert.Pass},
				}[a.Can]
				ok := false
				for _, w := range want {
					ok = ok || v.Result == w
				}
				if !ok {
					t.Errorf("%s: forecast %q (%s), run %s: %s, %s", v.ID, a.Can, a.Reason, v.Result, v.Observed, v.Reason)
				}
				if a.Can == predict.CannotDecide && v.Result == assert.Pass {
					t.Logf("%s passed by luck: %s", v.ID, a.Reason)
				}
			}
		})
	}
}

// shapes sends every shape of load to two targets.
const shapes = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: shapes }
sut:
  reference:
    breaker: { window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3 }
    routes: [{ path: /browse*, respond: { status: 200, body: shelf } }]
injectors: { payments: { stub: { status: 200, latency: 3ms } } }
load:
  rate: 50/s
  timeout: 1s
  targets:
    - { name: checkout, method: POST, path: /checkout, weight: 3, depends_on: [payments] }
    - { name: browse, path: "/browse/1?q=2", weight: 1, depends_on: [] }
breakers: { payments: { window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: constant, duration: 2s }
  - { name: random, duration: 2s, load: { rate: 40/s, arrivals: poisson } }
  - { name: rest, pause: 300ms }
  - { name: ramp, duration: 2s, load: { ramp: { from: 0/s, to: 100/s } } }
  - { name: steps, load: { steps: [{ rate: 10/s, for: 1s }, { rate: 50/s, for: 1s }] } }
  - { name: burst, duration: 1500ms, load: { burst: { calls: 20, every: 500ms } } }
  - { name: clients, duration: 2s, load: { clients: 10, think: { uniform: [50ms, 150ms] } } }
  - { name: calls, load: { calls: 40, concurrency: 4, gap: 2ms } }
assert:
  - { id: well, error.share: { max: 0% }, phase: constant }
`

// What will be sent is what is sent, to a call, wherever the clock decides; a closed
// loop follows the service's time, which is supposed.
func TestSendsWhatTheRunSends(t *testing.T) {
	f := forecast(t, shapes)
	got := carriedOut(t, load(t, shapes))
	type key struct{ phase, target string }
	sent := map[key]int{}
	for _, c := range got.Calls {
		sent[key{c.Phase, c.Target}]++
	}
	want := map[key]int{}
	for _, p := range f.Phases {
		for _, n := range p.Targets {
			k := key{p.Name, n.Name}
			want[k] = n.N.Least
			if p.Name == "clients" && sent[k] >= n.N.Least*8/10 && sent[k] <= n.N.Most*12/10 {
				want[k] = sent[k]
			}
		}
	}
	want[key{"(probe)", "checkout"}] = f.Probes
	if diff := cmp.Diff(sent, want); diff != "" {
		t.Errorf("sent by the run (-) and the forecast (+):\n%s", diff)
	}
	for i, p := range got.Phases {
		if q := f.Phases[i]; p.OpenLoop && (q.Lasts.Least != p.To-p.From || q.Lasts.Most != q.Lasts.Least) {
			t.Errorf("phase %s took %s, the forecast was %s", p.Name, p.To-p.From, q.Lasts)
		}
	}
}

// A service that is wrong in what an assertion is said to notice fails it.
func TestNoticesWhatItSays(t *testing.T) {
	const fallback = "    fallback: { status: 200, body: '{\"state\":\"QUEUED\"}' }\n"
	for says, c := range map[string]struct{ id, from, to string }{
		"lets 4 probes through":                  {"three-probes", "permitted_calls: 3", "permitted_calls: 4"},
		"lets 2 probes through":                  {"three-probes", "permitted_calls: 3", "permitted_calls: 2"},
		"waits 520ms instead of 400ms":           {"waits-400ms", "wait: 400ms", "wait: 520ms"},
		"waits 280ms instead of 400ms":           {"waits-400ms", "wait: 400ms", "wait: 280ms"},
		"has no fallback":                        {"fallback", fallback, ""},
		"never closes again":                     {"closes", fallback, fallback + "    defect: never_closes\n"},
		"lets every tenth call through":          {"no-leak", fallback, fallback + "    defect: leak\n"},
		"takes 100ms longer to answer":           {"fail-fast", fallback, fallback + "    defect: slow_reject\n"},
		"answers every call with class fallback": {"honest", fallback, fallback + "    defect: fallback_always\n"},
	} {
		t.Run(says, func(t *testing.T) {
			if a := about(t, forecast(t, quickstart(t)), c.id); !strings.Contains(a.Notices, says) {
				t.Errorf("%s is said to notice a service that %s", c.id, a.Notices)
			}
			plan := load(t, quickstart(t, c.from, c.to)) // The service comes first in the file.
			for _, v := range assert.Evaluate(plan.Spec(), carriedOut(t, plan)).Verdicts {
				if v.ID == c.id && v.Result != assert.Fail {
					t.Errorf("%s is %s: %s, %s", v.ID, v.Result, v.Observed, v.Reason)
				}
			}
		})
	}
}
