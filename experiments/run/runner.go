package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/target"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// runner holds the hands of one run.
type runner struct {
	plan *experiments.Plan
	opt  Options
	log  *slog.Logger
	rec  *trace.Recorder
	corr match.Correlator
	rung string
	live *live

	injectors []*injector.Injector
	proxy     *proxy.Proxy
	process   *target.Process
	attacker  *attack.Attacker
	baseURL   string
	replicas  []experiments.Replica // in place of baseURL
	watchers  []func()
	caFiles   map[string]string // by injector, of those with TLS
	caFolder  string            // goes with the run; empty: there is none
}

// probePhase is where the calls belong that are made before the first phase; no
// phase of an experiment can have its name.
const probePhase = "(probe)"

func newRunner(plan *experiments.Plan, opt Options) *runner {
	epoch := time.Now()
	r := &runner{plan: plan, opt: opt, log: opt.Logger, rec: trace.NewRecorder(epoch)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.corr = match.Correlator{Run: runID(plan.Seed, epoch), Phases: []string{probePhase}}
	for _, p := range plan.Phases {
		r.corr.Phases = append(r.corr.Phases, p.Name)
	}
	for _, by := range plan.Correlate.Order {
		if by != trace.BySingleFlight {
			r.corr.Carriers = append(r.corr.Carriers, by)
		}
	}
	r.live = newLive(plan, r.rec)
	r.live.watched = opt.Progress != nil
	return r
}

// runID makes the run's part of a trace-id; the clock is in it so that what a
// run before left in the SUT is not taken for this one's.
func runID(seed uint64, epoch time.Time) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %d", seed, epoch.UnixNano()) // A hash does not fail.
	return h.Sum64() | 1
}

// header describes the run in its trace.
func (r *runner) header() trace.Header {
	plan, err := json.Marshal(r.plan)
	if err != nil {
		plan = nil // A plan is plain data; without it the trace is still whole.
	}
	return trace.Header{Experiment: r.plan.Name, Tool: r.opt.Tool, Seed: r.plan.Seed, Plan: plan}
}

// now is the instant on the run's clock.
func (r *runner) now() time.Duration { return r.rec.Since(time.Now()) }

// carryOut starts everything, runs the phases and waits for stragglers.
func (r *runner) carryOut(ctx context.Context) error {
	if err := r.startInjectors(ctx); err != nil {
		return err
	}
	if err := r.startSUT(ctx); err != nil {
		return err
	}
	// A SUT that dies ends the run: what is sent afterwards says nothing of it.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.watchSUT(ctx, cancel)
	if err := r.startAttacker(); err != nil {
		return err
	}
	r.rec.OnCall(r.live.ended)
	r.rec.OnArrival(r.live.arrived)
	if err := r.probe(ctx); err != nil {
		return r.orDeath(ctx, err)
	}
	if err := r.misfits(); err != nil { // The stub's: probes meet no fault.
		return err
	}
	r.startProgress(ctx)
	r.startStallWatch(ctx)
	r.startPressureWatch(ctx)
	r.startProbes(ctx)
	if err := r.phases(ctx); err != nil {
		return r.orDeath(ctx, err)
	}
	return nil
}

// orDeath replaces an error that follows from the SUT's death by the death.
func (r *runner) orDeath(ctx context.Context, err error) error {
	if dead, ok := errors.AsType[*PreconditionError](context.Cause(ctx)); ok {
		return dead
	}
	return err
}

// startInjectors lets every dependency listen.
func (r *runner) startInjectors(ctx context.Context) error {
	if err := r.shuttable(); err != nil {
		return err
	}
	for _, in := range r.plan.Injectors {
		cfg := injector.Config{
			Name: in.Name, Addr: in.Listen, Listen: r.opt.Listen, DialUpstream: r.opt.Dial,
			Upstream: in.Upstream, Script: in.Script, Phase: probePhase, Seed: r.plan.Seed,
			Recorder: r.rec, Correlator: r.corr, Logger: r.log, TLS: Secured(in.TLS),
		}
		if in.Stub != nil {
			cfg.Stub = injector.Stub{Respond: in.Stub.Respond, Latency: in.Stub.Latency}
		}
		OfConnections(&cfg, in)
		inj, err := injector.Start(ctx, cfg)
		if err != nil {
			return &PreconditionError{What: err.Error()}
		}
		r.injectors = append(r.injectors, inj)
		r.live.injectors[in.Name] = inj
	}
	return r.writeCAs()
}

// startSUT starts or finds the system under test and waits until it is ready.
func (r *runner) startSUT(ctx context.Context) error {
	sut := r.plan.SUT
	r.baseURL, r.replicas = sut.BaseURL, sut.Replicas
	switch {
	case sut.Reference != nil:
		return r.startReference(ctx, *sut.Reference)
	case sut.Launch != nil:
		if err := r.launch(ctx, *sut.Launch); err != nil {
			return err
		}
	}
	if sut.Ready == nil {
		return nil
	}
	if len(r.replicas) == 0 {
		return r.waitReady(ctx, r.baseURL)
	}
	for _, one := range r.replicas {
		if err := r.waitReady(ctx, one.BaseURL); err != nil {
			return err // It names the address.
		}
	}
	return nil
}

