package run_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
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
  targets: [ { name: search, TARGET, depends_on: [dep] } ]
  classify: { primary: { status: 200 }, rejected: { status: 503 } }
breakers: { dep: { injector: dep, target: search, window: 10, minimum_calls: 10 } }
phases:
  - { name: quiet, LOAD }
assert:
  - { id: closed, breaker.stays_closed: dep, phase: quiet }
`

const (
	open     = "duration: 1s"
	lockstep = "load: { calls: 40, concurrency: 1, gap: 5ms }"
	plain    = "path: /search"
)

// rungs is the experiment with these parts.
func rungs(order, load, target string) string {
	return strings.NewReplacer("ORDER", order, "LOAD", load, "TARGET", target).Replace(rungsExperiment)
}

// serving runs a handler at an address, with a client of the same network.
func serving(t *testing.T, n network, addr string, handle func(*http.Transport, http.ResponseWriter, *http.Request)) func() {
	ln, err := n.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: n.DialContext}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(tr, w, r) })}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	return func() { _ = srv.Close(); <-done; tr.CloseIdleConnections() }
}

// rewriting is a service that asks its dependency with what to makes of a request.
func rewriting(to func(in *http.Request, body string) (method, uri, sent string, header http.Header)) func(*testing.T, network) func() {
	return func(t *testing.T, n network) func() {
		return serving(t, n, "sut:80", func(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			method, uri, sent, header := to(r, string(body))
			req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), method, "http://127.0.0.1:9901"+uri, strings.NewReader(sent))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header = header
			resp, err := tr.RoundTrip(req)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body)
			_ = resp.Body.Close()
		})
	}
}

// passing is a service that asks its dependency and passes some headers on.
func passing(pass ...string) func(*testing.T, network) func() {
	return rewriting(func(in *http.Request, _ string) (method, uri, sent string, header http.Header) {
		header = http.Header{}
		for _, h := range pass {
			header.Set(h, in.Header.Get(h))
		}
		return http.MethodGet, "/x", "", header
	})
}

// posting is a service that passes no header on, and posts what it makes of a
// request.
func posting(uri, sent func(in *http.Request, body string) string) func(*testing.T, network) func() {
	return rewriting(func(in *http.Request, body string) (method, to, out string, header http.Header) {
		return http.MethodPost, uri(in, body), sent(in, body), http.Header{}
	})
}

func fixed(s string) func(*http.Request, string) string {
	return func(*http.Request, string) string { return s }
}

func TestCorrelationRungs(t *testing.T) {
	const all = "[traceparent, header:x-request-id, header:x-order, single_flight]"
	const templated = "[traceparent, template, single_flight, aggregate]"
	const byID, inPath = "method: POST, path: /search, body: '{\"orderId\":\"{{.UUID}}\"}'", "path: '/orders/{{.ID}}'"
	id := func(in *http.Request, _ string) string { return path.Base(in.URL.Path) }
	body := func(_ *http.Request, body string) string { return body }
	for name, c := range map[string]struct {
		order, load, target string
		sut                 func(*testing.T, network) func()
		rung                string
		refused             []string
	}{
		"traceparent":        {order: all, load: open, sut: passing("traceparent", "x-request-id"), rung: "traceparent"},
		"request id":         {order: all, load: open, sut: passing("x-request-id"), rung: "header:x-request-id"},
		"a declared header":  {order: all, load: open, sut: passing("x-order"), rung: "header:x-order"},
		"order decides":      {order: "[header:x-request-id, traceparent]", load: open, sut: passing("traceparent", "x-request-id"), rung: "header:x-request-id"},
		"nothing, lockstep":  {order: all, load: lockstep, sut: passing(), rung: "single_flight"},
		"a header before it": {order: templated, load: open, target: inPath, sut: passing("traceparent"), rung: "traceparent"},

		"token in path":         {order: templated, load: open, target: inPath, sut: posting(func(in *http.Request, _ string) string { return "/charges/" + id(in, "") + "/now" }, fixed("")), rung: "template"},
		"token in query":        {order: templated, load: open, target: inPath, sut: posting(func(in *http.Request, _ string) string { return "/charges?ref=web-" + id(in, "") }, fixed("")), rung: "template"},
		"token in a header":     {order: templated, load: open, target: "path: /search, headers: { x-customer: '{{.UUID}}' }", sut: passing("x-customer"), rung: "template"},
		"token in body":         {order: templated, load: open, target: byID, sut: posting(fixed("/charges"), body), rung: "template"},
		"token of the UUID":     {order: templated, load: open, target: byID, sut: posting(fixed("/charges"), func(_ *http.Request, b string) string { return strings.ToUpper(b) }), rung: "template"},
		"query of a name":       {order: "['template:order_id']", load: open, target: inPath, sut: posting(func(in *http.Request, _ string) string { return "/charges?order_id=" + id(in, "") }, fixed("")), rung: "template:order_id"},
		"member of a name":      {order: "['template:orderId']", load: open, target: byID, sut: posting(fixed("/c"), func(_ *http.Request, b string) string { return `{"payment":[{"for":` + b + `}]}` }), rung: "template:orderId"},
		"form field of a name":  {order: "['template:order']", load: open, target: inPath, sut: posting(fixed("/c"), func(in *http.Request, _ string) string { return "amount=1&order=" + id(in, "") }), rung: "template:order"},
		"another name":          {order: "['template:order']", load: open, target: inPath, sut: posting(fixed("/c"), func(in *http.Request, _ string) string { return "id=" + id(in, "") }), refused: []string{"carries none of [template:order]", "POST /c with the headers", "and a body"}},
		"aggregate":             {order: "[traceparent, single_flight, aggregate]", load: open, sut: passing(), rung: "aggregate"},
		"before aggregate":      {order: "[traceparent, single_flight, aggregate]", load: lockstep, sut: passing(), rung: "single_flight"},
		"nothing, many at once": {order: all, load: open, sut: passing(), refused: []string{"phase quiet has more than one call in flight", "concurrency: 1} in every phase", "{{.ID}}", "add aggregate"}},
		"no single flight":      {order: "[traceparent]", load: lockstep, sut: passing("x-other"), refused: []string{"carries none of", "GET /x with the headers Accept-Encoding, User-Agent, X-Other at dep", "add single_flight"}},
		"the order lacks it":    {order: "[traceparent]", load: open, sut: passing("x-request-id"), refused: []string{"carries none of", "X-Request-Id", "header:NAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.target == "" {
				c.target = plain
			}
			out := inBubble(t, rungs(c.order, c.load, c.target), c.sut)
			if c.refused != nil {
				pre, ok := errors.AsType[*run.PreconditionError](out.err)
				if !ok {
					t.Fatalf("error %v, want a precondition", out.err)
				}
				for _, part := range c.refused {
					if !strings.Contains(pre.Error(), part) {
						t.Errorf("%q does not say %q", pre.Error(), part)
					}
				}
				return
			}
			if out.err != nil {
				t.Fatal(out.err)
			}
			share := out.trace.Join("dep", func(string) bool { return true }).Share()
			if got := out.rung(); got != c.rung || share != 1 && c.rung != "aggregate" {
				t.Fatalf("rung %q with %.3f joined, want %q with all", got, share, c.rung)
			}
			if v := out.verdict(t, "closed"); v.Result != assert.Pass && c.rung != "aggregate" {
				out.log(t)
				t.Errorf("closed is %s", v.Result)
			}
		})
	}
}

// A request that holds the tokens of two calls belongs to neither: the call that it
// names first may be the one that did not make it.
func TestTokensOfTwoCalls(t *testing.T) {
	before := ""
	out := inBubble(t, rungs("[template]", lockstep, "path: '/orders/{{.ID}}'"), posting(fixed("/charges"), func(in *http.Request, _ string) string {
		own := path.Base(in.URL.Path)
		both := strings.TrimSpace(before + " " + own)
		before = own
		return both
	}))
	if out.err != nil {
		t.Fatal(out.err)
	}
	join := out.trace.Join("dep", func(string) bool { return true })
	if out.rung() != "template" || len(join.NoID) != 40 || len(join.Orphans) != 0 {
		t.Errorf("rung %q, %d attempts without an id, %d of no call; want template, 40, 0", out.rung(), len(join.NoID), len(join.Orphans))
	}
	if v := out.verdict(t, "closed"); v.Result != assert.Inconclusive {
		out.log(t)
		t.Errorf("closed is %s", v.Result)
	}
}

// rung is the chosen one.
func (o outcome) rung() string {
	i := slices.IndexFunc(o.trace.Marks, func(m trace.Mark) bool { return m.Kind == trace.MarkRung })
	if i < 0 {
		return ""
	}
	return o.trace.Marks[i].Text
}

// On the aggregate rung no attempt is given to a call: a call during which one
// arrived may have made it, one during which none did made none.
func TestAggregate(t *testing.T) {
	out := inBubble(t, rungs("[aggregate]", open, plain), passing())
	if out.err != nil {
		t.Fatal(out.err)
	}
	join := out.trace.Join("dep", func(string) bool { return true })
	if len(join.NoID) != 50 || len(join.Orphans) != 0 { // The probe's was recognised, as there was nothing else.
		t.Errorf("%d attempts without an id and %d orphans, want 50 and none", len(join.NoID), len(join.Orphans))
	}
	for _, c := range join.Calls {
		if c.Call.Phase == "quiet" && c.Kind != trace.Unknown {
			t.Errorf("call %s is %s, want unknown", c.Call.ID, c.Kind)
		}
	}
}

// The state that ends a phase is guessed without ids, too, and a call that was
// rejected is known to be.
func TestAggregateUntilOpen(t *testing.T) {
	const source = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: unnamed }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200, latency: 5ms } } }
correlate: { order: [traceparent, aggregate] }
load:
  rate: 50/s
  timeout: 1s
  targets: [ { name: search, path: /search, depends_on: [dep] } ]
  classify: { primary: { status: 200 }, rejected: { status: 503 } }
breakers: { dep: { injector: dep, target: search, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 5s, permitted_calls: 3 } }
phases:
  - { name: baseline, load: { calls: 30, concurrency: 1, gap: 5ms } }
  - { name: trip, load: { calls: 40, concurrency: 1, gap: 5ms, until: open }, faults: [ { injector: dep, respond: { status: 500 } } ] }
assert:
  - { id: closed, breaker.stays_closed: dep, phase: baseline }
`
	out := inBubble(t, source, func(t *testing.T, n network) func() {
		cfg := proxy.Config{
			Addr: "inner:80", Listen: n.Listen, Dial: n.DialContext,
			Service: proxy.Service{Upstream: "http://127.0.0.1:9901", Breaker: base(), Failure: match.DefaultFailure(), Timeout: time.Second},
		}
		p, err := proxy.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		stop := serving(t, n, "sut:80", stripping)
		return func() { stop(); _ = p.Close() }
	})
	if out.err != nil {
		t.Fatal(out.err)
	}
	kinds := map[trace.Kind]int{}
	for _, c := range out.trace.Join("dep", func(string) bool { return true }).Calls {
		if c.Call.Phase == "trip" {
			kinds[c.Kind]++
		}
	}
	// A window of ten with half of it failing opens, and three rejections show it.
	if diff := cmp.Diff(map[trace.Kind]int{trace.Unknown: 5, trace.Short: 3}, kinds); diff != "" {
		t.Errorf("calls of the phase that ends when it is open (-want +got):\n%s", diff)
	}
}

