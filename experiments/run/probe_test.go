package run_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
)

// callDependency asks the dependency as part of a call.
func callDependency(tr *http.Transport, r *http.Request) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodGet, "http://127.0.0.1:9901/x", http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("Traceparent", r.Header.Get("Traceparent"))
	if resp, err := tr.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
}

// A service that answers first, and then calls its dependency, does reach it.
func TestProbeOfAServiceThatAnswersFirst(t *testing.T) {
	out := inBubble(t, rungs("[traceparent]", open, plain), func(t *testing.T, n network) func() {
		var later sync.WaitGroup
		stop := serving(t, n, "sut:80", func(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			r = r.Clone(context.WithoutCancel(r.Context()))
			later.Go(func() {
				time.Sleep(30 * time.Millisecond)
				callDependency(tr, r)
			})
		})
		return func() { later.Wait(); stop() }
	})
	if out.err != nil {
		t.Fatal(out.err)
	}
	if got := out.rung(); got != "traceparent" {
		t.Errorf("rung %q", got)
	}
}

// A target that is only sent in sessions need not reach its dependency without what the steps
// before it brought.
func TestProbeOfASessionBehindALogin(t *testing.T) {
	const src = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: login }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, body: ok, latency: 5ms } } }
load:
  timeout: 1s
  targets:
    - { name: login, method: POST, path: /login, depends_on: [] }
    - { name: orders, path: /orders }
  classify: { primary: { status: 200 }, locked: { status: 401 } }
breakers: { dep: { window: 10, minimum_calls: 10 } }
phases:
  - name: quiet
    load: { sessions: { users: 2, rounds: 20, think: 5ms, cookies: true, steps: [ { target: login }, { target: orders } ] } }
assert:
  - { id: served, locked.share: { max: 0% }, targets: orders, phase: quiet }
  - { id: closed, breaker.stays_closed: dep, phase: quiet }
`
	out := inBubble(t, src, func(t *testing.T, n network) func() {
		return serving(t, n, "sut:80", func(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
			switch _, err := r.Cookie("user"); {
			case r.URL.Path == "/login":
				http.SetCookie(w, &http.Cookie{Name: "user", Value: "u1", Path: "/"})
			case err != nil:
				w.WriteHeader(http.StatusUnauthorized)
			default:
				callDependency(tr, r)
			}
		})
	})
	if out.err != nil {
		t.Fatal(out.err)
	}
	for _, id := range []string{"served", "closed"} {
		if v := out.verdict(t, id); v.Result != assert.Pass {
			out.log(t)
			t.Errorf("%s is %s", id, v.Result)
		}
	}
}
