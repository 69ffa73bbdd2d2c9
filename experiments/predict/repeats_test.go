package predict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/experiments/predict"
)

// insists is a service that retries, whose inside is not known.
const insists = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: insists }
sut: { base_url: "http://127.0.0.1:8080" }
injectors:
  payments: { listen: "127.0.0.1:9901", stub: { status: 200 } }
  stock: { listen: "127.0.0.1:9902", stub: { status: 200 } }
load:
  rate: 100/s
  timeout: 1s
  targets:
    - { name: pay, method: POST, path: /pay, depends_on: [payments] }
    - { name: look, path: /look, depends_on: [payments] }
    - { name: count, path: /count, depends_on: [stock] }
breakers: { payments: { injector: payments, window: 10000, minimum_calls: 10000, wait: 300ms, permitted_calls: 3 } }
phases:
  - { name: baseline, duration: 3s }
  - { name: outage, duration: 12s, faults: [{ injector: payments, respond: { status: 503 } }] }
  - { name: again, duration: 12s, faults: [{ injector: stock, respond: { status: 503, retry_after: 1s } }], targets: [count] }
  - { name: hang, duration: 3s, faults: [{ injector: payments, hang: true }] }
assert:
  - { id: three, retry.max_attempts: { injector: payments, exactly: 3 }, phase: outage }
  - { id: at-most, retry.max_attempts: { injector: payments, max: 3 }, phase: outage }
  - { id: storm, retry.amplification: { injector: payments, max: 3 }, phase: outage }
  - { id: spaced, retry.spacing: { injector: payments, min: 50ms, max: 500ms, growth: 2 }, phase: outage }
  - { id: chance, retry.spacing: { injector: payments, jitter: 20% }, phase: outage }
  - { id: once, retry.forbidden: { injector: payments, methods: [POST] }, phase: outage }
  - { id: asked, retry.spacing: { injector: stock, retry_after: true }, phase: again }
  - { id: cancels, cancel.propagates: { injector: payments, within: 200ms }, phase: hang }
`

func TestRetriesOfUnknownInside(t *testing.T) {
	// POST is not sent again, so that its calls are no evidence of three attempts: they fail it.
	f := forecast(t, strings.NewReplacer("depends_on: [payments] }\n    - { name: look", "depends_on: [stock] }\n    - { name: look", "injector: payments, methods", "injector: stock, methods", "phase: outage }\n  - { id: asked", "phase: again }\n  - { id: asked", "targets: [count]", "targets: [count, pay]").Replace(insists))
	if diff := cmp.Diff(map[string]predict.Can{}, undecided(f)); diff != "" {
		for _, a := range f.Assertions {
			t.Logf("%s %s: %s; %s; %s; misses %s", a.ID, a.Can, a.Observed, a.Reason, a.Remedy, a.Misses)
		}
		t.Errorf("undecided (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{
		"three":   "makes 4 attempts at payments; makes 2 attempts at payments",
		"at-most": "makes 4 attempts at payments",
		"storm":   "makes 4 attempts of all that fails at payments, and never opens",
		"spaced":  "does not wait at payments; waits for 1s at payments; waits always as long at payments",
		"chance":  "waits without chance at payments",
		"once":    "sends such requests again at stock",
		"asked":   "does not heed Retry-After at stock",
		"cancels": "goes on for clients that have left at payments",
	} {
		if got := about(t, f, id).Notices; got != want {
			t.Errorf("%s notices %q, want %q", id, got, want)
		}
	}
	if said := strings.Join(f.Supposed, "\n"); !strings.Contains(said, "it makes 3 attempts at payments") {
		t.Errorf("it is not said how often it tries:\n%s", said)
	}
}
