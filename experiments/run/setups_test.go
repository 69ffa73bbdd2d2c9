package run_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/target/match"
)

// setup is one way in which a breaker is built into a service that made judging
// by single instants wrong, with the assertions that must hold for it and one
// defect of it.
type setup struct {
	name      string
	unit      string
	rate      string
	probeRate string
	scale     int // how many times longer the phases are
	latency   string
	permitted int // declared
	right     func(*proxy.Config)
	second    bool // the fallback asks a second source behind another injector
	wrong     func(*proxy.Config)
	names     string // the assertion that must not pass for the wrong twin
	fails     bool   // and must fail, not only be inconclusive
	undecided []string
	fast      string // bound on a rejected call's answer
}

func base() breakerref.Config {
	c := breakerref.Default()
	c.Window, c.MinimumCalls, c.Wait, c.Permitted = 10, 10, 2*time.Second, 3
	return c
}

func setups() []setup {
	tenProbes := func(c *proxy.Config) { c.Breaker.Permitted = 10 }
	return []setup{
		{
			name: "pool of three connections", latency: "30ms", permitted: 3,
			right: func(c *proxy.Config) { c.Pool = 3 },
			wrong: tenProbes, names: "three-probes",
		},
		{
			name: "slow fallback", latency: "10ms", permitted: 3,
			right: func(c *proxy.Config) { c.FallbackDelay = 300 * time.Millisecond },
			wrong: func(c *proxy.Config) { c.Breaker.Wait = 4 * time.Second }, names: "waits", fails: true,
			fast: "400ms",
		},
		{
			name: "retry outside the breaker", latency: "10ms", permitted: 3, unit: "attempt",
			right: func(c *proxy.Config) { c.Retry = &retry.Config{MaxAttempts: 3, Wait: 20 * time.Millisecond} },
			wrong: tenProbes, names: "three-probes", fails: true,
		},
		{
			name: "permitted 30 with minimum 10", latency: "10ms", permitted: 30,
			right: func(c *proxy.Config) { c.Breaker.Permitted = 30 },
			wrong: tenProbes, names: "three-probes", fails: true,
		},
		{
			name: "low traffic", latency: "10ms", permitted: 3, rate: "2/s", probeRate: "2/s", scale: 5,
			right: func(*proxy.Config) {},
			wrong: func(c *proxy.Config) { c.Breaker.Wait = 6 * time.Second }, names: "waits", fails: true,
			undecided: []string{"three-probes", "waits", "fail-fast", "closes", "no-leak", "reopens"},
		},
		{
			name: "second source behind another injector", latency: "10ms", permitted: 3, second: true,
			right: func(*proxy.Config) {},
			wrong: tenProbes, names: "three-probes", fails: true,
		},
	}
}

