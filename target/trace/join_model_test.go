package trace_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

// slowJoin joins as the definition says, call by call.
func slowJoin(t *trace.Trace, injector string, depends func(string) bool) trace.Join {
	j := trace.Join{Injector: injector}
	owner := func(id string) (calls []int) {
		for i, c := range t.Calls {
			if c.ID == id {
				calls = append(calls, i)
			}
		}
		return calls
	}
	for _, a := range t.Attempts {
		if a.Injector != injector {
			continue
		}
		of := owner(a.ID)
		switch {
		case a.ID == "":
			j.NoID = append(j.NoID, a)
		case len(of) != 1 || !depends(t.Calls[of[0]].Target):
			j.Orphans = append(j.Orphans, a)
		}
	}
	for _, c := range t.Calls {
		if !depends(c.Target) {
			continue
		}
		one := trace.Joined{Call: c, Kind: trace.Unknown}
		if len(owner(c.ID)) == 1 {
			for _, a := range t.Attempts {
				if a.Injector == injector && a.ID == c.ID && a.ID != "" {
					one.Attempts = append(one.Attempts, a)
				}
			}
			one.Kind = slowKind(one, j.NoID, func(c trace.Call) bool {
				return slices.ContainsFunc(t.Attempts, func(a trace.Attempt) bool {
					return a.Injector == injector && a.Stream && a.Arr <= c.End && (a.Closed == 0 || a.Closed >= c.Send)
				})
			})
		}
		j.Calls = append(j.Calls, one)
	}
	return j
}

func slowKind(c trace.Joined, noID []trace.Attempt, open func(trace.Call) bool) trace.Kind {
	within := slices.ContainsFunc(noID, func(a trace.Attempt) bool { return a.Arr >= c.Call.Send && a.Arr <= c.Call.End })
	switch {
	case len(c.Attempts) > 0 && (c.Call.Err == trace.ErrTimeout || c.Call.Err == trace.ErrCanceled):
		return trace.Timeout
	case len(c.Attempts) > 0:
		return trace.Admitted
	case within, open(c.Call):
		return trace.Unknown
	case c.Call.Answered():
		return trace.Short
	}
	return trace.Lost
}

// The fast join is the slow one, whatever ids look like, come twice, or belong to
// nobody.
func TestJoinIsTheSlowOne(t *testing.T) {
	id := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 9), func(n int) string { return fmt.Sprintf("a/%d", n) }),
		rapid.Map(rapid.IntRange(0, 300), func(n int) string { return fmt.Sprintf("b/c/%d", n) }),
		rapid.SampledFrom([]string{"", "a", "/", "a/", "/0", "/1", "a/01", "a/+1", "a/-1", "a/1 ", "a/x", "a//1", "b/1", "a/65", "a/66", "a/70", "a/281474976710655", "a/18446744073709551615", "a/18446744073709551616"}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		tr := &trace.Trace{}
		distinct := rapid.Bool().Draw(rt, "distinct")
		ids := rapid.SliceOfN(id, 0, 40).Draw(rt, "ids")
		if distinct {
			slices.Sort(ids)
			ids = slices.Compact(ids)
		}
		for _, id := range ids {
			c := drawCall(rt, 0)
			c.ID = id
			tr.Calls = append(tr.Calls, c)
		}
		for range rapid.IntRange(0, 40).Draw(rt, "attempts") {
			a := drawAttempt(rt)
			a.ID = rapid.OneOf(id, rapid.SampledFrom(append(ids, ""))).Draw(rt, "attempt's id")
			tr.Attempts = append(tr.Attempts, a)
		}
		slices.SortStableFunc(tr.Calls, func(a, b trace.Call) int { return cmp.Compare(a.Send, b.Send) })
		slices.SortStableFunc(tr.Attempts, byArrival)
		depends := func(target string) bool { return target == "checkout" }
		want, got := slowJoin(tr, "payments", depends), tr.Join("payments", depends)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("(-slow +fast):\n%s", diff)
		}
		for _, c := range got.Calls {
			if cap(c.Attempts) != len(c.Attempts) {
				rt.Fatalf("appending to the attempts of call %q would change others", c.Call.ID)
			}
		}
	})
}

