package run_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
)

// minute is 60 s of load, 100/s throughout. With a latency of 60 ms several calls
// are always under way, and their events must not share an instant.
const minute = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: minute }
sut:
  reference:
    injector: dep
    breaker: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3 }
    fallback: { status: 200, body: '{"source":"fallback"}' }
injectors:
  dep: { stub: { status: 200, body: '{"source":"primary"}', latency: LATENCY } }
load:
  rate: 100/s
  timeout: 2s
  targets: [ { name: search, path: /search, depends_on: [dep] } ]
  classify:
    primary: { status: 200, contains: '"primary"' }
    fallback: { status: 200, contains: '"fallback"' }
breakers:
  dep: { injector: dep, target: search, unit: attempt, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3 }
phases:
  - { name: baseline, duration: 20s }
  - { name: outage, duration: 20s, faults: [ { injector: dep, respond: { status: 503 }, latency: { uniform: [10ms, 60ms] } } ] }
  - { name: recovery, duration: 20s }
assert:
  - { id: opens, breaker.opens: dep, phase: outage, within: 1s }
  - { id: waits, breaker.open_duration: dep, phase: outage, equals: 2s, tolerance: 5% }
  - { id: no-leak, breaker.leak: dep, phase: outage, max: 0 }
  - { id: closes, breaker.closes: dep, phase: recovery, within: 3s }
`

func TestSameTraceEveryTime(t *testing.T) {
	for _, latency := range []string{"1ms", "60ms"} {
		t.Run(latency, func(t *testing.T) {
			src := strings.ReplaceAll(minute, "LATENCY", latency)
			began := time.Now()
			first := inBubble(t, src, nil)
			t.Logf("60 s of load in %v", time.Since(began).Round(time.Millisecond))
			if first.err != nil {
				t.Fatal(first.err)
			}
			if len(first.trace.Calls) < 5900 {
				t.Fatalf("%d calls, want about 6000", len(first.trace.Calls))
			}
			for _, v := range first.report.Verdicts {
				if v.Result != assert.Pass {
					first.log(t)
					t.Fatalf("%s: %s", v.ID, v.Result)
				}
			}
			runs := 3
			if deep() {
				runs = 20
			}
			for i := 1; i < runs; i++ {
				if again := inBubble(t, src, nil); !bytes.Equal(first.bytes, again.bytes) {
					t.Fatalf("run %d differs from the first", i+1)
				}
			}
		})
	}
}
