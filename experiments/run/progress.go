package run

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// note tells the person watching something once.
func (r *runner) note(text string) {
	r.log.Info(text)
	if r.opt.Progress != nil {
		r.opt.Progress(Progress{At: r.now(), Phases: len(r.plan.Phases), Note: text})
	}
}

// tell reports where the run is.
func (r *runner) tell() {
	if r.opt.Progress != nil {
		r.opt.Progress(r.live.progress(r.now()))
	}
}

// startProgress reports once a second.
func (r *runner) startProgress(ctx context.Context) {
	if r.opt.Progress == nil {
		return
	}
	r.watch(ctx, func(ctx context.Context) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				r.tell()
			}
		}
	})
}

// progress sums up what happened since the last report.
func (l *live) progress(now time.Duration) Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := Progress{
		At: now, Phase: l.phase.Name, PhaseNo: l.phaseNo, Phases: len(l.plan.Phases),
		Elapsed: now - l.from, Duration: l.phase.Duration, Sent: l.calls, Arrived: l.arrivals,
		InFlight: l.rec.InFlight(), Statuses: map[string]int{}, State: map[string]string{},
	}
	var took []time.Duration
	for _, c := range l.recent {
		p.Statuses[outcome(c)]++
		took = append(took, c.End-c.Send)
	}
	l.recent = l.recent[:0]
	if slices.Sort(took); len(took) > 0 {
		p.P50, p.P99 = took[len(took)/2], took[len(took)*99/100]
	}
	for name, b := range l.breakers {
		p.State[name] = "closed"
		if b.open {
			p.State[name] = "open"
		}
	}
	return p
}

// outcome names how a call ended: its status, or its kind of error.
func outcome(c trace.Call) string {
	if c.Err != trace.ErrNone {
		return string(c.Err)
	}
	return strconv.Itoa(c.Status)
}
