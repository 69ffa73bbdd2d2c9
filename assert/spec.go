package assert

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// Spec is what a trace is judged against.
type Spec struct {
	Targets    []match.Target
	Classes    match.Classes
	Breakers   []Breaker
	Phases     []Phase
	Assertions []Assertion
	Integrity  Integrity

	// Instances are the names of the SUT's instances, if they are known beforehand; others
	// are those that answers name.
	Instances []string

	// SteadyState holds in a healthy system: before any fault, where a breach makes
	// the run worthless, and in the last phase, where it is a failure.
	SteadyState []Criterion
}

// Unit says whether each retry attempt asks the breaker, or each call.
type Unit string

// The units. Without a declared one, a trace with calls of two or more attempts
// cannot be counted.
const (
	UnitUnknown Unit = ""
	UnitAttempt Unit = "attempt" // retry outside the breaker: Resilience4j's default order
	UnitCall    Unit = "call"    // retry inside the breaker
)

// Breaker is a breaker that the experiment speaks of.
type Breaker struct {
	Name     string            `json:"name" yaml:"name"`
	Injector string            `json:"injector" yaml:"injector"` // where its admitted calls arrive
	Targets  []string          `json:"targets" yaml:"targets"`   // targets whose calls ask it
	Unit     Unit              `json:"unit,omitempty" yaml:"unit,omitempty"`
	Declared bool              `json:"declared" yaml:"declared"` // Config is what it is said to be
	Config   breakerref.Config `json:"config" yaml:"config"`
	Failure  match.Failure     `json:"failure" yaml:"failure"`

	// Shared says that all instances of the SUT share the breaker's state, so that they are
	// judged together; else each has one of its own.
	Shared bool `json:"shared,omitempty" yaml:"shared,omitempty"`

	// Ejection says that it ejects and returns a host, without half-open; nil: it does not.
	Ejection *Ejection `json:"ejection,omitempty" yaml:"ejection,omitempty"`

	// LateDropped says that an outcome counts only for the state that admitted its call, and
	// else not at all. Otherwise it counts for the state that it finds, as in Resilience4j.
	LateDropped bool `json:"late_dropped,omitempty" yaml:"late_dropped,omitempty"`
}

// Phase is what the judge must know of a phase's plan.
type Phase struct {
	Name    string
	Measure bool
	Faults  map[string][]fault.Rule // by injector
	Clients int                     // of a closed loop, that think between their calls; 0: it has none
	Think   time.Duration           // for how long, on average
}

// Integrity is the floor below which rules are void.
type Integrity struct {
	Dropped  float64       `json:"dropped" yaml:"dropped"`           // largest share of slots missed, 0..1
	Lateness time.Duration `json:"lateness_p99" yaml:"lateness_p99"` // largest p99 of t_send - t_sched
	Join     float64       `json:"join" yaml:"join"`                 // smallest share of attempts that joined a call, 0..1
}

// DefaultIntegrity is what holds when an experiment says nothing.
func DefaultIntegrity() Integrity {
	return Integrity{Dropped: 0.01, Lateness: 10 * time.Millisecond, Join: 0.99}
}

// Assertion is one rule with its name, its phase and where it was written.
type Assertion struct {
	ID    string
	Phase string // empty: the whole measured run
	Line  int    // in the experiment's file; 0 when there is none
	Rule  Rule
}

// Rule is one of the structs below; the set is closed.
type Rule interface {
	// Kind is the rule's key in an experiment, such as breaker.opens.
	Kind() string
	// About is what it speaks of.
	About() About
	// expected says what the rule asks, in words.
	expected() string
	judge(e *evidence, a Assertion) Verdict
}

// Opens says that the breaker opened. AtCall and WithinCalls count outcomes at the
// dependency, in the order of their end, from the phase's start or the last
// close; Within and NotBefore count from the first faulted outcome. A zero
// value leaves that part out.
type Opens struct {
	Breaker     string
	AtCall      int
	WithinCalls int
	Within      time.Duration
	NotBefore   time.Duration
}

// StaysClosed says that the breaker did not open in the phase.
type StaysClosed struct{ Breaker string }

// Leak says that at most Max admissions lie wholly inside open intervals.
type Leak struct {
	Breaker string
	Max     int
}

// OpenDuration says that each open interval lasts Equals, or the k-th Sequence[k].
type OpenDuration struct {
	Breaker   string
	Equals    time.Duration
	Sequence  []time.Duration
	Tolerance float64 // share of the expected duration, 0..1
}

// HalfOpenProbes says that a half-open visit admits exactly, or at most, so many calls.
type HalfOpenProbes struct {
	Breaker string
	Exactly int // 0: not asked
	Max     int // 0: not asked
}

// ReopensOnFailedProbe says that a half-open visit whose probes failed ends open again.
type ReopensOnFailedProbe struct{ Breaker string }

// Closes says that the breaker closed again, within a time from the later of the
// phase's start and the last faulted outcome, after so many good probes.
type Closes struct {
	Breaker        string
	Within         time.Duration // 0: not asked
	AfterSuccesses int           // 0: not asked
}

// NeverStuck says that once the fault is gone a call is admitted within the declared
// wait plus Tolerance of it.
type NeverStuck struct {
	Breaker   string
	Tolerance float64 // share of the wait, 0..1
}

// ShortLatency bounds how long the SUT takes to answer a call that its
// breaker rejected.
type ShortLatency struct {
	Breaker string
	Bounds  []QuantileBound
}

// QuantileBound says that a quantile is at most Max.
type QuantileBound struct {
	Quantile float64 // 0.5, 0.9, 0.95, 0.99; 1 is the maximum
	Max      time.Duration
}

// CallSet is a set of calls that a share is taken of.
type CallSet string

// The sets of calls.
const (
	SetShort  CallSet = "short"  // rejected: answered without an arrival
	SetFailed CallSet = "failed" // admitted, and its last attempt failed
	SetOpen   CallSet = "open"   // sent and answered while the breaker was open
	SetAll    CallSet = "all"
)

// FallbackShare bounds the share of answers of class fallback among the calls of the
// union of the sets. A nil bound is not asked.
type FallbackShare struct {
	Breaker string
	Min     *float64 // 0..1
	Max     *float64
	Of      []CallSet
}

// Kind implements [Rule].
func (Opens) Kind() string { return "breaker.opens" }

// Kind implements [Rule].
func (StaysClosed) Kind() string { return "breaker.stays_closed" }

// Kind implements [Rule].
func (Leak) Kind() string { return "breaker.leak" }

// Kind implements [Rule].
func (OpenDuration) Kind() string { return "breaker.open_duration" }

// Kind implements [Rule].
func (HalfOpenProbes) Kind() string { return "breaker.half_open_probes" }

// Kind implements [Rule].
func (ReopensOnFailedProbe) Kind() string { return "breaker.reopens_on_failed_probe" }

// Kind implements [Rule].
func (Closes) Kind() string { return "breaker.closes" }

// Kind implements [Rule].
func (NeverStuck) Kind() string { return "breaker.never_stuck" }

// Kind implements [Rule].
func (ShortLatency) Kind() string { return "short.latency" }

// Kind implements [Rule].
func (FallbackShare) Kind() string { return "fallback.share" }
