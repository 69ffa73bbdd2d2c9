package proxy_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

func TestTripsAtTheTenthFailingCall(t *testing.T) {
	w := loopback(t, good())
	w.dep.answers(status(503))
	for n := range 10 {
		w.wantState(t, breakerref.Closed)
		w.get(t.Context()).want(t, 202, proxy.SourceFallback)
		w.dep.want(t, int32(n+1))
	}
	w.wantState(t, breakerref.Open)
	for range 5 {
		r := w.get(t.Context())
		r.want(t, 202, proxy.SourceFallback)
		if r.body != `{"state":"QUEUED"}` {
			t.Errorf("the fallback's body is %q", r.body)
		}
	}
	w.dep.want(t, 10)
	if m := w.metrics(t); m.NotPermitted != 5 || m.Failed != 10 || m.FailureRate != 100 {
		t.Errorf("metrics are %+v, want 5 not permitted, 10 failed, 100 percent", m)
	}
}

func TestOpenAnswersFast(t *testing.T) {
	cfg := good()
	bubble(t, cfg, func(t *testing.T, w *world) {
		slow := func(rw http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Second)
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		w.dep.answers(slow)
		for range 10 {
			if r := w.get(t.Context()); r.took < time.Second {
				t.Errorf("closed: a call took %v, want the dependency's second", r.took)
			}
		}
		for range 10 {
			r := w.get(t.Context())
			r.want(t, 202, proxy.SourceFallback)
			if r.took > time.Millisecond {
				t.Errorf("open: a call took %v", r.took)
			}
		}
		w.dep.want(t, 10)
	})
}

func TestAFallbackMayTakeItsTime(t *testing.T) {
	cfg := good()
	cfg.FallbackDelay = 300 * time.Millisecond
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 10)
		if r := w.get(t.Context()); r.took < 300*time.Millisecond || r.took > 301*time.Millisecond {
			t.Errorf("the fallback took %v, want 300ms", r.took)
		}
	})
}

// burst makes n calls while the dependency holds what reaches it, and lets go when
// everybody who can be answered was.
func (w *world) burst(t *testing.T, n, answer int) (fallbacks int) {
	t.Helper()
	hold := make(chan struct{})
	w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) {
		<-hold
		rw.WriteHeader(answer)
	})
	var mu sync.Mutex
	var held bool // whether the dependency still holds
	held = true
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			r := w.get(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if r.source == proxy.SourceFallback && held {
				fallbacks++
			}
		})
	}
	synctest.Wait()
	time.Sleep(time.Millisecond) // Virtual: lets the network's hops arrive.
	mu.Lock()
	held = false
	mu.Unlock()
	close(hold)
	calls.Wait()
	return fallbacks
}

func TestHalfOpenPermitsExactlyThree(t *testing.T) {
	for _, tc := range []struct {
		answer int
		then   breakerref.State
	}{{200, breakerref.Closed}, {503, breakerref.Open}} {
		bubble(t, good(), func(t *testing.T, w *world) {
			w.trip(t, 10)
			time.Sleep(2100 * time.Millisecond)
			if got := w.burst(t, 20, tc.answer); got != 17 {
				t.Errorf("%d of 20 calls were refused, want 17", got)
			}
			w.dep.want(t, 13)
			w.wantState(t, tc.then)
		})
	}
}

func TestOpenLastsAsLongAsItsWait(t *testing.T) {
	bubble(t, good(), func(t *testing.T, w *world) {
		w.trip(t, 10)
		time.Sleep(1999 * time.Millisecond)
		w.get(t.Context()).want(t, 202, proxy.SourceFallback)
		w.dep.want(t, 10)
		time.Sleep(2 * time.Millisecond)
		w.dep.answers(status(200))
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.wantState(t, breakerref.HalfOpen)
	})
}

