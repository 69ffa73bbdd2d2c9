package trace_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

// epoch is where offsets count from in these tests.
func epoch() time.Time { return time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC) }

// TestRecorderConcurrent records from 32 goroutines while others look: nothing
// is lost, each end finds its own attempt, and each injector numbers its
// attempts without a gap.
func TestRecorderConcurrent(t *testing.T) {
	const workers, rounds = 32, 200
	rec := trace.NewRecorder(epoch())
	var told sync.Map
	rec.OnCall(func(c trace.Call) { told.Store("call "+c.ID, c.Status) })
	rec.OnArrival(func(a trace.Attempt) { told.Store("attempt "+a.Injector+" "+strconv.Itoa(a.Seq), a.ID) })
	var work sync.WaitGroup
	for w := range workers {
		work.Go(func() {
			for i := range rounds {
				id, at := fmt.Sprintf("a/%d", w*rounds+i), time.Duration(i)*ms
				rec.Sent(id)
				h := rec.Arrived(trace.Attempt{Injector: []string{"payments", "billing"}[i%2], ID: id, Arr: at})
				rec.Mark(trace.Mark{At: at, Kind: trace.MarkNote, Subject: id})
				if got := rec.Arrivals([]string{"payments", "billing"}[i%2], id); got != 1 {
					t.Errorf("%d arrivals of %s, want 1", got, id)
				}
				rec.Departed(h, func(a *trace.Attempt) { a.Dep, a.Path = at+ms, "/"+id })
				rec.Ended(trace.Call{ID: id, Send: at, End: at + 2*ms, Status: 200})
			}
			rec.Phase(trace.Phase{Name: strconv.Itoa(w), From: time.Duration(w)})
			if tr := rec.Snapshot(trace.Header{}); len(tr.Calls) < rounds {
				t.Errorf("a snapshot holds %d calls when a worker has recorded %d", len(tr.Calls), rounds)
			}
		})
	}
	work.Wait()
	tr := rec.Snapshot(trace.Header{})
	if len(tr.Calls) != workers*rounds || len(tr.Attempts) != workers*rounds || len(tr.Marks) != workers*rounds || len(tr.Phases) != workers || rec.InFlight() != 0 {
		t.Fatalf("%d calls, %d attempts, %d marks, %d phases, %d in flight; want %d, and %d, and none",
			len(tr.Calls), len(tr.Attempts), len(tr.Marks), len(tr.Phases), rec.InFlight(), workers*rounds, workers)
	}
	seqs := map[string][]int{}
	for _, a := range tr.Attempts {
		seqs[a.Injector] = append(seqs[a.Injector], a.Seq)
		if a.Path != "/"+a.ID || a.Dep != a.Arr+ms {
			t.Errorf("attempt of %s ended as %s at %v after %v", a.ID, a.Path, a.Dep, a.Arr)
		}
		if id, _ := told.Load("attempt " + a.Injector + " " + strconv.Itoa(a.Seq)); id != a.ID {
			t.Errorf("OnArrival was told of %v as number %d of %s, which is %s", id, a.Seq, a.Injector, a.ID)
		}
	}
	for injector, got := range seqs {
		slices.Sort(got)
		for i, seq := range got {
			if seq != i+1 {
				t.Fatalf("attempt %d at %s has number %d", i+1, injector, seq)
			}
		}
	}
	for _, c := range tr.Calls {
		if status, _ := told.Load("call " + c.ID); status != 200 {
			t.Errorf("OnCall was told %v of %s", status, c.ID)
		}
	}
}

// TestSingleFlight shows which attempts are joined by containment.
func TestSingleFlight(t *testing.T) {
	for _, tc := range []struct {
		name    string
		off     bool
		sent    []string
		ended   []string
		id      string // that the attempt carries
		want    string
		wantBy  string
		arrived int // of call a/1
	}{
		{name: "one in flight", sent: []string{"a/1"}, want: "a/1", wantBy: trace.BySingleFlight, arrived: 1},
		{name: "none in flight"},
		{name: "two in flight", sent: []string{"a/1", "a/2"}},
		{name: "one in flight, one ended", sent: []string{"a/0", "a/1"}, ended: []string{"a/0"}, want: "a/1", wantBy: trace.BySingleFlight, arrived: 1},
		{name: "all ended", sent: []string{"a/1"}, ended: []string{"a/1"}},
		{name: "one in flight, turned off", off: true, sent: []string{"a/1"}},
		{name: "it carries its own id", sent: []string{"a/1"}, id: "a/0", want: "a/0", wantBy: "traceparent"},
		{name: "it carries the id in flight", sent: []string{"a/1"}, id: "a/1", want: "a/1", wantBy: "traceparent", arrived: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := trace.NewRecorder(epoch())
			rec.SingleFlight(true)
			rec.SingleFlight(!tc.off)
			for _, id := range tc.sent {
				rec.Sent(id)
			}
			for _, id := range tc.ended {
				rec.Ended(trace.Call{ID: id})
			}
			if got, want := rec.InFlight(), len(tc.sent)-len(tc.ended); got != want {
				t.Errorf("%d in flight, want %d", got, want)
			}
			a := trace.Attempt{Injector: "payments", ID: tc.id}
			if tc.id != "" {
				a.By = "traceparent"
			}
			rec.Arrived(a)
			got := rec.Snapshot(trace.Header{}).Attempts[0]
			if got.ID != tc.want || got.By != tc.wantBy {
				t.Errorf("joined with %q by %q, want %q by %q", got.ID, got.By, tc.want, tc.wantBy)
			}
			if n := rec.Arrivals("payments", "a/1"); n != tc.arrived {
				t.Errorf("%d arrivals of a/1, want %d", n, tc.arrived)
			}
			if n := rec.Arrivals("billing", "a/1"); n != 0 {
				t.Errorf("%d arrivals of a/1 at another injector", n)
			}
		})
	}
}

