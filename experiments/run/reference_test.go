package run_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// referenceExperiment is the one of the Spring service, with the reference
// service in its place: BREAKER and FALLBACK say how that is really built.
const referenceExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: reference }
sut:
  reference:
    injector: primary
    breaker: BREAKER
    FALLBACK
injectors:
  primary: { listen: 127.0.0.1:9901, stub: { status: 200, body: '{"source":"primary"}', latency: 2ms } }
load:
  rate: 100/s
  timeout: 5s
  targets: [ { name: search, path: /search, depends_on: [primary] } ]
  classify:
    primary: { status: 200, contains: '"primary"' }
    fallback: { status: 200, contains: '"secondary"' }
breakers:
  primary: { injector: primary, target: search, unit: attempt, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3, slow_calls: { rate: 80%, over: 500ms } }
phases:
  - { name: baseline, load: { calls: 25, concurrency: 1, gap: 5ms } }
  - name: warm-trip
    measure: false
    load: { calls: 15, concurrency: 1, gap: 5ms, until: open }
    faults: [ { injector: primary, respond: { status: 503 } } ]
  - { name: warm-rest, measure: false, duration: 2300ms, load: { rate: 0/s } }
  - name: warm-close
    measure: false
    load: { calls: 10, concurrency: 10 }
    faults: [ { injector: primary, latency: { fixed: 250ms } } ]
  - name: trip
    load: { calls: 20, concurrency: 1, gap: 5ms, until: open }
    faults: [ { injector: primary, MATCH respond: { status: 503 } } ]
  - { name: outage, duration: 7s, faults: [ { injector: primary, respond: { status: 503 }, latency: { fixed: 20ms } } ] }
  - name: probes
    duration: 6s
    load: { rate: 200/s }
    faults: [ { injector: primary, hold: { rejected: 10, max: 250ms }, respond: { status: 503 } } ]
  - { name: recovery, duration: 4s }
  - name: below
    load: { calls: 60, concurrency: 1, gap: 2ms }
    faults: [ { injector: primary, ratio: 40%, respond: { status: 503 } } ]
assert:
  - { id: honest, fallback.share: { max: 0% }, of: [all], phase: baseline }
  - { id: trips, breaker.opens: primary, phase: trip, at_call: 10 }
  - { id: no-leak, breaker.leak: primary, phase: outage, max: 0 }
  - { id: waits-2s, breaker.open_duration: primary, phase: outage, equals: 2s, tolerance: 5% }
  - { id: reopens, breaker.reopens_on_failed_probe: primary, phase: outage }
  - { id: fail-fast, short.latency: { p99: 100ms }, phase: outage }
  - { id: fallback, fallback.share: { min: 100% }, of: [short, failed], phase: outage }
  - { id: three-probes, breaker.half_open_probes: primary, phase: probes, exactly: 3 }
  - { id: not-stuck, breaker.never_stuck: primary, phase: recovery }
  - { id: closes, breaker.closes: primary, phase: recovery, within: 3s }
  - { id: stays-closed, breaker.stays_closed: primary, phase: below }
