package model_test

import (
	"context"
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
	ticks     func(t *testing.T, lanes []*lane, i int) []time.Time
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
	seed := nodeSeed(t)
	t.Logf("FAULTLINE_SEED=%d", seed)
	length := 20 * time.Second
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

// agrees records what the proxy does and wants the model to have foretold it, and a
// misread model to be contradicted by the same recordings.
func (p realProxy) agrees(t *testing.T, r *rand.Rand, length time.Duration) {
	lanes := p.lanes()
	for _, l := range lanes {
		l.start(t)
	}
	url := p.launch(t, lanes)
	for i, l := range lanes {
		l.url = url + lanePath(i)
		connect(t, l.client, url)
	}
	begin := wallNow()
	recordLanes(t, lanes, r, begin.Add(length))
	if t.Failed() {
		return
	}
	phases := make([]phase, len(lanes))
	for i, l := range lanes {
		phases[i] = phase{begin: begin.Add(-time.Second)}
		if p.ticks != nil && !l.steady {
			phases[i] = fitPhase(t, l, p.ticks(t, lanes, i), begin, p.tolerance.margin/2)
		}
	}
	p.holds(t, lanes, phases)
	for _, w := range p.wrong {
		if n := p.judge(t, lanes, phases, w.make).differences; n == 0 {
			t.Errorf("%s with %s: no recording contradicts it", p.name, w.name)
		}
	}
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

// realSum is what came out of all lanes of a proxy.
type realSum struct{ requests, in, out, open, differences int }

// judge holds a changed model against all recordings.
func (p realProxy) judge(t *testing.T, lanes []*lane, phases []phase, change func(*model.Config)) realSum {
	t.Helper()
	var sum realSum
	for i, l := range lanes {
		cfg := l.cfg
		if change != nil {
			change(&cfg)
		}
		if late := phases[i].late; late != 0 { // A clock of milliseconds would round it away.
			cfg.Open.Interval, cfg.Clock = cfg.Open.Interval+late, 0
		}
		m, err := model.New(cfg, phases[i].begin)
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
			continue
		}
		v := judge(m, phases[i].begin, l.events, p.tolerance)
		sum.requests += l.requests
		sum.in += v.in
		sum.out += v.out
		sum.open += v.open
		switch {
		case v.lost && change == nil:
			t.Errorf("%s: inconclusive: the machine was too slow for any way through the recording to stand out", l.name)
		case v.difference != "" && change == nil:
			t.Errorf("%s: the model of %+v is contradicted:\n%s", l.name, cfg, v.difference)
		}
		if v.difference != "" {
			sum.differences++
		}
	}
	return sum
}

// holds judges the model as it is, and wants enough to have been judged.
func (p realProxy) holds(t *testing.T, lanes []*lane, phases []phase) {
	t.Helper()
	sum := p.judge(t, lanes, phases, nil)
	judged := sum.in + sum.out
	t.Logf("%s: %d requests, %d judged (%d in, %d out), %d too near to a change to judge, %d differences",
		p.name, sum.requests, judged, sum.in, sum.out, sum.open, sum.differences)
	if sum.differences == 0 && (judged < 10*sum.open || sum.in < 50*len(lanes) || sum.out < 50*len(lanes)) {
		t.Errorf("%s: inconclusive: too little could be judged; is the machine too slow?", p.name)
	}
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
