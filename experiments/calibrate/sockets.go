package calibrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/experiments/run"
)

// dozen are the mutants that are looked at over sockets: some of each part, each with an
// experiment that names it in virtual time. Everything takes as long there as it says.
func dozen() map[string]string {
	return map[string]string{
		"no_breaker": "opens", "opens_late": "opens", "rate_too_low": "stays-closed", "window_never_slides": "time-window",
		"slow_if_failed": "slow-calls", "wait_doubled": "open-duration", "leak": "open-duration", "probe_too_many": "half-open-probes",
		"permits_all": "half-open-probes", "never_closes": "recovery", "half_open_by_timer": "reported", "no_timeout": "timeout",
	}
}

// RunSockets calibrates over real sockets, with the reference service in this process: a dozen
// mutants, and every experiment of the catalogue with the right service. It takes minutes.
func RunSockets(ctx context.Context, opt Options) (*Report, error) {
	shown, err := load()
	if err != nil {
		return nil, err
	}
	if opt.Seeds == nil {
		opt.Seeds = []uint64{1}
	}
	r := &Report{}
	catalogue := slices.DeleteFunc(slices.Clone(shown), func(x *experiment) bool { return !slices.Contains(x.plan.Tags, "catalogue") })
	looks := good(r, catalogue, opt.Seeds, predict.Quick()[:1])
	for i := range r.Good {
		r.Good[i].Name = looks[i].at.name
	}
	where := dozen()
	for _, m := range mutant.All() {
		i := slices.IndexFunc(shown, func(x *experiment) bool { return x.name == where[m.Name] })
		if i >= 0 {
			looks = append(looks, bad(r, shown[i:i+1], []mutant.Mutant{m})...)
		}
	}
	r.Total = len(r.Mutants)
	over := func(ctx context.Context, l *look) ([]assert.Verdict, error) { return overSockets(ctx, l, opt.Tool) }
	if err := carryOut(ctx, looks, opt, over); err != nil {
		return nil, err
	}
	for i := range r.Mutants {
		if d := &r.Mutants[i]; len(d.CaughtBy) == 0 {
			d.Inconclusive = d.undecided // This machine was too busy, perhaps.
		}
	}
	r.sum()
	return r, nil
}

// overSockets carries a look out with the reference service. A run that could say nothing
// decides nothing.
func overSockets(ctx context.Context, l *look, tool string) ([]assert.Verdict, error) {
	plan := *l.at.plan
	plan.Seed = l.seed
	ref := *plan.SUT.Reference
	ref.Defect, ref.Routes = l.with.Name, slices.Clone(ref.Routes)
	for i := range ref.Routes {
		if s := ref.Routes[i].Service; s != nil {
			wrong := *s
			wrong.Defect, ref.Routes[i].Service = l.with.Name, &wrong
		}
	}
	plan.SUT.Reference = &ref
	res, err := run.Run(ctx, &plan, run.Options{Tool: tool})
	var unfit *run.PreconditionError
	switch {
	case errors.As(err, &unfit):
		return l.nothing(unfit.Error()), nil
	case err != nil:
		return nil, fmt.Errorf("run %s with %s: %w", l.at.name, l.with.Name, err)
	}
	return assert.Evaluate(plan.Spec(), res.Trace).Verdicts, nil
}

// nothing is a verdict of each assertion that could not be had.
func (l *look) nothing(reason string) []assert.Verdict {
	var vs []assert.Verdict
	for _, a := range l.at.plan.Assertions {
		vs = append(vs, assert.Verdict{ID: a.ID, Kind: a.Kind, Phase: a.Phase, Result: assert.Inconclusive, Reason: reason})
	}
	return vs
}