// waitReady waits until the SUT at an address is ready.
func (r *runner) waitReady(ctx context.Context, baseURL string) error {
	ready := r.plan.SUT.Ready
	r.note("waiting for " + baseURL + ready.Get)
	var exited <-chan struct{}
	if r.process != nil {
		exited = r.process.Exited()
	}
	client := &http.Client{Transport: &http.Transport{DialContext: r.opt.Dial, DisableKeepAlives: true}}
	err := target.WaitReady(ctx, client, baseURL+ready.Get, ready.Expect, ready.Timeout, exited)
	if err != nil {
		if r.process != nil && r.process.Err() != nil {
			err = errors.Join(err, r.process.Err())
		}
		return &PreconditionError{What: err.Error()}
	}
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkReady})
	return nil
}

// addressOf is where calls to an instance are sent.
func (r *runner) addressOf(instance string) string {
	for _, one := range r.replicas {
		if one.Name == instance {
			return one.BaseURL
		}
	}
	return r.baseURL
}

// launch starts the SUT's command with the addresses of the injectors filled in.
func (r *runner) launch(ctx context.Context, l experiments.Launch) error {
	vars := map[string]string{}
	for i, in := range r.plan.Injectors {
		vars["injectors."+in.Name+".url"] = r.injectors[i].URL()
		vars["injectors."+in.Name+".addr"] = r.injectors[i].Addr()
		if file, ok := r.caFiles[in.Name]; ok {
			vars["injectors."+in.Name+".ca_file"] = file
		}
	}
	port, release, err := target.FreePort(ctx)
	if err != nil {
		return &PreconditionError{What: err.Error()}
	}
	vars["sut.port"] = strconv.Itoa(port)
	cmd, err := r.expand(l, vars)
	if err := errors.Join(err, release()); err != nil {
		return &PreconditionError{What: err.Error()}
	}
	if err := target.Vacant(ctx, r.baseURL); err != nil {
		return &PreconditionError{What: err.Error()}
	}
	r.note("launching " + strings.Join(cmd.Command, " "))
	r.process, err = target.Start(ctx, cmd, r.log)
	if err != nil {
		return &PreconditionError{What: err.Error(), Remedy: "check sut.launch.command, and build the service if it has to be built"}
	}
	r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkLaunch, Text: strings.Join(cmd.Command, " ")})
	return nil
}

// expand fills in the templates of a launch, and of the base URL.
func (r *runner) expand(l experiments.Launch, vars map[string]string) (target.Launch, error) {
	out := target.Launch{Dir: r.dir(l.Dir), Env: map[string]string{}, Stop: l.Stop, Log: r.opt.SUTLog}
	var errs []error
	fill := func(s string) string {
		got, err := target.Expand(s, vars)
		errs = append(errs, err)
		return got
	}
	for _, w := range l.Command {
		out.Command = append(out.Command, fill(w))
	}
	for k, v := range l.Env {
		out.Env[k] = fill(v)
	}
	r.baseURL = fill(r.plan.SUT.BaseURL)
	return out, errors.Join(errs...)
}

// dir resolves a launch directory against the experiment's folder.
func (r *runner) dir(d string) string {
	if filepath.IsAbs(d) {
		return d
	}
	return filepath.Join(r.opt.BaseDir, d)
}

// startAttacker prepares the load.
func (r *runner) startAttacker() error {
	var replicas []attack.Replica
	for _, one := range r.replicas {
		replicas = append(replicas, attack.Replica{Name: one.Name, BaseURL: one.BaseURL})
	}
	a, err := attack.New(attack.Config{
		BaseURL: r.baseURL, Replicas: replicas, Recorder: r.rec, Correlator: r.corr, Classes: r.plan.Classes, Reasons: r.plan.Reasons, Ages: r.plan.Ages(),
		Timeout: r.plan.Timeout, InstanceHeader: r.plan.SUT.InstanceHeader, Dial: r.opt.Dial,
	})
	if err != nil {
		return fmt.Errorf("prepare the load: %w", err)
	}
	r.attacker = a
	return nil
}

// stop ends everything in the reverse order of starting.
func (r *runner) stop(ctx context.Context) error {
	var errs []error
	if r.attacker != nil {
		r.attacker.Abort()
		errs = append(errs, r.attacker.Wait(ctx))
	}
	for _, in := range r.injectors {
		errs = append(errs, in.Enter("")) // Hangs and holds end now, so that the SUT is not kept waiting.
	}
	for _, w := range r.watchers {
		w()
	}
	if r.proxy != nil {
		errs = append(errs, r.proxy.Close())
	}
	if r.process != nil {
		errs = append(errs, r.process.Stop(ctx))
	}
	for _, in := range r.injectors {
		errs = append(errs, in.Close())
	}
	errs = append(errs, r.removeCAs())
	return errors.Join(errs...)
}
