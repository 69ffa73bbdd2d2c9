package run_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
	"github.com/faultline-go/faultline/target/memnet"
	"github.com/faultline-go/faultline/target/trace"
)

// TestPagingIsTold has users told that the source has switched, in the two ways in which
// they begin anew; both are right. All rounds come to their end.
func TestPagingIsTold(t *testing.T) {
	const file = "../scenario-paging.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"restart", "gone"} {
		t.Run(how, func(t *testing.T) {
			for _, v := range judged(t, listed{file: file, src: src}, 1, "sut.reference.paging.on_switch="+how).Verdicts {
				if v.Result != assert.Pass {
					t.Errorf("%s is %s: observed %s: %s", v.ID, v.Result, v.Observed, v.Reason)
				}
			}
		})
	}
}

// TestRoundsAreCounted has the first source fail for users who have no second one: their
// rounds end early, which the trace and the notes of the run say, and which is no verdict
// about what they would have seen.
func TestRoundsAreCounted(t *testing.T) {
	const file = "../scenario-paging.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := experiments.LoadPlan(file, src, 1, "phases.switch.load.sessions.rounds=1")
	if err != nil {
		t.Fatal(err)
	}
	plan.SUT.Reference.Paging.OnSwitch = "gone"
	for i := range plan.Phases {
		plan.Phases[i].Sessions.Script.RestartOn, plan.Phases[i].Sessions.Script.Restarts = nil, 0
	}
	var got *trace.Trace
	var notes []string
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		res, err := run.Run(t.Context(), plan, run.Options{
			Tool: "test", Listen: n.Listen, Dial: n.DialContext,
			Progress: func(p run.Progress) {
				if p.Note != "" {
					notes = append(notes, p.Note)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got = res.Trace
	})
	if diff := cmp.Diff([]*trace.Rounds{{Done: 30}, {Broken: 10}}, []*trace.Rounds{got.Phases[0].Rounds, got.Phases[1].Rounds}); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	found := false
	for _, note := range notes {
		found = found || note == "phase switch: 0 rounds of sessions done, 10 broken, 0 cut"
	}
	if !found {
		t.Errorf("the notes are %q", notes)
	}
	for _, c := range got.Calls {
		if c.Session != nil && c.Session.End == trace.SessionBroken && c.Session.Why != "status 410" {
			t.Errorf("%s: %s", c.ID, c.Session.Why)
		}
	}
	for _, v := range assert.Evaluate(plan.Spec(), got).Verdicts {
		if v.ID == "continuous" && v.Result != assert.Inconclusive {
			t.Errorf("%s is %s: observed %s: %s", v.ID, v.Result, v.Observed, v.Reason)
		}
	}
}
