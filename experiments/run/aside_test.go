package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/limit"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

const asideExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: aside }
sut: { base_url: http://sut:80 SUT }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, body: PAID, latency: 5ms } } }
load:
  rate: 100/s
  timeout: 5s
  targets: [ { name: pay, path: /pay, depends_on: [dep] } ]
  classify: { primary: { contains: PAID }, rejected: { status: [429, 503] } }
REASONS
breakers: { dep: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3 SHARED } }
phases:
  - { name: quiet, duration: 2s }
  - { name: slow, duration: 6s, faults: [ { latency: { fixed: 400ms } } ] }
  - { name: rest, pause: 1s }
  - { name: trip, load: { calls: 60, concurrency: 1, gap: 5ms }, faults: [ { respond: { status: 503 } } ] }
  - { name: outage, duration: 8s, faults: [ { respond: { status: 503 }, latency: { fixed: 20ms } } ] }
assert:
  - { id: stays, breaker.stays_closed: dep, phase: slow }
  - { id: opens-by-slowness, breaker.opens: dep, phase: slow }
  - { id: no-leak-before, breaker.leak: dep, phase: slow }
  - { id: opens, breaker.opens: dep, phase: trip, within_calls: 7 }
  - { id: waits, breaker.open_duration: dep, phase: outage, equals: 2s, tolerance: 10% }
  - { id: no-leak, breaker.leak: dep, phase: outage }
`

// aside is the experiment with these parts.
func aside(sut, reasons, shared string) string {
	return strings.NewReplacer("SUT", sut, "REASONS", reasons, "SHARED", shared).Replace(asideExperiment)
}

// starting runs a proxy at sut:80.
func starting(change func(*proxy.Config)) func(*testing.T, network) func() {
	return setup{}.start(func(c *proxy.Config) { c.Fallback = nil; change(c) })
}

// What a bulkhead or a limiter of a running service answers is not taken for the answers of its
// breaker, and no assertion about the breaker is wrong for it.
func TestAnsweredAside(t *testing.T) {
	bulk := func(c *proxy.Config) { c.Bulkhead = &bulkhead.SemaphoreConfig{MaxConcurrentCalls: 5} }
	limited := func(c *proxy.Config) {
		c.RateLimiter = limit.FixedWindowConfig{Limit: 60, Window: time.Second}
	}
	for name, c := range map[string]struct {
		with    func(*proxy.Config)
		reasons string
		never   []string // must not pass
		says    string
	}{
		"bulkhead":                   {with: bulk, never: []string{"opens-by-slowness"}, says: "bulkhead (as many calls were under way as ever)"},
		"bulkhead, never opens":      {with: func(c *proxy.Config) { bulk(c); c.Defect = proxy.NoBreaker }, never: []string{"opens-by-slowness", "opens", "waits", "no-leak"}, says: "bulkhead (as many calls"},
		"bulkhead, told by its body": {with: bulk, reasons: "  reasons: { bulkhead: { status: 503, regex: '(?i)bulkhead' } }", never: []string{"opens-by-slowness"}, says: "bulkhead (load.reasons.bulkhead)"},
		"limited":                    {with: limited, never: []string{"opens-by-slowness"}, says: "limited (status 429)"},
	} {
		t.Run(name, func(t *testing.T) {
			out := inBubble(t, aside("", c.reasons, ""), starting(c.with))
			if out.err != nil {
				t.Fatal(out.err)
			}
			broken := strings.Contains(name, "never")
			for _, v := range out.report.Verdicts {
				switch v.ID {
				case "opens-by-slowness":
				case "opens", "waits", "no-leak":
					if broken && v.Result == assert.Pass {
						t.Errorf("%s passes", v.ID)
					}
					if broken {
						continue
					}
					fallthrough
				default:
					if v.Result == assert.Fail {
						t.Errorf("%s fails: %s", v.ID, v.Reason)
					}
				}
			}
			if v := out.verdict(t, "opens-by-slowness"); v.Result == assert.Pass {
				t.Errorf("%s passes: %s", v.ID, v.Observed)
			}
			var all []string
			for _, s := range out.report.Breakers[0].Shorts {
				all = append(all, s.String())
			}
			if text := strings.Join(all, "; "); !strings.Contains(text, c.says) || t.Failed() {
				out.log(t)
				t.Errorf("answered aside: %s; want %s", text, c.says)
			}
		})
	}
}

// The instances of a running service, told apart by the header of their answers: each opens at
// its fifth failure, as half of its window of ten. Declared to be shared, that is found out.
func TestInstancesOfAService(t *testing.T) {
	const named = ", instance_header: X-Faultline-Instance"
	two := func(c *proxy.Config) { c.Instances = 2 }
	for name, c := range map[string]struct {
		with   func(*proxy.Config)
		shared string
		want   assert.Result
	}{
		"apart":                      {two, "", assert.Pass},
		"one alone, said to share":   {func(*proxy.Config) {}, ", shared: true", assert.Pass},
		"apart, but declared shared": {two, ", shared: true", assert.Fail},
		"one of them opens too late": {func(c *proxy.Config) { two(c); c.Breaker.MinimumCalls, c.Breaker.Window = 20, 20 }, "", assert.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(aside(named, "", c.shared), "slow, duration: 6s, faults: [ { latency: { fixed: 400ms } } ]", "slow, duration: 6s", 1)
			out := inBubble(t, src, starting(c.with))
			if out.err != nil {
				t.Fatal(out.err)
			}
			if v := out.verdict(t, "opens"); v.Result != c.want {
				out.log(t)
				t.Errorf("opens is %s, want %s: %s", v.Result, c.want, v.Observed)
			}
		})
	}
}