func (s setup) experiment() string {
	scale := max(s.scale, 1)
	r := strings.NewReplacer(
		"RATE", orElse(s.rate, "100/s"), "FAST", orElse(s.probeRate, "400/s"), "LATENCY", s.latency,
		"SHORTLY", orElse(s.fast, "100ms"), "UNIT", orElse(s.unit, "attempt"), "PERMITTED", fmt.Sprint(s.permitted),
		"D1", fmt.Sprintf("%ds", 8*scale), "D2", fmt.Sprintf("%ds", 5*scale), "D3", fmt.Sprintf("%ds", 6*scale),
	)
	return r.Replace(setupExperiment)
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

const setupExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: setup }
sut: { base_url: http://sut:80 }
injectors:
  dep: { listen: 127.0.0.1:9901, stub: { status: 200, body: '{"source":"primary"}', latency: LATENCY } }
  spare: { listen: 127.0.0.1:9902, stub: { status: 200, body: '{"source":"fallback"}', latency: 5ms } }
load:
  rate: RATE
  timeout: 5s
  max_in_flight: 3000
  targets: [ { name: search, path: /search, depends_on: [dep] } ]
  classify:
    primary: { status: 200, contains: '"primary"' }
    fallback: { status: 200, contains: '"fallback"' }
breakers:
  dep: { injector: dep, target: search, unit: UNIT, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: PERMITTED }
phases:
  - { name: baseline, load: { calls: 30, concurrency: 1, gap: 5ms } }
  - name: warm-trip
    measure: false
    load: { calls: 40, concurrency: 1, gap: 5ms, until: open }
    faults: [ { injector: dep, respond: { status: 503 } } ]
  - { name: outage, duration: D1, faults: [ { injector: dep, respond: { status: 503 }, latency: { fixed: LATENCY } } ] }
  - { name: probes, duration: D2, load: { rate: FAST }, faults: [ { injector: dep, hold: { max: 1s }, respond: { status: 503 } } ] }
  - { name: recovery, duration: D3 }
assert:
  - { id: honest, fallback.share: { max: 0% }, phase: baseline }
  - { id: no-leak, breaker.leak: dep, phase: outage, max: 0 }
  - { id: waits, breaker.open_duration: dep, phase: outage, equals: 2s, tolerance: 5% }
  - { id: reopens, breaker.reopens_on_failed_probe: dep, phase: outage }
  - { id: fallback, fallback.share: { min: 100% }, of: [short, failed], phase: outage }
  - { id: fail-fast, short.latency: { p99: SHORTLY }, phase: outage }
  - { id: three-probes, breaker.half_open_probes: dep, phase: probes, exactly: PERMITTED }
  - { id: closes, breaker.closes: dep, phase: recovery, within: 4s }
  - { id: not-stuck, breaker.never_stuck: dep, phase: recovery }
`

func TestSetupsThatFoolInstants(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			good := inBubble(t, s.experiment(), s.start(s.right))
			if good.err != nil {
				t.Fatal(good.err)
			}
			for _, v := range good.report.Verdicts {
				undecided := slices.Contains(s.undecided, v.ID)
				if v.Result == assert.Fail || v.Result != assert.Pass && !undecided {
					good.log(t)
					t.Errorf("right system: %s is %s", v.ID, v.Result)
				}
			}
			bad := inBubble(t, s.experiment(), s.start(func(c *proxy.Config) { s.right(c); s.wrong(c) }))
			if bad.err != nil {
				t.Fatal(bad.err)
			}
			if v := bad.verdict(t, s.names); v.Result == assert.Pass || s.fails && v.Result != assert.Fail {
				bad.log(t)
				t.Errorf("wrong twin: %s is %s", v.ID, v.Result)
			}
		})
	}
}

// start runs the service of a set-up at sut:80.
func (s setup) start(change func(*proxy.Config)) func(*testing.T, network) func() {
	return func(t *testing.T, n network) func() {
		cfg := proxy.Config{
			Addr: "sut:80", Listen: n.Listen, Dial: n.DialContext,
			Service: proxy.Service{
				Upstream: "http://127.0.0.1:9901", Breaker: base(), Failure: match.DefaultFailure(), Timeout: 2 * time.Second,
				Fallback: &proxy.Answer{Status: http.StatusOK, Body: `{"source":"fallback"}`},
			},
		}
		change(&cfg)
		if s.second {
			cfg.Addr = "inner:80"
		}
		p, err := proxy.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !s.second {
			return func() { _ = p.Close() }
		}
		stop := secondSource(t, n)
		return func() { stop(); _ = p.Close() }
	}
}

// secondSource serves at sut:80: what inner:80 answers from its fallback is
// fetched from the spare injector instead, under the same identity.
func secondSource(t *testing.T, n network) (stop func()) {
	ln, err := n.Listen("tcp", "sut:80")
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: n.DialContext}
	get := func(ctx context.Context, url string, in *http.Request) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		req.Header = in.Header.Clone()
		return tr.RoundTrip(req)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := get(r.Context(), "http://inner:80/search", r)
		if err == nil && resp.Header.Get("X-Faultline-Source") == "fallback" {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			resp, err = get(r.Context(), "http://127.0.0.1:9902/search", r)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	return func() { _ = srv.Close(); <-done; tr.CloseIdleConnections() }
}