`

const (
	goodBreaker  = "{ window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3, slow_calls: { rate: 80%, over: 500ms } }"
	goodFallback = `fallback: { status: 200, body: '{"source":"secondary"}' }`
)

// build fills the reference experiment in.
func build(breaker, fallback, match string) string {
	return strings.NewReplacer("BREAKER", breaker, "FALLBACK", fallback, "MATCH", match).Replace(referenceExperiment)
}

func TestReferenceServiceAndItsDefects(t *testing.T) {
	for name, c := range map[string]struct {
		breaker, fallback string
		fails             string
	}{
		"good":                        {goodBreaker, goodFallback, ""},
		"permitted 10":                {strings.Replace(goodBreaker, "permitted_calls: 3", "permitted_calls: 10", 1), goodFallback, "three-probes"},
		"minimum left at its default": {strings.Replace(goodBreaker, "window: 10, minimum_calls: 10, ", "", 1), goodFallback, "trips"},
		"no fallback":                 {goodBreaker, "", "fallback"},
	} {
		t.Run(name, func(t *testing.T) {
			out := inBubble(t, build(c.breaker, c.fallback, ""), nil)
			if out.err != nil {
				t.Fatal(out.err)
			}
			for _, v := range out.report.Verdicts {
				want := assert.Pass
				if v.ID == c.fails {
					want = assert.Fail
				}
				if v.Result != want && (v.Result != assert.Skipped || v.BlockedBy != c.fails) {
					t.Errorf("%s is %s, want %s", v.ID, v.Result, want)
				}
			}
			if t.Failed() {
				out.log(t)
			}
		})
	}
}

func TestMinimumLeftAtItsDefaultShowsAHundred(t *testing.T) {
	out := inBubble(t, build(strings.Replace(goodBreaker, "window: 10, minimum_calls: 10, ", "", 1), goodFallback, ""), nil)
	v := out.verdict(t, "trips")
	if want := "the 100th"; !strings.Contains(v.Observed, want) {
		t.Errorf("observed %q, want it to say %q", v.Observed, want)
	}
}

// TestAFaultThatNeverFired has a fault whose match fits nothing that is sent.
func TestAFaultThatNeverFired(t *testing.T) {
	out := inBubble(t, build(goodBreaker, goodFallback, "match: { path: /charges },"), nil)
	v := out.verdict(t, "trips")
	if v.Result != assert.Inconclusive || !strings.Contains(v.Reason, "fault_fired") || !strings.Contains(v.Remedy, "match") {
		out.log(t)
		t.Errorf("trips is %s because %q, remedy %q", v.Result, v.Reason, v.Remedy)
	}
}

// TestADependencyThatIsNeverCalled has a service that answers by itself.
func TestADependencyThatIsNeverCalled(t *testing.T) {
	src := strings.Replace(build(goodBreaker, goodFallback, ""), "sut:\n  reference:\n    injector: primary\n    breaker: "+goodBreaker+"\n    "+goodFallback,
		"sut: { base_url: http://sut:80 }", 1)
	out := inBubble(t, src, func(t *testing.T, n network) func() {
		ln, err := n.Listen("tcp", "sut:80")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"source":"primary"}`)
		})}
		done := make(chan struct{})
		go func() { defer close(done); _ = srv.Serve(ln) }()
		return func() { _ = srv.Close(); <-done }
	})
	pre, ok := errors.AsType[*run.PreconditionError](out.err)
	if !ok {
		t.Fatalf("error %v, want a precondition", out.err)
	}
	for _, want := range []string{"target search", "never reached its dependency", "injectors.primary.url"} {
		if !strings.Contains(pre.Error(), want) {
			t.Errorf("%q does not say %q", pre.Error(), want)
		}
	}
}

// TestTheFormatKnowsTheDefects holds the words of sut.reference.defect against those
// of the reference service.
func TestTheFormatKnowsTheDefects(t *testing.T) {
	var words []string
	for _, d := range proxy.Defects() {
		words = append(words, string(d))
	}
	if diff := cmp.Diff(words, experiments.Defects()); diff != "" {
		t.Errorf("defects (-service +format):\n%s", diff)
	}
}

// wiringExperiment has a service with everything that a reference service can be
// told beside its breaker. Each key leaves a mark that only it can leave.
const wiringExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: wiring }
sut:
  reference:
    injector: main
    breaker: { window: 100, minimum_calls: 100, wait: 1m, permitted_calls: 3 }
    PART
injectors:
  main: { stub: { status: 200, body: main, latency: 50ms } }
  other: { stub: { status: 200, body: other, latency: 50ms } }
load:
  timeout: 5s
  targets:
    - { name: it, path: PATH, depends_on: [DEPENDS] }
    - { name: rest, path: /rest, depends_on: [main] }
  classify: { primary: { status: 200 } }
correlate: { order: [traceparent] }
breakers:
  main: { injector: main, target: rest, window: 100, minimum_calls: 100, wait: 1m, permitted_calls: 3 }
phases:
  - { name: calls, targets: [it], load: { calls: 24, concurrency: 12 }FAULTS }
assert:
  - { id: seen, primary.share: { min: 0% }, phase: calls }
