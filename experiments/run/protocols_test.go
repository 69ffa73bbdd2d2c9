package run_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target"
	"github.com/faultline-go/faultline/target/trace"
)

// caller is a service with a breaker that calls its dependency as a client of gRPC does.
// What is no answer, or a status that is not OK, is a failure.
type caller struct {
	client func() (*http.Transport, error) // asked for each call
	url    string
	wait   time.Duration    // of its breaker; 0: 300ms
	fails  func(error) bool // what its breaker counts; nil: every error

	mu      sync.Mutex
	breaker *breakerref.Machine
}

// ServeHTTP implements http.Handler.
func (c *caller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	c.mu.Lock()
	permitted := c.breaker.Acquire(began)
	c.mu.Unlock()
	if !permitted {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	err := c.call(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breaker.Record(time.Now(), err != nil && (c.fails == nil || c.fails(err)), time.Since(began))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
	}
}

// call calls the dependency.
func (c *caller) call(r *http.Request) error {
	transport, err := c.client()
	if err != nil {
		return err
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.url+"/charges.Charges/Charge", bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return err
	}
	out.Header.Set("Traceparent", r.Header.Get("Traceparent"))
	out.Header.Set("Content-Type", "application/grpc")
	resp, err := transport.RoundTrip(out)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	// Trailers-only is a head with all that a trailer has.
	if status := resp.Header.Get("Grpc-Status") + resp.Trailer.Get("Grpc-Status"); status != "0" {
		return statusError(status)
	}
	return nil
}

// statusError is a status that is not OK; empty: there was none.
type statusError string

func (e statusError) Error() string { return "status " + string(e) }

// live carries out an experiment over loopback with such a service. SUT and PORT stand for
// its address and the injector's port.
func live(t *testing.T, src string, scheme string, client func() (*http.Transport, error)) (outcome, map[string][]trace.Attempt) {
	t.Helper()
	return liveWith(t, src, scheme, &caller{client: client})
}

// liveWith is live with a service of one's own.
func liveWith(t *testing.T, src string, scheme string, c *caller) (outcome, map[string][]trace.Attempt) {
	t.Helper()
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	cfg := base()
	cfg.Wait = 300 * time.Millisecond
	if c.wait > 0 {
		cfg.Wait = c.wait
	}
	if c.breaker, err = breakerref.New(cfg, time.Now()); err != nil {
		t.Fatal(err)
	}
	c.url = fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
	sut := httptest.NewServer(c)
	defer sut.Close()
	plan, err := experiments.LoadPlan("test.yaml", []byte(strings.NewReplacer("SUT", sut.URL, "PORT", fmt.Sprint(port)).Replace(src)), 1)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), plan, run.Options{Tool: "test"})
	out := outcome{err: err, trace: res.Trace, report: assert.Evaluate(plan.Spec(), res.Trace)}
	byPhase := map[string][]trace.Attempt{}
	for _, a := range res.Trace.Attempts {
		byPhase[a.Phase] = append(byPhase[a.Phase], a)
	}
	return out, byPhase
}

// ends says how attempts ended, by whose hand, and how often.
func ends(as []trace.Attempt) map[string]int {
	n := map[string]int{}
	for _, a := range as {
		n[strings.TrimSpace(fmt.Sprintf("%s %d %s", a.Outcome, a.Status, a.Rule))]++
	}
	return n
}

// passes holds all verdicts to a pass.
func passes(t *testing.T, o outcome) {
	t.Helper()
	if o.err != nil {
		t.Fatal(o.err)
	}
	for _, v := range o.report.Verdicts {
		if v.Result != assert.Pass {
			t.Errorf("%s is %s", v.ID, v.Result)
		}
	}
	if t.Failed() {
		o.log(t)
	}
}

// A file with faults of HTTP/2 and gRPC is carried out over loopback: what the service's
// client met is what the file says, and its breaker is judged by it.
func TestHTTP2AndGRPC(t *testing.T) {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	out, by := live(t, `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: streams }
sut: { base_url: SUT }
injectors: { charges: { listen: 127.0.0.1:PORT, stub: { grpc: { messages: aGk= }, latency: 1ms } } }
load: { timeout: 5s, targets: [ { name: pay, path: /pay } ] }
breakers: { charges: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 300ms, permitted_calls: 3 } }
phases:
  - { name: healthy, load: { calls: 30 } }
  - { name: trip, load: { calls: 40, gap: 2ms, until: open }, faults: [ { match: { grpc: charges.Charges/* }, h2: { reset: CANCEL } } ] }
  - { name: rest, pause: 400ms }
  - { name: close, load: { calls: 30 } }
  - { name: answers, load: { calls: 20 }, faults: [ { first: 4, grpc: { status: UNAVAILABLE, message: down } } ] }
assert:
  - { id: opens, breaker.opens: charges, phase: trip }
  - { id: closes, breaker.closes: charges, phase: close }
  - { id: told, error.share: { min: 20%, max: 20% }, phase: answers }
`, "http", func() (*http.Transport, error) { return transport, nil })
	passes(t, out)
	trip := ends(by["trip"])
	if n := trip["reset 0 trip/0"]; n < 5 || len(trip) != 1 {
		t.Errorf("attempts of trip: %v, want resets by the fault alone", trip)
	}
	if diff := cmp.Diff(map[string]int{"answered 200 answers/0": 4, "answered 200": 16}, ends(by["answers"])); diff != "" {
		t.Errorf("attempts of answers (-want +got):\n%s", diff)
	}
}

