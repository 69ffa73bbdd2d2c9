package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

// clock is one that only the test moves.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.at.Store(&at)
	return c
}

func (c *clock) now() time.Time { return *c.at.Load() }

func (c *clock) pass(d time.Duration) {
	later := c.now().Add(d)
	c.at.Store(&later)
}

// taking answers after d of the clock.
func (c *clock) taking(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.pass(d)
		h(w, r)
	}
}

// tenOClock is when the clocks of these tests start.
func tenOClock() time.Time { return time.Date(2026, 1, 1, 10, 0, 0, 123e6, time.UTC) }

// watched is good with an actuator, a window of three calls and a clock of its own.
func watched(at time.Time) (proxy.Config, *clock) {
	c := newClock(at)
	cfg := good()
	cfg.Actuator, cfg.Now = true, c.now
	cfg.Breaker.Window, cfg.Breaker.MinimumCalls = 3, 3
	return cfg, c
}

// actuator asks the actuator for a path below its own.
func (w *world) actuator(t *testing.T, path string) reply {
	t.Helper()
	return w.send(t.Context(), http.MethodGet, proxy.ActuatorPath+path, nil)
}

// wantJSON compares an answer with a text, exactly: the order and the nulls too.
func (r reply) wantJSON(t *testing.T, status int, body string) {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Errorf("got %d (%v), want %d", r.status, r.err, status)
	}
	if diff := cmp.Diff(strings.ReplaceAll(body, "},{", "},\n{")+"\n", strings.ReplaceAll(r.body, "},{", "},\n{")); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

func TestThereIsNoActuatorUnlessAskedFor(t *testing.T) {
	bubble(t, good(), func(t *testing.T, w *world) {
		w.actuator(t, "/circuitbreakers").want(t, 200, proxy.SourcePrimary)
		w.dep.want(t, 1)
	})
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.actuator(t, "/circuitbreakers").want(t, 200, "")
		w.dep.want(t, 0)
		for n, path := range []string{"/actuators", "/actuator%2Fhealth", "/x/actuator/health"} {
			w.send(t.Context(), http.MethodGet, path, nil).want(t, 200, proxy.SourcePrimary)
			w.dep.want(t, int32(n+1))
		}
	})
}

func TestActuatorShowsBreakers(t *testing.T) {
	cfg, c := watched(tenOClock())
	cfg.Breaker.SlowDuration, cfg.Breaker.SlowRate = time.Second, 66.6
	second := cfg.Service
	second.Upstream = secondURL
	second.Breaker.Name, second.Breaker.FailureRate = "a/second one", 0.0005
	third := second
	third.Breaker.Name = ""
	cfg.Routes = []proxy.Route{{Path: "/pay", Service: &second}, {Path: "/static", Respond: &proxy.Answer{}}, {Path: "/ship", Service: &third}}
	const fresh = `{"failureRate":"-1.0%","slowCallRate":"-1.0%","failureRateThreshold":"5.0E-4%","slowCallRateThreshold":"66.6%",` +
		`"bufferedCalls":0,"failedCalls":0,"slowCalls":0,"slowFailedCalls":0,"notPermittedCalls":0,"state":"CLOSED"}`
	const others = `{"circuitBreakers":{"a/second one":` + fresh + `,"route-3":` + fresh + `,"test":`
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.get(t.Context())
		w.get(t.Context())
		w.dep.answers(c.taking(1001*time.Millisecond, status(503)))
		w.get(t.Context())
		w.actuator(t, "/circuitbreakers").wantJSON(t, 200, others+
			`{"failureRate":"33.333332%","slowCallRate":"33.333332%","failureRateThreshold":"50.0%","slowCallRateThreshold":"66.6%",`+
			`"bufferedCalls":3,"failedCalls":1,"slowCalls":1,"slowFailedCalls":1,"notPermittedCalls":0,"state":"CLOSED"}}}`)
		w.get(t.Context())
		w.get(t.Context())
		w.actuator(t, "/circuitbreakers").wantJSON(t, 200, others+
			`{"failureRate":"66.666664%","slowCallRate":"66.666664%","failureRateThreshold":"50.0%","slowCallRateThreshold":"66.6%",`+
			`"bufferedCalls":3,"failedCalls":2,"slowCalls":2,"slowFailedCalls":2,"notPermittedCalls":1,"state":"OPEN"}}}`)
	})
}

// told is an event as the actuator writes it; each of the last three is JSON.
func told(name, kind, at, message, ms, transition string) string {
	return fmt.Sprintf(`{"circuitBreakerName":%q,"type":%q,"creationTime":"2026-01-01T10:%s[UTC]","errorMessage":%s,"durationInMs":%s,"stateTransition":%s}`,
		name, kind, at, message, ms, transition)
}

