package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// outcomes are the ways in which the dependency can answer, each with the failure
// that lists it and what the client gets without a fallback.
func outcomes() []struct {
	name   string
	dep    http.HandlerFunc
	listed match.Failure
	status int
	source string
	reason string
} {
	return []struct {
		name   string
		dep    http.HandlerFunc
		listed match.Failure
		status int
		source string
		reason string
	}{
		{"5xx", status(503), match.Failure{Classes: []int{5}}, 503, proxy.SourcePrimary, ""},
		{"429", status(429), match.Failure{Statuses: []int{429}}, 429, proxy.SourcePrimary, ""},
		{"reset", cut(true), match.Failure{Reset: true}, 502, proxy.SourceNone, "reset"},
		{"eof", cut(false), match.Failure{EOF: true}, 502, proxy.SourceNone, "eof"},
		{"eof in the body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, match.Failure{EOF: true}, 502, proxy.SourceNone, "eof"},
		{"timeout", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, match.Failure{Abandon: true}, 502, proxy.SourceNone, "timeout"},
		{"timeout in the body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, match.Failure{Abandon: true}, 502, proxy.SourceNone, "timeout"},
		{"slow", func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(1500 * time.Millisecond)
			w.WriteHeader(http.StatusCreated)
		}, match.Failure{Slow: time.Second}, 201, proxy.SourcePrimary, ""},
	}
}

func TestOutcomes(t *testing.T) {
	for _, tc := range outcomes() {
		for _, listed := range []bool{true, false} {
			for _, fallback := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s listed=%v fallback=%v", tc.name, listed, fallback), func(t *testing.T) {
					cfg := good()
					cfg.Failure = tc.listed
					if !listed {
						cfg.Failure = match.Failure{}
					}
					if !fallback {
						cfg.Fallback = nil
					}
					bubble(t, cfg, func(t *testing.T, w *world) {
						w.dep.answers(tc.dep)
						r := w.get(t.Context())
						noAnswer := tc.source == proxy.SourceNone
						if fallback && (listed || noAnswer) {
							r.want(t, 202, proxy.SourceFallback)
						} else {
							r.want(t, tc.status, tc.source)
						}
						if !fallback && noAnswer && !strings.Contains(r.body, "the dependency did not answer: "+tc.reason+`"`) {
							t.Errorf("the body is %q, want the reason %q", r.body, tc.reason)
						}
						w.dep.want(t, 1)
						wantFailed := 0
						if listed {
							wantFailed = 1
						}
						if m := w.metrics(t); m.Buffered != 1 || m.Failed != wantFailed {
							t.Errorf("metrics are %+v, want 1 outcome, %d failed", m, wantFailed)
						}
					})
				})
			}
		}
	}
}

// On real sockets the kernel words resets and ends differently from the in-process
// network.
func TestConnectionFaultsOnTheWire(t *testing.T) {
	for _, tc := range []struct {
		name   string
		dep    http.HandlerFunc
		listed match.Failure
	}{
		{"reset", cut(true), match.Failure{Reset: true}},
		{"eof", cut(false), match.Failure{EOF: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := good()
			cfg.Failure = tc.listed
			w := loopback(t, cfg)
			w.dep.answers(tc.dep)
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
				w.send(t.Context(), method, "/", strings.NewReader("body")).want(t, 202, proxy.SourceFallback)
			}
			w.dep.want(t, 4)
			if m := w.metrics(t); m.Buffered != 4 || m.Failed != 4 {
				t.Errorf("metrics are %+v, want 4 failures", m)
			}
		})
	}
}

