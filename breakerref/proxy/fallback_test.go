package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// body answers 200 with a text.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// asks sends a GET and returns the answer's headers too.
func (w *world) asks(t *testing.T, path string) (reply, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, source: resp.Header.Get(proxy.Source), body: string(text), err: err}, resp.Header
}

// The sources answer in their order, as each of those before it drops out.
func TestFallbacksHaveAnOrder(t *testing.T) {
	cfg := good()
	cfg.Secondary, cfg.CacheGood = secondURL, 10
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(body("good"))
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.second.want(t, 0)
		w.dep.answers(status(503))
		w.second.answers(body("second"))
		if r := w.get(t.Context()); r.source != proxy.SourceSecondary || r.body != "second" {
			t.Errorf("got %+v, want the secondary", r)
		}
		w.second.answers(status(500))
		if r := w.get(t.Context()); r.source != proxy.SourceCache || r.body != "good" {
			t.Errorf("got %+v, want what was kept", r)
		}
		w.send(t.Context(), http.MethodGet, "/never", nil).want(t, 202, proxy.SourceFallback)
		w.second.want(t, 3)
	})
}

// What no source has an answer to is answered as if there were none.
func TestNoFallbackHasAnAnswer(t *testing.T) {
	cfg := good()
	cfg.Secondary, cfg.CacheGood, cfg.Fallback = secondURL, 10, nil
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.second.answers(status(500))
		w.dep.answers(status(503))
		w.get(t.Context()).want(t, 503, proxy.SourcePrimary)
		w.trip(t, 9)
		w.get(t.Context()).want(t, 503, proxy.SourceNone)
	})
}

// The breaker refuses, and hears nothing of what the secondary does.
func TestTheSecondaryIsNotTheBreakersConcern(t *testing.T) {
	cfg := good()
	cfg.Secondary, cfg.SecondaryTimeout = secondURL, 300*time.Millisecond
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 10)
		before := w.metrics(t)
		w.get(t.Context()).want(t, 200, proxy.SourceSecondary)
		w.second.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		r := w.get(t.Context())
		r.want(t, 202, proxy.SourceFallback)
		if r.took < 300*time.Millisecond || r.took > 310*time.Millisecond {
			t.Errorf("the secondary was waited for %v, want 300ms", r.took)
		}
		w.second.answers(cut(true))
		w.get(t.Context()).want(t, 202, proxy.SourceFallback)
		w.second.want(t, 13)
		w.dep.want(t, 10)
		after := w.metrics(t)
		before.NotPermitted = 3
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the breaker (-before +after):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		w.dep.answers(status(200))
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.wantState(t, breakerref.HalfOpen)
	})
}

// A slow answer counts as a failure of the primary, but is none of the secondary.
func TestTheSecondaryMayBeSlow(t *testing.T) {
	cfg := good()
	cfg.Failure = match.Failure{Slow: time.Second}
	cfg.Secondary, cfg.Fallback = secondURL, nil
	bubble(t, cfg, func(t *testing.T, w *world) {
		slow := func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(1500 * time.Millisecond)
			status(200)(rw, r)
		}
		w.dep.answers(slow)
		w.second.answers(slow)
		w.get(t.Context()).want(t, 200, proxy.SourceSecondary)
	})
}

// Method, path, query, body and headers are the same at both, traceparent among them.
func TestTheSecondaryGetsTheSameRequest(t *testing.T) {
	type seen struct {
		Method, URI, Body string
		Header            http.Header
	}
	sees := func(into *seen, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			*into = seen{r.Method, r.RequestURI, string(text), r.Header}
			w.WriteHeader(code)
		}
	}
	var first, second seen
	server := httptest.NewServer(sees(&second, 201))
	defer server.Close()
	cfg := good()
	cfg.Secondary = server.URL + "/api"
	w := loopback(t, cfg)
	w.dep.answers(sees(&first, 503))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL()+"/a%2Fb?q=%20x", strings.NewReader("the body"))
	if err != nil {
		t.Fatal(err)
	}
	const trace = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	req.Header = http.Header{"Traceparent": {trace}, "Tracestate": {"a=1,b=2"}, "X-Twice": {"1", "2"}, "User-Agent": nil}
	resp, err := w.client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated || resp.Header.Get(proxy.Source) != proxy.SourceSecondary {
		t.Errorf("got %d from %s", resp.StatusCode, resp.Header.Get(proxy.Source))
	}
	want := seen{http.MethodPost, "/a%2Fb?q=%20x", "the body", http.Header{
		"Traceparent": {trace}, "Tracestate": {"a=1,b=2"}, "X-Twice": {"1", "2"}, "Content-Length": {"8"},
	}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the primary's request (-want +got):\n%s", diff)
	}
	want.URI = "/api" + want.URI
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("the secondary's request (-want +got):\n%s", diff)
	}
}

