package run_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/trace"
)

// A fault of connections that met none says so: a service that speaks HTTP/1.1 asks for no
// settings, and its phase was a healthy one.
func TestConnectionFaultThatMetNone(t *testing.T) {
	out := inBubble(t, `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: unmet }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: { status: 200 } } }
load: { timeout: 1s, targets: [ { name: search, path: /search } ] }
breakers: { dep: { window: 10 } }
phases:
  - { name: faulty, load: { calls: 20 }, faults: [ { settings: { max_concurrent_streams: 1 } } ] }
assert:
  - { id: errors, error.share: { max: 0% }, phase: faulty }
`, rewriting(func(in *http.Request, body string) (string, string, string, http.Header) {
		return in.Method, in.URL.RequestURI(), body, http.Header{"Traceparent": in.Header["Traceparent"]}
	}))
	pre, ok := errors.AsType[*run.PreconditionError](out.err)
	if !ok || !strings.Contains(pre.What, "fault faulty/0 of injector dep hit no connection, although 20 requests arrived in phase faulty") {
		t.Errorf("error %v", out.err)
	}
}

// Settings are those of the connections of their phase.
func TestSettings(t *testing.T) {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	out, by := live(t, `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: settings }
sut: { base_url: SUT }
injectors: { charges: { listen: 127.0.0.1:PORT, stub: { grpc: { messages: "" }, latency: 20ms } } }
load: { timeout: 5s, targets: [ { name: pay, path: /pay } ] }
breakers: { charges: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 300ms, permitted_calls: 3 } }
phases:
  - { name: healthy, load: { calls: 20, concurrency: 5 } }
  - { name: narrow, load: { calls: 20, concurrency: 5 }, faults: [ { settings: { max_concurrent_streams: 1 } } ] }
assert:
  - { id: fine, error.share: { max: 0% }, phase: healthy }
  - { id: fine-too, error.share: { max: 0% }, phase: narrow }
`, "http", func() (*http.Transport, error) { return transport, nil })
	passes(t, out)
	// Go's client then opens another connection for each.
	if wide, narrow := atOnce(by["healthy"]), atOnce(by["narrow"]); wide < 2 || narrow != 1 {
		t.Errorf("at most %d requests of a connection at once as they come, and %d with one stream at a time", wide, narrow)
	}
}

// atOnce is how many attempts of a connection were under way at most.
func atOnce(as []trace.Attempt) int {
	most := 0
	for _, a := range as {
		n := 0
		for _, b := range as {
			if b.Peer == a.Peer && !a.Unread() && !b.Unread() && b.Arr <= a.Arr && a.Arr < max(b.Done(), b.Arr+time.Nanosecond) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
