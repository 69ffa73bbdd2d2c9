package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/experiments/run"
)

func course() []run.Progress {
	second := run.Progress{
		Phase: "outage", PhaseNo: 2, Phases: 2, Elapsed: 1004 * time.Millisecond, Duration: 10 * time.Second,
		Sent: 812, Arrived: 301, InFlight: 3, Statuses: map[string]int{"503": 88, "200": 12},
		P50: 2340 * time.Microsecond, P99: 14222 * time.Microsecond, State: map[string]string{"search": "open"},
	}
	return []run.Progress{
		{Note: "joined by\x1b[31m traceparent", Phases: 2},
		{Phase: "trip", PhaseNo: 1, Phases: 2},
		{Phase: "trip", PhaseNo: 1, Phases: 2, Sent: 10, Elapsed: time.Second},
		{Phase: "outage", PhaseNo: 2, Phases: 2, Duration: 10 * time.Second},
		second,
	}
}

func shown(s screen) string {
	var b bytes.Buffer
	p := progress{w: &b, screen: s}
	for _, now := range course() {
		p.show(now)
	}
	p.done()
	p.done()
	return b.String()
}

func TestProgressInALog(t *testing.T) {
	want := "joined by [31m traceparent\n  phase 1 of 2: trip\n  phase 2 of 2: outage, 10s\n"
	if diff := cmp.Diff(want, shown(screen{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	got := shown(screen{terminal: true, width: 120})
	lines := strings.Split(got, eraseLine)
	want := []string{
		"joined by [31m traceparent\n",
		"[1/2 trip 0s] 0 sent, 0 arrived, 0 in flight",
		"[1/2 trip 1s] 10 sent, 0 arrived, 0 in flight",
		"[2/2 outage 0s/10s] 0 sent, 0 arrived, 0 in flight",
		"[2/2 outage 1s/10s] 812 sent, 301 arrived, 3 in flight | search open | 200:12 503:88 | p50 2.3ms p99 14ms",
		"",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for line := range strings.SplitSeq(shown(screen{terminal: true, width: 60}), eraseLine) {
		if len(line) >= 60 {
			t.Errorf("a line of %d columns on a terminal of 60: %q", len(line), line)
		}
	}
}

func TestScreen(t *testing.T) {
	for _, tt := range []struct {
		env   map[string]string
		ascii bool
	}{
		{nil, true},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, true},
		{map[string]string{"LC_CTYPE": "C.utf8"}, false},
	} {
		a := app{getenv: func(k string) string { return tt.env[k] }}
		s := a.screenOf(&bytes.Buffer{}, false)
		if s.ascii != tt.ascii || s.terminal || s.color || s.width != 100 {
			t.Errorf("%v: %+v", tt.env, s)
		}
	}
}