func events(all ...string) string {
	return `{"circuitBreakerEvents":[` + strings.Join(all, ",") + `]}`
}

func TestActuatorTellsEvents(t *testing.T) {
	cfg, c := watched(tenOClock())
	cfg.Bulkhead = places(1)
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.dep.answers(c.taking(1500*time.Millisecond, status(200)))
		w.get(t.Context())
		w.dep.answers(c.taking(1500*time.Millisecond+999*time.Microsecond, status(503)))
		w.get(t.Context())
		w.dep.answers(c.taking(0, cut(true)))
		w.get(t.Context())
		w.get(t.Context())
		all := []string{
			told("test", "SUCCESS", "00:01.623Z", "null", "1500", "null"),
			told("test", "ERROR", "00:03.123999Z", `"the dependency answered 503"`, "1500", "null"),
			told("test", "ERROR", "00:03.123999Z", `"the dependency did not answer: reset"`, "0", "null"),
			told("test", "FAILURE_RATE_EXCEEDED", "00:03.123999Z", "null", "null", "null"),
			told("test", "STATE_TRANSITION", "00:03.123999Z", "null", "null", `"CLOSED_TO_OPEN"`),
			told("test", "NOT_PERMITTED", "00:03.123999Z", "null", "null", "null"),
		}
		w.actuator(t, "/circuitbreakerevents").wantJSON(t, 200, events(all...))
		w.actuator(t, "/circuitbreakerevents/test").wantJSON(t, 200, events(all...))
		w.actuator(t, "/circuitbreakerevents/test/ERROR").wantJSON(t, 200, events(all[1:3]...))
		w.actuator(t, "/circuitbreakerevents/test/state_transition").wantJSON(t, 200, events(all[4]))
		w.actuator(t, "/circuitbreakerevents/test/FORCED_OPEN").wantJSON(t, 200, events())
		w.actuator(t, "/circuitbreakerevents/nobody").wantJSON(t, 200, events())
		w.actuator(t, "/circuitbreakerevents/nobody/TRIP").wantJSON(t, 200, events())
		if r := w.actuator(t, "/circuitbreakerevents/test/TRIP"); r.status != 500 || !strings.Contains(r.body, `must be one of`) {
			t.Errorf("an unknown type: %d %s", r.status, r.body)
		}
	})
}

// The bulkhead's refusals are errors that do not count, and not outcomes.
func TestActuatorTellsIgnoredCalls(t *testing.T) {
	cfg, _ := watched(tenOClock())
	cfg.Bulkhead = places(1)
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.volley(t, 2, 200)
		w.actuator(t, "/circuitbreakerevents").wantJSON(t, 200, events(
			told("test", "IGNORED_ERROR", "00:00.123Z", `"the bulkhead is full"`, "0", "null"),
			told("test", "SUCCESS", "00:00.123Z", "null", "0", "null")))
	})
}

func TestActuatorMergesEventsByTime(t *testing.T) {
	cfg, c := watched(tenOClock().Truncate(time.Second))
	second := cfg.Service
	second.Upstream, second.Breaker.Name = secondURL, "a"
	cfg.Routes = []proxy.Route{{Path: "/a", Service: &second}}
	bubble(t, cfg, func(t *testing.T, w *world) {
		for _, path := range []string{"/", "/a", "/"} {
			w.send(t.Context(), http.MethodGet, path, nil).want(t, 200, proxy.SourcePrimary)
			c.pass(time.Second)
		}
		w.actuator(t, "/circuitbreakerevents").wantJSON(t, 200, events(
			told("test", "SUCCESS", "00Z", "null", "0", "null"), // As Java writes a full minute.
			told("a", "SUCCESS", "00:01Z", "null", "0", "null"),
			told("test", "SUCCESS", "00:02Z", "null", "0", "null")))
	})
}

// Nobody calls, and the breaker turns half-open at its own time, not at the reader's.
func TestActuatorLetsTimePass(t *testing.T) {
	cfg, c := watched(tenOClock())
	cfg.Breaker.AutoHalfOpen = true
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 3)
		c.pass(time.Minute)
		w.actuator(t, "/circuitbreakerevents/test/STATE_TRANSITION").wantJSON(t, 200, events(
			told("test", "STATE_TRANSITION", "00:00.123Z", "null", "null", `"CLOSED_TO_OPEN"`),
			told("test", "STATE_TRANSITION", "00:02.123Z", "null", "null", `"OPEN_TO_HALF_OPEN"`)))
	})
}

