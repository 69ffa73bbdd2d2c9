package assert

import "time"

// Result is a verdict's value. There are three of them, and skipped.
type Result string

// The results.
const (
	Pass         Result = "pass"
	Fail         Result = "fail"
	Inconclusive Result = "inconclusive"
	Skipped      Result = "skipped"
)

// Verdict is what was found of one assertion.
type Verdict struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Phase      string   `json:"phase,omitempty"`
	Line       int      `json:"line,omitempty"` // of the assertion in the experiment's file
	Result     Result   `json:"verdict"`
	BlockedBy  string   `json:"blocked_by,omitempty"` // the assertion that must hold first, for skipped
	Expected   string   `json:"expected"`
	Observed   string   `json:"observed"`
	Margin     string   `json:"margin,omitempty"`     // how far observed is from the bound
	Resolution string   `json:"resolution,omitempty"` // what the trace can tell apart
	Evidence   []string `json:"evidence,omitempty"`   // ids of the calls that show it, at most 10
	Reason     string   `json:"reason,omitempty"`
	Remedy     string   `json:"remedy,omitempty"` // what to change so that it can be decided

	certain bool          // Fail: shown by what came, so that what did not come could not have made it otherwise
	voided  string        // the check that made it inconclusive
	miss    time.Duration // Fail: only by so much in time; 0: not by time
}

// Check is one integrity condition of the run.
type Check struct {
	Name     string `json:"name"` // dropped, lateness_p99, arrivals_late, cpu_pressure, join, fault_fired, dependency_called, door_shut, short_before_fault, never_arrived, steady_state
	Phase    string `json:"phase,omitempty"`
	OK       bool   `json:"ok"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	Remedy   string `json:"remedy,omitempty"`
	// Affects names the assertions that are inconclusive because of it.
	Affects []string `json:"affects,omitempty"`

	share   float64       // of slots, for dropped
	late    time.Duration // by how much instants are too late, for lateness_p99, arrivals_late and cpu_pressure
	breaker string        // whose rules it concerns; empty: all
}

// State is what a breaker was inferred to be.
type State string

// The states that can be inferred from outside.
const (
	StateClosed   State = "CLOSED"
	StateOpen     State = "OPEN"
	StateHalfOpen State = "HALF_OPEN"
)

// Interval holds an instant (or a duration) that the trace does not pin down
// further.
type Interval struct {
	Lo time.Duration `json:"lo"`
	Hi time.Duration `json:"hi"`
}

// Segment is a stretch of one inferred state. From and To are intervals; the
// last segment of a trace has To at the end of the trace.
type Segment struct {
	State State    `json:"state"`
	From  Interval `json:"from"`
	To    Interval `json:"to"`
	Last  bool     `json:"last,omitempty"` // cut by the end of the trace
}

// Timeline is what one breaker was inferred to do.
type Timeline struct {
	Name     string    `json:"name"`
	Instance string    `json:"instance,omitempty"`
	Segments []Segment `json:"segments"`

	// Shorts says of the calls that were answered without the dependency why they were.
	Shorts []Short `json:"shorts,omitempty"`
}

// Report is the outcome of judging one trace.
type Report struct {
	Verdicts  []Verdict  `json:"assertions"`
	Integrity []Check    `json:"integrity"`
	Breakers  []Timeline `json:"breakers"`
}