// soon ends the test when f does not return: it waits for a lock that its caller
// holds.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s does not return: it waits for the recorder's lock", what)
	}
}

// What is told may ask and write: it is told after the record was made, and
// without the lock.
func TestToldOutsideTheLock(t *testing.T) {
	rec := trace.NewRecorder(epoch())
	use := func() {
		rec.Mark(trace.Mark{Kind: trace.MarkNote})
		rec.Phase(trace.Phase{})
		rec.SingleFlight(false)
		rec.Sent("a/2")
	}
	var calls, attempts []int
	rec.OnCall(func(c trace.Call) {
		use()
		calls = append(calls, len(rec.Snapshot(trace.Header{}).Calls), rec.InFlight(), rec.Arrivals("payments", c.ID))
		rec.Departed(rec.Arrived(trace.Attempt{Injector: "payments", ID: c.ID}), func(a *trace.Attempt) { a.Status = 503 })
	})
	rec.OnArrival(func(a trace.Attempt) {
		use()
		attempts = append(attempts, len(rec.Snapshot(trace.Header{}).Attempts), a.Seq, rec.Arrivals("payments", a.ID))
	})
	rec.Sent("a/1")
	soon(t, "Arrived", func() { rec.Arrived(trace.Attempt{Injector: "payments", ID: "a/1"}) })
	soon(t, "Ended", func() { rec.Ended(trace.Call{ID: "a/1"}) })
	if diff := cmp.Diff([]int{1, 1, 1}, calls); diff != "" {
		t.Errorf("OnCall saw calls, in flight, arrivals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 1, 1, 2, 2, 2}, attempts); diff != "" {
		t.Errorf("OnArrival saw attempts, number, arrivals (-want +got):\n%s", diff)
	}
	if n := len(rec.Snapshot(trace.Header{}).Attempts); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}

// TestSnapshot shows that a snapshot is sorted, describes itself, and has no
// part in what is recorded later.
func TestSnapshot(t *testing.T) {
	rec := trace.NewRecorder(epoch())
	open := rec.Arrived(trace.Attempt{Injector: "payments", ID: "a/2", Arr: 7 * ms, Dep: ms, Abandon: ms})
	ended := rec.Arrived(trace.Attempt{Injector: "payments", ID: "a/1", Arr: 2 * ms})
	rec.Arrived(trace.Attempt{Injector: "billing", ID: "a/1", Arr: 2 * ms})
	rec.Departed(ended, func(a *trace.Attempt) { a.Outcome, a.Status, a.Dep = trace.OutcomeAnswered, 503, 4*ms })
	rec.Ended(trace.Call{ID: "a/2", Send: 6 * ms})
	rec.Ended(trace.Call{ID: "a/10", Send: ms})
	rec.Ended(trace.Call{ID: "a/1", Send: ms})
	rec.Sent("a/3")
	for _, m := range []trace.Mark{
		{At: 5 * ms, Kind: trace.MarkStall, Dur: ms},
		{Kind: trace.MarkReady},
		{Kind: trace.MarkFaultOn, Subject: "payments"},
		{Kind: trace.MarkFaultOn, Subject: "billing", Text: "two"},
		{Kind: trace.MarkFaultOn, Subject: "billing", Text: "one"},
	} {
		rec.Mark(m)
	}
	rec.Phase(trace.Phase{Name: "outage", From: 5 * ms})
	rec.Phase(trace.Phase{Name: "warmup"})
	rec.Phase(trace.Phase{Name: "baseline"})
	want := &trace.Trace{
		Header: trace.Header{Format: trace.Format, Version: trace.Version, Experiment: "x", Seed: 3, Epoch: epoch()},
		Phases: []trace.Phase{{Name: "baseline"}, {Name: "warmup"}, {Name: "outage", From: 5 * ms}},
		Calls:  []trace.Call{{ID: "a/1", Send: ms}, {ID: "a/10", Send: ms}, {ID: "a/2", Send: 6 * ms}},
		Attempts: []trace.Attempt{
			{Seq: 1, Injector: "billing", ID: "a/1", Arr: 2 * ms, Dep: trace.None, Abandon: trace.None},
			{Seq: 2, Injector: "payments", ID: "a/1", Arr: 2 * ms, Dep: 4 * ms, Abandon: trace.None, Outcome: trace.OutcomeAnswered, Status: 503},
			{Seq: 1, Injector: "payments", ID: "a/2", Arr: 7 * ms, Dep: trace.None, Abandon: trace.None},
		},
		Marks: []trace.Mark{
			{Kind: trace.MarkFaultOn, Subject: "billing", Text: "one"},
			{Kind: trace.MarkFaultOn, Subject: "billing", Text: "two"},
			{Kind: trace.MarkFaultOn, Subject: "payments"},
			{Kind: trace.MarkReady},
			{At: 5 * ms, Kind: trace.MarkStall, Dur: ms},
		},
	}
	header := trace.Header{Format: "other", Version: 9, Experiment: "x", Seed: 3, Epoch: epoch().Add(time.Hour)}
	got := rec.Snapshot(header)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	rec.Departed(open, func(a *trace.Attempt) { a.Dep = 9 * ms })
	rec.Ended(trace.Call{ID: "a/3"})
	rec.Mark(trace.Mark{Kind: trace.MarkLaunch})
	rec.Phase(trace.Phase{Name: "late", From: -1})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("later records changed the snapshot (-want +got):\n%s", diff)
	}
	got.Attempts[0].ID, got.Calls[0].ID, got.Marks[0].Text, got.Phases[0].Name = "?", "?", "?", "?"
	for _, a := range rec.Snapshot(header).Attempts {
		if a.ID == "?" {
			t.Error("the snapshot's attempts are the recorder's own")
		}
	}
}

