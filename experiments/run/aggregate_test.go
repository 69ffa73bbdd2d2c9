package run_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// blind is an experiment with a service that passes nothing on.
const blind = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: blind }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, latency: 2ms } } }
correlate: { order: [aggregate] }
load:
  rate: 200/s
  timeout: 1s
  targets: [ { name: search, path: /search } ]
  classify: { primary: { status: 200 }, rejected: { status: 503 } }
breakers: { dep: { unit: attempt, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: quiet, duration: 1s }
  - { name: outage, duration: 3s, faults: [ { respond: { status: 500 } } ] }
  - { name: recovery, duration: 4s }
assert:
  - { id: opens, breaker.opens: dep, phase: outage, within: 500ms }
  - { id: few, downstream.calls: { injector: dep, max: 60 }, phase: outage }
  - { id: closes, breaker.closes: dep, phase: recovery, within: 1500ms }
  - { id: recovers, recovery.time: { max: 2s, target: "primary.share >= 99%", for: 1s }, phase: recovery }
  - { id: probes, breaker.half_open_probes: dep, phase: outage, exactly: 3 }
  - { id: at-call, breaker.opens: dep, phase: outage, within_calls: 10 }
`

// TestBlindService judges a service that passes nothing on, by counts alone: what
// they show passes for a right service and fails for a wrong one, and what needs to
// know single calls is inconclusive.
func TestBlindService(t *testing.T) {
	for defect, want := range map[proxy.Defect]map[string]assert.Result{
		"":                {"opens": assert.Pass, "few": assert.Pass, "closes": assert.Pass, "recovers": assert.Pass, "probes": assert.Inconclusive},
		proxy.NoBreaker:   {"opens": assert.Fail, "few": assert.Fail},
		proxy.NeverCloses: {"opens": assert.Pass, "recovers": assert.Fail},
	} {
		t.Run(string(defect), func(t *testing.T) {
			out := inBubble(t, blind, func(t *testing.T, n network) func() {
				p, err := proxy.Start(t.Context(), proxy.Config{
					Addr: "inner:80", Listen: n.Listen, Dial: n.DialContext,
					Service: proxy.Service{Upstream: "http://127.0.0.1:9901", Breaker: base(), Failure: match.DefaultFailure(), Timeout: time.Second, Defect: defect},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := serving(t, n, "sut:80", stripping)
				return func() { stop(); _ = p.Close() }
			})
			if out.err != nil {
				t.Fatal(out.err)
			}
			for id, result := range want {
				if v := out.verdict(t, id); v.Result != result {
					out.log(t)
					t.Errorf("%s is %s, want %s", id, v.Result, result)
				}
			}
		})
	}
}
