package predict

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref"
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
	if slices.ContainsFunc(plan.Phases, func(p experiments.Phase) bool { return p.Calls != nil || p.Clients != nil }) {
		if sluggish, err = play(plan, slow, defect{}, len(ideal.trace.Calls)); err != nil {
			return nil, err
		}
	}
	report := assert.Evaluate(plan.Spec(), ideal.trace)
	f := &Forecast{
		Experiment: plan.Name, File: plan.File, Seed: plan.Seed,
		Breakers: timelines(plan, ideal), phases: ideal.trace.Phases, Supposed: supposed(plan),
	}
	f.load(plan, ideal, sluggish.trace)
	f.Waits = waits(plan, ideal.phases)
	f.Warnings = warnings(plan, f.Phases)
	f.Assertions, err = judge(plan, report, ideal)
	return f, err
}

// load fills in what will be sent.
func (f *Forecast) load(plan *experiments.Plan, ideal run, sluggish *trace.Trace) {
	calls, late, ran := countCalls(ideal.trace), countCalls(sluggish), ideal.phases
	for i, p := range plan.Phases {
		a, b := ideal.trace.Phases[i], sluggish.Phases[i]
		ph := Phase{
			Name: p.Name, Measure: p.Measure, Load: loadWords(p), Faults: faultWords(plan, p),
			Lasts: spanOf(a.To-a.From, b.To-b.From), AtOnce: ran[i].peak, Requests: countOf(a.Sent, b.Sent),
			Unsent: a.Saturated, Rate: peakRate(p), States: stateWords(plan, ran, i), Targets: []Tally{}, Attempts: []Tally{},
		}
		for _, t := range plan.Targets {
			if n := countOf(calls[[2]string{p.Name, t.Name}], late[[2]string{p.Name, t.Name}]); n.Most > 0 {
				ph.Targets = append(ph.Targets, Tally{t.Name, n})
			}
		}
		for _, in := range plan.Injectors {
			if n := ran[i].arrivals[in.Name]; n > 0 {
				ph.Attempts = append(ph.Attempts, Tally{in.Name, Count{n, n}})
			}
		}
		f.Phases = append(f.Phases, ph)
		f.Duration = Span{f.Duration.Least + ph.Lasts.Least, f.Duration.Most + ph.Lasts.Most}
		f.Requests = Count{f.Requests.Least + ph.Requests.Least, f.Requests.Most + ph.Requests.Most}
	}
	for _, t := range plan.Targets {
		sum := Tally{Name: t.Name}
		for _, ph := range f.Phases {
			for _, n := range ph.Targets {
				if n.Name == t.Name {
					sum.N = Count{sum.N.Least + n.N.Least, sum.N.Most + n.N.Most}
				}
			}
		}
		f.Targets = append(f.Targets, sum)
	}
}

// countCalls counts calls by phase and target.
func countCalls(t *trace.Trace) map[[2]string]int {
	n := map[[2]string]int{}
	for i := range t.Calls {
		n[[2]string{t.Calls[i].Phase, t.Calls[i].Target}]++
	}
	return n
}

func spanOf(a, b time.Duration) Span { return Span{min(a, b), max(a, b)} }

func countOf(a, b int) Count { return Count{min(a, b), max(a, b)} }

// peakRate is how many calls are due within a second, where the clock decides.
func peakRate(p experiments.Phase) float64 {
	if p.Duration <= 0 {
		return 0
	}
	within := min(p.Duration, time.Second)
	return float64(p.Peak(within)) / within.Seconds()
}

