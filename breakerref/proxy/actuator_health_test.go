package proxy_test

import (
	"strings"
	"testing"
	"time"
)

func TestActuatorTellsHealth(t *testing.T) {
	cfg, c := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			status, whole, rate string
			does                func()
		}{
			{"UP", "UP", "-1.0", func() {}},
			{"CIRCUIT_OPEN", "UNKNOWN", "100.0", func() { w.trip(t, 3) }},
			{"CIRCUIT_HALF_OPEN", "UNKNOWN", "-1.0", func() { c.pass(2001 * time.Millisecond); w.get(t.Context()) }},
			{"UNKNOWN", "UNKNOWN", "-1.0", func() { w.update(t, "test", "DISABLE") }},
		} {
			tc.does()
			r := w.actuator(t, "/health")
			breakers := `{"status":"` + tc.whole + `","details":{"test":{"status":"` + tc.status + `","details":{"failureRate":"` + tc.rate + `%","failureRateThreshold":"50.0%"`
			want := `{"status":"UP","groups":["liveness","readiness"],"components":{"circuitBreakers":` + breakers
			if r.status != 200 || !strings.HasPrefix(r.body, want) || !strings.HasSuffix(r.body, `}}}},"livenessState":{"status":"UP"},"ping":{"status":"UP"},"readinessState":{"status":"UP"}}}`+"\n") {
				t.Errorf("got %d %s\nwant it to begin with %s", r.status, r.body, want)
			}
			if r := w.actuator(t, "/health/circuitBreakers"); r.status != 200 || !strings.HasPrefix(r.body, breakers) {
				t.Errorf("got %d %s\nwant it to begin with %s", r.status, r.body, breakers)
			}
		}
	})
}

// A path below health asks for a component or a group.
func TestActuatorTellsHealthOfParts(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, path := range []string{"liveness", "readiness", "livenessState", "readinessState", "ping", "ping/"} {
			w.actuator(t, "/health/"+path).wantJSON(t, 200, `{"status":"UP"}`)
		}
		if whole, slash := w.actuator(t, "/health"), w.actuator(t, "/health/"); whole.body != slash.body {
			t.Errorf("a slash at the end matters: %s", slash.body)
		}
		for _, path := range []string{"Ping", "circuitBreakers/test", "diskSpace"} {
			if r := w.actuator(t, "/health/"+path); r.status != 404 {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
		}
	})
}