// A flood of refusals drives the transition out that they came of.
func TestActuatorRemembersAHundredEvents(t *testing.T) {
	cfg, _ := watched(tenOClock())
	bubble(t, cfg, func(t *testing.T, w *world) {
		w.trip(t, 3)
		count := func(kind string) int {
			var got struct{ CircuitBreakerEvents []json.RawMessage }
			if err := json.Unmarshal([]byte(w.actuator(t, "/circuitbreakerevents/test"+kind).body), &got); err != nil {
				t.Fatal(err)
			}
			return len(got.CircuitBreakerEvents)
		}
		for range 96 {
			w.get(t.Context())
		}
		if all, moved := count(""), count("/STATE_TRANSITION"); all != 100 || moved != 1 {
			t.Errorf("after 101 events there are %d, %d of them transitions, want 100 and 1", all, moved)
		}
		for range 4 {
			w.get(t.Context())
		}
		if all, refused := count(""), count("/NOT_PERMITTED"); all != 100 || refused != 100 {
			t.Errorf("after 105 events there are %d, %d of them refusals, want 100 and 100", all, refused)
		}
	})
}

// All workers wait for the dependency, and the actuator answers at once.
func TestActuatorNeedsNoWorker(t *testing.T) {
	cfg, _ := watched(tenOClock())
	cfg.Workers = 2
	bubble(t, cfg, func(t *testing.T, w *world) {
		var busy sync.WaitGroup
		busy.Go(func() { w.volley(t, 2, 200) })
		time.Sleep(10 * time.Millisecond)
		for _, path := range []string{"/circuitbreakers", "/circuitbreakerevents", "/health", "/prometheus"} {
			if r := w.actuator(t, path); r.status != 200 || r.took > 10*time.Millisecond {
				t.Errorf("%s answered %d after %v", path, r.status, r.took)
			}
		}
		if r := w.update(t, "test", "FORCE_OPEN"); r.status != 200 || r.took > 10*time.Millisecond {
			t.Errorf("an update was answered %d after %v", r.status, r.took)
		}
		busy.Wait()
		w.dep.want(t, 2)
	})
}

func TestActuatorNeedsNames(t *testing.T) {
	cfg, _ := watched(tenOClock())
	second := cfg.Service
	second.Upstream = secondURL
	cfg.Addr, cfg.Upstream = "127.0.0.1:0", secondURL
	cfg.Routes = []proxy.Route{{Path: "/a", Service: &second}}
	if _, err := proxy.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `two circuit breakers are named "test"`) {
		t.Errorf("two of a name: %v", err)
	}
	cfg.Actuator = false
	p, err := proxy.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("nobody asks for the names: %v", err)
	}
	closeProxy(t, p)
	cfg.Actuator, cfg.Routes, cfg.Breaker.TransitionsOnly = true, nil, true
	if _, err := proxy.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "publishes its transitions only") {
		t.Errorf("a breaker that does not tell: %v", err)
	}
}

// On real sockets, with a client that asks as scrapers do.
func TestActuatorOnTheWire(t *testing.T) {
	cfg, _ := watched(tenOClock())
	cfg.Breaker.Name = ""
	w := loopback(t, cfg)
	for path, media := range map[string]string{
		"/circuitbreakers": "application/vnd.spring-boot.actuator.v3+json", "/env": "application/json",
		"/prometheus": "text/plain;version=0.0.4;charset=utf-8",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req, err := http.NewRequestWithContext(t.Context(), method, w.URL()+proxy.ActuatorPath+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("Content-Type"); got != media || resp.StatusCode == http.StatusMethodNotAllowed {
				t.Errorf("%s %s is answered with %d %s, want %s", method, path, resp.StatusCode, got, media)
			}
		}
	}
	w.get(t.Context())
	if r := w.actuator(t, "/circuitbreakerevents/primary/SUCCESS"); strings.Count(r.body, `"type":"SUCCESS"`) != 1 {
		t.Errorf("a breaker without a name is not primary: %s", r.body)
	}
	w.dep.want(t, 1)
}

// Many readers and callers at a time; the race detector watches.
func TestActuatorUnderLoad(t *testing.T) {
	cfg := good()
	cfg.Actuator = true
	w := loopback(t, cfg)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 20 {
				paths := []string{"/circuitbreakers", "/circuitbreakerevents", "/prometheus", "/health"}
				w.get(t.Context()).want(t, 200, proxy.SourcePrimary)
				w.actuator(t, paths[(n+i)%len(paths)]).want(t, 200, "")
			}
		})
	}
	all.Wait()
	lines := strings.Split(w.actuator(t, "/prometheus").body, "\n")
	if !slices.Contains(lines, `resilience4j_circuitbreaker_calls_seconds_count{kind="successful",name="test"} 160`) {
		t.Errorf("160 calls were counted otherwise:\n%s", strings.Join(lines, "\n"))
	}
}
