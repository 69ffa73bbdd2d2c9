package run_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/match"
)

// strange is a service around one with a right breaker, that does what makes judging hard.
type strange struct {
	t    *testing.T
	tr   *http.Transport
	mu   sync.Mutex
	kept []byte
	at   time.Time
	run  chan struct{} // closed when the call that others joined is over
	got  []byte
	code int
	bg   sync.WaitGroup
}

// inner asks the service inside.
func (s *strange) inner(ctx context.Context, in http.Header) (int, http.Header, []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://inner:80/search", nil)
	if err != nil {
		s.t.Error(err)
		return 500, nil, nil
	}
	req.Header = in
	resp, err := s.tr.RoundTrip(req)
	if err != nil {
		return http.StatusBadGateway, nil, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body
}

// passes answers what the service inside does.
func (s *strange) passes(w http.ResponseWriter, r *http.Request) {
	code, _, body := s.inner(r.Context(), r.Header.Clone())
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

func (s *strange) strips(w http.ResponseWriter, r *http.Request) {
	code, _, body := s.inner(r.Context(), http.Header{})
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// caches keeps what is primary for a time.
func (s *strange) caches(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.kept != nil && time.Since(s.at) < 60*time.Millisecond {
		body := s.kept
		s.mu.Unlock()
		_, _ = w.Write(body)
		return
	}
	s.mu.Unlock()
	code, _, body := s.inner(r.Context(), r.Header.Clone())
	if code == http.StatusOK && strings.Contains(string(body), "primary") {
		s.mu.Lock()
		s.kept, s.at = body, time.Now()
		s.mu.Unlock()
	}
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// coalesces has those who come meanwhile share one call.
func (s *strange) coalesces(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	run := s.run
	if run == nil {
		run = make(chan struct{})
		s.run = run
		s.mu.Unlock()
		code, _, body := s.inner(context.WithoutCancel(r.Context()), r.Header.Clone())
		s.mu.Lock()
		s.code, s.got, s.run = code, body, nil
		close(run)
	} else {
		s.mu.Unlock()
		<-run
		s.mu.Lock()
	}
	code, body := s.code, s.got
	s.mu.Unlock()
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// hurries answers before it calls.
func (s *strange) hurries(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Clone()
	s.bg.Go(func() { s.inner(context.Background(), header) })
	_, _ = io.WriteString(w, `{"source":"primary"}`)
}

func (s *strange) repeats(w http.ResponseWriter, r *http.Request) {
	s.inner(r.Context(), r.Header.Clone())
	s.passes(w, r)
}

// streams sends its head before it calls, and its body in two parts.
func (s *strange) streams(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	_, _, body := s.inner(r.Context(), r.Header.Clone())
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	time.Sleep(5 * time.Millisecond)
	_, _ = w.Write(body[len(body)/2:])
}

// around runs a proxy at inner:80 and a strange service at sut:80 around it. again, if it is
// not 0, is when both are gone for a moment, and come back with an empty memory.
func around(handle func(*strange) http.HandlerFunc, change func(*proxy.Config), again time.Duration) func(*testing.T, network) func() {
	return func(t *testing.T, n network) func() {
		start := func() func() {
			cfg := proxy.Config{
				Addr: "inner:80", Listen: n.Listen, Dial: n.DialContext,
				Service: proxy.Service{
					Upstream: "http://127.0.0.1:9901", Breaker: base(), Failure: match.DefaultFailure(), Timeout: 2 * time.Second,
					Fallback: &proxy.Answer{Status: http.StatusOK, Body: `{"source":"fallback"}`},
				},
			}
			change(&cfg)
			p, err := proxy.Start(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			s := &strange{t: t}
			stop := serving(t, n, "sut:80", func(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
				s.mu.Lock()
				s.tr = tr
				s.mu.Unlock()
				handle(s)(w, r)
			})
			return func() { stop(); s.bg.Wait(); _ = p.Close() }
		}
		stop := start()
		if again == 0 {
			return stop
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(again)
			stop()
			time.Sleep(100 * time.Millisecond)
			stop = start()
		})
		return func() { wg.Wait(); stop() }
	}
}

// A service that strips headers, caches, coalesces, answers before it calls, calls twice, streams
// or restarts in the middle of a run gets right verdicts about its breaker, or none: where the
// breaker is right nothing fails, and where it leaks nothing says that it does not.
func TestStrangeServices(t *testing.T) {
	for name, c := range map[string]struct {
		handle  func(*strange) http.HandlerFunc
		again   time.Duration
		clear   []string // what is decided all the same
		refused bool     // it may be that the run ends before its first phase
	}{
		"as it is":                {handle: func(s *strange) http.HandlerFunc { return s.passes }, clear: []string{"no-leak", "waits", "three-probes", "closes"}},
		"strips headers":          {handle: func(s *strange) http.HandlerFunc { return s.strips }},
		"caches":                  {handle: func(s *strange) http.HandlerFunc { return s.caches }},
		"coalesces":               {handle: func(s *strange) http.HandlerFunc { return s.coalesces }},
		"answers before it calls": {handle: func(s *strange) http.HandlerFunc { return s.hurries }, refused: true},
		"calls twice":             {handle: func(s *strange) http.HandlerFunc { return s.repeats }},
		"streams":                 {handle: func(s *strange) http.HandlerFunc { return s.streams }, clear: []string{"no-leak", "waits", "closes"}},
		"restarts while open":     {handle: func(s *strange) http.HandlerFunc { return s.passes }, again: 4500 * time.Millisecond},
		"restarts while closed":   {handle: func(s *strange) http.HandlerFunc { return s.passes }, again: 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(setup{latency: "10ms", permitted: 3}.experiment(), "load:\n", "correlate: { order: [traceparent, aggregate] }\nload:\n", 1)
			out := inBubble(t, src, around(c.handle, func(*proxy.Config) {}, c.again))
			if _, apart := errors.AsType[*run.PreconditionError](out.err); apart && c.refused {
				return // It is said before the first phase that calls and attempts cannot be told to belong together.
			}
			if out.err != nil {
				t.Fatal(out.err)
			}
			for _, v := range out.report.Verdicts {
				if v.Result == assert.Fail || v.Result != assert.Pass && slices.Contains(c.clear, v.ID) {
					t.Errorf("right breaker: %s is %s: %s", v.ID, v.Result, v.Reason)
				}
			}
			if t.Failed() {
				out.log(t)
			}
			out = inBubble(t, src, around(c.handle, func(cfg *proxy.Config) { cfg.Defect = proxy.Leaks }, c.again))
			if out.err != nil {
				t.Fatal(out.err)
			}
			if v := out.verdict(t, "no-leak"); v.Result == assert.Pass {
				out.log(t)
				t.Errorf("leaking breaker: %s is %s: %s", v.ID, v.Result, v.Observed)
			}
		})
	}
}
