package trace_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

func TestLedgerHash(t *testing.T) {
	base := func() *trace.Trace {
		return &trace.Trace{Attempts: []trace.Attempt{
			{Seq: 1, Injector: "a", Phase: "p", Method: "GET", Path: "/x", Arr: 5},
			{Seq: 2, Injector: "a", Phase: "p", Method: "GET", Path: "/x", Rule: "p/1", Action: "pass", Delay: time.Second, Arr: 6},
			{Seq: 3, Injector: "a", Phase: "p", Method: "GET", Path: "/x", Spared: "rule p/1: limit held", Arr: 7},
			{Seq: 1, Injector: "b", Phase: "p", Method: "GET", Path: "/x", Arr: 6},
		}}
	}
	want := base().LedgerHash()
	if len(want) != 32 {
		t.Errorf("the hash is %s", want)
	}
	for what, change := range map[string]func(*trace.Trace){
		"times":          func(t *trace.Trace) { t.Attempts[1].Arr, t.Attempts[1].Dep, t.Attempts[1].Abandon = 1, 2, 3 },
		"peer and id":    func(t *trace.Trace) { t.Attempts[1].Peer, t.Attempts[1].ID, t.Attempts[1].By = "x", "y", "z" },
		"its end":        func(t *trace.Trace) { t.Attempts[1].Outcome, t.Attempts[1].Status = trace.OutcomeHang, 9 },
		"order of lines": func(t *trace.Trace) { t.Attempts[0], t.Attempts[3] = t.Attempts[3], t.Attempts[0] },
		"no request": func(t *trace.Trace) {
			t.Attempts = append(t.Attempts, trace.Attempt{Seq: 4, Injector: "a", Detail: "no request"})
		},
		"other records": func(t *trace.Trace) { t.Calls, t.Marks = make([]trace.Call, 1), make([]trace.Mark, 1) },
	} {
		tr := base()
		change(tr)
		if tr.LedgerHash() != want {
			t.Errorf("the hash depends on %s", what)
		}
	}
	for what, change := range map[string]func(*trace.Trace){
		"rule":     func(t *trace.Trace) { t.Attempts[1].Rule = "p/2" },
		"action":   func(t *trace.Trace) { t.Attempts[1].Action = "hang" },
		"verdict":  func(t *trace.Trace) { t.Attempts[0].Rule = "p/1" },
		"latency":  func(t *trace.Trace) { t.Attempts[1].Delay++ },
		"spared":   func(t *trace.Trace) { t.Attempts[2].Spared = "" },
		"phase":    func(t *trace.Trace) { t.Attempts[0].Phase = "" },
		"path":     func(t *trace.Trace) { t.Attempts[0].Path = "/" },
		"order":    func(t *trace.Trace) { t.Attempts[0].Seq, t.Attempts[1].Seq = 2, 1 },
		"injector": func(t *trace.Trace) { t.Attempts[3].Injector = "c" },
		"length":   func(t *trace.Trace) { t.Attempts = t.Attempts[:3] },
		"borders":  func(t *trace.Trace) { t.Attempts[0].Method, t.Attempts[0].Path = "GET/", "x" },
	} {
		tr := base()
		change(tr)
		if tr.LedgerHash() == want {
			t.Errorf("the hash does not depend on %s", what)
		}
	}
}

// The ledger is read from a place on, in the order of recording.
func TestAttemptsFrom(t *testing.T) {
	r := trace.NewRecorder(time.Unix(0, 0))
	for n := range 5000 {
		r.Arrived(trace.Attempt{Injector: "a", Arr: time.Duration(5000 - n)})
	}
	for _, tt := range []struct{ place, most, first, n int }{{0, 3, 1, 3}, {4094, 4, 4095, 4}, {4999, 10, 5000, 1}, {5000, 10, 0, 0}, {9000, 1, 0, 0}, {-1, 2, 1, 2}, {7, 0, 0, 0}} {
		got := r.AttemptsFrom(tt.place, tt.most)
		if len(got) != tt.n || tt.n > 0 && (got[0].Seq != tt.first || got[tt.n-1].Seq != tt.first+tt.n-1) {
			t.Errorf("%d from %d on: %d of them, %+v", tt.most, tt.place, len(got), got)
		}
	}
	if r.Recorded() != 5000 {
		t.Errorf("%d are recorded", r.Recorded())
	}
}
