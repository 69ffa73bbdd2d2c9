package run_test

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

const staleExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: stale }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, body: PAID, latency: 5ms } } }
load:
  rate: 50/s
  targets: [ { name: pay, path: /pay, depends_on: [dep] } ]
  classify: { fallback: { header: { X-Faultline-Source: cache } }, primary: { contains: PAID } }
breakers: { dep: { window: 10, minimum_calls: 10, wait: 2s, permitted_calls: 3 } }
phases:
  - { name: quiet, duration: 2s }
  - { name: outage, duration: 8s, faults: [ { respond: { status: 503 } } ] }
assert:
  - { id: fresh, fallback.staleness: { max: MAX, from: "header:Age" }, phase: outage }
  - { id: opens, breaker.opens: dep, phase: outage }
`

// The reference service keeps good answers without a bound, and says for how long in Age: that
// is found out where the outage lasts longer than the bound, and else not decided. That the
// answers are kept ones hides nothing of the breaker behind whose back they are given.
func TestStaleFallbackOfAService(t *testing.T) {
	for most, want := range map[string]assert.Result{"3s": assert.Fail, "60s": assert.Inconclusive} {
		out := inBubble(t, strings.Replace(staleExperiment, "MAX", most, 1), starting(func(c *proxy.Config) { c.CacheGood = 10 }))
		if out.err != nil {
			t.Fatal(out.err)
		}
		if v := out.verdict(t, "fresh"); v.Result != want {
			out.log(t)
			t.Errorf("at most %s: %s, want %s", most, v.Result, want)
		}
		if v := out.verdict(t, "opens"); v.Result != assert.Pass {
			out.log(t)
			t.Errorf("opens is %s", v.Result)
		}
	}
}
