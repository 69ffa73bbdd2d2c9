package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// phases runs the plan's phases one after the other and then waits for the
// stragglers.
func (r *runner) phases(ctx context.Context) error {
	for i, p := range r.plan.Phases {
		if err := r.enter(i); err != nil {
			return err
		}
		if err := align(ctx, p); err != nil {
			return fmt.Errorf("phase %s: %w", p.Name, err)
		}
		if err := r.phase(ctx, i, p); err != nil {
			return fmt.Errorf("phase %s: %w", p.Name, err)
		}
	}
	if err := r.enter(len(r.plan.Phases)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.plan.Timeout)
	defer cancel()
	if err := r.attacker.Wait(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// align waits until a phase may begin by the wall clock.
func align(ctx context.Context, p experiments.Phase) error {
	wait := p.AlignedAt(time.Now())
	if wait == 0 {
		return nil
	}
	due := time.NewTimer(wait)
	defer due.Stop()
	select {
	case <-due.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter switches the faults to those of phase i; past the last phase there are
// none. A fault's mark encloses its effect: on before, off after the switch.
func (r *runner) enter(i int) error {
	name := ""
	if i < len(r.plan.Phases) {
		name = r.plan.Phases[i].Name
	}
	for k, in := range r.plan.Injectors {
		if i < len(r.plan.Phases) && len(r.plan.Phases[i].Faults[in.Name]) > 0 {
			r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkFaultOn, Subject: in.Name, Text: name})
		}
		if err := r.injectors[k].Enter(name); err != nil {
			return &PreconditionError{What: err.Error()}
		}
		if i > 0 && len(r.plan.Phases[i-1].Faults[in.Name]) > 0 {
			r.rec.Mark(trace.Mark{At: r.now(), Kind: trace.MarkFaultOff, Subject: in.Name, Text: r.plan.Phases[i-1].Name})
		}
	}
	return nil
}

// phase sends the load of one phase.
func (r *runner) phase(ctx context.Context, i int, p experiments.Phase) error {
	from := r.now()
	r.rec.Mark(trace.Mark{At: from, Kind: trace.MarkPhaseStart, Subject: p.Name})
	r.live.begin(i, p, from)
	r.tell()
	stats, err := r.attacker.Run(ctx, r.load(i, p))
	to := r.now()
	r.rec.Mark(trace.Mark{At: to, Kind: trace.MarkPhaseEnd, Subject: p.Name})
	stats.Name, stats.From, stats.To, stats.Measure, stats.OpenLoop = p.Name, from, to, p.Measure, !p.ClosedLoop()
	r.rec.Phase(stats)
	if n := stats.Rounds; n != nil {
		r.note(fmt.Sprintf("phase %s: %d rounds of sessions done, %d broken, %d cut", p.Name, n.Done, n.Broken, n.Cut))
	}
	return err
}

// load is a phase of the plan as the attack wants it.
func (r *runner) load(i int, p experiments.Phase) attack.Phase {
	a := attack.Phase{
		Index: i + 1, Name: p.Name, Measure: p.Measure, Targets: r.plan.Sends(p), Seed: r.plan.Seed,
	}
	if c := p.Calls; c != nil {
		a.Calls, a.Concurrency, a.Gap = c.N, c.Concurrency, c.Gap
		if c.Until != "" || c.UntilArrivals > 0 {
			a.Until = func() bool { return r.live.over(*c) }
		}
		return a
	}
	if s := p.Sessions; s != nil {
		a.Sessions = &attack.Sessions{Users: s.Users, Rounds: s.Rounds, ThinkMin: s.ThinkMin, ThinkMax: s.ThinkMax, Script: s.Script}
		return a
	}
	a.Duration = p.Duration
	if c := p.Clients; c != nil {
		a.Clients, a.ThinkMin, a.ThinkMax = c.N, c.ThinkMin, c.ThinkMax
		return a
	}
	a.Schedule, a.MaxInFlight = p.Schedule(r.plan.Seed), r.plan.MaxInFlight
	return a
}
