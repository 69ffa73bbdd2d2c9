package calibrate

import (
	"context"
	"embed"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
)

// special are the experiments that only calibration needs.
//
//go:embed *.yaml
var special embed.FS //nolint:gochecknoglobals // The only way to embed a file; nobody writes to it.

// Report is what came of a calibration.
type Report struct {
	Mutants      []Defect `json:"mutants"`
	Good         []Good   `json:"good"`
	Caught       int      `json:"caught"`
	Total        int      `json:"total"` // of mutants
	FalseAlarms  int      `json:"false_alarms"`
	Inconclusive int      `json:"inconclusive"` // runs, good ones and mutants', that could not be decided
}

// Defect is a mutant and what named it.
type Defect struct {
	Name     string   `json:"name"`
	Part     string   `json:"part"`
	Base     string   `json:"base"`
	Says     string   `json:"says"`
	CaughtBy []string `json:"caught_by"` // experiment/assertion
	MissedBy []string `json:"missed_by"` // of the rules that could have named it
	Caught   bool     `json:"caught"`
}

// Good is a right service and what was said of it.
type Good struct {
	Name    string `json:"name"` // experiment, and which right service
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"` // of a verdict other than pass
}

// The verdicts on a right service.
const (
	VerdictPass         = "pass"
	VerdictFail         = "fail"
	VerdictInconclusive = "inconclusive"
)

// OK reports whether every mutant was caught without a false alarm.
func (r *Report) OK() bool { return r.Caught == r.Total && r.FalseAlarms == 0 }

// Options of a calibration.
type Options struct {
	Mutants  []mutant.Mutant    // nil: all
	Seeds    []uint64           // of the right services; nil: 1, 2, 3
	Progress func(done, of int) // told as one thing after another is done; nil: nobody is
	Workers  int                // at a time; 0: one for each core
}

// Run calibrates in virtual time. Equal options give equal reports. The error says that an
// experiment is not usable, or that ctx ended first.
func Run(ctx context.Context, opt Options) (*Report, error) {
	shown, err := load()
	if err != nil {
		return nil, err
	}
	c := calibration{opt: opt, experiments: shown}
	if c.opt.Mutants == nil {
		c.opt.Mutants = mutant.All()
	}
	if c.opt.Seeds == nil {
		c.opt.Seeds = []uint64{1, 2, 3}
	}
	return c.run(ctx)
}

// experiment is one of the catalogue or of this package.
type experiment struct {
	experiments.Source

	plan *experiments.Plan
}

// load reads all experiments.
func load() ([]experiment, error) {
	sources, err := experiments.Catalogue()
	if err != nil {
		return nil, err
	}
	own, err := experiments.Sources(special)
	if err != nil {
		return nil, err
	}
	var all []experiment
	for _, s := range slices.Concat(sources, own) {
		plan, err := experiments.LoadPlan(s.Name+".yaml", s.Text, 1)
		if err != nil {
			return nil, fmt.Errorf("read the experiment %s of the catalogue: %w", s.Name, err)
		}
		all = append(all, experiment{s, plan})
	}
	return all, nil
}

// calibration is one under way.
type calibration struct {
	opt         Options
	experiments []experiment
}

// job is one run; done takes its verdicts.
type job struct {
	x    *experiment
	m    mutant.Mutant
	seed uint64
	own  time.Duration
	done func([]assert.Verdict)
}

// run plays all, and sums up.
func (c *calibration) run(ctx context.Context) (*Report, error) {
	r := &Report{Total: len(c.opt.Mutants)}
	jobs := slices.Concat(c.good(r), c.bad(r))
	if err := c.play(ctx, jobs); err != nil {
		return nil, err
	}
	for i := range r.Mutants {
		d := &r.Mutants[i]
		slices.Sort(d.CaughtBy)
		slices.Sort(d.MissedBy)
		if d.Caught = len(d.CaughtBy) > 0; d.Caught {
			r.Caught++
		}
	}
	for _, g := range r.Good {
		switch g.Verdict {
		case VerdictFail:
			r.FalseAlarms++
		case VerdictInconclusive:
			r.Inconclusive++
		}
	}
	return r, nil
}

