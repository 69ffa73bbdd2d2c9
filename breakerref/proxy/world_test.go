package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/bulkhead"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/memnet"
)

// good is the configuration that the tests vary: what a careful team would run.
func good() proxy.Config {
	b := breakerref.Default()
	b.Name = "test"
	b.Window, b.MinimumCalls, b.Permitted = 10, 10, 3
	b.Wait = 2 * time.Second
	return proxy.Config{Service: proxy.Service{
		Breaker:  b,
		Failure:  match.DefaultFailure(),
		Timeout:  2 * time.Second,
		Fallback: &proxy.Answer{Status: 202, Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"state":"QUEUED"}`},
	}}
}

// attempts is a retry of so many attempts in all.
func attempts(n int, wait time.Duration) *retry.Config {
	return &retry.Config{MaxAttempts: n, Wait: wait}
}

// places is a bulkhead that nobody waits for.
func places(n int) *bulkhead.SemaphoreConfig {
	return &bulkhead.SemaphoreConfig{MaxConcurrentCalls: n}
}

// dependency counts what reaches it and lets each test decide what it answers.
type dependency struct {
	arrived atomic.Int32
	answer  atomic.Pointer[http.HandlerFunc]
}

func (d *dependency) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.arrived.Add(1)
	(*d.answer.Load())(w, r)
}

func (d *dependency) answers(h http.HandlerFunc) { d.answer.Store(&h) }

func (d *dependency) want(t *testing.T, n int32) {
	t.Helper()
	if got := d.arrived.Load(); got != n {
		t.Errorf("%d attempts reached the dependency, want %d", got, n)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "status")
	}
}

// cut ends the connection without an answer, with a RST or a FIN.
func cut(rst bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		if rst {
			_ = conn.(interface{ SetLinger(sec int) error }).SetLinger(0)
		}
		_ = conn.Close()
	}
}

// world is a proxy between a client and a dependency.
type world struct {
	*proxy.Proxy
	dep    *dependency
	second *dependency // at secondURL, in a bubble
	depURL string
	client *http.Client
}

// loopback builds a world of real sockets.
func loopback(t *testing.T, cfg proxy.Config) *world {
	t.Helper()
	dep := &dependency{}
	dep.answers(status(200))
	server := httptest.NewServer(dep)
	t.Cleanup(server.Close)
	cfg.Addr, cfg.Upstream = "127.0.0.1:0", server.URL
	p, err := proxy.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeProxy(t, p) })
	tr := &http.Transport{DisableCompression: true} // So that it adds no Accept-Encoding.
	t.Cleanup(tr.CloseIdleConnections)
	return &world{Proxy: p, dep: dep, depURL: server.URL, client: &http.Client{Transport: tr}}
}

func closeProxy(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// secondURL is where a bubble has a second dependency.
const secondURL = "http://secondary:80"

// bubble runs test in virtual time, in a world of in-process connections. synctest
// fails the test when a goroutine is left at its end.
func bubble(t *testing.T, cfg proxy.Config, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		dep, stop := serveAt(t, network, "dependency:80")
		second, stopSecond := serveAt(t, network, "secondary:80")
		cfg.Addr, cfg.Upstream = "sut:80", "http://dependency:80"
		cfg.Listen, cfg.Dial = network.Listen, network.DialContext
		p, err := proxy.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{DialContext: network.DialContext}
		test(t, &world{Proxy: p, dep: dep, second: second, client: &http.Client{Transport: tr}})
		tr.CloseIdleConnections()
		closeProxy(t, p)
		stop()
		stopSecond()
	})
}

// serveAt runs a dependency in a bubble until stop is called.
func serveAt(t *testing.T, network *memnet.Network, addr string) (dep *dependency, stop func()) {
	t.Helper()
	listener, err := network.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	dep = &dependency{}
	dep.answers(status(200))
	server := &http.Server{Handler: dep}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return dep, func() {
		_ = server.Close()
		<-served
	}
}

// reply is what a client of the proxy got.
type reply struct {
	status int
	source string
	body   string
	took   time.Duration
	err    error
	header http.Header
}

func (w *world) get(ctx context.Context) reply {
	return w.send(ctx, http.MethodGet, "/search?q=1", nil)
}

func (w *world) send(ctx context.Context, method, path string, body io.Reader) reply {
	req, err := http.NewRequestWithContext(ctx, method, w.URL()+path, body)
	if err != nil {
		return reply{err: err}
	}
	start := time.Now()
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header.Get(proxy.Source), string(text), time.Since(start), err, resp.Header}
}

func (r reply) want(t *testing.T, status int, source string) {
	t.Helper()
	if r.err != nil || r.status != status || r.source != source {
		t.Errorf("got %d from %q (%q, %v), want %d from %q", r.status, r.source, r.body, r.err, status, source)
	}
}

// metrics reads what the proxy tells of its breaker.
func (w *world) metrics(t *testing.T) (m struct {
	State                  string
	Buffered, Failed, Slow int
	FailureRate            float64 `json:"failure_rate"`
	NotPermitted           int     `json:"not_permitted"`
},
) {
	t.Helper()
	r := w.send(t.Context(), http.MethodGet, proxy.StatePath, nil)
	if err := json.NewDecoder(strings.NewReader(r.body)).Decode(&m); err != nil || r.err != nil {
		t.Fatalf("read the state: %v, %v", r.err, err)
	}
	return m
}

func (w *world) wantState(t *testing.T, want breakerref.State) {
	t.Helper()
	if got := w.State(); got != want {
		t.Errorf("the breaker is %v, want %v", got, want)
	}
}

// trip opens a breaker that counts the last n calls.
func (w *world) trip(t *testing.T, n int) {
	t.Helper()
	w.dep.answers(status(503))
	for range n {
		w.get(t.Context())
	}
	w.wantState(t, breakerref.Open)
}
