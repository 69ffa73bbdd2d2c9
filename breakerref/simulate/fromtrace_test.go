package simulate_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref/simulate"
	"github.com/faultline-go/faultline/target/trace"
)

// recorded is a run of a minute with 10 calls a second, of which all fail from 20 s to
// 30 s and one in ten otherwise; nothing arrives from 25 s to 27 s.
func recorded() *trace.Trace {
	t := &trace.Trace{}
	const from = 3 * time.Second // The load begins later than the run.
	for i := range 600 {
		at := from + time.Duration(i)*100*time.Millisecond
		t.Calls = append(t.Calls, trace.Call{ID: "c", Send: at, End: at + 50*time.Millisecond, Status: 200})
		s := i / 10
		if s == 25 || s == 26 {
			continue
		}
		a := trace.Attempt{Injector: "payments", Method: "GET", Arr: at + time.Millisecond, Dep: at + 41*time.Millisecond, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 200}
		if s >= 20 && s < 30 || i%10 == 0 {
			a.Status = 503
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

func TestTakeTrace(t *testing.T) {
	base := simulate.Default()
	base.Breaker.Window, base.Breaker.MinimumCalls = 20, 20
	m, notes, err := simulate.TakeTrace(base, recorded(), "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Outage != (simulate.Span{From: 20 * time.Second, To: 30 * time.Second}) {
		t.Errorf("the outage is %v", m.Outage)
	}
	if math.Abs(m.Traffic.Background-0.1) > 1e-9 {
		t.Errorf("background is %v", m.Traffic.Background)
	}
	if s := strings.Join(notes, "\n"); !strings.Contains(s, "600 calls over 59.95s, and what payments did to them in each 1s") || !strings.Contains(s, "in 2 of 60 such times") {
		t.Errorf("notes %s", s)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	got := simulate.Play(&m, 1, 0)
	if got.Calls() != 600 {
		t.Errorf("%d calls, want those that were recorded", got.Calls())
	}
	// 10 of 20 outcomes, of which at least one had failed before.
	if o := got.Breakers[0].Opened; o == nil || o.After > time.Second+50*time.Millisecond {
		t.Errorf("opened %+v", o)
	}
	r := run(t, m, simulate.Options{Trials: 10, QuietCalls: 10_000})
	if r.Opened != 10 || r.Quiet.Computed != nil {
		t.Errorf("opened in %d; computed %v", r.Opened, r.Quiet.Computed)
	}
}

func TestTakeTraceRefuses(t *testing.T) {
	several := recorded()
	several.Attempts[3].Injector = "ledger"
	for _, c := range []struct {
		trace    *trace.Trace
		injector string
		want     string
	}{
		{&trace.Trace{}, "", "no attempt reached a dependency"},
		{&trace.Trace{Attempts: recorded().Attempts}, "", "the trace has no calls"},
		{several, "", "several injectors; name one of ledger, payments"},
		{several, "legder", `no injector "legder"; there are ledger, payments`},
	} {
		if _, _, err := simulate.TakeTrace(simulate.Default(), c.trace, c.injector); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
