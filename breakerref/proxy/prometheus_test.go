package proxy_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

// series returns what the actuator tells Prometheus, without the words of help.
func (w *world) series(t *testing.T) string {
	t.Helper()
	r := w.actuator(t, "/prometheus")
	if r.err != nil || r.status != 200 {
		t.Fatalf("got %d, %v", r.status, r.err)
	}
	return withoutHelp(r.body)
}

func withoutHelp(text string) string {
	return regexp.MustCompile(`(?m)^# HELP \S+ .*\n`).ReplaceAllString(text, "")
}

// wantSeries looks for lines, whose names are given without their common beginning.
func (w *world) wantSeries(t *testing.T, lines ...string) {
	t.Helper()
	all := w.series(t)
	for _, line := range lines {
		if !strings.Contains(all, "\nresilience4j_circuitbreaker_"+line+"\n") {
			t.Errorf("%s is missing in\n%s", line, all)
		}
	}
}

func TestPrometheus(t *testing.T) {
	cfg, c := watched(tenOClock())
	cfg.Bulkhead = places(1)
	second := cfg.Service
	second.Upstream, second.Breaker.Name = secondURL, "a\"\\\n"
	cfg.Routes = []proxy.Route{{Path: "/a", Service: &second}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(c.taking(250*time.Millisecond, status(200)))
		w.get(t.Context())
		w.get(t.Context())
		w.volley(t, 2, 200)
		w.dep.answers(c.taking(1500*time.Millisecond, status(503)))
		w.get(t.Context())
		w.get(t.Context())
		w.get(t.Context())
		w.get(t.Context())
		w.send(t.Context(), http.MethodGet, "/a", nil).want(t, 200, proxy.SourcePrimary)
		if diff := cmp.Diff(allSeries, w.series(t)); diff != "" {
			t.Errorf("the series (-want +got):\n%s", diff)
		}
		_, r := w.accepting(t, "/prometheus", "application/openmetrics-text")
		want := strings.ReplaceAll(allSeries, "_total counter", " counter") + "# EOF\n"
		if diff := cmp.Diff(want, withoutHelp(r.body)); diff != "" {
			t.Errorf("the series in OpenMetrics (-want +got):\n%s", diff)
		}
		if !strings.Contains(r.body, "not_permitted_calls counter\n# HELP resilience4j_circuitbreaker_not_permitted_calls ") {
			t.Errorf("the help is elsewhere or of another name: %s", r.body)
		}
	})
}