func TestTheCacheTellsTheAge(t *testing.T) {
	cfg := good()
	cfg.CacheGood = 10
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Age", "77")
			rw.Header().Set("ETag", "x")
			rw.WriteHeader(http.StatusNonAuthoritativeInfo)
			_, _ = io.WriteString(rw, "good")
		})
		if r, h := w.asks(t, "/a?b"); r.source != proxy.SourcePrimary || h.Get("Age") != "77" {
			t.Errorf("got %+v with age %s", r, h.Get("Age"))
		}
		w.dep.answers(status(503))
		for _, age := range []string{"0", "2", "4"} {
			r, h := w.asks(t, "/a?b")
			r.want(t, 203, proxy.SourceCache)
			if r.body != "good" || h.Get("Age") != age || h.Get("ETag") != "x" {
				t.Errorf("got %q, %v, want it to be %s s old", r.body, h, age)
			}
			time.Sleep(1900 * time.Millisecond)
			if age == "0" {
				time.Sleep(100 * time.Millisecond)
			}
			if age == "2" {
				time.Sleep(900 * time.Millisecond)
			}
		}
		for _, other := range []string{"/a", "/a?c", "/a?b=", "/A?b"} {
			w.send(t.Context(), http.MethodGet, other, nil).want(t, 202, proxy.SourceFallback)
		}
		w.send(t.Context(), http.MethodPost, "/a?b", nil).want(t, 202, proxy.SourceFallback)
	})
}

// The open breaker is no obstacle, and a failing answer never takes a good one's place.
func TestTheCacheKeepsTheLastGoodAnswers(t *testing.T) {
	cfg := good()
	cfg.CacheGood = 2
	bubble(t, cfg, func(t *testing.T, w *world) {
		for n, path := range []string{"/a", "/b", "/a", "/c"} { // So that b's is the oldest.
			w.dep.answers(body(fmt.Sprint(path, n)))
			w.send(t.Context(), http.MethodGet, path, nil).want(t, 200, proxy.SourcePrimary)
		}
		w.trip(t, 6)
		for path, want := range map[string]string{"/a": "/a2", "/c": "/c3", "/b": `{"state":"QUEUED"}`} {
			if r := w.send(t.Context(), http.MethodGet, path, nil); r.body != want {
				t.Errorf("%s: got %q from %q, want %q", path, r.body, r.source, want)
			}
		}
	})
}

// The defects of fallbacks show with all sources there.
func TestDefectsOfFallbacks(t *testing.T) {
	cfg := good()
	cfg.Secondary, cfg.CacheGood, cfg.Defect = secondURL, 10, proxy.FallbackAlways
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context()).want(t, 200, proxy.SourceSecondary)
		w.dep.want(t, 1)
	})
	cfg.Defect = proxy.Empty200
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.dep.answers(status(503))
		r := w.get(t.Context())
		r.want(t, 200, proxy.SourceFallback)
		if r.body != "[]" {
			t.Errorf("the body is %q", r.body)
		}
	})
}

func TestABadFallbackIsRefused(t *testing.T) {
	for want, change := range map[string]func(*proxy.Config){
		`the secondary is "nowhere", must be a URL`:              func(c *proxy.Config) { c.Secondary = "nowhere" },
		`the secondary is "http://127.0.0.1:1?a", must have`:     func(c *proxy.Config) { c.Secondary = "http://127.0.0.1:1?a" },
		"the secondary's timeout is negative":                    func(c *proxy.Config) { c.SecondaryTimeout = -1 },
		"has a timeout, but there is no secondary":               func(c *proxy.Config) { c.SecondaryTimeout = 1 },
		"the number of answers kept is negative":                 func(c *proxy.Config) { c.CacheGood = -1 },
		`the instance is "a\r\nb", must have no control charact`: func(c *proxy.Config) { c.Instance = "a\r\nb" },
		`the instance is " a", must have no control characters`:  func(c *proxy.Config) { c.Instance = " a" },
	} {
		cfg := good()
		cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://127.0.0.1:1"
		change(&cfg)
		if p, err := proxy.Start(t.Context(), cfg); err == nil {
			closeProxy(t, p)
			t.Errorf("taken: %s", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Every answer says which instance has given it, whatever the dependency says of itself.
func TestInstances(t *testing.T) {
	cfg := good()
	cfg.Actuator, cfg.Instance = true, "b-2"
	cfg.Routes = []proxy.Route{{Path: "/static", Respond: &proxy.Answer{}}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		of := func(path string) string {
			t.Helper()
			_, h := w.asks(t, path)
			return strings.Join(h.Values(proxy.Instance), " and ")
		}
		w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set(proxy.Instance, "a-1")
		})
		paths := []string{"/", "/static", proxy.HealthPath, proxy.StatePath, "/actuator/health", "/actuator/env", "/actuator/prometheus"}
		for _, path := range paths {
			if got := of(path); got != "b-2" {
				t.Errorf("%s was answered by %q", path, got)
			}
		}
		w.trip(t, 10)
		if got := of("/"); got != "b-2" {
			t.Errorf("the fallback was answered by %q", got)
		}
	})
	cfg.Instance = ""
	bubble(t, cfg, func(t *testing.T, w *world) {
		if _, h := w.asks(t, "/static"); len(h.Values(proxy.Instance)) != 0 {
			t.Errorf("no instance was named, and the answer says %v", h)
		}
	})
}
