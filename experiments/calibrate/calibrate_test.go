package calibrate_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments/calibrate"
)

var update = flag.Bool("update", false, "rewrite what testdata expects")

// TestEveryMutantIsCaught by a rule that names it, and no right service fails. What caught
// which is a golden: a rule that no longer names a defect is noticed although another does.
func TestEveryMutantIsCaught(t *testing.T) {
	from := time.Now()
	r, err := calibrate.Run(t.Context(), calibrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("on %d cores in %v", runtime.GOMAXPROCS(0), time.Since(from).Round(time.Millisecond))
	for _, d := range r.Missed() {
		t.Errorf("%s (it %s) was missed by %v", d.Name, d.Says, d.MissedBy)
	}
	slow := 0 // What a machine was too busy for that takes its time.
	for _, g := range r.Good {
		switch {
		case g.Verdict == calibrate.VerdictInconclusive && strings.HasPrefix(g.Name, "scenario-paging,"):
			slow++
			t.Logf("%s: %s", g.Name, g.Reason)
		case g.Verdict != calibrate.VerdictPass:
			t.Errorf("%s: %s: %s", g.Name, g.Verdict, g.Reason)
		}
	}
	for _, d := range r.Mutants {
		if d.Inconclusive != "" {
			slow++
			t.Logf("%s: %s", d.Name, d.Inconclusive)
		}
	}
	if r.Total < 100 || r.FalseAlarms != 0 || r.Inconclusive != slow {
		t.Errorf("%d of %d caught, %d false alarms, %d inconclusive", r.Caught, r.Total, r.FalseAlarms, r.Inconclusive)
	}
	golden(t, "testdata/matrix.txt", matrix(r))
}

// matrix is all that caught each mutant, but what takes its time, of which a busy machine may
// see nothing.
func matrix(r *calibrate.Report) string {
	var b strings.Builder
	for _, d := range r.Mutants {
		if strings.HasPrefix(d.Name, "page_") {
			continue
		}
		b.WriteString(d.Name + ": it " + d.Says + "\n")
		for _, by := range d.CaughtBy {
			if !strings.HasPrefix(by, "scenario-paging/") {
				b.WriteString("  " + by + "\n")
			}
		}
	}
	return b.String()
}

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestWhatIsWrongIsTold: a mutant that nothing looks at is missed, and a right service that
// something fails is a false alarm.
func TestWhatIsWrongIsTold(t *testing.T) {
	leak, _ := mutant.Find("leak")
	harmless := leak
	harmless.Name, harmless.Says, harmless.Breaker = "harmless", "does nothing wrong", mutant.Change{}
	unseen := leak
	unseen.Name, unseen.Caught = "unseen", nil
	r, err := calibrate.Run(t.Context(), calibrate.Options{Mutants: []mutant.Mutant{leak, harmless, unseen}, Seeds: []uint64{1}})
	if err != nil {
		t.Fatal(err)
	}
	var missed []string
	for _, d := range r.Missed() {
		missed = append(missed, d.Name)
	}
	if diff := cmp.Diff([]string{"harmless", "unseen"}, missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	r.Good = []calibrate.Good{
		{Name: "fine", Verdict: calibrate.VerdictPass},
		{Name: "blamed", Verdict: calibrate.VerdictFail, Reason: "opens: expected this, observed that"},
		{Name: "unclear", Verdict: calibrate.VerdictInconclusive, Reason: "opens: too few calls"},
	}
	r.FalseAlarms, r.Inconclusive, r.Unplayed = 1, 1, []string{"unplayable"}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/wrong.txt", text.String())
}

// TestItIsDeterministic whoever carries the looks out.
func TestItIsDeterministic(t *testing.T) {
	some := slices.DeleteFunc(mutant.All(), func(m mutant.Mutant) bool { return m.Part == mutant.PartBreaker })
	var first *calibrate.Report
	for _, workers := range []int{1, 4} {
		r, err := calibrate.Run(t.Context(), calibrate.Options{Mutants: some, Seeds: []uint64{7}, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		} else if diff := cmp.Diff(first, r, cmp.AllowUnexported(calibrate.Defect{})); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
	}
}

// TestItCanBeStopped between two looks.
func TestItCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := calibrate.Run(ctx, calibrate.Options{Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