// judge says of each assertion whether the load can decide it.
func judge(plan *experiments.Plan, report assert.Report, right run) ([]Assertion, error) {
	j := judging{plan: plan, right: right, verdicts: map[string]map[string]assert.Verdict{}}
	out := []Assertion{}
	for _, v := range report.Verdicts {
		a, err := j.one(v)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// judging plays wrong services, each only once.
type judging struct {
	plan     *experiments.Plan
	right    run
	verdicts map[string]map[string]assert.Verdict // by defect, by assertion
}

// one says whether the load can decide one assertion, given its verdict about the
// right service.
func (j *judging) one(v assert.Verdict) (Assertion, error) {
	a := j.assertion(v)
	out := Assertion{
		ID: v.ID, Kind: v.Kind, Phase: v.Phase, Line: v.Line, Can: CanDecide,
		Expected: v.Expected, Observed: v.Observed, Reason: v.Reason, Remedy: v.Remedy,
	}
	for _, name := range breakersOf(j.plan, a) {
		if _, declared := config(j.plan, name); !declared {
			out.Can, out.Observed = NotPredicted, ""
			out.Reason = fmt.Sprintf("breaker %s is not declared, so when it opens and for how long is not known", name)
			out.Remedy = fmt.Sprintf("declare window, minimum_calls, failure_rate, wait and permitted_calls under breakers.%s", name)
			return out, nil
		}
	}
	switch v.Result {
	case assert.Pass:
		out.Reason, out.Remedy = "", ""
		if lucky, err := j.lucky(&out); lucky || err != nil {
			return out, err
		}
		return out, j.negative(&out, a)
	case assert.Fail:
		return out, j.contradicts(&out, v)
	case assert.Skipped:
		out.Reason = "it leans on " + v.BlockedBy + ": " + v.Reason
	default:
	}
	out.Can = CannotDecide
	return out, nil
}

// lucky reports whether an assertion can be decided only if the calls meet the
// breaker at the right moments.
func (j *judging) lucky(out *Assertion) (bool, error) {
	for _, own := range others() {
		v, err := j.verdict(own, defect{says: own.String()}, out.ID)
		if err != nil {
			return false, err
		}
		if v.Result == assert.Inconclusive || v.Result == assert.Skipped {
			out.Can, out.Observed, out.Remedy = CannotDecide, v.Observed, v.Remedy
			out.Reason = "only if calls happen to come at the right moments, else " + v.Reason
			return true, nil
		}
	}
	return false, nil
}

// assertion finds the assertion of a verdict; that of the steady state is in no
// plan and has no rule.
func (j *judging) assertion(v assert.Verdict) assert.Assertion {
	for _, a := range j.plan.Spec().Assertions {
		if a.ID == v.ID {
			return a
		}
	}
	return assert.Assertion{ID: v.ID, Phase: v.Phase}
}

// contradicts concludes about an assertion that fails a right service: it
// contradicts what is declared, unless it asks for more speed than is supposed.
func (j *judging) contradicts(out *Assertion, v assert.Verdict) error {
	out.Can = Contradicts
	if out.Remedy == "" {
		out.Remedy = "correct the assertion, or what the file declares the service to be"
	}
	fast, err := j.verdict(still, defect{says: "no time"}, v.ID)
	if err == nil && fast.Result == assert.Pass {
		out.Can = NotPredicted
		out.Reason = fmt.Sprintf("it depends on how fast the service is; supposed are %s for each answer", 2*quick+4*hop)
		out.Remedy = "run it, or allow for more time"
	}
	return err
}

// negative plays the wrong services that an assertion is there to notice.
func (j *judging) negative(out *Assertion, a assert.Assertion) error {
	for _, d := range negatives(j.plan, a, j.right) {
		v, err := j.verdict(quick, d, a.ID)
		switch {
		case err != nil:
			return err
		case v.Result == assert.Fail, v.Result == assert.Skipped && v.BlockedBy != "":
			// What it leans on has failed: the defect does not go unseen.
			if out.Notices != "" {
				out.Notices += "; "
			}
			out.Notices += d.says
		case out.Misses == "":
			out.Can, out.Misses, out.Observed = WouldNotNotice, d.says, v.Observed
			out.Reason, out.Remedy = v.Reason, v.Remedy
			if v.Result == assert.Pass {
				out.Reason = "it would pass"
				out.Remedy = "bound it more narrowly, or look at it where it makes a difference"
			}
		}
	}
	return nil
}

// verdict is that about one assertion, if the service has a defect.
func (j *judging) verdict(own time.Duration, d defect, id string) (assert.Verdict, error) {
	key := fmt.Sprintf("%s|%s|%s|%v|%s", d.breaker, d.phase, d.opensIn, d.targets, d.says)
	if j.verdicts[key] == nil {
		ran, err := play(j.plan, own, d, len(j.right.trace.Calls))
		if err != nil {
			return assert.Verdict{}, err
		}
		j.verdicts[key] = map[string]assert.Verdict{}
		for _, v := range assert.Evaluate(j.plan.Spec(), ran.trace).Verdicts {
			j.verdicts[key][v.ID] = v
		}
	}
	return j.verdicts[key][id], nil
}

// about is how many calls a plan sends at the most, where that is known.
func about(plan *experiments.Plan) int {
	n := 0
	for _, p := range plan.Phases {
		switch {
		case p.Calls != nil:
			n += p.Calls.N
		case p.Clients != nil:
			n += p.Clients.N
		default:
			n += p.Schedule(plan.Seed).Count(p.Duration)
		}
	}
	return min(n, 1_000_000) // It only saves time.
}

// timelines is what the breakers did while the phases went on.
func timelines(plan *experiments.Plan, r run) []assert.Timeline {
	out := []assert.Timeline{}
	from, end := r.trace.Phases[0].From, r.trace.Phases[len(r.trace.Phases)-1].To
	instances := []string{""}
	if len(plan.SUT.Replicas) > 0 {
		instances = nil
		for _, one := range plan.SUT.Replicas {
			instances = append(instances, one.Name)
		}
	}
	for _, b := range plan.Breakers {
		if !b.Declared {
			continue
		}
		for _, in := range instances {
			t := assert.Timeline{Name: b.Name, Instance: in}
			at, state := from, b.Config.Initial
			for _, c := range r.changes {
				if c.breaker != b.Name || c.instance != in {
					continue
				}
				if c.at > at {
					t.Segments = append(t.Segments, segment(state, at, c.at))
				}
				at, state = max(at, c.at), c.to
			}
			last := segment(state, at, max(at, end))
			last.Last = true
			t.Segments = append(t.Segments, last)
			out = append(out, t)
		}
	}
	return out
}

// segment is a state from one instant to another.
func segment(s breakerref.State, from, to time.Duration) assert.Segment {
	return assert.Segment{State: assert.State(s.String()), From: assert.Interval{Lo: from, Hi: from}, To: assert.Interval{Lo: to, Hi: to}}
}