// allSeries is of two breakers: two successes of 250 ms and one of no time, one call that
// the bulkhead refused, two failures of 1.5 s, and two calls that the breaker refused; and
// a single success.
const allSeries = `# TYPE resilience4j_circuitbreaker_buffered_calls gauge
resilience4j_circuitbreaker_buffered_calls{kind="failed",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_buffered_calls{kind="failed",name="test"} 2.0
resilience4j_circuitbreaker_buffered_calls{kind="successful",name="a\"\\\n"} 1.0
resilience4j_circuitbreaker_buffered_calls{kind="successful",name="test"} 1.0
# TYPE resilience4j_circuitbreaker_calls_seconds summary
resilience4j_circuitbreaker_calls_seconds_count{kind="failed",name="a\"\\\n"} 0
resilience4j_circuitbreaker_calls_seconds_sum{kind="failed",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_count{kind="failed",name="test"} 2
resilience4j_circuitbreaker_calls_seconds_sum{kind="failed",name="test"} 3.0
resilience4j_circuitbreaker_calls_seconds_count{kind="ignored",name="a\"\\\n"} 0
resilience4j_circuitbreaker_calls_seconds_sum{kind="ignored",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_count{kind="ignored",name="test"} 1
resilience4j_circuitbreaker_calls_seconds_sum{kind="ignored",name="test"} 0.0
resilience4j_circuitbreaker_calls_seconds_count{kind="successful",name="a\"\\\n"} 1
resilience4j_circuitbreaker_calls_seconds_sum{kind="successful",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_count{kind="successful",name="test"} 3
resilience4j_circuitbreaker_calls_seconds_sum{kind="successful",name="test"} 0.5
# TYPE resilience4j_circuitbreaker_calls_seconds_max gauge
resilience4j_circuitbreaker_calls_seconds_max{kind="failed",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_max{kind="failed",name="test"} 1.5
resilience4j_circuitbreaker_calls_seconds_max{kind="ignored",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_max{kind="ignored",name="test"} 0.0
resilience4j_circuitbreaker_calls_seconds_max{kind="successful",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_calls_seconds_max{kind="successful",name="test"} 0.25
# TYPE resilience4j_circuitbreaker_failure_rate gauge
resilience4j_circuitbreaker_failure_rate{name="a\"\\\n"} -1.0
resilience4j_circuitbreaker_failure_rate{name="test"} 66.66666412353516
# TYPE resilience4j_circuitbreaker_not_permitted_calls_total counter
resilience4j_circuitbreaker_not_permitted_calls_total{kind="not_permitted",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_not_permitted_calls_total{kind="not_permitted",name="test"} 2.0
# TYPE resilience4j_circuitbreaker_slow_call_rate gauge
resilience4j_circuitbreaker_slow_call_rate{name="a\"\\\n"} -1.0
resilience4j_circuitbreaker_slow_call_rate{name="test"} 0.0
# TYPE resilience4j_circuitbreaker_slow_calls gauge
resilience4j_circuitbreaker_slow_calls{kind="failed",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_slow_calls{kind="failed",name="test"} 0.0
resilience4j_circuitbreaker_slow_calls{kind="successful",name="a\"\\\n"} 0.0
resilience4j_circuitbreaker_slow_calls{kind="successful",name="test"} 0.0
# TYPE resilience4j_circuitbreaker_state gauge
resilience4j_circuitbreaker_state{name="a\"\\\n",state="closed"} 1.0
resilience4j_circuitbreaker_state{name="a\"\\\n",state="disabled"} 0.0
resilience4j_circuitbreaker_state{name="a\"\\\n",state="forced_open"} 0.0
resilience4j_circuitbreaker_state{name="a\"\\\n",state="half_open"} 0.0
resilience4j_circuitbreaker_state{name="a\"\\\n",state="metrics_only"} 0.0
resilience4j_circuitbreaker_state{name="a\"\\\n",state="open"} 0.0
resilience4j_circuitbreaker_state{name="test",state="closed"} 0.0
resilience4j_circuitbreaker_state{name="test",state="disabled"} 0.0
resilience4j_circuitbreaker_state{name="test",state="forced_open"} 0.0
resilience4j_circuitbreaker_state{name="test",state="half_open"} 0.0
resilience4j_circuitbreaker_state{name="test",state="metrics_only"} 0.0
resilience4j_circuitbreaker_state{name="test",state="open"} 1.0
`

// DISABLED and FORCED_OPEN publish no events of calls, so that what counts by them stands
// still, while FORCED_OPEN's own number goes on.
func TestSeriesThatGoByEvents(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context())
		for _, state := range []string{"DISABLE", "FORCE_OPEN"} {
			w.update(t, "test", state)
			for range 5 {
				w.get(t.Context())
			}
			w.wantSeries(t, `calls_seconds_count{kind="successful",name="test"} 1`, `buffered_calls{kind="successful",name="test"} 0.0`,
				`not_permitted_calls_total{kind="not_permitted",name="test"} 0.0`)
		}
		if r := w.actuator(t, "/circuitbreakers"); !strings.Contains(r.body, `"notPermittedCalls":5,"state":"FORCED_OPEN"`) {
			t.Errorf("the breaker itself counts otherwise: %s", r.body)
		}
	})
}

// The counter of refusals outlives the state in which they were made.
func TestRefusalsAreNeverForgotten(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 3)
		w.get(t.Context())
		w.update(t, "test", "CLOSE")
		w.wantSeries(t, `not_permitted_calls_total{kind="not_permitted",name="test"} 1.0`, `state{name="test",state="closed"} 1.0`)
		if r := w.actuator(t, "/circuitbreakers"); !strings.Contains(r.body, `"notPermittedCalls":0,"state":"CLOSED"`) {
			t.Errorf("the state's own number: %s", r.body)
		}
	})
}

// The longest call is forgotten after three minutes, and a shorter one later.
func TestTheLongestCallIsForgotten(t *testing.T) {
	cfg, c := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		longest := func(want string) {
			t.Helper()
			w.wantSeries(t, `calls_seconds_max{kind="successful",name="test"} `+want)
		}
		w.dep.answers(c.taking(30*time.Second, status(200)))
		w.get(t.Context())
		c.pass(29 * time.Second) // Just within the first minute.
		longest("30.0")
		c.pass(time.Minute)
		w.dep.answers(c.taking(time.Second, status(200)))
		w.get(t.Context()) // Within the third.
		longest("30.0")
		c.pass(time.Minute - time.Millisecond)
		longest("30.0")
		c.pass(time.Millisecond)
		longest("1.0")
		c.pass(time.Minute)
		longest("1.0")
		c.pass(time.Hour)
		longest("0.0")
		w.get(t.Context())
		longest("1.0")
	})
}
