package report

import (
	"testing"

	"github.com/faultline-go/faultline/assert"
)

func verdicts(results ...assert.Result) assert.Report {
	var rep assert.Report
	for _, r := range results {
		rep.Verdicts = append(rep.Verdicts, assert.Verdict{Result: r})
	}
	return rep
}

func TestConclude(t *testing.T) {
	breached := verdicts(assert.Pass)
	breached.Integrity = []assert.Check{{Name: "join", OK: false}}
	for _, tt := range []struct {
		name   string
		rep    assert.Report
		end    End
		policy Policy
		want   Outcome
		exit   int
	}{
		{"all passed", verdicts(assert.Pass, assert.Pass), EndComplete, PolicyFail, OutcomePass, 0},
		{"nothing asserted", verdicts(), EndComplete, PolicyFail, OutcomeInconclusive, 3},
		{"nothing asserted, skip", verdicts(), EndComplete, PolicySkip, OutcomeInconclusive, 3},
		{"one failed", verdicts(assert.Pass, assert.Fail), EndComplete, PolicyFail, OutcomeFail, 1},
		{"a fail outweighs what could not be told", verdicts(assert.Inconclusive, assert.Fail), EndComplete, PolicyFail, OutcomeFail, 1},
		{"undecided", verdicts(assert.Pass, assert.Inconclusive), EndComplete, PolicyFail, OutcomeInconclusive, 3},
		{"undecided, skip", verdicts(assert.Pass, assert.Inconclusive), EndComplete, PolicySkip, OutcomeInconclusive, 0},
		{"a fail is no matter of policy", verdicts(assert.Inconclusive, assert.Fail), EndComplete, PolicySkip, OutcomeFail, 1},
		{"skipped without its blocker", verdicts(assert.Pass, assert.Skipped), EndComplete, PolicyFail, OutcomeInconclusive, 3},
		{"a result nobody knows", verdicts(assert.Pass, "splendid"), EndComplete, PolicyFail, OutcomeInconclusive, 3},
		{"integrity alone changes nothing", breached, EndComplete, PolicyFail, OutcomePass, 0},
		{"precondition", verdicts(assert.Inconclusive), EndUnmeasured, PolicyFail, OutcomeInconclusive, 3},
		{"precondition is no matter of policy", verdicts(assert.Inconclusive), EndUnmeasured, PolicySkip, OutcomeInconclusive, 3},
		{"precondition with passes", verdicts(assert.Pass), EndUnmeasured, PolicyFail, OutcomeInconclusive, 3},
		{"aborted outweighs a fail", verdicts(assert.Fail), EndAborted, PolicyFail, OutcomeAborted, 4},
		{"interrupted outweighs a fail", verdicts(assert.Fail), EndInterrupted, PolicyFail, OutcomeInterrupted, 130},
		{"terminated outweighs a pass", verdicts(assert.Pass), EndTerminated, PolicyFail, OutcomeInterrupted, 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, exit := Conclude(tt.rep, tt.end, tt.policy)
			if got != tt.want || exit != tt.exit {
				t.Errorf("got %s, exit %d; want %s, exit %d", got, exit, tt.want, tt.exit)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	// Each code outweighs all that stand before it.
	order := []int{ExitPass, ExitInconclusive, ExitFail, ExitDefinition, ExitAborted, ExitInterrupted}
	for i, worse := range order {
		for _, better := range order[:i+1] {
			for _, codes := range [][]int{{worse, better}, {better, worse}} {
				if got := Worst(codes...); got != worse {
					t.Errorf("Worst(%v) = %d, want %d", codes, got, worse)
				}
			}
		}
	}
	if got := Worst(); got != ExitPass {
		t.Errorf("Worst() = %d", got)
	}
	if got := Worst(ExitPass, ExitTerminated); got != ExitTerminated {
		t.Errorf("terminated: %d", got)
	}
}
