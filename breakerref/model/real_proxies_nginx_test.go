package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/target"
)

// nginxProxy is nginx with one worker and several upstreams.
func nginxProxy() realProxy {
	return realProxy{
		name: "nginx",
		lanes: func() []*lane {
			return []*lane{
				nginxLane(1, 1, 1, true), nginxLane(3, 1, 1, true), nginxLane(2, 2, 1, true),
				nginxLane(1, 1, 1, false), nginxLane(3, 2, 1, false), nginxLane(2, 1, 0, false),
			}
		},
		launch: launchNginx,
		wrong: []realMistake{
			{"max_fails one higher", func(c *model.Config) { c.Trip.Failures++ }},
			{"fail_timeout one second longer", func(c *model.Config) { c.Window.Period += time.Second; c.Open.Wait += time.Second }},
			{"a clock of nanoseconds", func(c *model.Config) { c.Clock = 0 }},
			{"back at the second itself", func(c *model.Config) { c.Open.After = false }},
			{"a lone server that is disabled", func(c *model.Config) { c.Hosts.Count = 2 }},
		},
	}
}

// nginxLane is an upstream with so many servers beside the watched one.
func nginxLane(maxFails, seconds, rest int, backup bool) *lane {
	cfg, _ := model.Preset("nginx")
	timeout := time.Duration(seconds) * time.Second
	cfg.Trip.Failures, cfg.Window.Period, cfg.Open.Wait, cfg.Hosts.Count = maxFails, timeout, timeout, 1+rest
	l := &lane{
		name: fmt.Sprintf("nginx max_fails=%d fail_timeout=%ds, %d more", maxFails, seconds, rest), cfg: cfg, backup: backup, rest: rest,
		passes: 1, open: timeout + 500*time.Millisecond, conf: fmt.Sprintf("max_fails=%d fail_timeout=%ds", maxFails, seconds),
	}
	if backup {
		l.name += " for backup"
	} else {
		l.passes = 4 // With max_fails=1 a failure costs the server its weight for a turn or two.
	}
	return l
}

// launchNginx starts nginx without touching what is installed.
func launchNginx(t *testing.T, lanes []*lane) string {
	t.Helper()
	dir := t.TempDir()
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "daemon off;\nmaster_process off;\npid %s/pid;\nevents {}\nhttp {\naccess_log off;\n", dir)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	b.WriteString("proxy_next_upstream error timeout http_503;\n")
	for i, l := range lanes {
		fmt.Fprintf(&b, "upstream lane%d {\nserver %s %s;\n", i, l.watched.Listener.Addr(), l.conf)
		for _, s := range l.others {
			fmt.Fprintf(&b, "server %s%s;\n", s.Listener.Addr(), map[bool]string{true: " backup"}[l.backup])
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "server {\nlisten 127.0.0.1:%d;\n", port)
	for i := range lanes {
		fmt.Fprintf(&b, "location %s { proxy_pass http://lane%d; }\n", lanePath(i), i)
	}
	b.WriteString("location / { return 404; }\n}\n}\n")
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	runProxy(t, "install the Debian package nginx-core, or another nginx", "nginx", "-p", dir, "-e", "stderr", "-c", conf)
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}
