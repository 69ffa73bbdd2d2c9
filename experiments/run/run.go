package run

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// Options is what a run needs beside its plan.
type Options struct {
	Tool     string         // faultline's version, for the trace's header
	SUTLog   *os.File       // takes the output of a launched SUT; nil: discarded
	BaseDir  string         // what a relative launch directory is relative to
	Logger   *slog.Logger   // nil: silent
	Progress func(Progress) // told once a second and at every phase's start; nil: nobody
	// Hurry, when closed, ends the patience with a launched SUT that was told to
	// stop: it is killed. nil: nobody hurries.
	Hurry <-chan struct{}
	// Listen and Dial replace the operating system's network, for an
	// in-process run in virtual time.
	Listen func(network, addr string) (net.Listener, error)
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Progress is what a person watching a run wants to know.
type Progress struct {
	At       time.Duration // since the run's epoch
	Phase    string
	PhaseNo  int // from 1
	Phases   int
	Elapsed  time.Duration // in this phase
	Duration time.Duration // of this phase; 0 in calls mode
	Sent     int           // calls ended so far, all phases
	Arrived  int           // attempts arrived so far, all injectors
	InFlight int
	Statuses map[string]int    // answers of the last second by status, or by error kind
	P50, P99 time.Duration     // service time of calls ended in the last second
	State    map[string]string // live guess of each breaker's state
	Note     string            // something said once: rung, readiness
}

// Result is what a run leaves.
type Result struct {
	Trace       *trace.Trace
	Rung        string // how attempts were joined: traceparent, header:NAME, single_flight
	Interrupted bool   // the context ended before the plan did; the trace is what there was
}

// PreconditionError says that the experiment could not say anything about the
// SUT, and what to do about it. It is exit code 3.
type PreconditionError struct {
	What   string
	Remedy string
}

// Error implements error.
func (e *PreconditionError) Error() string {
	if e.Remedy == "" {
		return e.What
	}
	return e.What + "; " + e.Remedy
}

// Run carries out plan. It returns a *PreconditionError when the SUT never got
// ready, died, or does not call the dependency, when an upstream behind an injector
// could not be reached, when a fault was met in a protocol that does not know it, and when one of connections
// met none; a partial Result comes with it when something was
// recorded. Everything that was started is stopped before it returns. A context that
// ends when the plan has been carried out makes the run no interrupted one; it ends
// the patience with the SUT.
func Run(ctx context.Context, plan *experiments.Plan, opt Options) (*Result, error) {
	r := newRunner(plan, opt)
	err := r.carryOut(ctx)
	interrupted := ctx.Err() != nil
	if err == nil && !interrupted {
		err = r.deadUnseen(ctx)
	}
	if stopErr := r.end(ctx); err == nil {
		err = stopErr
	}
	res := &Result{Trace: r.rec.Snapshot(r.header()), Rung: r.rung, Interrupted: interrupted}
	switch {
	case interrupted:
		err = nil // It follows from the interruption.
	case err == nil:
		err = cmp.Or(r.misfits(), r.upstreamFailed(res.Trace), r.unmet(res.Trace))
	}
	return res, err
}

// slowStop is how long a SUT may take to stop before a person is told why nothing
// happens.
const slowStop = 500 * time.Millisecond

// end stops everything. The patience with a launched SUT ends when Hurry is closed,
// or when ctx ends meanwhile; one that takes its time is told of.
func (r *runner) end(ctx context.Context) error {
	patient, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, kill)()
	}
	stopped := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(stopped)
	watching.Go(func() {
		slow := time.NewTimer(slowStop)
		defer slow.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-r.opt.Hurry:
				kill()
				return
			case <-slow.C:
				if r.process != nil {
					r.note(fmt.Sprintf("waiting for the service to stop, up to %s; Ctrl-C to kill it", r.plan.SUT.Launch.Stop))
				}
			}
		}
	})
	return r.stop(patient)
}
