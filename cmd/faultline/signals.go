package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/faultline-go/faultline/assert/report"
)

// interruption is the cause that ends a context when a signal came.
type interruption struct{ signal os.Signal }

// Error implements error.
func (i *interruption) Error() string { return "interrupted by " + i.name() }

func (i *interruption) name() string {
	if i.signal == syscall.SIGTERM {
		return "SIGTERM"
	}
	return "Ctrl-C"
}

// end is how a run ended that this interruption cut.
func (i *interruption) end() report.End {
	if i.signal == syscall.SIGTERM {
		return report.EndTerminated
	}
	return report.EndInterrupted
}

// code is the exit code that a shell expects after this signal.
func (i *interruption) code() int {
	if i.signal == syscall.SIGTERM {
		return report.ExitTerminated
	}
	return report.ExitInterrupted
}

// interrupted returns the signal that ended ctx, or nil.
func interrupted(ctx context.Context) *interruption {
	i, _ := errors.AsType[*interruption](context.Cause(ctx))
	return i
}

// untilSignal runs work and returns its exit code. The first SIGINT or SIGTERM
// ends work's context, with an [interruption] as its cause, and the code is then
// the signal's whatever work returns. The second one does not wait for work: the
// process is about to end, and what faultline launched ends with it.
func (a app) untilSignal(parent context.Context, first string, work func(ctx context.Context) int) int {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	defer a.notify(signals)()

	done := make(chan int, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- a.internalError(p)
			}
		}()
		done <- work(ctx)
	}()
	for {
		select {
		case code := <-done:
			if i := interrupted(ctx); i != nil {
				return i.code()
			}
			return code
		case s := <-signals:
			i := &interruption{s}
			if interrupted(ctx) != nil {
				a.say("\nfaultline: stopped at once")
				return i.code()
			}
			a.say("\nfaultline: %v; %s", i, first)
			cancel(i)
		}
	}
}
