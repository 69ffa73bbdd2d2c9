package run_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments/run"
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
