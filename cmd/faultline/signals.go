package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/assert/report"
)

// interruption is the cause that ends a context when a signal came.
type interruption struct{ signal os.Signal }

// Error implements error.
func (i *interruption) Error() string { return "interrupted by " + i.name() }

func (i *interruption) name() string {
	switch i.signal {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP, as when a terminal is closed"
	}
	return "Ctrl-C"
}

// byHand reports whether somebody at a keyboard interrupts; what ends jobs and
// sessions sends other signals.
func (i *interruption) byHand() bool { return i.signal == os.Interrupt }

// end is how a run ended that this interruption cut.
func (i *interruption) end() report.End {
	if i.byHand() {
		return report.EndInterrupted
	}
	return report.EndTerminated
}

// code is the exit code that a shell expects after Ctrl-C or SIGTERM.
func (i *interruption) code() int {
	if i.byHand() {
		return report.ExitInterrupted
	}
	return report.ExitTerminated
}

// notify has the signals that interrupt sent to c until stop is called. What was
// started by nohup goes on when its terminal is closed.
func notify(c chan<- os.Signal) (stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(c, signals...)
	return func() { signal.Stop(c) }
}

// survive makes a reader that went away an error of the write, where it would end
// the program in the middle of a run. The signal is caught and not ignored, since a
// launched service would inherit that.
func survive() (stop func()) {
	caught := make(chan os.Signal, 1) // Nobody looks at it.
	signal.Notify(caught, syscall.SIGPIPE)
	return func() { signal.Stop(caught) }
}

// lastWords is how long work has after the second signal to write down what there
// is.
const lastWords = 800 * time.Millisecond

// hurryKey is the context key of a channel that is closed by the second signal.
type hurryKey struct{}

// hurry returns what is closed when nothing may take its time any more; nil where
// nobody hurries.
func hurry(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(hurryKey{}).(chan struct{})
	return c
}

// interrupted returns the signal that ended ctx, or nil.
func interrupted(ctx context.Context) *interruption {
	i, _ := errors.AsType[*interruption](context.Cause(ctx))
	return i
}

// untilSignal runs work and returns its exit code. The first signal ends work's
// context, with an [interruption] as its cause, and the code is then the signal's
// whatever work returns. The second one closes [hurry] and leaves work a moment; the
// third one not even that. What faultline launched ends with it in any case.
func (a app) untilSignal(parent context.Context, first string, work func(ctx context.Context) int) int {
	again := make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hurryKey{}, again))
	defer cancel(nil)
	signals := make(chan os.Signal, 3)
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
	var last *interruption
	var limit <-chan time.Time
	for count := 0; ; {
		select {
		case code := <-done:
			if last != nil {
				return last.code()
			}
			return code
		case <-limit:
			a.say("faultline: ended without waiting any longer")
			return last.code()
		case s := <-signals:
			count++
			last = &interruption{s}
			switch count {
			case 1:
				a.say("\nfaultline: %v; %s", last, first)
				cancel(last)
			case 2:
				a.say("\nfaultline: stopping at once")
				close(again)
				timer := time.NewTimer(lastWords)
				defer timer.Stop()
				limit = timer.C
			default:
				return last.code()
			}
		}
	}
}