`

// TestReferenceServiceIsBuiltAsWritten sees to it that no key of sut.reference is
// read and forgotten.
func TestReferenceServiceIsBuiltAsWritten(t *testing.T) {
	const routes = "routes: [ { path: /pay*, injector: other, timeout: 1s }, { path: /browse, respond: { status: 200, body: products } } ]"
	const failing = ", faults: [ { injector: main, respond: { status: 503 }, latency: { fixed: 50ms } } ]"
	for name, c := range map[string]struct {
		part, path, faults string
		want               seenOfCalls
	}{
		"nothing":             {"", "/first", "", seenOfCalls{Main: 24, AtOnce: 12, Good: 24}},
		"pool":                {"pool: 2", "/first", "", seenOfCalls{Main: 24, AtOnce: 2, Good: 24}},
		"bulkhead":            {"bulkhead: 3", "/first", "", seenOfCalls{Main: 3, AtOnce: 3, Good: 3}},
		"workers":             {"workers: 4", "/first", "", seenOfCalls{Main: 24, AtOnce: 4, Good: 24}},
		"retry":               {"retry: { attempts: 3 }", "/first", failing, seenOfCalls{Main: 72, AtOnce: 12}},
		"retry wait":          {"retry: { attempts: 2, wait: 2s }", "/first", failing, seenOfCalls{Main: 48, AtOnce: 12, Slow: 24}},
		"retry of nothing":    {"retry: { attempts: 3, on: 502 }", "/first", failing, seenOfCalls{Main: 24, AtOnce: 12}},
		"retry of posts":      {"retry: { attempts: 3, methods: POST }", "/first", failing, seenOfCalls{Main: 24, AtOnce: 12}},
		"retry that grows":    {"retry: { attempts: 3, wait: { first: 300ms, factor: 3 } }", "/first", failing, seenOfCalls{Main: 72, AtOnce: 12, Slow: 24}},
		"budget of retries":   {"retry: { attempts: 3, budget: { ratio: 0%, min_per_second: 1, window: 5s } }", "/first", failing, seenOfCalls{Main: 29, AtOnce: 12}},
		"rate limiter":        {"rate_limiter: { kind: token_bucket, limit: 1, burst: 7 }", "/first", "", seenOfCalls{Main: 5, AtOnce: 5, Good: 5}},
		"limiter by tenant":   {"rate_limiter: { kind: sliding_log, limit: 2, by: traceparent }", "/first", "", seenOfCalls{Main: 24, AtOnce: 12, Good: 24}},
		"time limiter":        {"time_limiter: { timeout: 20ms, cancel: false }", "/first", "", seenOfCalls{Main: 24, AtOnce: 24}},
		"bulkhead that waits": {"bulkhead: { max: 4, wait: 10s }", "/first", "", seenOfCalls{Main: 24, AtOnce: 4, Good: 24}},
		"threads":             {"bulkhead: { max: 3, queue: 4 }", "/first", "", seenOfCalls{Main: 7, AtOnce: 3, Good: 7}},
		"order":               {"rate_limiter: { kind: sliding_log, limit: 30 }\n    retry: { attempts: 3 }\n    order: [rate_limiter, breaker, retry]", "/first", failing, seenOfCalls{Main: 72, AtOnce: 12}},
		"default order":       {"rate_limiter: { kind: sliding_log, limit: 30 }\n    retry: { attempts: 3 }", "/first", failing, seenOfCalls{Main: 28, AtOnce: 12}},
		"cache":               {"cache: { answers: 5 }", "/first", ", faults: [ { injector: main, after: 10, respond: { status: 503 }, latency: { fixed: 50ms } } ]", seenOfCalls{Main: 24, AtOnce: 12, Good: 24}},
		"defect":              {"defect: no_timeout\n    timeout: 10ms", "/first", "", seenOfCalls{Main: 24, AtOnce: 12, Good: 24}},
		"another dependency":  {"bulkhead: 1\n    timeout: 10ms\n    " + routes, "/pay/1", "", seenOfCalls{Other: 24, AtOnce: 12, Good: 24}},
		"no dependency":       {routes, "/browse", "", seenOfCalls{Good: 24}},
	} { // Two calls, the probes, come before: they take two permits.
		t.Run(name, func(t *testing.T) {
			depends := map[string]string{"/first": "main", "/pay/1": "other"}[c.path]
			src := strings.NewReplacer("PART", c.part, "PATH", c.path, "DEPENDS", depends, "FAULTS", c.faults).Replace(wiringExperiment)
			out := inBubble(t, src, nil)
			if out.err != nil || out.trace == nil {
				t.Fatal(out.err)
			}
			if diff := cmp.Diff(c.want, seen(out.trace)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// seenOfCalls is what both sides saw of the calls of the phase.
type seenOfCalls struct {
	Main, Other int // attempts at each dependency
	AtOnce      int // most attempts under way at one of them
	Good, Slow  int // calls: answered as they should, or in more than a second
}

func seen(t *trace.Trace) (s seenOfCalls) {
	for _, a := range t.Attempts {
		if a.Phase != "calls" {
			continue
		}
		if a.Injector == "main" {
			s.Main++
		} else {
			s.Other++
		}
		under := 0
		for _, b := range t.Attempts {
			if b.Phase == "calls" && b.Arr <= a.Arr && b.Dep > a.Arr {
				under++
			}
		}
		s.AtOnce = max(s.AtOnce, under)
	}
	for _, c := range t.Calls {
		if c.Phase != "calls" {
			continue
		}
		if c.Class == "primary" {
			s.Good++
		}
		if c.End-c.Send > time.Second {
			s.Slow++
		}
	}
	return s
}
