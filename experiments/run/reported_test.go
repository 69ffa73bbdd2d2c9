package run_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// reportedExperiment asks a service what it thinks of itself, by PROBE, at REPLICAS.
const reportedExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: reported }
sut: SUT
injectors:
  primary: { listen: 127.0.0.1:9901, stub: { status: 200, body: '{"source":"primary"}', latency: 2ms } }
load:
  rate: 100/s
  timeout: 5s
  targets: [ { name: search, path: /search, depends_on: [primary] } ]
breakers:
  primary: { injector: primary, unit: attempt, window: 10, minimum_calls: 10, failure_rate: 50%, wait: 2s, permitted_calls: 3, state_probe: PROBE }
phases:
  - { name: baseline, duration: 3s }
  - { name: rest, pause: 600ms }
  - { name: outage, duration: 5s, faults: [ { injector: primary, respond: { status: 503 } } ] }
  - { name: rest-again, pause: 600ms }
  - { name: recovery, duration: 4s }
  - { name: rest-last, pause: 600ms }
  - { name: out-again, measure: false, duration: 1s, faults: [ { injector: primary, respond: { status: 503 } } ] }
  - { name: silence, load: { calls: 2, concurrency: 1, gap: 3s } }
assert:
  - { id: opens, breaker.opens: primary, phase: outage }
  - { id: says-closed, reported_state_agrees: primary, phase: baseline }
  - { id: says-open, reported_state_agrees: primary, phase: outage }
  - { id: says-lazy, reported_state_agrees: primary, phase: silence, half_open: on_call }
  - { id: says-closed-again, reported_state_agrees: primary, phase: recovery }
  - { id: counts-short, metric.agrees: { prometheus: METRICS, name: resilience4j_circuitbreaker_not_permitted_calls_total, labels: { name: reference }, equals: short }, phase: outage }
  - { id: counts-calls, metric.agrees: { prometheus: METRICS, name: resilience4j_circuitbreaker_calls_seconds_count, labels: { name: reference }, equals: admitted }, phase: recovery }
  - { id: counts-failed, metric.agrees: { prometheus: METRICS, name: resilience4j_circuitbreaker_calls_seconds_count, labels: { name: reference, kind: failed }, equals: failed }, phase: outage }
