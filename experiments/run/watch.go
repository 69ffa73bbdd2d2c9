package run

import (
	"context"
	"sync"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// watch runs f beside the phases until the run stops.
func (r *runner) watch(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { f(ctx) })
	r.watchers = append(r.watchers, func() { cancel(); wg.Wait() })
}

// watchSUT ends the run when a launched SUT ends by itself.
func (r *runner) watchSUT(ctx context.Context, cancel context.CancelCauseFunc) {
	if r.process == nil {
		return
	}
	r.watch(ctx, func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-r.process.Exited():
			what := "the system under test ended during the run"
			if err := r.process.Err(); err != nil {
				what += ": " + err.Error()
			}
			r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkExit, Text: what})
			cancel(&PreconditionError{What: what})
		}
	})
}

// The stall watch wakes every stallTick; when it wakes later than stallLimit
// after it should have, this process was not running, and neither were the
// clocks that calls are measured by.
const (
	stallTick  = 5 * time.Millisecond
	stallLimit = 20 * time.Millisecond
)

// startStallWatch marks the times at which this process did not run.
func (r *runner) startStallWatch(ctx context.Context) {
	if r.opt.Listen != nil {
		return // Virtual time does not stall.
	}
	r.watch(ctx, func(ctx context.Context) {
		tick := time.NewTimer(stallTick)
		defer tick.Stop()
		for {
			due := r.now() + stallTick
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now := r.now(); now-due > stallLimit {
				r.rec.Mark(trace.Mark{At: now, Kind: trace.MarkStall, Dur: now - due})
			}
			tick.Reset(stallTick)
		}
	})
}
