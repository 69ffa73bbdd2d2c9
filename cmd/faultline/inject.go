package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
	"github.com/faultline-go/faultline/injector/fault"
)

// injectFlags are the flags of inject.
type injectFlags struct {
	listen   string
	upstream string
	status   httpStatus
	body     string

	respond                   httpStatus
	reset                     bool
	closing                   bool
	hang                      bool
	refuse, unreachable, deaf bool
	stealth                   bool
	malformed                 choice
	latency                   spread

	ratio  share
	first  count
	path   string
	method string

	phase string
	play  choice
	then  choice
	seed  seed
	trace string

	control controlFlags

	given func(flag string) bool // on the command line
}

// nameOfInjection is what the one phase of an injection by flags is called, and
// its injector is the dependency.
const (
	nameOfInjection = "inject"
	nameOfInjector  = "dependency"
)

func (a app) injectCommand() *cobra.Command {
	var f injectFlags
	cmd := &cobra.Command{
		Use:   "inject [FILE]",
		Short: "Be the failing dependency alone, without load and verdict",
		Long: `inject listens in the place of a dependency and misbehaves, while you or another
tool send the traffic. Without FILE, one fault is given by flags; without a fault
the dependency is healthy. With FILE, an experiment, its injectors listen at their
addresses and play the faults of its phases: one phase with --phase, until Ctrl-C,
or all of them one after the other, by the clock. A phase of calls has no duration:
it lasts until that many requests have come to one of its dependencies and have
ended. The first phase begins at once, or with --play first when the first request
comes; after the last one inject ends, or with --then stays in it or begins again.
A ratio or latency that changes does so on the clock of its phase.

Flags have the most common faults. All others (answers cut or dripped, HTTP/2, gRPC,
TLS, WebSocket, connections of a database, laws of latency, ramps) are written in FILE;
docs/live-faults.md has the least such file, and experiments/README.md every key.

A line on standard error tells of every second in which something arrived or
ended. The last line, "ledger", names what was decided for all requests: with the
same seed and the same order of arrival it is the same. The faults are gone as soon
as faultline is, however it ends: they live in it, and its port is closed.

With --control, another process can read what happens, replace the plan, add a fault
for some time, and clear all of them; with --lease, faults end by themselves when
that process is gone.

No load is sent, so nobody knows which calls were rejected: a hold lasts as long
as its max.

Exit codes: 0 all phases were played, 2 bad usage or definition, 3 it could not
listen or write its trace, 130 or 143 interrupted.`,
		Example: `  faultline inject --respond 503 --ratio 30%
  faultline inject --upstream http://127.0.0.1:9902 --latency 100ms-2s --ratio 40%
  faultline inject --listen 127.0.0.1:0 --body '{"state":"PAID"}' --respond 503 --path '/charges*' --trace back.jsonl
  faultline inject --phase outage experiments/quickstart.yaml
  faultline inject --play first --then loop experiments/quickstart.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("inject plays one experiment at a time, as in: faultline inject --phase outage experiments/quickstart.yaml")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runInject(cmd.Context(), f, args)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(f.set())
	return cmd
}

// set makes the flags, with f as what they set.
func (f *injectFlags) set() *pflag.FlagSet {
	f.choices()
	f.status, f.seed, f.ratio = http.StatusOK, defaultSeed, share{Num: 1, Den: 1}
	for _, m := range fault.Malformations() {
		f.malformed.allowed = append(f.malformed.allowed, string(m))
	}
	flags := pflag.NewFlagSet("inject", pflag.ContinueOnError)
	flags.SortFlags = false
	f.given = flags.Changed
	flags.StringVar(&f.listen, "listen", "127.0.0.1:9901", "loopback `ADDRESS` to listen on; port 0 is chosen by the system")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the real dependency, which answers what no fault hits; h2c://HOST:PORT for gRPC without TLS")
	flags.Var(&f.status, "status", "without --upstream: status of the answer to what no fault hits")
	flags.StringVar(&f.body, "body", "", "without --upstream: its body")
	flags.Var(&f.respond, "respond", "fault: answer with this `STATUS`, such as 503")
	flags.BoolVar(&f.reset, "reset", false, "fault: reset the connection (RST)")
	flags.BoolVar(&f.closing, "close", false, "fault: close the connection without an answer (FIN)")
	flags.BoolVar(&f.hang, "hang", false, "fault: never answer")
	flags.Var(&f.malformed, "malformed", "fault: an answer that is not what HTTP, or its own head, says; `KIND` is "+strings.Join(f.malformed.allowed, ", "))
	flags.BoolVar(&f.stealth, "stealth", false, "with --reset and --close: not a byte before; many clients then resend the request and hide the fault")
	flags.BoolVar(&f.refuse, "refuse", false, "fault: nobody listens, and the port is kept: all connections are refused, and none is counted")
	flags.BoolVar(&f.unreachable, "unreachable", false, "fault: no connection is answered, so that callers run into their connect timeout, and none is counted; on Linux")
	flags.BoolVar(&f.deaf, "deaf", false, "fault: all connections are accepted, and none is read from")
	flags.Var(&f.latency, "latency", "fault: this much later; alone, or before --respond, --reset or --close")
	flags.Var(&f.ratio, "ratio", "the fault hits this share of the requests, evenly spread")
	flags.Var(&f.first, "first", "the fault hits the first `N` requests only")
	flags.StringVar(&f.path, "path", "", "the fault hits requests of this `PATH` only; a * at its end stands for any rest")
	flags.StringVar(&f.method, "method", "", "the fault hits requests of this `METHOD` only")
	flags.StringVar(&f.phase, "phase", "", "with FILE: play the faults of the phase with this `NAME` until Ctrl-C")
	flags.Var(&f.play, "play", "with FILE: its first phase begins at once, or with the first request")
	flags.Var(&f.then, "then", "with FILE: what comes after its last phase: the end, the same phase until Ctrl-C, or the first one again")
	flags.Var(&f.seed, "seed", "seed `N` of latencies; wins over the one in the experiment")
	flags.StringVar(&f.trace, "trace", "", "at the end, write every request that arrived to this `FILE`, as JSON lines")
	f.control.add(flags)
	return flags
}

// injection is what inject does, as data.
type injection struct {
	name      string
	byFlags   bool // and not by an experiment
	seed      uint64
	injectors []injector.Config
	phases    []injectPhase
	control   *control.Config // nil: faults cannot be changed from outside
	jumps     chan jump       // from there
	first     *injector.First // begins the first phase; nil: it begins at once
	then      string          // after the last phase

	plan   []experiments.Injector // of an experiment, in the order of injectors
	folder string                 // which it lies in
}

// injectPhase is a time with the same faults.
type injectPhase struct {
	experiments.Phase

	endless bool // until a signal comes, whatever its duration
}

// runInject serves until a signal comes or all phases are over.
func (a app) runInject(ctx context.Context, f injectFlags, args []string) error {
	if f.given("trace") {
		if err := givenFile(f.trace); err != nil {
			return exit(report.ExitDefinition, fmt.Errorf("--trace %s: %w", f.trace, err))
		}
	}
	var in injection
	var err error
	if len(args) > 0 {
		in, err = f.fromFile(args[0])
	} else {
		in, err = f.fromFlags()
	}
	if err == nil {
		err = f.bound(&in)
	}
	if err != nil {
		return exit(report.ExitDefinition, err)
	}
	code := a.untilSignal(ctx, "closing the ports; the faults are gone with them", func(ctx context.Context) int {
		return a.inject(ctx, in, f.trace)
	})
	return exit(code, nil)
}

// bound says how far the faults go, and who may change them.
func (f injectFlags) bound(in *injection) error {
	var err error
	in.control, err = f.control.config(f.given)
	in.jumps = make(chan jump)
	for k := range in.injectors {
		if _, port, _ := net.SplitHostPort(f.control.addr); port != "0" && f.control.addr != "" && f.control.addr == in.injectors[k].Addr {
			err = errors.Join(err, fmt.Errorf("--control %s: that is where injector %s listens; choose another port", f.control.addr, in.injectors[k].Name))
		}
		in.injectors[k].Limits, in.injectors[k].Lease = f.control.limits(), time.Duration(f.control.lease)
		in.injectors[k].EnvoyHeaders = in.injectors[k].EnvoyHeaders || f.control.envoy
		if f.control.envoy && in.injectors[k].TCP != nil {
			err = errors.Join(err, fmt.Errorf("--envoy-headers is for requests, and injector %s passes bytes on as they are; leave out one of them", in.injectors[k].Name))
		}
	}
	return err
}

// fromFile plays what an experiment says.
func (f injectFlags) fromFile(file string) (injection, error) {
	for _, flag := range []string{
		"listen", "upstream", "status", "body", "respond", "reset", "close", "hang", "malformed", "stealth", "refuse", "unreachable", "deaf", "latency", "ratio", "first", "path", "method",
	} {
		if f.given(flag) {
			return injection{}, fmt.Errorf("--%s does not go with an experiment, which says all of this itself; leave out one of them", flag)
		}
	}
	plan, err := loadFile(file, nil)
	if err != nil {
		return injection{}, err
	}
	in := injection{name: plan.Name, seed: plan.Seed, plan: plan.Injectors, folder: filepath.Dir(file), then: f.then.word}
	in.begins(f.play.word)
	if f.given("seed") {
		in.seed = uint64(f.seed)
	}
	if in.phases, err = f.phasesOf(file, plan); err != nil {
		return injection{}, err
	}
	if err := f.playable(file, in.phases, len(plan.Injectors)); err != nil {
		return injection{}, err
	}
	in.finalPhase()
	for _, i := range plan.Injectors {
		cfg := injector.Config{Name: i.Name, Addr: i.Listen, Upstream: i.Upstream, Script: i.Script, TLS: run.Secured(i.TLS)}
		if i.Stub != nil {
			cfg.Stub = injector.Stub{Respond: i.Stub.Respond, Latency: i.Stub.Latency}
		}
		run.OfConnections(&cfg, i)
		in.injectors = append(in.injectors, cfg)
	}
	return in, nil
}

// phasesOf are the phases of an experiment that are to be played.
func (f injectFlags) phasesOf(file string, plan *experiments.Plan) ([]injectPhase, error) {
	var all []injectPhase
	var names []string
	for _, p := range plan.Phases {
		if f.given("phase") && p.Name == f.phase {
			return []injectPhase{{Phase: p, endless: true}}, nil
		}
		all = append(all, injectPhase{Phase: p})
		names = append(names, p.Name)
	}
	if f.given("phase") {
		return nil, fmt.Errorf("--phase %s: %s has no such phase%s", f.phase, file, hintOf(f.phase, names))
	}
	return all, nil
}

// fromFlags plays what the flags say.
func (f injectFlags) fromFlags() (injection, error) {
	rule, err := f.rule()
	if err := errors.Join(f.dependency(), err); err != nil {
		return injection{}, err
	}
	cfg := injector.Config{Name: nameOfInjector, Addr: f.listen, Upstream: f.upstream}
	if f.upstream == "" {
		cfg.Stub.Respond = fault.Respond{Status: int(f.status), Body: f.body}
	}
	phase := experiments.Phase{Name: nameOfInjection}
	if rule != nil {
		cfg.Script.Phases = map[string][]fault.Rule{nameOfInjection: {*rule}}
		phase.Faults = map[string][]fault.Rule{nameOfInjector: {*rule}}
	}
	return injection{
		name: nameOfInjection, byFlags: true, seed: uint64(f.seed),
		injectors: []injector.Config{cfg}, phases: []injectPhase{{Phase: phase, endless: true}},
	}, nil
}
