package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// One seed, one trace: what overlaps is ordered by the network and by nothing else.
func TestARunIsDeterministic(t *testing.T) {
	first := tracedRun(t)
	text := strings.Join(first, "\n")
	for _, part := range []string{": 200 primary", ": 202 fallback"} {
		if strings.Count(text, part) < 100 {
			t.Fatalf("the run is not worth comparing, it has few of %q", part)
		}
	}
	for range 5 {
		if diff := cmp.Diff(first, tracedRun(t)); diff != "" {
			t.Fatalf("two runs differ (-first +second):\n%s", diff)
		}
	}
}

// tracedRun sends 100 requests a second for 10 s to a dependency that takes 60 ms
// and fails in between, and returns what both sides saw.
func tracedRun(t *testing.T) (seen []string) {
	t.Helper()
	cfg := good()
	cfg.Pool, cfg.Retry = 8, attempts(2, 0)
	bubble(t, cfg, func(t *testing.T, w *world) {
		start := time.Now()
		var mu sync.Mutex
		see := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%v ", time.Since(start))+fmt.Sprintf(format, args...))
		}
		w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
			at := time.Since(start)
			see("arrived %s", r.URL.Query().Get("n"))
			time.Sleep(60 * time.Millisecond)
			if at > 3*time.Second && at < 7*time.Second {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		var calls sync.WaitGroup
		for n := range 1000 {
			calls.Go(func() {
				r := w.send(t.Context(), http.MethodGet, fmt.Sprintf("/?n=%d", n), nil)
				see("answered %d: %d %s %v %v", n, r.status, r.source, r.took, r.err)
			})
			time.Sleep(10 * time.Millisecond)
		}
		calls.Wait()
	})
	return seen
}
