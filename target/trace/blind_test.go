package trace_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/trace"
)

func shut(at time.Duration) trace.Mark {
	return trace.Mark{At: at, Kind: trace.MarkDoorShut, Subject: "payments", Text: "refuse"}
}

func opened(at time.Duration) trace.Mark {
	return trace.Mark{At: at, Kind: trace.MarkDoorOpen, Subject: "payments"}
}

// TestBlind shows which times the marks of a door make.
func TestBlind(t *testing.T) {
	other := opened(15 * ms)
	other.Subject = "billing"
	blind := func(from, to time.Duration) trace.Blind { return trace.Blind{From: from, To: to, Why: "refuse"} }
	for _, tc := range []struct {
		name  string
		marks []trace.Mark
		want  []trace.Blind
	}{
		{"no door", nil, nil},
		{"shut and open", []trace.Mark{shut(10 * ms), opened(20 * ms)}, []trace.Blind{blind(10*ms, 20*ms)}},
		{"in another order of recording", []trace.Mark{opened(20 * ms), shut(10 * ms)}, []trace.Blind{blind(10*ms, 20*ms)}},
		{"twice", []trace.Mark{shut(10 * ms), opened(20 * ms), shut(30 * ms), opened(40 * ms)}, []trace.Blind{blind(10*ms, 20*ms), blind(30*ms, 40*ms)}},
		{"in two ways, one after the other", []trace.Mark{shut(10 * ms), shut(15 * ms), opened(20 * ms)}, []trace.Blind{blind(10*ms, 20*ms)}},
		{"opened and shut at one instant", []trace.Mark{shut(10 * ms), opened(20 * ms), shut(20 * ms), opened(30 * ms)}, []trace.Blind{blind(10*ms, 30*ms)}},
		{"never opened", []trace.Mark{shut(10 * ms)}, []trace.Blind{blind(10*ms, trace.Forever)}},
		{"opened alone", []trace.Mark{opened(10 * ms)}, nil},
		{"of another injector", []trace.Mark{shut(10 * ms), other, opened(20 * ms)}, []trace.Blind{blind(10*ms, 20*ms)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := trace.Trace{Marks: tc.marks}
			if diff := cmp.Diff(tc.want, tr.Blind("payments")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestJoinBlind shows what a call from 10 to 20 ms is beside a door that is shut.
func TestJoinBlind(t *testing.T) {
	own := []trace.Attempt{seen("a/1", 12*ms)}
	for _, tc := range []struct {
		name     string
		status   int
		attempts []trace.Attempt
		from, to time.Duration
		want     trace.Kind
		unserved bool
	}{
		{"shut all the time, answered", 503, nil, 0, 30 * ms, trace.Unknown, true},
		{"shut all the time, not answered", 0, nil, 0, 30 * ms, trace.Unknown, true},
		{"shut meanwhile", 503, nil, 14 * ms, 16 * ms, trace.Unknown, true},
		{"open when the call was sent", 503, nil, 0, 10 * ms, trace.Unknown, true},
		{"shut when it was answered", 503, nil, 20 * ms, 30 * ms, trace.Unknown, true},
		{"open before", 503, nil, 0, 10*ms - 1, trace.Short, false},
		{"shut after", 503, nil, 20*ms + 1, 30 * ms, trace.Short, false},
		{"an attempt of its own", 200, own, 0, 30 * ms, trace.Admitted, false},
		{"one without an id", 200, []trace.Attempt{seen("", 12*ms)}, 0, 30 * ms, trace.Unknown, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := trace.Call{ID: "a/1", Target: "checkout", Send: 10 * ms, End: 20 * ms, Status: tc.status}
			tr := trace.Trace{Calls: []trace.Call{c}, Attempts: tc.attempts, Marks: []trace.Mark{shut(tc.from), opened(tc.to)}}
			got := tr.Join("payments", all).Calls[0]
			if got.Kind != tc.want || got.Unserved != tc.unserved {
				t.Errorf("it is %s (unserved: %t), want %s (%t)", got.Kind, got.Unserved, tc.want, tc.unserved)
			}
			if got := tr.Join("billing", all).Calls[0]; got.Kind == trace.Unknown {
				t.Error("the door of another injector makes it unknown")
			}
		})
	}
}

// Whatever the doors do, no call that may have met a shut one is a short circuit, and a
// recorder says the same while the run goes on.
func TestBlindIsNeverShort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rec := trace.NewRecorder(time.Time{})
		at, times := time.Duration(0), []time.Duration{}
		for range rapid.IntRange(0, 6).Draw(rt, "marks") {
			at += time.Duration(rapid.IntRange(0, 6).Draw(rt, "later"))
			times = append(times, at)
		}
		for i, at := range times {
			if i%2 == 0 {
				rec.Mark(shut(at))
			} else {
				rec.Mark(opened(at))
			}
		}
		c := trace.Call{ID: "a/1", Target: "checkout", Status: 503, Send: time.Duration(rapid.IntRange(0, 30).Draw(rt, "send"))}
		c.End = c.Send + time.Duration(rapid.IntRange(0, 6).Draw(rt, "took"))
		rec.Ended(c)
		touches := false
		for t := c.Send; t <= c.End; t++ {
			for i := 0; i < len(times); i += 2 {
				touches = touches || t >= times[i] && (i+1 == len(times) || t <= times[i+1])
			}
		}
		got := rec.Snapshot(trace.Header{}).Join("payments", all).Calls[0]
		if touches != (got.Kind == trace.Unknown) || touches != rec.Reached("payments", c) || touches != rec.Hidden("payments", c) {
			rt.Errorf("doors at %v, a call from %v to %v is %s, reached: %t, hidden: %t", times, c.Send, c.End, got.Kind, rec.Reached("payments", c), rec.Hidden("payments", c))
		}
	})
}