// handshakes has faults of TLS. CA stands for where the certificate goes.
const handshakes = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: handshakes }
sut: { base_url: SUT }
injectors: { charges: { listen: 127.0.0.1:PORT, tls: { protocols: [h2], ca_file: CA }, stub: { grpc: { messages: "" } } } }
correlate: { order: [aggregate] }
load: { timeout: 5s, targets: [ { name: pay, path: /pay } ] }
breakers: { charges: { window: 10, minimum_calls: 10, failure_rate: 50%, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: healthy, load: { calls: 30 } }
  - { name: alerts, load: { calls: 40, gap: 2ms, until: open }, faults: [ { tls: { alert: 40 } } ] }
  - { name: rest, pause: 1200ms }
  - { name: again, load: { calls: 30 } }
  - { name: expired, load: { calls: 20 }, faults: [ { first: 4, tls: expired } ] }
assert:
  - { id: fine, error.share: { max: 0% }, phase: healthy }
  - { id: opens, breaker.opens: charges, phase: alerts }
  - { id: told, error.share: { min: 20%, max: 20% }, phase: expired }
`

// trusting is a client that opens a connection for each call.
func trusting(pool *x509.CertPool) *http.Transport {
	return &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
}

// A service that does not trust the certificate is told where it is.
func TestUntrustedCertificate(t *testing.T) {
	out, _ := live(t, strings.Replace(handshakes, ", ca_file: CA", "", 1), "https", func() (*http.Transport, error) {
		return trusting(x509.NewCertPool()), nil
	})
	pre, ok := errors.AsType[*run.PreconditionError](out.err)
	if !ok || !strings.Contains(pre.What, "the TLS handshake failed") || !strings.Contains(pre.Remedy, "trust the certificate in ") {
		t.Fatalf("error %v", out.err)
	}
	_, rest, _ := strings.Cut(pre.Remedy, "trust the certificate in ")
	file, _, _ := strings.Cut(rest, " ")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || !filepath.IsAbs(file) {
		t.Errorf("%s is left behind: %v", file, err)
	}
}

// A file with faults of TLS is carried out over loopback: the certificate is there when the
// service needs it, and a handshake that fails is a failure of the dependency.
func TestTLS(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "below", "ca.pem")
	// A wait of a second, so that a slow machine calls again before it is over.
	out, by := liveWith(t, strings.Replace(handshakes, "CA", ca, 1), "https", &caller{wait: time.Second, client: func() (*http.Transport, error) {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		return trusting(pool), nil
	}})
	passes(t, out)
	alerts := ends(by["alerts"])
	if n := alerts["eof 0 alerts/0"]; n < 5 || len(alerts) != 1 {
		t.Errorf("attempts of alerts: %v, want handshakes that the fault ended", alerts)
	}
	expired := ends(by["expired"])
	if n := expired["answered 200"]; n != 16 || len(by["expired"]) != 20 {
		t.Errorf("attempts of expired: %v, want 16 answers and 4 handshakes that the client ended", expired)
	}
}

// A fault that the service's protocol does not know was not played, and the run says so,
// whether a phase has it or the dependency is one.
func TestMisfits(t *testing.T) {
	const source = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: misfits }
sut: { base_url: http://sut:80 }
injectors: { dep: { listen: 127.0.0.1:9901, stub: STUB } }
load: { timeout: 1s, targets: [ { name: search, path: /search } ] }
breakers: { dep: { window: 10 } }
phases:
  - { name: healthy, load: { calls: 20 } }
  - { name: faulty, load: { calls: 20 }, faults: [ { first: 3, FAULT } ] }
assert:
  - { id: errors, error.share: { max: 0% }, phase: healthy }
`
	passing := rewriting(func(in *http.Request, body string) (string, string, string, http.Header) {
		return in.Method, in.URL.RequestURI(), body, http.Header{"Traceparent": in.Header["Traceparent"]}
	})
	for name, c := range map[string]struct {
		stub, fault string
		phases      int
		want        []string
	}{
		"a fault of HTTP/2": {"{ status: 200 }", "h2: { reset: CANCEL }", 2, []string{
			"fault faulty/0 of injector dep was met by 3 requests and not played: h2 has no meaning over HTTP/1.1; they were answered 501", "have the SUT speak the protocol",
		}},
		"an answer of gRPC": {"{ status: 200 }", "grpc: UNAVAILABLE", 2, []string{"fault faulty/0 of injector dep was met by 3 requests and not played: grpc has no meaning over HTTP/1.1"}},
		"a server of gRPC":  {"{ grpc: OK }", "reset: true", 0, []string{"the stub of injector dep was met by 1 request and not played: grpc has no meaning over HTTP/1.1"}},
		"none":              {"{ status: 200 }", "respond: { status: 503 }", 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out := inBubble(t, strings.NewReplacer("STUB", c.stub, "FAULT", c.fault).Replace(source), passing)
			pre, ok := errors.AsType[*run.PreconditionError](out.err)
			if ok != (c.want != nil) || !ok && out.err != nil {
				t.Fatalf("error %v", out.err)
			}
			for _, part := range c.want {
				if !strings.Contains(pre.Error(), part) {
					t.Errorf("%q is missing in: %v", part, pre)
				}
			}
			if len(out.trace.Phases) != c.phases {
				t.Errorf("%d phases were carried out, want %d", len(out.trace.Phases), c.phases)
			}
		})
	}
}
