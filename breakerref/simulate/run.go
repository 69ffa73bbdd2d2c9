package simulate

import (
	"errors"
	"fmt"
	"time"
)

// Runner carries out all jobs from 0 to n-1, in any order and on as many cores as it
// has. What comes out is the same for all runners.
type Runner func(n int, job func(i int))

// InTurn is the Runner of one core.
func InTurn(n int, job func(i int)) {
	for i := range n {
		job(i)
	}
}

// Options say how much is simulated.
type Options struct {
	Seed   uint64
	Trials int // of the outage; 0: by how long they are, see DefaultTrials
	// QuietCalls is how many calls are made to count false openings, about; QuietTime, if
	// it is above 0, says how long instead. Both 0: DefaultQuietCalls.
	QuietCalls int64
	QuietTime  time.Duration
	Slots      int // of the typical trial's course; 0: 68
	Run        Runner
	Progress   func(done, of int) // may be nil; called by one job at a time of the Runner's making
}

// What is simulated where nobody says how much.
const (
	DefaultQuietCalls = 20_000_000
	mostTrials        = 1000
	leastTrials       = 50
	callsOfTrials     = 20_000_000
	maxQuietCalls     = 5e9
)

// DefaultTrials is 1000, or as many as make 20 million calls, but not below 50. How many
// calls a trial has the first one tells, since callers may come back.
func DefaultTrials(m Model, seed uint64) int {
	first := Play(&m, seed, 0)
	return int(min(max(callsOfTrials/max(first.Calls(), 1), leastTrials), mostTrials))
}

// Result is what a model comes to.
type Result struct {
	Model  Model `json:"-"`
	Seed   uint64
	Trials int
	Calls  int64 // that were simulated, in all

	Breakers  int    // in all trials together
	NotClosed int    // of these, when the outage began
	Opened    int    // in the outage
	Never     int    // not in the outage, though they were closed when it began
	ToOpen    Spread // ns from the beginning of the outage
	Outcomes  Spread // that the breaker was told of in that time

	Before, During, After             Ends
	LoadBefore, LoadDuring, LoadAfter float64 // attempts at the dependency, a second
	PeakBefore, PeakAfter             Spread  // of attempts within one second
	Recovered                         Spread  // ns from the end of the outage to CLOSED, of the breakers that were not closed then
	Settled                           Spread  // ns from the end of the outage to CLOSED for good, of the breakers that had to close
	Unsettled                         int     // those that were not closed for good within the trial
	Late                              int64   // openings out of CLOSED after the outage
	Comeback                          int64
	Cut                               int // trials that were stopped, see Trial
	Quiet                             Quiet
	Typical                           *Course
	Advice                            []Advice
}

// Run simulates a model. The error says what is wrong with it.
func Run(m Model, o Options) (*Result, error) {
	all, err := RunAll([]Model{m}, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// RunAll simulates several models with the same random traffic, so that what differs
// between them is not by chance.
func RunAll(models []Model, o Options) ([]*Result, error) {
	var problems []error
	for i, m := range models {
		if err := m.Validate(); err != nil {
			if len(models) > 1 {
				err = fmt.Errorf("row %d: %w", i+1, err)
			}
			problems = append(problems, err)
			continue
		}
		problems = append(problems, o.check(m))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if o.Trials == 0 {
		o.Trials = mostTrials
		for _, m := range models {
			o.Trials = min(o.Trials, DefaultTrials(m, o.Seed))
		}
	}
	plans := make([]*plan, len(models))
	var jobs []func()
	for i, m := range models {
		plans[i] = newPlan(m, o)
		jobs = append(jobs, plans[i].jobs()...)
	}
	o.run(jobs)
	results := make([]*Result, len(models))
	for i, p := range plans {
		results[i] = p.result()
	}
	return results, nil
}

// check refuses what would take for ever.
func (o Options) check(m Model) error {
	var p problems
	p.require(o.Trials >= 0 && o.Trials <= 1_000_000, "trials", o.Trials, "from 1 to 1000000")
	p.require(o.QuietTime >= 0 && o.QuietCalls >= 0, "quiet time", o.QuietTime, "at least 0s")
	calls := o.QuietTime.Seconds() * m.perSecond()
	p.require(calls <= maxQuietCalls, "quiet time", o.QuietTime, fmt.Sprintf("shorter: it would take %.3g calls, the limit is %.3g", calls, maxQuietCalls))
	return errors.Join(p...)
}

func (o Options) run(jobs []func()) {
	runner := o.Run
	if runner == nil {
		runner = InTurn
	}
	runner(len(jobs), func(i int) { jobs[i]() })
}

// plan is what is simulated of one model.
type plan struct {
	m      Model
	o      Options
	trials []Trial
	quiet  Model
	calm   []Trial
}

func newPlan(m Model, o Options) *plan {
	p := &plan{m: m, o: o}
	if o.QuietCalls == 0 {
		p.o.QuietCalls = DefaultQuietCalls
	}
	if o.Slots == 0 {
		p.o.Slots = 68
	}
	if m.outage().none() {
		p.o.Trials = 1 // There is nothing to measure; it has a course.
	}
	p.trials = make([]Trial, p.o.Trials)
	var n int
	p.quiet, n = m.quietJobs(p.o.QuietCalls, o.QuietTime)
	p.calm = make([]Trial, n)
	return p
}

// jobs are functions that may be called in any order, and at the same time. Short trials
// are played several in one.
func (p *plan) jobs() []func() {
	var jobs []func()
	each := max(1, int(100_000/max(p.m.perSecond()*p.m.Duration.Seconds(), 1)))
	for from := 0; from < len(p.trials); from += each {
		jobs = append(jobs, func() {
			for i := from; i < min(from+each, len(p.trials)); i++ {
				p.trials[i] = Play(&p.m, p.o.Seed, uint64(i))
			}
		})
	}
	for i := range p.calm {
		jobs = append(jobs, func() { p.calm[i] = quietTrial(&p.quiet, p.o.Seed, i) })
	}
	return jobs
}

// Play plays the trial-th trial of a model, which must be valid.
func Play(m *Model, seed, trial uint64) Trial {
	e, err := newEngine(m, seed, trial, false)
	if err != nil {
		panic(err) // Validate has seen the model.
	}
	return e.play()
}

// PlayStepwise is Play, with every call told to a breakerref.Machine one by one. It
// comes to the same, and takes longer.
func PlayStepwise(m *Model, seed, trial uint64) Trial {
	e, err := newEngine(m, seed, trial, true)
	if err != nil {
		panic(err) // As in Play.
	}
	return e.play()
}
