package report

import "github.com/faultline-go/faultline/assert"

// Outcome is what a whole run came to.
type Outcome string

// The outcomes, as verdicts.json spells them.
const (
	OutcomePass         Outcome = "pass"
	OutcomeFail         Outcome = "fail"
	OutcomeInconclusive Outcome = "inconclusive"
	OutcomeAborted      Outcome = "aborted"
	OutcomeInterrupted  Outcome = "interrupted"
)

// The exit codes of faultline.
const (
	ExitPass         = 0
	ExitFail         = 1
	ExitDefinition   = 2 // bad usage or a bad experiment file
	ExitInconclusive = 3 // could not tell
	ExitAborted      = 4 // by a safety condition
	ExitInterrupted  = 130
	ExitTerminated   = 143
)

// End says how a run came to its end.
type End int

// How a run can end.
const (
	EndComplete    End = iota // the plan was carried out
	EndUnmeasured             // a precondition did not hold, or the environment failed
	EndAborted                // a safety condition stopped it
	EndInterrupted            // SIGINT
	EndTerminated             // SIGTERM
)

// Policy says what exit code an assertion that could not be decided leads to.
type Policy string

// The policies.
const (
	PolicyFail Policy = "fail" // 3
	PolicySkip Policy = "skip" // 0, as if it had passed
)

// Count is how many verdicts there are of each result.
type Count struct{ Pass, Fail, Inconclusive, Skipped int }

// Total is the number of verdicts.
func (c Count) Total() int { return c.Pass + c.Fail + c.Inconclusive + c.Skipped }

// Tally counts verdicts by their result.
func Tally(verdicts []assert.Verdict) Count {
	var c Count
	for _, v := range verdicts {
		switch v.Result {
		case assert.Pass:
			c.Pass++
		case assert.Fail:
			c.Fail++
		case assert.Skipped:
			c.Skipped++
		case assert.Inconclusive:
			c.Inconclusive++
		default:
			// A result that nobody knows decides nothing.
			c.Inconclusive++
		}
	}
	return c
}

// Conclude says what a judged run came to and its exit code. The first that
// holds wins: interrupted (130, 143), aborted (4), a fail (1), could not tell
// (3), pass (0).
//
// An assertion that was skipped was not decided, so it counts as inconclusive
// here. A run without assertions decided nothing. The policy covers assertions
// only: a run that could not be carried out is 3 whatever the policy, and the
// outcome of undecided assertions stays inconclusive also where their exit code
// is 0. Integrity checks change nothing here; the judge has already voided the
// verdicts that depend on a breached one.
func Conclude(rep assert.Report, end End, policy Policy) (Outcome, int) {
	switch end {
	case EndInterrupted:
		return OutcomeInterrupted, ExitInterrupted
	case EndTerminated:
		return OutcomeInterrupted, ExitTerminated
	case EndAborted:
		return OutcomeAborted, ExitAborted
	case EndComplete, EndUnmeasured:
	}
	n := Tally(rep.Verdicts)
	switch {
	case n.Fail > 0:
		return OutcomeFail, ExitFail
	case end == EndUnmeasured || n.Total() == 0:
		return OutcomeInconclusive, ExitInconclusive
	case n.Pass == n.Total():
		return OutcomePass, ExitPass
	case policy == PolicySkip:
		return OutcomeInconclusive, ExitPass
	}
	return OutcomeInconclusive, ExitInconclusive
}

// Worst returns the exit code of several runs together: interrupted, then
// aborted, bad definition, fail, could not tell, pass. Of no codes it is 0.
func Worst(codes ...int) int {
	worst := ExitPass
	for _, c := range codes {
		if rank(c) > rank(worst) {
			worst = c
		}
	}
	return worst
}

// rank orders exit codes by precedence. One that is none of faultline's says
// only that something is wrong, which is could not tell.
func rank(code int) int {
	switch code {
	case ExitPass:
		return 0
	case ExitFail:
		return 2
	case ExitDefinition:
		return 3
	case ExitAborted:
		return 4
	case ExitInterrupted, ExitTerminated:
		return 5
	}
	return 1
}
