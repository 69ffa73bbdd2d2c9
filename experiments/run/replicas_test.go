package run_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// replicated is the experiment with two replicas in place of the one service.
func replicated(ready string) string {
	return strings.Replace(rungs("[traceparent]", open, plain), "{ base_url: http://sut:80 }",
		"{ replicas: { a: http://a:80, b: http://b:80 }"+ready+" }", 1)
}

// replica is a service at an address that answers /ready by itself.
func replica(t *testing.T, n network, name string, status int) func() {
	return serving(t, n, name+":80", func(tr *http.Transport, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" {
			w.WriteHeader(status)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://127.0.0.1:9901/"+name, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("traceparent", r.Header.Get("traceparent"))
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
	})
}

// Calls go to replicas in turn, and each is recorded with the one that got it.
func TestReplicas(t *testing.T) {
	out := inBubble(t, replicated(", ready: { get: /ready, expect: 200, timeout: 5s }"), func(t *testing.T, n network) func() {
		a, b := replica(t, n, "a", 200), replica(t, n, "b", 200)
		return func() { a(); b() }
	})
	if out.err != nil {
		t.Fatal(out.err)
	}
	calls := map[string]int{}
	ready := 0
	for _, m := range out.trace.Marks {
		if m.Kind == trace.MarkReady {
			ready++
		}
	}
	for _, c := range out.trace.Join("dep", func(string) bool { return true }).Calls {
		calls[c.Call.Phase+" "+c.Call.Instance]++
		if len(c.Attempts) != 1 || c.Attempts[0].Path != "/"+c.Call.Instance {
			t.Errorf("call %s at replica %q made %+v", c.Call.ID, c.Call.Instance, c.Attempts)
		}
	}
	want := map[string]int{"(probe) a": 1, "(probe) b": 1, "quiet a": 25, "quiet b": 25}
	if diff := cmp.Diff(want, calls); diff != "" || ready != 2 {
		t.Errorf("%d replicas were ready; calls (-want +got):\n%s", ready, diff)
	}
}

// One replica that is not there, or not ready, or does not call the dependency,
// ends the run before its first phase.
func TestReplicaMissing(t *testing.T) {
	for name, c := range map[string]struct {
		ready string
		b     func(*testing.T, network) func()
		want  string
	}{
		"not there": {"", func(*testing.T, network) func() { return func() {} }, "nothing listens at http://b:80"},
		"not ready": {", ready: { get: /ready, expect: 200, timeout: 2s }", func(t *testing.T, n network) func() { return replica(t, n, "b", 503) }, "GET http://b:80/ready did not answer 200"},
		"apart": {"", func(t *testing.T, n network) func() {
			return serving(t, n, "b:80", func(*http.Transport, http.ResponseWriter, *http.Request) {})
		}, fmt.Sprintf("called %d times at replica b and never reached", 3)},
	} {
		t.Run(name, func(t *testing.T) {
			out := inBubble(t, replicated(c.ready), func(t *testing.T, n network) func() {
				a, b := replica(t, n, "a", 200), c.b(t, n)
				return func() { a(); b() }
			})
			pre, ok := errors.AsType[*run.PreconditionError](out.err)
			if !ok || !strings.Contains(pre.Error(), c.want) {
				t.Errorf("error %v, want %q", out.err, c.want)
			}
			if len(out.trace.Phases) != 0 {
				t.Errorf("phases were run: %+v", out.trace.Phases)
			}
		})
	}
}
