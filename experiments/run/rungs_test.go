package run_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

const rungsExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: rungs }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, body: ok, latency: 5ms } } }
correlate: { order: ORDER }
load:
  rate: 50/s
  timeout: 1s
  targets: [ { name: search, path: /search, depends_on: [dep] } ]
  classify: { primary: { status: 200 }, rejected: { status: 503 } }
breakers: { dep: { injector: dep, target: search, window: 10, minimum_calls: 10 } }
phases:
  - { name: quiet, LOAD }
assert:
  - { id: closed, breaker.stays_closed: dep, phase: quiet }
`

// passing is a service that asks its dependency and passes some headers on.
func passing(pass ...string) func(*testing.T, network) func() {
	return func(t *testing.T, n network) func() {
		ln, err := n.Listen("tcp", "sut:80")
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{DialContext: n.DialContext}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodGet, "http://127.0.0.1:9901/x", nil)
			if err != nil {
				t.Error(err)
				return
			}
			for _, h := range pass {
				req.Header.Set(h, r.Header.Get(h))
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = io.Copy(w, resp.Body)
			_ = resp.Body.Close()
		})}
		done := make(chan struct{})
		go func() { defer close(done); _ = srv.Serve(ln) }()
		return func() { _ = srv.Close(); <-done; tr.CloseIdleConnections() }
	}
}

func TestCorrelationRungs(t *testing.T) {
	const open, lockstep = "duration: 1s", "load: { calls: 40, concurrency: 1, gap: 5ms }"
	const all = "[traceparent, header:x-request-id, header:x-order, single_flight]"
	for name, c := range map[string]struct {
		order, load string
		pass        []string
		rung        string
		refused     string
	}{
		"traceparent":                       {order: all, load: open, pass: []string{"traceparent", "x-request-id"}, rung: "traceparent"},
		"request id":                        {order: all, load: open, pass: []string{"x-request-id"}, rung: "header:x-request-id"},
		"a declared header":                 {order: all, load: open, pass: []string{"x-order"}, rung: "header:x-order"},
		"order decides":                     {order: "[header:x-request-id, traceparent]", load: open, pass: []string{"traceparent", "x-request-id"}, rung: "header:x-request-id"},
		"nothing, one at a time":            {order: all, load: lockstep, rung: "single_flight"},
		"nothing, many at a time":           {order: all, load: open, refused: "concurrency: 1 in every phase"},
		"nothing, and no single flight":     {order: "[traceparent]", load: lockstep, refused: "carries none of"},
		"another header than the order has": {order: "[traceparent]", load: open, pass: []string{"x-request-id"}, refused: "carries none of"},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.NewReplacer("ORDER", c.order, "LOAD", c.load).Replace(rungsExperiment)
			out := inBubble(t, src, passing(c.pass...))
			if c.refused != "" {
				pre, ok := errors.AsType[*run.PreconditionError](out.err)
				if !ok || !strings.Contains(strings.ReplaceAll(pre.Error(), "{calls: ..., concurrency: 1}", "concurrency: 1"), c.refused) {
					t.Fatalf("error %v, want a precondition with %q", out.err, c.refused)
				}
				return
			}
			if out.err != nil {
				t.Fatal(out.err)
			}
			rung := ""
			for _, m := range out.trace.Marks {
				if m.Kind == trace.MarkRung {
					rung = m.Text
				}
			}
			join := out.trace.Join("dep", func(string) bool { return true })
			if rung != c.rung || join.Share() != 1 {
				t.Errorf("rung %q with %.3f joined, want %q with all", rung, join.Share(), c.rung)
			}
			if v := out.verdict(t, "closed"); v.Result != assert.Pass {
				out.log(t)
				t.Errorf("closed is %s", v.Result)
			}
		})
	}
}
