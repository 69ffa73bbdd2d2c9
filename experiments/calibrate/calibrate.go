package calibrate

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// special are the experiments that only calibration needs.
//
//go:embed *.yaml
var special embed.FS

// Options of a calibration.
type Options struct {
	Mutants  []mutant.Mutant    // nil: all; over sockets, a dozen
	Seeds    []uint64           // of the right services; nil: 1, 2, 3, or 1 over sockets
	Progress func(done, of int) // told as one look after another is over; nil: nobody is
	Workers  int                // looks at a time; 0: one for each core
	Tool     string             // faultline's version, for traces of sockets
}

// Run calibrates in virtual time. Equal options give equal reports. The error says that an
// experiment is not usable, or that ctx ended first.
func Run(ctx context.Context, opt Options) (*Report, error) {
	shown, err := load()
	if err != nil {
		return nil, err
	}
	if opt.Mutants == nil {
		opt.Mutants = mutant.All()
	}
	if opt.Seeds == nil {
		opt.Seeds = []uint64{1, 2, 3}
	}
	r := &Report{Total: len(opt.Mutants)}
	looks := slices.Concat(good(r, shown, opt.Seeds, predict.Quick()), bad(r, shown, opt.Mutants))
	if err := carryOut(ctx, looks, opt, virtually); err != nil {
		return nil, err
	}
	r.sum()
	return r, nil
}

// experiment is one of the catalogue or of this package.
type experiment struct {
	name string
	plan *experiments.Plan
}

// load reads all experiments.
func load() ([]*experiment, error) {
	sources, err := experiments.Catalogue()
	if err != nil {
		return nil, err
	}
	own, err := experiments.Sources(special)
	if err != nil {
		return nil, err
	}
	var all []*experiment
	for _, s := range slices.Concat(sources, own) {
		plan, err := experiments.LoadPlan(s.Name+".yaml", s.Text, 1)
		if err != nil {
			return nil, fmt.Errorf("read the experiment %s of the catalogue: %w", s.Name, err)
		}
		all = append(all, &experiment{s.Name, plan})
	}
	return all, nil
}

// look is one run of an experiment.
type look struct {
	at   *experiment
	with mutant.Mutant
	seed uint64
	own  time.Duration          // the service's own time, in virtual time
	done func([]assert.Verdict) // takes the verdicts
}

// virtually plays a look in virtual time. It leaves out what that cannot tell of.
func virtually(_ context.Context, l *look) ([]assert.Verdict, error) {
	plan := *l.at.plan
	plan.Seed = l.seed
	t, err := predict.Play(&plan, l.with, l.own)
	if err != nil {
		return nil, fmt.Errorf("play %s with %s: %w", l.at.name, l.with.Name, err)
	}
	spec := plan.Spec()
	return slices.DeleteFunc(assert.Evaluate(spec, t).Verdicts, func(v assert.Verdict) bool {
		i := slices.IndexFunc(spec.Assertions, func(a assert.Assertion) bool { return a.ID == v.ID })
		return i >= 0 && !predict.Foreseen(&plan, spec.Assertions[i])
	}), nil
}

// good are the looks at right services: at each experiment, with each seed and each of the
// times that a right service may take.
func good(r *Report, all []*experiment, seeds []uint64, owns []time.Duration) []look {
	var looks []look
	for _, x := range all {
		for _, seed := range seeds {
			for _, own := range owns {
				at := len(r.Good)
				r.Good = append(r.Good, Good{Name: fmt.Sprintf("%s, seed %d, own time %v", x.name, seed, own)})
				looks = append(looks, look{x, mutant.Right(baseOf(x.plan)), seed, own, func(vs []assert.Verdict) { r.Good[at].judged(vs) }})
			}
		}
	}
	return looks
}

// bad are the looks at mutants: at each experiment that has a rule that can name it.
func bad(r *Report, all []*experiment, mutants []mutant.Mutant) []look {
	var looks []look
	for _, m := range mutants {
		at := r.add(m)
		for _, x := range all {
			if fits(m, x.plan) {
				looks = append(looks, look{x, m, 1, predict.Quick()[0], func(vs []assert.Verdict) { r.Mutants[at].judged(x.name, m, vs) }})
			}
		}
	}
	return looks
}
