package run_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// onLoopback carries an experiment out over the system's own network.
func onLoopback(t *testing.T, src string) outcome {
	t.Helper()
	plan, err := experiments.LoadPlan("test.yaml", []byte(src), 1)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), plan, run.Options{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return outcome{trace: res.Trace, report: assert.Evaluate(plan.Spec(), res.Trace)}
}

// passes holds assertions to a result, and the run to its floors.
func (o outcome) passes(t *testing.T, want assert.Result, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if v := o.verdict(t, id); v.Result != want {
			t.Errorf("%s is %s, want %s", id, v.Result, want)
		}
	}
	if t.Failed() {
		o.log(t)
	}
}

// A whole file in which connections are passed on: the service keeps one open while all is
// well, and gets a RST at once while it is not.
func TestConnectionsPassedOn(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "stored") }))
	defer upstream.Close()
	out := onLoopback(t, fmt.Sprintf(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: database }
sut: { reference: { injector: database, timeout: 5s } }
injectors: { database: { tcp: { upstream: %q } } }
load:
  timeout: 20s
  targets: [ { name: save, path: /save } ]
  classify: { primary: { contains: stored } }
phases:
  - { name: calm, load: { calls: 40, concurrency: 1 } }
  - name: broken
    load: { calls: 40, concurrency: 1 }
    faults: [ { tcp: { down: { cut: {} } } } ]
  - { name: again, load: { calls: 40, concurrency: 1 } }
integrity: { lateness_p99: 1s }
assert:
  - { id: serves, phase: calm, primary.share: { min: 100%% } }
  - { id: fails, phase: broken, error.share: { min: 100%% } }
  - { id: recovers, phase: again, primary.share: { min: 100%% } }
`, strings.TrimPrefix(upstream.URL, "http://")))
	out.passes(t, assert.Pass, "serves", "fails", "recovers")
	kept, cut := out.trace.Attempts[0], 0
	if !kept.Stream || kept.BytesUp == 0 || kept.BytesDown == 0 || kept.Closed == 0 || kept.Rule != "broken/0" {
		t.Errorf("the first connection is %+v", kept)
	}
	for _, a := range out.trace.Attempts {
		if a.Phase == "broken" && a.Outcome == trace.OutcomeReset && a.Rule == "broken/0" && a.BytesDown == 0 && a.ID == "" {
			cut++
		}
	}
	if cut == 0 {
		t.Errorf("no connection was cut: %+v", out.trace.Attempts)
	}
	for _, c := range out.trace.Join("database", func(string) bool { return true }).Calls {
		if c.Call.Phase == "calm" && c.Kind != trace.Unknown {
			t.Errorf("call %s is %s, though a connection was open all the time", c.Call.ID, c.Kind)
		}
	}
	for _, c := range out.report.Integrity {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Observed)
		}
	}
}

// A fault that hits the connection that was open before its phase, and none of those that come
// in it, has fired all the same.
func TestFaultOfAKeptConnectionFires(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "stored") }))
	defer upstream.Close()
	out := onLoopback(t, fmt.Sprintf(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: database }
sut: { reference: { injector: database, timeout: 5s } }
injectors: { database: { tcp: { upstream: %q } } }
load:
  timeout: 20s
  targets: [ { name: save, path: /save } ]
phases:
  - { name: calm, load: { calls: 20, concurrency: 1 } }
  - name: once
    load: { calls: 20, concurrency: 1, gap: 10ms }
    faults: [ { first: 1, tcp: { down: { cut: { by: close } } } } ]
integrity: { lateness_p99: 1s }
assert:
  - { id: most, phase: once, error.share: { max: 5%% } }
`, strings.TrimPrefix(upstream.URL, "http://")))
	out.passes(t, assert.Pass, "most")
	hit := 0
	for _, a := range out.trace.Attempts {
		if a.Rule == "once/0" && a.Phase != "once" {
			hit++
		}
	}
	if hit != 1 {
		t.Fatalf("%d connections from before were hit: %+v", hit, out.trace.Attempts)
	}
	for _, c := range out.report.Integrity {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Observed)
		}
	}
}

// A dependency that is not there is no fault of the experiment.
func TestUpstreamOfConnectionsIsDown(t *testing.T) {
	plan, err := experiments.LoadPlan("test.yaml", []byte(`
apiVersion: faultline/v1
kind: Experiment
metadata: { name: database }
sut: { reference: {} }
injectors: { database: { tcp: { upstream: 127.0.0.1:1 } } }
load: { targets: [ { name: save, path: /save } ] }
phases: [ { name: calm, load: { calls: 1 } } ]
assert: [ { id: serves, phase: calm, error.share: { max: 0% } } ]
`), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Run(t.Context(), plan, run.Options{Tool: "test"})
	if err == nil || !strings.Contains(err.Error(), "injector database cannot reach its upstream tcp://127.0.0.1:1") ||
		!strings.Contains(err.Error(), "correct injectors.database.tcp.upstream") {
		t.Errorf("got %v", err)
	}
}

// feedService asks its dependency over a WebSocket: a new one for each call, or one that it
// keeps. It passes what it got on.
type feedService struct {
	addr string
	keep bool

	mu   sync.Mutex
	conn *websocket.Conn // guarded by mu
}

// ServeHTTP implements [http.Handler].
func (f *feedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := f.ask(r)
	if (err != nil || !f.keep) && f.conn != nil {
		_ = f.conn.Close()
		f.conn = nil
	}
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
	}
	_, _ = io.WriteString(w, text)
}