`

const (
	insideSUT    = "{ reference: { injector: primary, breaker: " + goodBreaker + " } }"
	outsideSUT   = "{ base_url: http://127.0.0.1:8080 }"
	byGauge      = "{ prometheus: /actuator/prometheus, name: reference }"
	byActuator   = "{ actuator: /actuator/circuitbreakers, name: reference }"
	ownMetrics   = "/actuator/prometheus"
	otherMetrics = "http://127.0.0.1:8080/actuator/prometheus"
)

func reported(sut, probe, metrics string) string {
	return strings.NewReplacer("SUT", sut, "PROBE", probe, "METRICS", metrics).Replace(reportedExperiment)
}

// referenceAt is the reference service, started by hand.
func referenceAt(t *testing.T, n network, addr, instance string) *proxy.Proxy {
	t.Helper()
	c := breakerref.Default()
	c.Name, c.Window, c.MinimumCalls, c.Wait, c.Permitted = "reference", 10, 10, 2*time.Second, 3
	p, err := proxy.Start(t.Context(), proxy.Config{
		Addr: addr, Listen: n.Listen, Dial: n.DialContext, Actuator: true, Instance: instance,
		Service: proxy.Service{Upstream: "http://127.0.0.1:9901", Breaker: c, Failure: match.DefaultFailure(), Timeout: 2 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// liar is a service that says of itself what is not so: page changes what the actuator
// answers.
func liar(page func(path, body string) (status int, changed string)) func(t *testing.T, n network) func() {
	return func(t *testing.T, n network) func() {
		behind := referenceAt(t, n, "127.0.0.1:8090", "")
		l, err := n.Listen("tcp", "127.0.0.1:8080")
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(behind.URL())
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: n.DialContext, MaxIdleConnsPerHost: 100}
		pass := &httputil.ReverseProxy{Transport: transport, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: func(res *http.Response) error {
			if !strings.HasPrefix(res.Request.URL.Path, "/actuator/") {
				return nil
			}
			body, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			var text string
			res.StatusCode, text = page(res.Request.URL.Path, string(body))
			res.Body = io.NopCloser(strings.NewReader(text))
			res.ContentLength = int64(len(text))
			res.Header.Del("Content-Length")
			return nil
		}}
		srv := &http.Server{Handler: pass, ReadHeaderTimeout: time.Minute}
		done := make(chan struct{})
		go func() { _ = srv.Serve(l); close(done) }()
		return func() {
			_ = srv.Close()
			<-done
			transport.CloseIdleConnections()
			_ = behind.Close()
		}
	}
}

// same is a page as it is.
func same(_, body string) (int, string) { return http.StatusOK, body }

// closedPage is the actuator's page of a breaker that is always closed.
func closedPage(_, body string) (int, string) {
	body = regexp.MustCompile(`"state":"[A-Z_]+"`).ReplaceAllString(body, `"state":"CLOSED"`)
	return http.StatusOK, regexp.MustCompile(`(?m)^(resilience4j_circuitbreaker_state.*state="(?:([a-z_]+))".*) [01]\.0$`).ReplaceAllStringFunc(body, func(line string) string {
		if strings.Contains(line, `"closed"`) {
			return line[:len(line)-3] + "1.0"
		}
		return line[:len(line)-3] + "0.0"
	})
}

// countsRejections is a page whose counter of ended calls has the rejected ones too.
func countsRejections(_, body string) (int, string) {
	refused := regexp.MustCompile(`(?m)^resilience4j_circuitbreaker_not_permitted_calls_total.* (\S+)$`).FindStringSubmatch(body)
	if refused == nil {
		return http.StatusOK, body
	}
	return http.StatusOK, body + `resilience4j_circuitbreaker_calls_seconds_count{kind="failed",name="reference",why="refused"} ` + refused[1] + "\n"
}

func gone(string, string) (int, string) { return http.StatusNotFound, "" }

func TestReportedStatesAndCounters(t *testing.T) {
	for name, c := range map[string]struct {
		src   string
		start func(*testing.T, network) func()
		fails string // ids
		dunno string // ids
	}{
		"reference, gauge":       {src: reported(insideSUT, byGauge, ownMetrics)},
		"reference, actuator":    {src: reported(insideSUT, byActuator, ownMetrics)},
		"honest, by an address":  {src: reported(outsideSUT, byGauge, otherMetrics), start: liar(same)},
		"always closed":          {src: reported(outsideSUT, byActuator, ownMetrics), start: liar(closedPage), fails: "says-open says-closed-again", dunno: "says-lazy"},
		"always closed, gauge":   {src: reported(outsideSUT, byGauge, ownMetrics), start: liar(closedPage), fails: "says-open says-closed-again", dunno: "says-lazy"},
		"counts rejected calls":  {src: reported(outsideSUT, byGauge, ownMetrics), start: liar(countsRejections), fails: "counts-failed counts-calls"},
		"no actuator":            {src: reported(outsideSUT, byGauge, ownMetrics), start: liar(gone), dunno: "says-closed says-open says-lazy says-closed-again counts-short counts-calls counts-failed"},
		"another breaker's name": {src: reported(insideSUT, "{ actuator: /actuator/circuitbreakers }", ownMetrics), dunno: "says-closed says-open says-lazy says-closed-again"},
	} {
		t.Run(name, func(t *testing.T) {
			out := inBubble(t, c.src, c.start)
			if out.err != nil {
				t.Fatal(out.err)
			}
			for _, v := range out.report.Verdicts {
				want := assert.Pass
				switch {
				case strings.Contains(" "+c.fails+" ", " "+v.ID+" "):
					want = assert.Fail
				case strings.Contains(" "+c.dunno+" ", " "+v.ID+" "):
					want = assert.Inconclusive
				}
				if v.Result != want {
					t.Errorf("%s is %s, want %s", v.ID, v.Result, want)
				}
			}
			if t.Failed() {
				out.log(t)
			}
		})
	}
}

// Each replica is asked by itself, and judged by what it says.
func TestReportedStatesOfReplicas(t *testing.T) {
	sut := "{ replicas: { a: http://127.0.0.1:8080, b: http://127.0.0.1:8081 } }"
	out := inBubble(t, reported(sut, byGauge, ownMetrics), func(t *testing.T, n network) func() {
		liar, honest := liar(closedPage)(t, n), referenceAt(t, n, "127.0.0.1:8081", "")
		return func() { liar(); _ = honest.Close() }
	})
	if out.err != nil {
		t.Fatal(out.err)
	}
	v := out.verdict(t, "says-open")
	if v.Result != assert.Fail || !strings.HasSuffix(v.Observed, "(instance a)") {
		t.Errorf("says-open is %s: %s", v.Result, v.Observed)
	}
	if v := out.verdict(t, "counts-short"); v.Result != assert.Pass {
		t.Errorf("counts-short is %s: %s", v.Result, v.Observed)
	}
	if t.Failed() {
		out.log(t)
	}
}

// The events of the actuator come into the trace, once each, with the SUT's own instants.
func TestEventsOfTheActuator(t *testing.T) {
	out := inBubble(t, reported(insideSUT, byActuator, ownMetrics), nil)
	if out.err != nil {
		t.Fatal(out.err)
	}
	var changes []string
	for _, m := range out.trace.Marks {
		if m.Kind == trace.MarkEvent {
			_, change, _ := strings.Cut(m.Text, " ")
			changes = append(changes, change)
		}
	}
	if got := strings.Join(changes, " "); !strings.HasPrefix(got, "CLOSED_TO_OPEN OPEN_TO_HALF_OPEN HALF_OPEN_TO_OPEN ") || !strings.HasSuffix(got, " HALF_OPEN_TO_CLOSED CLOSED_TO_OPEN OPEN_TO_HALF_OPEN") {
		t.Errorf("events are %s", got)
	}
}

// A page that nobody answers neither stops the run nor passes anything.
func TestProbeOfNobody(t *testing.T) {
	out := inBubble(t, reported(insideSUT, "{ envoy: http://127.0.0.1:9009, cluster: x }", "http://127.0.0.1:9009/stats/prometheus"), nil)
	if out.err != nil {
		t.Fatal(out.err)
	}
	for _, v := range out.report.Verdicts {
		if v.ID != "opens" && v.Result != assert.Inconclusive {
			t.Errorf("%s is %s: %s", v.ID, v.Result, v.Observed)
		}
	}
	if v := out.verdict(t, "says-open"); !strings.Contains(v.Reason, "asked ") || v.Remedy == "" {
		t.Errorf("the reason is %q", v.Reason)
	}
}