// The order in which goroutines come to record leaves no mark on the file, as
// long as each injector's attempts are numbered in the order of their arrival.
func TestOrderOfRecordingLeavesNoMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		record := func(tr *trace.Trace, attemptsFirst bool) []byte {
			rec := trace.NewRecorder(epoch())
			attempts := func() {
				for _, a := range tr.Attempts {
					rec.Arrived(a)
				}
			}
			if attemptsFirst {
				attempts()
			}
			for _, c := range tr.Calls {
				rec.Ended(c)
			}
			for _, m := range tr.Marks {
				rec.Mark(m)
			}
			for _, p := range tr.Phases {
				rec.Phase(p)
			}
			if !attemptsFirst {
				attempts()
			}
			return written(t, rec.Snapshot(tr.Header))
		}
		other := shuffled(t, tr)
		other.Attempts = slices.Clone(tr.Attempts)
		slices.SortStableFunc(other.Attempts, func(a, b trace.Attempt) int { return len(a.Injector) - len(b.Injector) })
		if diff := cmp.Diff(string(record(tr, true)), string(record(other, false))); diff != "" {
			t.Errorf("(-one order +another):\n%s", diff)
		}
	})
}

func TestEpoch(t *testing.T) {
	rec := trace.NewRecorder(epoch())
	if got := rec.Since(epoch().Add(1500 * time.Millisecond)); got != 1500*ms {
		t.Errorf("offset %v, want 1.5s", got)
	}
	if got := rec.Since(epoch().Add(-ms)); got != -ms {
		t.Errorf("offset %v, want -1ms", got)
	}
	if !rec.Epoch().Equal(epoch()) {
		t.Errorf("epoch %v, want %v", rec.Epoch(), epoch())
	}
}

func TestDone(t *testing.T) {
	for _, tc := range []struct{ dep, abandon, want time.Duration }{
		{trace.None, trace.None, trace.None},
		{5 * ms, trace.None, 5 * ms},
		{trace.None, 3 * ms, 3 * ms},
		{5 * ms, 3 * ms, 3 * ms},
		{5 * ms, 0, 0}, // at the epoch, which is not None
	} {
		if got := (trace.Attempt{Dep: tc.dep, Abandon: tc.abandon}).Done(); got != tc.want {
			t.Errorf("left at %v, abandoned at %v: done at %v, want %v", tc.dep, tc.abandon, got, tc.want)
		}
	}
}

func TestAnswered(t *testing.T) {
	for _, tc := range []struct {
		status int
		err    trace.ErrKind
		want   bool
	}{
		{200, trace.ErrNone, true},
		{503, trace.ErrNone, true},
		{0, trace.ErrReset, false},
		{200, trace.ErrEOF, false},
		{0, trace.ErrNone, false},
	} {
		if got := (trace.Call{Status: tc.status, Err: tc.err}).Answered(); got != tc.want {
			t.Errorf("status %d, error %q: answered is %t", tc.status, tc.err, got)
		}
	}
}
