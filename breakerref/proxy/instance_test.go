package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
)

// at asks one instance, or the next one.
func (w *world) at(t *testing.T, instance, path string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if instance != "" {
		req.Header.Set(proxy.Instance, instance)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return reply{status: resp.StatusCode, header: resp.Header}
}

// What one has seen the others have not.
func TestInstancesServeInTurn(t *testing.T) {
	cfg := bare()
	cfg.Instance, cfg.Instances, cfg.Actuator = "pay", 3, true
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Seen", r.Header.Get(proxy.Instance))
			rw.WriteHeader(http.StatusServiceUnavailable)
		})
		var order []string
		for range 7 {
			r := w.at(t, "", "/x")
			order = append(order, r.header.Get(proxy.Instance))
			w.at(t, "", proxy.HealthPath) // Takes nobody's turn.
		}
		if got := fmt.Sprint(order); got != "[pay-1 pay-2 pay-3 pay-1 pay-2 pay-3 pay-1]" {
			t.Errorf("they served as %s", got)
		}
		for range 20 {
			if r := w.at(t, "pay-2", "/x"); r.header.Get(proxy.Instance) != "pay-2" || r.header.Get("Seen") != "" {
				t.Errorf("the answer is %+v", r)
			}
		}
		w.dep.want(t, 7+8)
		w.wantState(t, breakerref.Closed)
		if r := w.at(t, "", "/x"); r.status != 503 || r.header.Get(proxy.Source) != proxy.SourceNone {
			t.Errorf("it is the turn of an open instance, which answered %+v", r)
		}
		for n := range 3 {
			name := fmt.Sprint("pay-", n+1)
			if r := w.at(t, name, "/actuator/health"); r.status != 200 || r.header.Get(proxy.Instance) != name {
				t.Errorf("the actuator of %s: %+v", name, r)
			}
		}
		if r := w.at(t, "pay-4", "/x"); r.status != 400 {
			t.Errorf("an instance that there is not: %+v", r)
		}
	})
}

// Replicas draw their random waits apart, as separate processes would.
func TestInstancesDrawApart(t *testing.T) {
	cfg := bare()
	cfg.Instances, cfg.Actuator = 2, true
	cfg.Retry = attempts(2, 100e6)
	cfg.Retry.RandomFactor = 0.5
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(status(503))
		first, second := w.get(t.Context()), w.get(t.Context())
		if first.took == second.took || first.header.Get(proxy.Instance) != "1" || second.header.Get(proxy.Instance) != "2" {
			t.Errorf("%v by %q and %v by %q", first.took, first.header.Get(proxy.Instance), second.took, second.header.Get(proxy.Instance))
		}
	})
}

// One instance knows no header of the kind but passes it on.
func TestOneInstanceIsNotAskedByName(t *testing.T) {
	bubble(t, bare(), func(t *testing.T, w *world) {
		w.dep.answers(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Seen", r.Header.Get(proxy.Instance))
		})
		if r := w.at(t, "b-2", "/x"); r.status != 200 || r.header.Get("Seen") != "b-2" || strings.Contains(fmt.Sprint(r.header), "-1") {
			t.Errorf("got %+v", r)
		}
	})
}