// Where no attempt carries an id, a call during which none arrived is surely short.
func TestJoinAggregate(t *testing.T) {
	tr := &trace.Trace{}
	for i := range 6 {
		at := time.Duration(i) * 10 * ms
		tr.Calls = append(tr.Calls, trace.Call{ID: fmt.Sprintf("a/%d", i), Target: "checkout", Send: at, End: at + 15*ms, Status: 200})
	}
	for _, at := range []time.Duration{5 * ms, 52 * ms} {
		tr.Attempts = append(tr.Attempts, seen("", at))
	}
	var kinds []trace.Kind
	j := tr.Join("payments", all)
	for _, c := range j.Calls {
		kinds = append(kinds, c.Kind)
	}
	want := []trace.Kind{trace.Unknown, trace.Short, trace.Short, trace.Short, trace.Unknown, trace.Unknown}
	if diff := gocmp.Diff(want, kinds); diff != "" || len(j.NoID) != 2 || len(j.Orphans) != 0 {
		t.Errorf("%d without an id, %d orphans; kinds (-want +got):\n%s", len(j.NoID), len(j.Orphans), diff)
	}
}

// What Reached says of a call while the run goes on is what Join says afterwards.
func TestReachedAgreesWithJoin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rec := trace.NewRecorder(time.Time{})
		n := rapid.IntRange(1, 12).Draw(rt, "calls")
		for range rapid.IntRange(0, 12).Draw(rt, "attempts") {
			a := seen(fmt.Sprintf("a/%d", rapid.IntRange(0, n).Draw(rt, "call")), time.Duration(rapid.IntRange(0, 30).Draw(rt, "at")))
			a.Injector = rapid.SampledFrom([]string{"payments", "billing"}).Draw(rt, "injector")
			if rapid.Bool().Draw(rt, "anonymous") {
				a.ID = ""
			}
			a.Stream = rapid.Bool().Draw(rt, "stream")
			handle := rec.Arrived(a)
			closed := a.Arr + time.Duration(rapid.IntRange(1, 5).Draw(rt, "for"))
			switch rapid.IntRange(0, 2).Draw(rt, "end") {
			case 0: // It goes on.
			case 1:
				rec.Departed(handle, func(a *trace.Attempt) { a.Stream = false }) // It was none.
			default:
				rec.Departed(handle, func(a *trace.Attempt) { a.Stream, a.Closed = true, closed }) // Perhaps only now it is known to have been one.
			}
		}
		for i := range n {
			at := time.Duration(rapid.IntRange(0, 30).Draw(rt, "send"))
			rec.Ended(trace.Call{ID: fmt.Sprintf("a/%d", i), Send: at, End: at + 3, Status: 200})
		}
		for _, c := range rec.Snapshot(trace.Header{}).Join("payments", all).Calls {
			if got := rec.Reached("payments", c.Call); got != (c.Kind == trace.Admitted || c.Kind == trace.Unknown) {
				rt.Errorf("call %s is %s, reached: %t", c.Call.ID, c.Kind, got)
			}
		}
	})
}

// An attempt that is no request is attributed to no call: it is recorded when its
// connection has ended, and the call that made it may have, too.
func TestSingleFlightLeavesUnreadAttempts(t *testing.T) {
	rec := trace.NewRecorder(time.Time{})
	rec.SingleFlight(true)
	rec.Sent("a/1")
	rec.Arrived(trace.Attempt{Injector: "payments", Arr: 2 * ms, Detail: "no request: a TLS handshake"})
	rec.Ended(trace.Call{ID: "a/1", Send: ms, End: 5 * ms, Status: 503})
	tr := rec.Snapshot(trace.Header{})
	if a := tr.Attempts[0]; a.ID != "" || !a.Unread() {
		t.Errorf("recorded %+v, want no call", a)
	}
	if got := tr.Join("payments", all).Calls[0].Kind; got != trace.Unknown {
		t.Errorf("the call is %s, want unknown", got)
	}
}

// A stream without an id is attributed to no call: a service that keeps one opens it again by
// itself, whatever call is in flight.
func TestSingleFlightLeavesStreams(t *testing.T) {
	rec := trace.NewRecorder(time.Time{})
	rec.SingleFlight(true)
	rec.Sent("a/1")
	rec.Arrived(trace.Attempt{Injector: "payments", Method: "GET", Arr: 2 * ms, Stream: true})
	rec.Ended(trace.Call{ID: "a/1", Send: ms, End: 5 * ms, Status: 503})
	if j := rec.Snapshot(trace.Header{}).Join("payments", all); len(j.NoID) != 1 || j.Calls[0].Kind != trace.Unknown {
		t.Errorf("%d attempts without an id, and the call is %s", len(j.NoID), j.Calls[0].Kind)
	}
}
