package model_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/target"
)

// haproxyProxy is HAProxy with one thread and several backends.
func haproxyProxy() realProxy {
	return realProxy{
		name: "haproxy",
		lanes: func() []*lane {
			return []*lane{
				haproxyLane(500*time.Millisecond, 2, 10, false), haproxyLane(500*time.Millisecond, 2, 3, true),
				haproxyLane(300*time.Millisecond, 3, 5, true), haproxyLane(700*time.Millisecond, 1, 2, true),
			}
		},
		launch:    launchHAProxy,
		tolerance: tolerance{margin: 10 * time.Millisecond, loses: true},
		ticks: func(_ *testing.T, lanes []*lane, of int) []span {
			w := lanes[of].watched
			w.mu.Lock()
			defer w.mu.Unlock()
			seen := slices.Clone(w.checks)
			for i := 1; i < len(seen); i++ { // The proxy may have begun a check well before it arrived here.
				if begun := w.checks[i-1].lo.Add(lanes[of].cfg.Open.Interval); begun.Before(seen[i].lo) {
					seen[i].lo = begun
				}
			}
			return seen
		},
		wrong: []realMistake{
			{"error-limit one higher", func(c *model.Config) { c.Trip.Failures++ }},
			{"rise one higher", func(c *model.Config) { c.Open.Rise++ }},
			{"checks that leave the row of errors alone", func(c *model.Config) { c.Clear.OnCheck = false }},
		},
	}
}

// haproxyLane is a backend of two servers.
func haproxyLane(inter time.Duration, rise, limit int, backup bool) *lane {
	cfg, _ := model.Preset("haproxy")
	cfg.Open.Interval, cfg.Open.Rise, cfg.Trip.Failures = inter, rise, limit
	l := &lane{
		name: fmt.Sprintf("haproxy inter %v rise %d error-limit %d", inter, rise, limit), cfg: cfg, backup: backup, rest: 1,
		passes: 1, open: time.Duration(rise) * inter,
		conf: fmt.Sprintf("check inter %dms rise %d observe layer7 error-limit %d on-error mark-down", inter.Milliseconds(), rise, limit),
	}
	if backup {
		l.name += " with a backup"
	} else {
		l.passes = 6 // Two take turns, but one that comes back is put a few turns behind the other.
	}
	return l
}

// launchHAProxy starts HAProxy without touching what is installed.
func launchHAProxy(t *testing.T, lanes []*lane) string {
	t.Helper()
	port, release, err := target.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("global\nnbthread 1\nmaxconn 500\ndefaults\nmode http\ntimeout connect 5s\ntimeout client 60s\ntimeout server 60s\n")
	fmt.Fprintf(&b, "frontend all\nbind 127.0.0.1:%d\n", port)
	for i := range lanes {
		fmt.Fprintf(&b, "use_backend lane%d if { path_beg %s }\n", i, lanePath(i))
	}
	for i, l := range lanes {
		fmt.Fprintf(&b, "backend lane%d\nbalance roundrobin\noption httpchk GET %s\nserver watched %s %s\n", i, checkPath, l.watched.Listener.Addr(), l.conf)
		for j, s := range l.others {
			fmt.Fprintf(&b, "server other%d %s%s\n", j, s.Listener.Addr(), map[bool]string{true: " backup"}[l.backup])
		}
	}
	conf := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(conf, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	runProxy(t, "install the Debian package haproxy", "haproxy", "-db", "-f", conf)
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}
