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
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
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
	shown = slices.DeleteFunc(shown, func(x *experiment) bool {
		if x.playable() {
			return false
		}
		r.Unplayed = append(r.Unplayed, x.name)
		return true
	})
	looks := slices.Concat(good(r, shown, opt.Seeds, predict.Quick()), bad(r, shown, opt.Mutants, false))
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

// playable reports whether something of it is decided where nothing is sent.
func (x *experiment) playable() bool {
	return guided(x.plan) || slices.ContainsFunc(x.plan.Spec().Assertions, func(a assert.Assertion) bool { return predict.Foreseen(x.plan, a) })
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

// virtually plays a look in virtual time. It leaves out what that cannot tell of. What users of
// sessions send depends on what is in the answers, which nothing plays: such a look takes its
// time, over a network in this process.
func virtually(ctx context.Context, l *look) ([]assert.Verdict, error) {
	if guided(l.at.plan) {
		return inMemory(ctx, l)
	}
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

// guided reports whether a plan has sessions.
func guided(plan *experiments.Plan) bool {
	return slices.ContainsFunc(plan.Phases, func(p experiments.Phase) bool { return p.Sessions != nil })
}

// patience is how often a look is carried out at most that this machine was too busy for.
const patience = 3

// inMemory carries a look out with the reference service, over a network in this process.
func inMemory(ctx context.Context, l *look) (vs []assert.Verdict, err error) {
	for range patience {
		n := memnet.New(l.seed)
		vs, err = overNetwork(ctx, l, run.Options{Listen: n.Listen, Dial: n.DialContext})
		if err != nil || ctx.Err() != nil || !slices.ContainsFunc(vs, func(v assert.Verdict) bool { return v.Result == assert.Inconclusive }) {
			break
		}
	}
	return vs, err
}

// good are the looks at right services: at each experiment, with each seed and each of the
// times that a right service may take.
func good(r *Report, all []*experiment, seeds []uint64, owns []time.Duration) []look {
	var looks []look
	for _, x := range all {
		for _, seed := range seeds {
			for i, own := range owns {
				if i > 0 && guided(x.plan) {
					continue // It takes the time that it takes.
				}
				at := len(r.Good)
				r.Good = append(r.Good, Good{Name: fmt.Sprintf("%s, seed %d, own time %v", x.name, seed, own)})
				looks = append(looks, look{x, mutant.Mutant{}, seed, own, func(vs []assert.Verdict) { r.Good[at].judged(vs) }})
			}
		}
	}
	return looks
}

// bad are the looks at mutants, in real time or not: at each experiment that has a rule that
// can name it.
func bad(r *Report, all []*experiment, mutants []mutant.Mutant, timed bool) []look {
	var looks []look
	for _, m := range mutants {
		at := r.add(m)
		for _, x := range all {
			if fits(m, x.plan) {
				looks = append(looks, look{x, m, 1, predict.Quick()[0], func(vs []assert.Verdict) {
					r.Mutants[at].judged(x.name, m, vs, timed || guided(x.plan))
				}})
			}
		}
	}
	return looks
}
