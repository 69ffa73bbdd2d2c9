package verify

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/predict"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Program is what is done to prove a declared configuration.
type Program struct {
	Plan        *experiments.Plan
	Steps       []Step
	Unavoidable time.Duration // waits that no faster machine could save
	Left        []string      // what is not done, each with the reason

	declared Declared
	forecast map[Param]Row // with a service that is right
}

// Step is one of a program, in words.
type Step struct {
	Name  string        `json:"name"`
	About string        `json:"about"`
	Calls string        `json:"calls"`
	Wait  time.Duration `json:"wait"`
}

// Derive makes the program of a declared configuration. The error says why there can be none.
func Derive(name string, d Declared, s Service, fresh bool) (*Program, error) {
	if err := d.Breaker.Validate(); err != nil {
		return nil, err
	}
	p := derive(d.System, Options{Fresh: fresh, Timeout: s.Timeout})
	if len(p.steps) == 0 {
		return nil, errors.New(strings.Join(p.skips, "; "))
	}
	out := &Program{Plan: p.plan(name, s), Unavoidable: p.unavoidable(), Left: p.skips, declared: d, forecast: map[Param]Row{}}
	for _, st := range p.steps {
		out.Steps = append(out.Steps, Step{st.name, st.about, st.words(), st.wait})
	}
	seen, err := predict.Play(Reference(out.Plan, d.System), mutant.Mutant{}, own)
	if err != nil {
		return nil, fmt.Errorf("play the plan in virtual time: %w", err)
	}
	for _, row := range Judge(d, out.Plan.Breakers[0].Failure, seen).Rows {
		out.forecast[Param(row.Param)] = row
	}
	return out, nil
}

// own is the time that a right service takes for itself in a forecast.
const own = 300 * time.Microsecond

// words are the calls of a step.
func (st step) words() string {
	const most = 40
	script := st.script
	if len(script) > most {
		script = fmt.Sprintf("%s... (%d)", script[:most], len(script))
	}
	switch {
	case st.rest > 0:
		return "none"
	case st.hold > 0:
		return "many at once, kept waiting"
	case st.refused && st.name == "unknown":
		return "F until it refuses"
	case script == "":
		return fmt.Sprintf("%d", st.calls)
	}
	return script
}

// Judge says what the trace of a run proves. What its plan could not have decided is no
// fault of the run.
func (p *Program) Judge(t *trace.Trace) Report {
	r := Judge(p.declared, p.Plan.Breakers[0].Failure, t)
	for i := range r.Rows {
		row := &r.Rows[i]
		before := p.forecast[Param(row.Param)]
		if row.Verdict == Undecided && r.Difference == nil && r.Reason == "" && before.Verdict != Pass && before.Verdict != "" {
			row.Verdict = Untold
		}
	}
	r.Unavoidable = p.Unavoidable
	return r
}

// Foreseen are the rows of a right service: what a run can decide.
func (p *Program) Foreseen() []Row {
	var rows []Row
	for _, q := range params() {
		if row, ok := p.forecast[q]; ok {
			rows = append(rows, row)
		}
	}
	for _, b := range p.declared.Beside {
		rows = append(rows, b.row())
	}
	return rows
}

// Service is how the service under test is reached, and what it reaches.
type Service struct {
	SUT     experiments.SUT // its address, and how it is launched
	Target  match.Target    // the request that asks the breaker
	Listen  string          // where the dependency is played, host:port
	Stub    fault.Respond   // what it answers when it is well
	Fail    int             // the status that counts as a failure
	Timeout time.Duration   // of one call
}

// plan makes an experiment of a program.
func (p *program) plan(name string, s Service) *experiments.Plan {
	t := s.Target
	t.Name, t.DependsOn, t.Weight = "call", []string{dependency}, 1
	plan := &experiments.Plan{
		Name: name, Seed: 1, SUT: s.SUT,
		Description: "Made by faultline verify from a declared configuration.",
		Correlate:   experiments.Correlate{Order: []string{match.Traceparent, "header:" + match.RequestID, "single_flight"}},
		Targets:     []match.Target{t},
		Timeout:     s.Timeout,
		MaxInFlight: 1000,
		Integrity:   assert.DefaultIntegrity(),
		Breakers: []assert.Breaker{{
			Name: "breaker", Injector: dependency, Targets: []string{t.Name}, Unit: p.sys.unit(), Declared: true,
			Config: p.sys.Breaker, Failure: failing(s.Fail),
		}},
	}
	script := fault.Script{Phases: map[string][]fault.Rule{}}
	for _, st := range p.steps {
		ph := p.phase(st, s)
		if rules := ph.Faults[dependency]; len(rules) > 0 {
			script.Phases[ph.Name] = rules
		}
		plan.Phases = append(plan.Phases, ph)
	}
	plan.Assertions = opens(p.steps)
	plan.Injectors = []experiments.Injector{{Name: dependency, Listen: s.Listen, Stub: &experiments.Stub{Respond: s.Stub}, Script: script}}
	return plan
}

