package predict

import (
	"errors"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/target/trace"
)

// Forecast is what a plan is expected to come to with a service that does what the
// plan declares. Durations and instants are nanoseconds from the run's start.
type Forecast struct {
	Experiment string            `json:"experiment"`
	File       string            `json:"file,omitempty"`
	Seed       uint64            `json:"seed"`
	Duration   Span              `json:"duration"`
	Requests   Count             `json:"requests"`
	Targets    []Tally           `json:"targets"`
	Probes     int               `json:"probes"` // calls before the first phase, beside the requests
	Phases     []Phase           `json:"phases"`
	Waits      []string          `json:"waits"`
	Warnings   []Warning         `json:"warnings"`
	Assertions []Assertion       `json:"assertions"`
	Supposed   []string          `json:"supposed"` // what the forecast takes for granted
	Breakers   []assert.Timeline `json:"breakers"`

	phases []trace.Phase // for the timeline
}

// Span is how long something takes: with a service that answers at once, and with
// a slow one.
type Span struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
}

// Count is a number of things, between those two services.
type Count struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// Tally is a number of things of a name: requests to a target, attempts at an
// injector.
type Tally struct {
	Name string `json:"name"`
	N    Count  `json:"n"`
}

// Phase is what one phase is expected to come to.
type Phase struct {
	Name     string   `json:"name"`
	Measure  bool     `json:"measure"`
	Load     string   `json:"load"`
	Faults   []string `json:"faults"`
	Lasts    Span     `json:"lasts"`
	Rate     float64  `json:"rate,omitempty"` // calls due in the second that has most of them; 0 in a closed loop
	AtOnce   int      `json:"at_once"`        // most calls under way
	Requests Count    `json:"requests"`
	Unsent   int      `json:"unsent,omitempty"` // calls that were due while max_in_flight were under way
	Targets  []Tally  `json:"targets"`
	Attempts []Tally  `json:"attempts"`
	States   []string `json:"states"` // of each breaker, in words
}

// Can is whether a load can decide an assertion.
type Can string

// What can be said of an assertion.
const (
	CanDecide      Can = "can be decided"      // it passes a right service, and fails a wrong one
	CannotDecide   Can = "cannot be decided"   // the load shows too little even of a right service
	Contradicts    Can = "contradicts"         // it fails a service that does what is declared
	WouldNotNotice Can = "would not notice"    // it does not fail the wrong service that it is there for
	NotPredicted   Can = "cannot be predicted" // what is declared does not tell
)

// Assertion is what can be said of an assertion before the run.
type Assertion struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Phase    string `json:"phase,omitempty"`
	Line     int    `json:"line,omitempty"`
	Can      Can    `json:"forecast"`
	Expected string `json:"expected"`
	Observed string `json:"observed,omitempty"` // of the right service; of the wrong one, where that would not be noticed
	Reason   string `json:"reason,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
	Notices  string `json:"notices,omitempty"` // the wrong services that it fails
	Misses   string `json:"misses,omitempty"`  // the one that it does not
}

// Warning is something about the plan that a run may stumble over.
type Warning struct {
	What   string `json:"what"`
	Phase  string `json:"phase,omitempty"`
	Remedy string `json:"remedy"`
}

// Undecided counts the assertions that a run cannot decide both ways.
func (f *Forecast) Undecided() int {
	n := 0
	for _, a := range f.Assertions {
		if a.Can != CanDecide {
			n++
		}
	}
	return n
}

// The service's own time, twice for each call, in the services that plans are played
// with.
const (
	quick = time.Millisecond      // the forecast's
	slow  = 20 * time.Millisecond // the most that a phase of calls is thought to take
	still = 0                     // none, to tell whether an assertion depends on it
)

// others are own times of services that are right as well. Their calls meet the
// breaker at other moments, so that what can be told of the forecast's by good luck
// cannot be told of all.
func others() []time.Duration {
	return []time.Duration{quick + 700*time.Microsecond, 2*quick + 900*time.Microsecond, 5*quick + 300*time.Microsecond}
}

// Of plays a plan. Equal plans give equal forecasts. Its error says that the plan
// is not valid.
func Of(plan *experiments.Plan) (*Forecast, error) {
	if len(plan.Phases) == 0 {
		return nil, errors.New("the plan has no phases; give it one that sends calls")
	}
	ideal, err := play(plan, quick, defect{}, about(plan))
	if err != nil {
		return nil, err
	}
	sluggish := ideal
	if slices.ContainsFunc(plan.Phases, func(p experiments.Phase) bool { return p.ClosedLoop() }) {
		if sluggish, err = play(plan, slow, defect{}, len(ideal.trace.Calls)); err != nil {
			return nil, err
		}
	}
	report := assert.Evaluate(plan.Spec(), ideal.trace)
	f := &Forecast{
		Experiment: plan.Name, File: plan.File, Seed: plan.Seed,
		Breakers: unguided(plan, ideal, timelines(plan, ideal)), phases: ideal.trace.Phases, Supposed: supposed(plan),
	}
	f.load(plan, ideal, sluggish.trace)
	f.Waits = waits(plan, ideal.phases)
	f.Warnings = warnings(plan, f.Phases)
	f.Assertions, err = judge(plan, report, ideal)
	return f, err
}
