package trace_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

const ms = time.Millisecond

// all is a target's dependency on the injector, whatever the target.
func all(string) bool { return true }

// seen is an attempt at payments that carried id, or none.
func seen(id string, arr time.Duration) trace.Attempt {
	return trace.Attempt{Injector: "payments", ID: id, Arr: arr, Dep: trace.None, Abandon: trace.None}
}

// stream is a connection at payments that was open from one instant to another; 0: it still is.
func stream(from, to time.Duration) trace.Attempt {
	a := seen("", from)
	a.Stream, a.Closed = true, to
	return a
}

// TestJoinKind shows what one call, sent at 10 ms and ended at 20 ms, is.
func TestJoinKind(t *testing.T) {
	own, elsewhere := seen("a/1", 12*ms), seen("a/1", 12*ms)
	elsewhere.Injector = "billing"
	anonymousElsewhere := seen("", 12*ms)
	anonymousElsewhere.Injector = "billing"
	straddling := seen("", 9*ms)
	straddling.Dep = 15 * ms
	for _, tc := range []struct {
		name     string
		status   int
		err      trace.ErrKind
		attempts []trace.Attempt
		want     trace.Kind
	}{
		{"answered, one attempt", 200, trace.ErrNone, []trace.Attempt{own}, trace.Admitted},
		{"answered with a failure, one attempt", 503, trace.ErrNone, []trace.Attempt{own}, trace.Admitted},
		{"answered after retries", 200, trace.ErrNone, []trace.Attempt{own, seen("a/1", 14*ms), seen("a/1", 16*ms)}, trace.Admitted},
		{"the attempt comes after the answer", 200, trace.ErrNone, []trace.Attempt{seen("a/1", 30*ms)}, trace.Admitted},
		{"reset, one attempt", 0, trace.ErrReset, []trace.Attempt{own}, trace.Admitted},
		{"the answer's body broke, one attempt", 200, trace.ErrEOF, []trace.Attempt{own}, trace.Admitted},
		{"something else went wrong, one attempt", 0, trace.ErrOther, []trace.Attempt{own}, trace.Admitted},

		{"answered, no attempt", 200, trace.ErrNone, nil, trace.Short},
		{"answered with a failure, no attempt", 503, trace.ErrNone, nil, trace.Short},
		{"attempt of another call", 200, trace.ErrNone, []trace.Attempt{seen("a/2", 12*ms)}, trace.Short},
		{"attempt at another injector", 200, trace.ErrNone, []trace.Attempt{elsewhere}, trace.Short},
		{"no id, at another injector", 200, trace.ErrNone, []trace.Attempt{anonymousElsewhere}, trace.Short},
		{"no id, before the call was sent", 200, trace.ErrNone, []trace.Attempt{seen("", 10*ms-1)}, trace.Short},
		{"no id, arrived before the call and ended in it", 200, trace.ErrNone, []trace.Attempt{straddling}, trace.Short},
		{"no id, after the call had ended", 200, trace.ErrNone, []trace.Attempt{seen("", 20*ms+1)}, trace.Short},
		{"no id, before and after", 200, trace.ErrNone, []trace.Attempt{seen("", 9*ms), seen("", 21*ms)}, trace.Short},

		{"given up, one attempt", 0, trace.ErrTimeout, []trace.Attempt{own}, trace.Timeout},
		{"given up in the answer's body, one attempt", 200, trace.ErrTimeout, []trace.Attempt{own}, trace.Timeout},
		{"given up after retries", 0, trace.ErrTimeout, []trace.Attempt{own, seen("a/1", 14*ms)}, trace.Timeout},
		{"canceled, one attempt", 0, trace.ErrCanceled, []trace.Attempt{own}, trace.Timeout},

		{"given up, no attempt", 0, trace.ErrTimeout, nil, trace.Lost},
		{"refused", 0, trace.ErrRefused, nil, trace.Lost},
		{"canceled, no attempt", 0, trace.ErrCanceled, nil, trace.Lost},
		// A SUT that sends its status early may not have decided when its answer broke.
		{"the answer's body broke, no attempt", 200, trace.ErrEOF, nil, trace.Lost},
		{"the answer's body was reset, no attempt", 503, trace.ErrReset, nil, trace.Lost},
		{"given up in the answer's body, no attempt", 200, trace.ErrTimeout, nil, trace.Lost},
		{"canceled in the answer's body, no attempt", 200, trace.ErrCanceled, nil, trace.Lost},

		{"a stream ended before the call", 200, trace.ErrNone, []trace.Attempt{stream(ms, 10*ms-1)}, trace.Short},
		{"a stream ended when the call was sent", 200, trace.ErrNone, []trace.Attempt{stream(ms, 10*ms)}, trace.Unknown},
		{"a stream, all the time", 200, trace.ErrNone, []trace.Attempt{stream(ms, 30*ms)}, trace.Unknown},
		{"a stream that goes on", 200, trace.ErrNone, []trace.Attempt{stream(ms, 0)}, trace.Unknown},
		{"a long stream, and a short one after it", 200, trace.ErrNone, []trace.Attempt{stream(ms, 30*ms), stream(2*ms, 3*ms)}, trace.Unknown},
		{"a stream began after the call", 200, trace.ErrNone, []trace.Attempt{stream(20*ms+1, 0)}, trace.Short},
		{"a stream, and no answer", 0, trace.ErrReset, []trace.Attempt{stream(ms, 0)}, trace.Unknown},
		{"a stream, and an attempt of its own", 200, trace.ErrNone, []trace.Attempt{stream(ms, 0), own}, trace.Admitted},

		{"no id, meanwhile", 200, trace.ErrNone, []trace.Attempt{seen("", 15*ms)}, trace.Unknown},
		{"no id, when the call was sent", 200, trace.ErrNone, []trace.Attempt{seen("", 10*ms)}, trace.Unknown},
		{"no id, when the call ended", 200, trace.ErrNone, []trace.Attempt{seen("", 20*ms)}, trace.Unknown},
		{"no id, several, one of them meanwhile", 200, trace.ErrNone, []trace.Attempt{seen("", 9*ms), seen("", 11*ms), seen("", 21*ms)}, trace.Unknown},
		{"no id, meanwhile, and no answer", 0, trace.ErrReset, []trace.Attempt{seen("", 15*ms)}, trace.Unknown},
		{"no id, meanwhile, and an attempt of its own", 200, trace.ErrNone, []trace.Attempt{own, seen("", 15*ms)}, trace.Admitted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := trace.Call{ID: "a/1", Target: "checkout", Send: 10 * ms, End: 20 * ms, Status: tc.status, Err: tc.err}
			tr := trace.Trace{Calls: []trace.Call{c}, Attempts: tc.attempts}
			var own []trace.Attempt
			for _, a := range tc.attempts {
				if a.ID == c.ID && a.Injector == "payments" {
					own = append(own, a)
				}
			}
			want := []trace.Joined{{Call: c, Attempts: own, Kind: tc.want}}
			if diff := cmp.Diff(want, tr.Join("payments", all).Calls); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Instants far apart are compared, not subtracted.
func TestJoinKindOfLongCall(t *testing.T) {
	tr := trace.Trace{
		Calls:    []trace.Call{{ID: "a/1", Send: math.MinInt64 / 2, End: math.MaxInt64, Status: 200}},
		Attempts: []trace.Attempt{seen("", math.MinInt64), seen("", math.MaxInt64)},
	}
	if got := tr.Join("payments", all).Calls[0].Kind; got != trace.Unknown {
		t.Errorf("the call is %s, want unknown: an attempt without an id arrived in its last instant", got)
	}
}

// TestJoin shows where each call and each attempt goes.
func TestJoin(t *testing.T) {
	call := func(id, target string, send time.Duration) trace.Call {
		return trace.Call{ID: id, Target: target, Send: send, End: send + 5*ms, Status: 200}
	}
	billed := seen("a/0", 1*ms)
	billed.Injector = "billing"
	tr := trace.Trace{
		Calls: []trace.Call{
			call("a/0", "checkout", 0), call("a/1", "browse", 10*ms), call("a/2", "checkout", 20*ms), call("a/3", "checkout", 30*ms),
		},
		Attempts: []trace.Attempt{
			billed, seen("a/0", 2*ms), seen("a/0", 3*ms), seen("a/1", 11*ms), seen("b/7", 12*ms), seen("", 32*ms), seen("a/0", 40*ms), seen("b/7", 50*ms),
		},
	}
	got := tr.Join("payments", func(target string) bool { return target == "checkout" })
	want := trace.Join{
		Injector: "payments",
		Calls: []trace.Joined{
			{Call: tr.Calls[0], Attempts: []trace.Attempt{seen("a/0", 2*ms), seen("a/0", 3*ms), seen("a/0", 40*ms)}, Kind: trace.Admitted},
			{Call: tr.Calls[2], Kind: trace.Short},
			{Call: tr.Calls[3], Kind: trace.Unknown},
		},
		Orphans: []trace.Attempt{seen("a/1", 11*ms), seen("b/7", 12*ms), seen("b/7", 50*ms)},
		NoID:    []trace.Attempt{seen("", 32*ms)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := got.Share(); got != 3.0/7 {
		t.Errorf("share %v, want 3 of 7", got)
	}
}

// Two calls of one id would each make a short circuit of the other if it got
// the attempts.
func TestJoinSameID(t *testing.T) {
	for _, targets := range [][2]string{{"checkout", "checkout"}, {"checkout", "browse"}, {"browse", "checkout"}} {
		tr := trace.Trace{
			Calls: []trace.Call{
				{ID: "probe/0", Target: targets[0], End: 5 * ms, Status: 200},
				{ID: "probe/0", Target: targets[1], Send: 10 * ms, End: 15 * ms, Status: 200},
			},
			Attempts: []trace.Attempt{seen("probe/0", 2*ms)},
		}
		j := tr.Join("payments", func(target string) bool { return target == "checkout" })
		for _, c := range j.Calls {
			if c.Kind != trace.Unknown || len(c.Attempts) > 0 {
				t.Errorf("targets %v: the call sent at %v is %s with %d attempts, want unknown with none", targets, c.Call.Send, c.Kind, len(c.Attempts))
			}
		}
		if len(j.Orphans) != 1 || j.Share() != 0 {
			t.Errorf("targets %v: %d orphans and share %v, want 1 and 0", targets, len(j.Orphans), j.Share())
		}
	}
}

func TestShare(t *testing.T) {
	joined := func(n int) trace.Joined { return trace.Joined{Attempts: make([]trace.Attempt, n)} }
	for _, tc := range []struct {
		name string
		join trace.Join
		want float64
	}{
		{"no attempt", trace.Join{Calls: []trace.Joined{joined(0)}}, 1},
		{"nothing at all", trace.Join{}, 1},
		{"all joined", trace.Join{Calls: []trace.Joined{joined(1), joined(2)}}, 1},
		{"an orphan", trace.Join{Calls: []trace.Joined{joined(3)}, Orphans: make([]trace.Attempt, 1)}, 0.75},
		{"one without an id", trace.Join{Calls: []trace.Joined{joined(3)}, NoID: make([]trace.Attempt, 1)}, 0.75},
		{"both", trace.Join{Calls: []trace.Joined{joined(2)}, Orphans: make([]trace.Attempt, 1), NoID: make([]trace.Attempt, 1)}, 0.5},
		{"none joined", trace.Join{Orphans: make([]trace.Attempt, 2)}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.join.Share(); got != tc.want {
				t.Errorf("share %v, want %v", got, tc.want)
			}
		})
	}
}

// Whatever the trace, each attempt at the injector is in one place, and each call
// that depends on it is there once, in order.
func TestJoinKeepsAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := drawTrace(rt)
		depends := func(target string) bool { return target == "checkout" }
		j := tr.Join("payments", depends)
		var calls, wantCalls []trace.Call
		var attempts, wantAttempts []trace.Attempt
		for _, c := range j.Calls {
			calls = append(calls, c.Call)
			attempts = append(attempts, c.Attempts...)
			for _, a := range c.Attempts {
				if a.ID != c.Call.ID {
					rt.Errorf("call %q has an attempt of %q", c.Call.ID, a.ID)
				}
			}
			if !slices.IsSortedFunc(c.Attempts, byArrival) {
				rt.Errorf("the attempts of call %q are not in the order of arrival", c.Call.ID)
			}
		}
		if share := j.Share(); len(attempts) != int(share*float64(len(attempts)+len(j.Orphans)+len(j.NoID))+0.5) {
			rt.Errorf("share %v of %d joined", share, len(attempts))
		}
		attempts = slices.Concat(attempts, j.Orphans, j.NoID)
		for _, c := range tr.Calls {
			if depends(c.Target) {
				wantCalls = append(wantCalls, c)
			}
		}
		for _, a := range tr.Attempts {
			if a.Injector == "payments" {
				wantAttempts = append(wantAttempts, a)
			}
		}
		if diff := cmp.Diff(wantCalls, calls); diff != "" {
			rt.Errorf("calls (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantAttempts, attempts, bySeq, cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}