// opens are assertions of the steps that open the breaker with plain failures, so that the
// plan is an experiment that can be run and judged by itself.
func opens(steps []step) []experiments.PlanAssertion {
	var all []experiments.PlanAssertion
	for _, st := range steps {
		if strings.HasPrefix(st.name, "closed-") {
			rule := assert.Opens{Breaker: "breaker"}
			all = append(all, experiments.PlanAssertion{ID: "opens-" + st.name, Kind: rule.Kind(), Phase: st.name, Rule: rule})
		}
	}
	return all
}

// unit is what asks the breaker.
func (s System) unit() assert.Unit {
	if s.Inside || s.Retry == nil {
		return assert.UnitCall
	}
	return assert.UnitAttempt
}

// failing is what counts as a failure of the dependency: what is played, and what no
// breaker takes for a success.
func failing(status int) match.Failure {
	f := match.DefaultFailure()
	if status/100 != 5 {
		f.Statuses = []int{status}
	}
	return f
}

// phase is a step as a phase of an experiment.
func (p *program) phase(st step, s Service) experiments.Phase {
	ph := experiments.Phase{Name: st.name, Measure: true, Align: st.align}
	if rules := p.rules(st, s); len(rules) > 0 {
		ph.Faults = map[string][]fault.Rule{dependency: rules}
	}
	switch {
	case st.rest > 0:
		ph.Measure, ph.Duration, ph.Rate = false, st.rest, experiments.Rate{Per: time.Second}
	case st.hold > 0:
		ph.Duration = st.lasts
		ph.Rate = experiments.Rate{Num: max(500, 20*(st.hold+12)), Per: time.Second}
	case st.atOnce:
		ph.Calls = &experiments.Calls{N: st.calls, Concurrency: st.calls}
	case st.refused:
		ph.Calls = &experiments.Calls{N: st.calls, Concurrency: 1, Until: "open", Breaker: "breaker"}
	default:
		ph.Calls = &experiments.Calls{N: st.calls, Concurrency: 1, Gap: st.gap, UntilArrivals: len(p.expanded(st.script))}
	}
	return ph
}

// expanded has a letter for each request, where a call that fails makes several.
func (p *program) expanded(script string) string {
	n := p.sys.repeats()
	if n == 1 {
		return script
	}
	var b bytes.Buffer
	for _, l := range []byte(script) {
		b.WriteByte(l)
		if l == bad {
			b.Write(bytes.Repeat([]byte{bad}, n-1))
		}
	}
	return b.String()
}

// rules play a script. Each of them sees the requests that none before it took.
func (p *program) rules(st step, s Service) []fault.Rule {
	if st.hold > 0 {
		return []fault.Rule{{
			ID: st.name + "/0", Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionRespond, Respond: fault.Respond{Status: s.Fail},
			Hold: &fault.Hold{Probes: st.hold, Rejected: max(10, 2*st.hold), Max: st.kept},
		}}
	}
	script := []byte(p.expanded(st.script))
	var rules []fault.Rule
	for _, l := range []byte{bad, slowly, quickly, overtime} {
		if !bytes.Contains(script, []byte{l}) {
			continue
		}
		pattern := bytes.Map(func(r rune) rune {
			if r == rune(l) {
				return 'X'
			}
			return '.'
		}, script)
		rule := fault.Rule{ID: fmt.Sprintf("%s/%d", st.name, len(rules)), Select: fault.Select{Kind: fault.SelectScript, Pattern: string(pattern)}}
		rule.Action, rule.Respond, rule.Latency = p.does(l, s)
		rules = append(rules, rule)
		script = bytes.ReplaceAll(script, []byte{l}, nil)
	}
	return rules
}

// does is what a letter stands for.
func (p *program) does(l byte, s Service) (fault.Action, fault.Respond, fault.Latency) {
	if l == bad {
		return fault.ActionRespond, fault.Respond{Status: s.Fail}, fault.Latency{}
	}
	d := p.sys.took(l)
	if l == overtime {
		d = p.sys.Breaker.HalfOpenMaxWait + p.sys.Breaker.HalfOpenMaxWait/10 + 20*time.Millisecond
	}
	return fault.ActionPass, fault.Respond{}, fault.Latency{Min: d, Max: d}
}

// Reference is the plan with a service of faultline's own that does what a system says, in
// place of the service under test.
func Reference(plan *experiments.Plan, is System) *experiments.Plan {
	out := *plan
	ref := &experiments.Reference{
		Injector: dependency, Breaker: is.Breaker, Failure: plan.Breakers[0].Failure, Timeout: plan.Timeout,
		Fallback: &fault.Respond{Status: http.StatusOK, Body: "fallback"},
	}
	if r := is.Retry; r != nil {
		ref.Retry = &experiments.Retry{
			Attempts: r.MaxAttempts, Wait: r.Wait, Factor: r.Multiplier, MaxWait: r.MaxWait, Jitter: r.RandomFactor,
			On: &experiments.RetryOn{Failure: plan.Breakers[0].Failure, Open: !is.FinalRefusal},
		}
		if is.Inside {
			ref.Order = []string{experiments.PolicyBreaker, experiments.PolicyRetry}
		}
	}
	out.SUT = experiments.SUT{Reference: ref}
	b := plan.Breakers[0]
	b.Config, b.Unit = is.Breaker, is.unit()
	out.Breakers = []assert.Breaker{b}
	return &out
}
