package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
)

// realProxy is a proxy that runs on this machine.
type realProxy struct {
	name   string
	lanes  func() []*lane
	launch func(t *testing.T, lanes []*lane) (url string)
	// ticks tells when a timer of the proxy fired that the lane's model has to
	// know the phase of. nil: it has none.
	ticks     func(t *testing.T, lanes []*lane, i int) []span
	tolerance tolerance
	// wrong are ways to misread the proxy, each of which the recordings have to
	// contradict.
	wrong []realMistake
}

type realMistake struct {
	name string
	make func(*model.Config)
}

// TestRealProxies has nginx, HAProxy and Envoy themselves guard a host that fails as
// told, in real time, records which requests reach it, and holds the model to that.
// FAULTLINE_SEED repeats the requests of a run, but not its instants;
// FAULTLINE_DEEP=1 makes it long.
//
// It needs more than Go: without FAULTLINE_ZOO=1 it is skipped, with it a missing
// tool fails it.
func TestRealProxies(t *testing.T) {
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		t.Skip("the proxies themselves are asked with FAULTLINE_ZOO=1")
	}
	seed := replaySeed(t)
	t.Logf("FAULTLINE_SEED=%d", seed)
	length := 18 * time.Second
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		length = 5 * time.Minute
	}
	for i, p := range []realProxy{nginxProxy(), haproxyProxy(), envoyProxy()} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.agrees(t, rand.New(rand.NewPCG(seed, uint64(i))), length)
		})
	}
}

// agrees records what the proxy does and wants the model to have foretold it, and
// each misread model to be contradicted by the same recordings. On a slow machine a
// recording says little, and is made again, at most twice.
//
// A machine that stalls can also have a proxy act later than any tolerance allows for. So
// a recording that contradicts the model is made again, too: it counts if another one does.
// A model that is wrong is contradicted by every recording, which the misread ones show.
func (p realProxy) agrees(t *testing.T, r *rand.Rand, length time.Duration) {
	var all []recording
	contradicted := false
	for try := 1; ; try++ {
		made := p.record(t, r, length)
		if t.Failed() {
			return
		}
		if p.judge(t, made, nil).differences > 0 {
			if contradicted {
				t.Errorf("%s: two recordings contradict the model", p.name)
				return
			}
			contradicted = true
			t.Logf("%s: once more, because a recording contradicts the model", p.name)
			continue
		}
		all = append(all, made...)
		sum := p.judge(t, all, nil)
		short := p.short(t, all, sum)
		if short == "" || try >= 3 {
			t.Logf("%s: %d requests, %d judged (%d in, %d out), %d too near to a change to judge, %d differences",
				p.name, sum.requests, sum.in+sum.out, sum.in, sum.out, sum.open, sum.differences)
			if short != "" {
				t.Errorf("%s: inconclusive: %s; is the machine too slow?", p.name, short)
			}
			return
		}
		t.Logf("%s: once more, because %s", p.name, short)
	}
}

// recording is what a lane has shown, in its model's time.
type recording struct {
	lane   *lane
	begin  time.Time
	events []realEvent
}

// record starts the proxy and asks it.
func (p realProxy) record(t *testing.T, r *rand.Rand, length time.Duration) []recording {
	t.Helper()
	lanes := p.lanes()
	for _, l := range lanes {
		l.start(t)
	}
	url := p.launch(t, lanes)
	for i, l := range lanes {
		l.url, l.begun = url+lanePath(i), wallNow()
		connect(t, l.client, url)
	}
	recordLanes(t, lanes, r, wallNow().Add(length))
	all := make([]recording, len(lanes))
	for i, l := range lanes {
		all[i] = recording{l, l.begun, l.events}
		if p.tolerance.stall > 0 {
			all[i].events = undisturbed(l.events, lanes)
		}
		if p.ticks != nil && !l.steady {
			k := newTicks(p.ticks(t, lanes, i), l.cfg.Open.Interval, p.tolerance.stall)
			all[i].begin, all[i].events = k.begin(l.begun), k.placed(all[i].events)
		}
	}
	return all
}

// undisturbed returns the events before the machine first stalled.
func undisturbed(events []realEvent, lanes []*lane) []realEvent {
	for i, e := range events {
		for _, l := range lanes {
			if !l.stalled.IsZero() && e.hi.After(l.stalled) {
				return events[:i]
			}
		}
	}
	return events
}

// short tells what the recordings lack to say that the model holds.
func (p realProxy) short(t *testing.T, all []recording, sum realSum) string {
	t.Helper()
	if enough := 50 * len(p.lanes()); sum.in < enough || sum.out < enough {
		return fmt.Sprintf("of %d requests only %d in and %d out could be judged, want %d of each", sum.requests, sum.in, sum.out, enough)
	}
	if sum.in+sum.out < 10*sum.open {
		return fmt.Sprintf("only %d answers could be judged, and %d not", sum.in+sum.out, sum.open)
	}
	for _, w := range p.wrong {
		if p.judge(t, all, w.make).differences == 0 {
			return "no recording contradicts a model with " + w.name
		}
	}
	return ""
}

// recordLanes asks all lanes at once.
func recordLanes(t *testing.T, lanes []*lane, r *rand.Rand, until time.Time) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), until.Add(20*time.Second))
	defer cancel()
	var all sync.WaitGroup
	for _, l := range lanes {
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		all.Go(func() {
			if err := l.record(ctx, own, until); err != nil {
				t.Errorf("%s: %v", l.name, err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		t.Errorf("the recording did not end in time")
	}
}

// realSum is what came out of all recordings of a proxy.
type realSum struct{ requests, in, out, open, differences int }

// judge holds a changed model against all recordings.
func (p realProxy) judge(t *testing.T, all []recording, change func(*model.Config)) realSum {
	t.Helper()
	var sum realSum
	for _, r := range all {
		cfg := r.lane.cfg
		if change != nil {
			change(&cfg)
		}
		m, err := model.New(cfg, r.begin)
		if err != nil {
			t.Fatalf("%s: %v", r.lane.name, err)
		}
		v := judge(m, r.begin, r.events, p.tolerance)
		sum.requests += r.lane.requests
		sum.in += v.in
		sum.out += v.out
		sum.open += v.open
		if v.difference == "" {
			continue
		}
		sum.differences++
		if change == nil {
			t.Logf("%s: the model of %+v is contradicted:\n%s", r.lane.name, cfg, v.difference)
		}
	}
	return sum
}

// runProxy starts a proxy that lives as long as the test. What it writes is shown if
// the test fails.
func runProxy(t *testing.T, remedy, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v; %s", err, remedy)
	}
	out := &lockedBuffer{}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", program, out)
		}
	})
}