// The defects that a configuration can have, as a trace would show them.
func TestDefectsByConfiguration(t *testing.T) {
	t.Run("ten probes", func(t *testing.T) {
		cfg := good()
		cfg.Breaker.Permitted = 10
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.trip(t, 10)
			time.Sleep(2100 * time.Millisecond)
			if got := w.burst(t, 30, 503); got != 20 {
				t.Errorf("%d of 30 calls were refused, want 20", got)
			}
		})
	})
	t.Run("window and minimum of a hundred", func(t *testing.T) {
		cfg := good()
		cfg.Breaker.Window, cfg.Breaker.MinimumCalls = 100, 100
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			for range 99 {
				w.get(t.Context())
			}
			w.wantState(t, breakerref.Closed)
			w.get(t.Context())
			w.wantState(t, breakerref.Open)
			w.dep.want(t, 100)
		})
	})
	t.Run("no fallback", func(t *testing.T) {
		cfg := good()
		cfg.Fallback = nil
		bubble(t, cfg, func(t *testing.T, w *world) {
			w.dep.answers(status(503))
			r := w.get(t.Context())
			r.want(t, 503, proxy.SourcePrimary)
			if r.body != "status" {
				t.Errorf("the dependency's body became %q", r.body)
			}
			w.trip(t, 9)
			r = w.get(t.Context())
			r.want(t, 503, proxy.SourceNone)
			if want := `{"reason":"the circuit breaker is OPEN","source":"none"}` + "\n"; r.body != want {
				t.Errorf("the body is %q, want %q", r.body, want)
			}
		})
	})
}

// A call admitted in CLOSED that ends in HALF_OPEN counts as a probe, without
// having used a permit, see the documentation of breakerref.
func TestALateResultCountsForTheStateItMeets(t *testing.T) {
	cfg := good()
	cfg.Breaker.Permitted = 2
	cfg.Timeout = time.Minute
	bubble(t, cfg, func(t *testing.T, w *world) {
		hold := make(chan struct{})
		w.dep.answers(func(http.ResponseWriter, *http.Request) { <-hold })
		late := make(chan reply, 1)
		go func() { late <- w.get(t.Context()) }()
		time.Sleep(time.Millisecond)
		w.trip(t, 10)
		time.Sleep(2100 * time.Millisecond)
		w.dep.answers(status(200))
		w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
		w.wantState(t, breakerref.HalfOpen) // One probe of two has ended.
		close(hold)
		r := <-late
		r.want(t, 200, proxy.SourcePrimary)
		w.wantState(t, breakerref.Closed)
	})
}

func TestAClientThatLeavesChangesNothing(t *testing.T) {
	w := loopback(t, good())
	hold, seen := make(chan struct{}), make(chan error, 1)
	w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
		<-hold
		seen <- r.Context().Err()
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan reply, 1)
	go func() { gone <- w.get(ctx) }()
	for w.dep.arrived.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if r := <-gone; r.err == nil {
		t.Fatal("the client did not leave")
	}
	time.Sleep(20 * time.Millisecond) // For a proxy that would cancel, to do so.
	close(hold)
	if err := <-seen; err != nil {
		t.Errorf("the dependency's call was cancelled: %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for w.metrics(t).Buffered == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if m := w.metrics(t); m.Buffered != 1 || m.Failed != 1 {
		t.Errorf("metrics are %+v, want the one failure", m)
	}
}

func TestEachAttemptAsksTheBreaker(t *testing.T) {
	cfg := good()
	cfg.Retry = attempts(4, 50*time.Millisecond)
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(503))
		for range 2 {
			if r := w.get(t.Context()); r.took < 150*time.Millisecond || r.took > 151*time.Millisecond {
				t.Errorf("a call of four attempts took %v, want three waits of 50ms", r.took)
			}
		}
		w.dep.want(t, 8)
		if m := w.metrics(t); m.Buffered != 8 || m.Failed != 8 {
			t.Errorf("metrics are %+v, want 8 failures", m)
		}
		// The tenth attempt opens the breaker; the eleventh is refused and ends it.
		w.get(t.Context()).want(t, 202, proxy.SourceFallback)
		w.dep.want(t, 10)
		if m := w.metrics(t); m.NotPermitted != 1 || m.State != "OPEN" {
			t.Errorf("metrics are %+v, want OPEN and one refusal", m)
		}
	})
}

func TestARetryMaySucceed(t *testing.T) {
	cfg := good()
	cfg.Retry = attempts(2, 0)
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(func(rw http.ResponseWriter, _ *http.Request) {
			w.dep.answers(func(rw http.ResponseWriter, r *http.Request) { _ = r.Write(rw) })
			rw.WriteHeader(http.StatusServiceUnavailable)
		})
		r := w.send(t.Context(), http.MethodPost, "/x", strings.NewReader("the body"))
		r.want(t, 200, proxy.SourcePrimary)
		if !strings.HasSuffix(r.body, "\r\n\r\nthe body") {
			t.Errorf("the second attempt had no body:\n%s", r.body)
		}
		w.dep.want(t, 2)
	})
}