func TestARefusedConnectionIsAReset(t *testing.T) {
	const nobody = "127.0.0.1:1" // A port that was free a moment ago may be given to somebody else.
	cfg := good()
	cfg.Failure, cfg.Fallback = match.Failure{Reset: true}, nil
	w := loopback(t, cfg)
	cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://"+nobody
	p, err := proxy.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeProxy(t, p)
	w.Proxy = p
	r := w.get(t.Context())
	r.want(t, 502, proxy.SourceNone)
	// It counts as a reset and is called what it is.
	if m := w.metrics(t); m.Failed != 1 || !strings.Contains(r.body, "connection refused") || strings.Contains(r.body, "reset") {
		t.Errorf("got %s and %+v, want a refused connection and 1 failure", r.body, m)
	}
}

func TestAFailedDialIsAReset(t *testing.T) {
	cfg := good()
	cfg.Failure, cfg.Fallback = match.Failure{Reset: true}, nil
	cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no such host") }
	w := loopback(t, cfg)
	r := w.get(t.Context())
	r.want(t, 502, proxy.SourceNone)
	if m := w.metrics(t); m.Failed != 1 || !strings.Contains(r.body, "unreachable") {
		t.Errorf("got %s and %+v, want an unreachable dependency and 1 failure", r.body, m)
	}
}

// The transport goes on dialling for a request that has given up.
func TestCloseEndsADialThatNobodyWaitsFor(t *testing.T) {
	cfg := good()
	cfg.Timeout = 50 * time.Millisecond
	ended := make(chan error, 1)
	cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	w := loopback(t, cfg)
	w.get(t.Context()).want(t, 202, proxy.SourceFallback)
	closeProxy(t, w.Proxy)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("Close left the dial behind")
	}
}

// Go's client would send these requests again, since they were sent over a
// connection that had served one before, and the breaker would see successes.
func TestNothingIsSentTwice(t *testing.T) {
	for _, tc := range []struct{ method, body, key string }{
		{http.MethodGet, "", ""},
		{http.MethodHead, "", ""},
		{http.MethodPost, "", "once"},
		{http.MethodPost, "body", "once"},
		{http.MethodDelete, "", ""},
	} {
		t.Run(tc.method+tc.body, func(t *testing.T) {
			cfg := good()
			w := loopback(t, cfg)
			dep := newFlaky(t)
			cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://"+dep.addr
			p, err := proxy.Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer closeProxy(t, p)
			w.Proxy = p
			for n := range 8 { // Too few to open the breaker.
				req, err := http.NewRequestWithContext(t.Context(), tc.method, p.URL(), strings.NewReader(tc.body))
				if err != nil {
					t.Fatal(err)
				}
				if tc.key != "" {
					req.Header.Set("Idempotency-Key", tc.key)
				}
				resp, err := w.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got, want := resp.Header.Get(proxy.Source), []string{"primary", "fallback"}[n%2]; got != want {
					t.Errorf("answer %d came from %q, want %q", n+1, got, want)
				}
			}
			if got := dep.requests.Load(); got != 8 {
				t.Errorf("8 calls were %d requests at the dependency", got)
			}
		})
	}
}

// flaky answers the first request of each connection and closes the connection on
// the second.
type flaky struct {
	addr     string
	requests atomic.Int32
}

func newFlaky(t *testing.T) *flaky {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{addr: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.serve(conn) // One at a time: the client of the test is alone.
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return f
}

func (f *flaky) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := range 2 {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		f.requests.Add(1)
		if n == 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
}

func TestSlowCallsAreMeasuredToTheEndOfTheBody(t *testing.T) {
	cfg := good()
	cfg.Breaker.SlowDuration, cfg.Breaker.SlowRate = 500*time.Millisecond, 80
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, "first")
			_ = http.NewResponseController(rw).Flush()
			time.Sleep(600 * time.Millisecond)
			_, _ = io.WriteString(rw, " last")
		})
		for range 10 {
			r := w.get(t.Context())
			r.want(t, 200, proxy.SourcePrimary)
			if r.body != "first last" {
				t.Errorf("the body is %q", r.body)
			}
		}
		w.wantState(t, breakerref.Open)
	})
}
