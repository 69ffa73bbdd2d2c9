package predict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/experiments/predict"
)

// replicas are two instances of a service whose inside is not known, which share a breaker and
// say what it is.
const replicas = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: replicas }
sut: { replicas: { a: "http://127.0.0.1:8081", b: "http://127.0.0.1:8082" } }
injectors: { payments: { listen: "127.0.0.1:9901", stub: { status: 200 } } }
load:
  rate: 200/s
  targets: [{ name: pay, method: POST, path: /pay }]
  classify: { primary: { status: 200 }, fallback: { status: 203, contains: kept }, rejected: { status: 503 } }
breakers: { payments: { window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3, shared: true, state_probe: { prometheus: /metrics, every: 100ms } } }
phases:
  - { name: once, load: { calls: 40, gap: 5ms, until: open }, faults: [{ respond: { status: 503 } }] }
  - { name: well, duration: 2s }
  - { name: trip, load: { calls: 40, gap: 5ms, until: open }, faults: [{ respond: { status: 503 } }] }
  - { name: rest, pause: 1s }
  - { name: outage, duration: 3s, faults: [{ respond: { status: 503 } }] }
  - { name: rest-too, pause: 1s }
  - { name: probes, duration: 2s, load: { rate: 400/s }, faults: [{ hold: { max: 250ms }, respond: { status: 503 } }] }
assert:
  - { id: trips, breaker.opens: payments, phase: trip, at_call: 5 }
  - { id: three, breaker.half_open_probes: payments, phase: probes, exactly: 3 }
  - { id: says-so, reported_state_agrees: payments, phase: outage, max_lag: 200ms }
  - { id: counts, metric.agrees: { prometheus: /metrics, name: rejected_total, equals: short, tolerance: 5% }, phase: outage }
  - { id: not-old, fallback.staleness: { max: 1s, from: "header:Age" }, phase: outage }
`

// What a service says of itself is foreseen as what it is; and what it is not, where that
// shows: its reports are asked for as they will be in the run.
func TestReportsArePredicted(t *testing.T) {
	f := forecast(t, replicas)
	const apart = "has a breaker in each instance, where all are to share it"
	for id, notices := range map[string]string{"trips": apart, "three": apart, "says-so": "says that it is open when it is closed", "counts": "counts every other one in rejected_total"} {
		if a := about(t, f, id); a.Can != predict.CanDecide || !strings.Contains(a.Notices, notices) {
			t.Errorf("%s: %s: notices %q, misses %q: %s", id, a.Can, a.Notices, a.Misses, a.Reason)
		}
	}
	if a := about(t, f, "not-old"); a.Can != predict.NotPredicted || !strings.Contains(a.Reason, "how long the service keeps answers") {
		t.Errorf("not-old: %s: %s", a.Can, a.Reason)
	}
	if !slices.Contains(f.Supposed, "it reports of itself what it is, at once, wherever it is asked") {
		t.Errorf("supposed: %q", f.Supposed)
	}
	weak := forecast(t, strings.Replace(replicas, "every: 100ms", "every: 10s", 1))
	if a := about(t, weak, "says-so"); a.Can != predict.CannotDecide {
		t.Errorf("asked every 10s: %s: %s", a.Can, a.Reason)
	}
}

// How old kept answers are is foreseen of a service of which it is known.
func TestAgesArePredicted(t *testing.T) {
	src := read(t, "../calibrate/fallback-age.yaml")
	for name, c := range map[string]struct {
		from, to string
		can      predict.Can
	}{
		"as it is":                        {"", "", predict.CanDecide},
		"an outage that is over too soon": {"duration: 4s", "duration: 900ms", predict.CannotDecide},
		"an age in seconds tells no less": {"duration: 4s", "duration: 1800ms", predict.WouldNotNotice},
		"kept for a second longer":        {"max_age: 1s", "max_age: 2500ms", predict.CannotDecide},
		"kept for longer than may be":     {"max_age: 1s", "max_age: 3500ms", predict.Contradicts},
		"no age in the answer":            {"header:Age", "header:X-Age", predict.CannotDecide},
	} {
		t.Run(name, func(t *testing.T) {
			a := about(t, forecast(t, strings.Replace(src, c.from, c.to, 1)), "not-too-old")
			if a.Can != c.can || c.can == predict.CanDecide && a.Notices != "serves what it has kept however old it is" {
				t.Errorf("%s: notices %q, misses %q: %s; %s", a.Can, a.Notices, a.Misses, a.Reason, a.Observed)
			}
		})
	}
}