func TestThePoolBoundsConcurrency(t *testing.T) {
	cfg := good()
	cfg.Pool = 3
	bubble(t, cfg, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var now, most int
		w.dep.answers(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
		})
		var calls sync.WaitGroup
		for range 12 {
			calls.Go(func() { w.get(t.Context()).want(t, 200, proxy.SourcePrimary) })
		}
		calls.Wait()
		if most != 3 {
			t.Errorf("%d calls were at the dependency at a time, want 3", most)
		}
	})
}

func TestCloseReleasesCallsUnderWay(t *testing.T) {
	cfg := good()
	cfg.Fallback = nil
	cfg.Breaker.Permitted = 1 // One failure would decide.
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 10)
		time.Sleep(2100 * time.Millisecond)
		w.dep.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		cut := make(chan reply, 1)
		go func() { cut <- w.get(t.Context()) }()
		time.Sleep(time.Millisecond)
		w.wantState(t, breakerref.HalfOpen)
		start := time.Now()
		closeProxy(t, w.Proxy)
		closeProxy(t, w.Proxy)
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		if r := <-cut; r.err == nil {
			t.Errorf("the client got an answer: %+v", r)
		}
		w.wantState(t, breakerref.HalfOpen) // A failure would have been recorded by now.
	})
}

func TestTheOwnPathsAskNobody(t *testing.T) {
	bubble(t, good(), func(t *testing.T, w *world) {
		for range 20 {
			if r := w.send(t.Context(), http.MethodGet, proxy.HealthPath, nil); r.status != 200 || r.body != "{\"status\":\"UP\"}\n" {
				t.Errorf("health is %+v", r)
			}
		}
		r := w.send(t.Context(), http.MethodGet, proxy.StatePath, nil)
		want := `{"state":"CLOSED","failure_rate":-1,"slow_rate":-1,"buffered":0,"failed":0,"slow":0,"slow_failed":0,"not_permitted":0}` + "\n"
		if diff := cmp.Diff(want, r.body); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		w.dep.want(t, 0)
	})
}

func TestABadConfigurationIsRefused(t *testing.T) {
	cfg := good()
	cfg.Upstream = "127.0.0.1:9901"
	cfg.Timeout, cfg.Pool = -1, -1
	cfg.Fallback = &proxy.Answer{Status: 20}
	_, err := proxy.Start(t.Context(), cfg)
	want := `reference proxy: the upstream is "127.0.0.1:9901", must be a URL such as http://127.0.0.1:9901
the timeout is negative
the pool is negative
the fallback's status is 20, must be from 200 to 599`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, upstream := range []string{"http://127.0.0.1:1/a?b=c", "http://127.0.0.1:1?", "http://127.0.0.1:1/#part", "http://me:secret@127.0.0.1:1"} {
		cfg = good()
		cfg.Addr, cfg.Upstream = "127.0.0.1:0", upstream
		if p, err := proxy.Start(t.Context(), cfg); err == nil {
			closeProxy(t, p)
			t.Errorf("upstream %s is taken, and a part of it would be ignored", upstream)
		} else if !strings.Contains(err.Error(), "neither a query, a fragment nor a user") || strings.Contains(err.Error(), "secret") {
			t.Errorf("upstream %s: %v", upstream, err)
		}
	}
	cfg = good()
	cfg.Upstream, cfg.Breaker.Window = "http://127.0.0.1:9901", 0
	if _, err = proxy.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "slidingWindowSize is 0") {
		t.Errorf("got %v, want what breakerref says", err)
	}
	cfg = good()
	cfg.Upstream, cfg.Addr = "http://127.0.0.1:9901", "127.0.0.1:99999"
	if _, err = proxy.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "listen at 127.0.0.1:99999") {
		t.Errorf("got %v, want the address", err)
	}
}

func TestURLOfAnUnspecifiedAddress(t *testing.T) {
	cfg := good()
	cfg.Addr, cfg.Upstream = ":0", "http://127.0.0.1:1"
	p, err := proxy.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeProxy(t, p)
	if !strings.HasPrefix(p.URL(), "http://127.0.0.1:") || strings.HasSuffix(p.URL(), ":0") {
		t.Errorf("URL = %q, Addr = %q", p.URL(), p.Addr())
	}
}