// stripping passes a request on to inner:80 without any header.
func stripping(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://inner:80"+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
	_ = resp.Body.Close()
}

// What a rung disables is said before the first phase.
func TestRungIsSaid(t *testing.T) {
	for order, want := range map[string][]string{
		"[traceparent]":                {"attempts are joined with calls by traceparent"},
		"[header:x-other, aggregate]":  {"by aggregate counts alone", "breaker.half_open_probes", "cannot be judged"},
		"[traceparent, single_flight]": {"joined with calls by traceparent"},
	} {
		plan, err := experiments.LoadPlan("test.yaml", []byte(rungs(order, open, plain)), 1)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			defer passing("traceparent")(t, n)()
			var mu sync.Mutex
			var notes []string
			res, err := run.Run(t.Context(), plan, run.Options{Listen: n.Listen, Dial: n.DialContext, Progress: func(p run.Progress) {
				mu.Lock()
				defer mu.Unlock()
				notes = append(notes, p.Note)
			}})
			if err != nil || res == nil {
				t.Fatal(err)
			}
			said := strings.Join(notes, "\n")
			for _, part := range want {
				if !strings.Contains(said, part) {
					t.Errorf("order %s: %q does not say %q", order, said, part)
				}
			}
		})
	}
}

// A SUT that speaks something else to its dependency is told so.
func TestProbeSeesWhatIsNoRequest(t *testing.T) {
	hello := append([]byte{0x16, 3, 1, 0, 5}, "hello"...)
	out := inBubble(t, rungs("[traceparent]", open, plain), func(t *testing.T, n network) func() {
		return serving(t, n, "sut:80", func(_ *http.Transport, w http.ResponseWriter, r *http.Request) {
			conn, err := n.DialContext(r.Context(), "tcp", "127.0.0.1:9901")
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write(append(slices.Clone(hello), bytes.Repeat([]byte("\r\n"), 3)...))
			_, _ = io.Copy(io.Discard, conn)
			w.WriteHeader(http.StatusBadGateway)
		})
	})
	pre, ok := errors.AsType[*run.PreconditionError](out.err)
	if !ok || !strings.Contains(pre.Error(), "a TLS handshake") || !strings.Contains(pre.Error(), "plain HTTP") {
		t.Errorf("error %v, want what the dependency saw", out.err)
	}
}
