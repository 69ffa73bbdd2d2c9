package injector_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// ledger plays the same requests, one at a time, and returns the ledger's hash.
func ledger(t *testing.T, seed uint64, methods string, limits injector.Limits) string {
	t.Helper()
	late := ratio(rule(fault.ActionPass), 1, 2)
	late.Latency = fault.Latency{Min: 1, Max: ms}
	rec := trace.NewRecorder(time.Now())
	d, err := injector.Start(t.Context(), injector.Config{
		Name: "dep", Recorder: rec, Seed: seed, Limits: limits,
		Script: scriptOf(ratio(answering(503), 3, 10), ratio(rule(fault.ActionReset), 1, 7), late),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.Enter("p")
	c := client(t)
	for method := range strings.FieldsSeq(methods) {
		// A client that resends what was reset would arrive once more: none is kept alive.
		req, err := http.NewRequest(method, d.URL()+"/"+method, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		if resp, err := c.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	return rec.Snapshot(trace.Header{}).LedgerHash()
}

// Two runs with the same seed and order of arrival have the same ledger; another seed,
// another order or another limit has another one.
func TestLedgerIsReproducible(t *testing.T) {
	calls := strings.Repeat("GET POST PUT ", 50)
	want := ledger(t, 7, calls, injector.Limits{})
	if got := ledger(t, 7, calls, injector.Limits{}); got != want {
		t.Errorf("the same twice: %s, %s", want, got)
	}
	for what, got := range map[string]string{
		"seed":  ledger(t, 8, calls, injector.Limits{}),
		"order": ledger(t, 7, "POST GET "+calls[len("GET POST "):], injector.Limits{}),
		"limit": ledger(t, 7, calls, injector.Limits{Faulted: 20}),
	} {
		if got == want {
			t.Errorf("another %s has the same ledger", what)
		}
	}
}
