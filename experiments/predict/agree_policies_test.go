package predict_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/target/trace"
)

// around is an experiment whose service has something around its breaker: PART.
const around = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: around }
sut:
  reference:
    timeout: 1s
    PART
injectors: { payments: { stub: { status: 200, latency: 20ms } } }
load:
  timeout: PATIENCE
  max_in_flight: 500
  targets:
    - { name: a, path: "/a", headers: { X-Tenant: a } }
    - { name: b, method: POST, path: "/b", headers: { X-Tenant: b } }
  classify:
    cached: { header: { X-Faultline-Source: cache } }
    limited: { status: 429 }
    primary: { status: 200 }
breakers: { payments: { DECLARED } }
phases:
  - { name: well, LOAD }
  - { name: rest, pause: 2s }
  - { name: fails, LOAD, faults: [{ FAULT }] }
  - { name: rest-too, pause: 2s }
  - { name: again, LOAD }
assert:
  - { id: any, error.share: { min: 0% }, phase: well }
`

const (
	never  = "window: 1000, minimum_calls: 1000, wait: 1s"
	opens  = "window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3"
	fails  = "respond: { status: 500 }"
	slowly = "latency: { fixed: 400ms }"
	one    = "load: { calls: 40, gap: 5ms }"
	steady = "duration: 2s, load: { rate: 100/s }"
	crowd  = "duration: 1s, load: { burst: { calls: 30, every: 250ms } }"
)

// tally is what came of the calls of a phase.
type tally struct {
	calls, arrived map[string]int // by what is told of them
	took           time.Duration  // from first to last
}

// tallied counts them; each tells targets apart, which it is up to the moment to do where
// calls compete.
func tallied(tr *trace.Trace, each bool) map[string]tally {
	of := func(name string) string {
		if each {
			return name
		}
		return "any"
	}

	all := map[string]tally{}
	for _, p := range tr.Phases {
		all[p.Name] = tally{map[string]int{}, map[string]int{}, p.To - p.From}
	}
	for _, c := range tr.Calls {
		if t, ok := all[c.Phase]; ok {
			t.calls[fmt.Sprintf("%s %d %s %s", of(c.Target), c.Status, c.Class, c.Err)]++
		}
	}
	for _, a := range tr.Attempts {
		if t, ok := all[a.Phase]; ok {
			word := string(a.Outcome)
			if a.Abandon != trace.None {
				word = "abandoned"
			}
			t.arrived[fmt.Sprintf("%s %s %d", of(a.Path), word, a.Status)]++
		}
	}
	return all
}

// apart lists where two counts are further apart than chance of the moment makes them.
func apart(foreseen, ran map[string]int, spare int) (out []string) {
	for key := range ran {
		if _, ok := foreseen[key]; !ok {
			foreseen[key] = 0
		}
	}
	for key, n := range foreseen {
		if d := n - ran[key]; d > spare || d < -spare {
			out = append(out, fmt.Sprintf("%s: foreseen %d, ran %d", key, n, ran[key]))
		}
	}
	return out
}

// What is foreseen of a service with policies is what a run of it comes to.
func TestPoliciesAgreeWithTheRun(t *testing.T) {
	patience := map[string]string{"clients that leave": "200ms", "clients that leave, and the call with them": "200ms", "clients that leave amid retries": "200ms"}
	for name, c := range map[string]struct {
		part, declared, fault, load string
		spare                       int
	}{
		"retry with waits":            {"retry: { attempts: 3, wait: { first: 10ms, factor: 2, max: 30ms, jitter: 50% } }", never, fails, one, 0},
		"retry of refusals":           {"retry: { attempts: 3, wait: 30ms, on: [5xx, open] }", opens, fails, one, 0},
		"retry but not of refusals":   {"retry: { attempts: 3, wait: 30ms }", opens, fails, one, 0},
		"retry of gets":               {"retry: { attempts: 3, methods: [GET] }", never, fails, one, 0},
		"retry of some":               {"retry: { attempts: 3, on: [502, timeout] }", never, fails, one, 0},
		"retry with a budget":         {"retry: { attempts: 3, wait: 5ms, budget: { ratio: 10%, min_per_second: 1 } }", never, fails, steady, 1},
		"retry when asked":            {"retry: { attempts: 2, wait: 5ms, retry_after: true }", never, "respond: { status: 503, retry_after: 1s }", "load: { calls: 5 }", 0},
		"retry when asked by a date":  {"retry: { attempts: 2, wait: 5ms, retry_after: true }", never, "respond: { status: 503, retry_after: { date: 3s } }", "load: { calls: 5 }", 0},
		"retry inside of the breaker": {"retry: { attempts: 3 }\n    order: [breaker, retry]", opens, fails, one, 0},
		"token bucket":                {"rate_limiter: { kind: token_bucket, limit: 50, burst: 10 }", never, fails, steady, 2},
		"token bucket by tenant":      {"rate_limiter: { kind: token_bucket, limit: 20, burst: 5, by: x-tenant }", never, fails, steady, 2},
		"gcra at the door":            {"rate_limiter: { kind: gcra, limit: 20, burst: 12 }\n    order: [rate_limiter, breaker]", never, fails, crowd, 2},
		"fixed window":                {"rate_limiter: { kind: fixed_window, limit: 20, align: first_call }", never, fails, crowd, 0},
		"fixed window of the clock":   {"rate_limiter: { kind: fixed_window, limit: 20, period: 500ms }", never, fails, steady, 3},
		"sliding log":                 {"rate_limiter: { kind: sliding_log, limit: 20, period: 600ms }", never, fails, crowd, 0},
		"sliding counter":             {"rate_limiter: { kind: sliding_counter, limit: 40 }", never, fails, steady, 3},
		"resilience4j's limiter":      {"rate_limiter: { kind: resilience4j, limit: 20, wait: 300ms }", never, fails, crowd, 3},
		"refusals that fail":          {"rate_limiter: { kind: sliding_log, limit: 12 }\n    rejections_fail: true", opens, fails, one, 0},
		"retry of what is limited":    {"rate_limiter: { kind: sliding_log, limit: 25, period: 300ms }\n    retry: { attempts: 2, wait: 350ms, on: limited }", never, fails, "load: { calls: 60, concurrency: 30 }", 3},
		"bulkhead":                    {"bulkhead: 7", never, slowly, crowd, 0},
		"bulkhead with a queue":       {"bulkhead: { max: 7, wait: 50ms }", never, slowly, crowd, 0},
		"threads":                     {"bulkhead: { max: 6, queue: 4, core: 2, keep_alive: 10ms }", never, slowly, crowd, 0},
		"threads without a queue":     {"bulkhead: { max: 6, queue: 0 }", never, slowly, crowd, 0},
		"time limit":                  {"time_limiter: 200ms", opens, slowly, one, 0},
		"time limit that cancels not": {"time_limiter: { timeout: 200ms, cancel: false }\n    bulkhead: 5", never, slowly, crowd, 0},
		"time limit of threads":       {"time_limiter: 200ms\n    bulkhead: { max: 3, queue: 20 }", never, slowly, steady, 2},
		"time limit around a retry":   {"time_limiter: 300ms\n    retry: { attempts: 4, wait: 100ms }\n    order: [breaker, time_limiter, retry]", never, fails, one, 0},
		"all of them": {"time_limiter: 300ms\n    retry: { attempts: 2, wait: 10ms }\n    bulkhead: { max: 5, wait: 100ms }\n    rate_limiter: { kind: sliding_log, limit: 25 }\n" +
			"    order: [rate_limiter, bulkhead, retry, breaker, time_limiter]", opens, slowly, "load: { calls: 40, concurrency: 8 }", 1},
		"clients that leave":                         {"pool: 500", opens, slowly, one, 0},
		"clients that leave, and the call with them": {"cancels: true", opens, slowly, one, 0},
		"clients that leave amid retries":            {"cancels: true\n    retry: { attempts: 3, wait: 150ms, on: [5xx] }", never, fails, one, 0},
		"cache":                                      {"cache: { answers: 10 }", opens, fails, one, 0},
		"cache of one":                               {"cache: { answers: 1 }", opens, fails, one, 0},
		"cache with an age":                          {"cache: { answers: 10, max_age: 3s }", never, fails, "load: { calls: 20, gap: 200ms }", 1},
		"gobreaker":                                  {"model: { preset: gobreaker, failures: 5, wait: 1s, permitted_calls: 2 }", "window: 5", fails, one, 0},
		"undeclared gobreaker":                       {"model: { preset: gobreaker, failures: 5, wait: 1s, permitted_calls: 2 }", "", fails, one, 0},
		"opossum":                                    {"model: { preset: opossum, wait: 1s }", "window: 10s", fails, one, 0},
		"cockatiel":                                  {"model: { preset: cockatiel-consecutive, wait: 1s }", "window: 5", fails, "load: { calls: 40, concurrency: 4 }", 1},
		"pybreaker":                                  {"model: pybreaker", "window: 5", fails, "load: { calls: 40, concurrency: 4 }", 0},
		"hystrix":                                    {"model: { preset: hystrix, wait: 1s }", "window: 10s", fails, one, 1},
		"failsafe":                                   {"model: { preset: failsafe-count, failures: 4, window: 8, wait: 1s }", "window: 8", fails, one, 0},
		"polly":                                      {"model: { preset: polly, minimum_calls: 10, failure_rate: 50%, wait: 1s }", "window: 30s", fails, one, 0},
		"smallrye":                                   {"model: { preset: smallrye, window: 8, wait: 1s }", "window: 8", fails, one, 0},
		"nginx":                                      {"model: { preset: nginx, wait: 1s }", "window: 1", fails, one, 0},
		"pgmux":                                      {"model: { preset: pgmux, wait: 1s }", "window: 10", fails, one, 0},
		"gobreaker with a retry around":              {"model: { preset: gobreaker, failures: 6, wait: 1s }\n    retry: { attempts: 3, wait: 20ms, on: [5xx, open] }", "window: 6", fails, one, 0},
	} {
		t.Run(name, func(t *testing.T) {
			part := c.part
			if !strings.Contains(part, "model:") {
				part += "\n    breaker: { " + c.declared + " }"
			}
			plan := load(t, strings.NewReplacer("PATIENCE", cmp.Or(patience[name], "4s"), "PART", part, "DECLARED", c.declared, "FAULT", c.fault, "LOAD", c.load).Replace(around))
			foreseen, err := predict.Play(plan, mutant.Mutant{}, time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			each := strings.Contains(c.part, "by:") || strings.Contains(c.part, "methods") || strings.Contains(c.part, "cache")
			want, got := tallied(foreseen, each), tallied(carriedOut(t, plan), each)
			for _, p := range plan.Phases {
				for _, problem := range append(apart(want[p.Name].calls, got[p.Name].calls, c.spare), apart(want[p.Name].arrived, got[p.Name].arrived, c.spare)...) {
					t.Errorf("%s: %s", p.Name, problem)
				}
				// Times that are foreseen are up to a tenth longer, and the service has one of its own.
				if off, most := want[p.Name].took-got[p.Name].took, 200*time.Millisecond+got[p.Name].took/10; off > most || off < -most {
					t.Errorf("%s: foreseen %s, ran %s", p.Name, want[p.Name].took, got[p.Name].took)
				}
			}
			if t.Failed() {
				t.Logf("ran %v", got)
			}
		})
	}
}