func (f *feedService) ask(r *http.Request) (string, error) {
	if f.conn == nil {
		header := http.Header{}
		if !f.keep {
			header.Set("traceparent", r.Header.Get("traceparent"))
		}
		conn, resp, err := websocket.DefaultDialer.DialContext(r.Context(), "ws://"+f.addr+"/feed", header)
		if err != nil {
			return "", err
		}
		_ = resp.Body.Close()
		f.conn = conn
	}
	if err := f.conn.WriteMessage(websocket.TextMessage, []byte("price?")); err != nil {
		return "", err
	}
	_ = f.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, text, err := f.conn.ReadMessage()
	return string(text), err
}

// feedExperiment asks a service whose dependency speaks WebSocket.
const feedExperiment = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: feed }
sut: { base_url: SUT }
injectors: { feed: { listen: FEED, stub: { websocket: { answer: 'price: 1' } } } }
load:
  timeout: 20s
  targets: [ { name: price, path: /price } ]
  classify: { primary: { contains: 'price: 1' } }
breakers: { feed: { window: 10, minimum_calls: 10, wait: 5s, permitted_calls: 3 } }
phases:
  - { name: calm, load: { calls: 40, concurrency: 1 } }
  - name: broken
    load: { calls: 40, concurrency: 1 }
    faults: [ { websocket: { messages: [ { to: client, at: 1, cut: reset } ] } } ]
integrity: { lateness_p99: 1s }
assert:
  - { id: serves, phase: calm, primary.share: { min: 100% } }
  - { id: none-rejected, phase: calm, short.share: { max: 0% } }
  - { id: fails, phase: broken, error.share: { min: 100% } }
  - { id: closed, phase: broken, breaker.stays_closed: feed }
`

// feed runs the experiment on a service that keeps its WebSocket, or does not.
func feed(t *testing.T, keep bool) outcome {
	t.Helper()
	addr := vacantAddr(t)
	sut := httptest.NewServer(&feedService{addr: addr, keep: keep})
	defer sut.Close()
	return onLoopback(t, strings.NewReplacer("SUT", sut.URL, "FEED", addr).Replace(feedExperiment))
}

// vacantAddr is an address at which nobody listens.
func vacantAddr(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	defer s.Close()
	return s.Listener.Addr().String()
}

// A service that opens a WebSocket for each call: the calls are joined with them, and the
// trace says what was done to messages.
func TestWebSocketForEachCall(t *testing.T) {
	out := feed(t, false)
	out.passes(t, assert.Pass, "serves", "none-rejected", "fails")
	// Whether the breaker counts a WebSocket that was cut as failed, faultline cannot know.
	if v := out.verdict(t, "closed"); v.Result == assert.Fail {
		t.Errorf("closed is %s: %s", v.Result, v.Observed)
	}
	cut := 0
	for _, a := range out.trace.Attempts {
		if a.Rule == "broken/0" && a.Status == http.StatusSwitchingProtocols && strings.Contains(a.Detail, "cut") && a.Stream && a.Closed > 0 {
			cut++
		}
	}
	if cut != 40 {
		t.Errorf("%d of 40 WebSockets were cut", cut)
	}
	for _, c := range out.trace.Join("feed", func(string) bool { return true }).Calls {
		if c.Kind != trace.Admitted {
			t.Errorf("call %s is %s", c.Call.ID, c.Kind)
		}
	}
}

// A service that keeps one WebSocket for all calls: which of them asked the dependency cannot
// be told, so none is said to have been rejected, and nothing that needs to know is judged.
func TestWebSocketThatIsKept(t *testing.T) {
	out := feed(t, true)
	out.passes(t, assert.Pass, "serves")
	for _, id := range []string{"none-rejected", "closed"} {
		if v := out.verdict(t, id); v.Result != assert.Inconclusive {
			t.Errorf("%s is %s, want inconclusive", id, v.Result)
		}
	}
	for _, c := range out.trace.Join("feed", func(string) bool { return true }).Calls {
		if c.Kind != trace.Unknown {
			t.Errorf("call %s is %s, though a WebSocket was open all the time", c.Call.ID, c.Kind)
		}
	}
}