// good are the jobs of right services: each experiment with each seed and each of the times
// that a right service may take.
func (c *calibration) good(r *Report) []job {
	var jobs []job
	for i := range c.experiments {
		x := &c.experiments[i]
		for _, base := range basesOf(x.plan) {
			for _, seed := range c.opt.Seeds {
				for _, own := range predict.Quick() {
					at := len(r.Good)
					r.Good = append(r.Good, Good{Name: fmt.Sprintf("%s %s seed %d own time %v", x.Name, base, seed, own)})
					jobs = append(jobs, job{x, mutant.Right(base), seed, own, func(vs []assert.Verdict) {
						g := &r.Good[at]
						g.Verdict, g.Reason = overall(vs)
					}})
				}
			}
		}
	}
	return jobs
}

// overall is what all verdicts together say of a right service.
func overall(vs []assert.Verdict) (verdict, reason string) {
	verdict = VerdictPass
	for _, v := range vs {
		switch v.Result {
		case assert.Pass:
		case assert.Fail:
			return VerdictFail, fmt.Sprintf("%s: expected %s, observed %s", v.ID, v.Expected, v.Observed)
		default:
			verdict, reason = VerdictInconclusive, fmt.Sprintf("%s: %s", v.ID, v.Reason)
		}
	}
	return verdict, reason
}

// bad are the jobs of mutants: each with the experiments that have a rule that can name it.
func (c *calibration) bad(r *Report) []job {
	var jobs []job
	for _, m := range c.opt.Mutants {
		at := len(r.Mutants)
		r.Mutants = append(r.Mutants, Defect{
			Name: m.Name, Part: string(m.Part), Base: m.Base, Says: m.Says, CaughtBy: []string{}, MissedBy: []string{},
		})
		for i := range c.experiments {
			x := &c.experiments[i]
			if !fits(m, x.plan) {
				continue
			}
			jobs = append(jobs, job{x, m, 1, predict.Quick()[0], func(vs []assert.Verdict) {
				d := &r.Mutants[at]
				for _, v := range vs {
					if !slices.Contains(m.Caught, v.Kind) {
						continue
					}
					id := x.Name + "/" + v.ID
					if v.Result == assert.Fail {
						d.CaughtBy = append(d.CaughtBy, id)
					} else {
						d.MissedBy = append(d.MissedBy, id)
					}
				}
			}})
		}
	}
	return jobs
}

// play plays jobs on all cores. What comes of them is told to one at a time.
func (c *calibration) play(ctx context.Context, jobs []job) error {
	workers := c.opt.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		next  int
		done  int
		first error
	)
	take := func() (*job, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = ctx.Err()
		}
		if first != nil || next == len(jobs) {
			return nil, false
		}
		next++
		return &jobs[next-1], true
	}
	for range workers {
		group.Go(func() {
			for j, ok := take(); ok; j, ok = take() {
				vs, err := j.verdicts()
				mu.Lock()
				if err != nil && first == nil {
					first = err
				}
				if err == nil {
					j.done(vs)
				}
				done++
				if c.opt.Progress != nil {
					c.opt.Progress(done, len(jobs))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return first
}

// verdicts are those of the assertions that virtual time can tell of.
func (j *job) verdicts() ([]assert.Verdict, error) {
	plan := *j.x.plan
	plan.Seed = j.seed
	t, err := predict.Play(&plan, j.m, j.own)
	if err != nil {
		return nil, fmt.Errorf("play %s with %s: %w", j.x.Name, j.m.Name, err)
	}
	spec := plan.Spec()
	var vs []assert.Verdict
	for _, v := range assert.Evaluate(spec, t).Verdicts {
		i := slices.IndexFunc(spec.Assertions, func(a assert.Assertion) bool { return a.ID == v.ID })
		if i < 0 || predict.Foreseen(&plan, spec.Assertions[i]) {
			vs = append(vs, v)
		}
	}
	return vs, nil
}
