package run

import (
	"context"
	"log/slog"
	"net"
	"os"
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
// ready, died, or does not call the dependency; a partial Result comes with it
// when something was recorded. Everything that was started is stopped before it
// returns.
func Run(ctx context.Context, plan *experiments.Plan, opt Options) (*Result, error) {
	r := newRunner(plan, opt)
	err := r.carryOut(ctx)
	if stopErr := r.stop(context.WithoutCancel(ctx)); err == nil {
		err = stopErr
	}
	res := &Result{Trace: r.rec.Snapshot(r.header()), Rung: r.rung, Interrupted: ctx.Err() != nil}
	if res.Interrupted {
		return res, nil
	}
	return res, err
}
