package attack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/faultline-go/faultline/attack/pace"
)

// TestHandingOverTakesTime is what vegeta's loop may do to a slot that was in
// time: the gate looks at the clock again before the call leaves.
func TestHandingOverTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(Phase{Schedule: pace.Constant{Num: 1, Per: time.Second}, Duration: 2 * time.Second, MaxInFlight: 1}, time.Now(), nil)
		s.Pace(0, 0)
		time.Sleep(MaxLate + 1)
		if _, ok := s.begin(0); ok {
			t.Error("a call that became late on its way was let through")
		}
		s.Pace(0, 1)
		time.Sleep(MaxLate)
		if due, ok := s.begin(1); !ok || due != s.start.Add(time.Second) {
			t.Errorf("a call in time: due %v, %v", due, ok)
		}
		s.end(0)
		if _, stop := s.Pace(0, 2); !stop || !closed(s.settled()) {
			t.Error("the phase is not over")
		}
		want := counts{planned: 2, sent: 1, dropped: 1, ended: s.start.Add(2 * time.Second)}
		if got := s.counts(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestFullOrLate tells whose fault a missed slot is, of a process that woke up
// late and found no room.
func TestFullOrLate(t *testing.T) {
	start := time.Unix(100, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for _, tc := range []struct {
		name           string
		fullAt         int // -1: it is not full
		due, now       int
		want           counts
		wantIsReleased bool
	}{
		{"in time", -1, 0, 10, counts{}, true},
		{"late", -1, 0, 11, counts{dropped: 1}, false},
		{"full", 0, 50, 50, counts{saturated: 1}, false},
		{"late, but it was full already", 0, 50, 90, counts{saturated: 1}, false},
		{"late, and full only since", 60, 50, 90, counts{dropped: 1}, false},
		{"a little late, and full only since", 51, 50, 52, counts{saturated: 1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSlots(Phase{Schedule: pace.Constant{}, MaxInFlight: 1}, start, nil)
			if tc.fullAt >= 0 {
				s.release(at(tc.fullAt), at(tc.fullAt))
				s.decide() // It was sent.
			}
			if got := s.release(at(tc.due), at(tc.now)); got != tc.wantIsReleased || s.total != tc.want {
				t.Errorf("released %v, counts %+v", got, s.total)
			}
		})
	}
}

// TestRoomThatWasNotUsed: calls on their way take room as those do that the SUT
// holds. If they come too late to be sent, the slots without room were not the SUT's
// doing.
func TestRoomThatWasNotUsed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		begins []time.Duration // of the two calls that take all room, released at once
		want   counts
	}{
		{"both are sent", []time.Duration{time.Millisecond, time.Millisecond}, counts{planned: 6, sent: 2, saturated: 4}},
		{"neither is sent", []time.Duration{MaxLate + 1, MaxLate + 1}, counts{planned: 6, dropped: 6}},
		{"the second is not sent", []time.Duration{time.Millisecond, MaxLate + 1}, counts{planned: 6, sent: 1, dropped: 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := newSlots(Phase{Schedule: pace.Burst{Calls: 6, Every: time.Second}, Duration: 6, MaxInFlight: 2}, start, nil)
				for range 2 {
					s.Pace(0, 0)
				}
				if _, stop := s.Pace(0, 0); !stop || closed(s.settled()) {
					t.Error("the phase is settled before its calls began")
				}
				for seq, d := range tc.begins {
					time.Sleep(time.Until(start.Add(time.Duration(seq) + d)))
					s.begin(uint64(seq))
				}
				got := s.counts()
				got.ended = time.Time{}
				if got != tc.want || !closed(s.settled()) {
					t.Errorf("%+v, want %+v", got, tc.want)
				}
				if len(s.due) > 0 {
					t.Errorf("%d calls are still on their way", len(s.due))
				}
			})
		})
	}
}

// TestCallsThatNeverBegan are counted, and do not hold up the end of a phase.
func TestCallsThatNeverBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := func() <-chan *vegeta.Result {
			c := make(chan *vegeta.Result, 3)
			c <- &vegeta.Result{Code: 200}
			c <- &vegeta.Result{Error: vegeta.ErrNoTargets.Error()}
			c <- &vegeta.Result{Error: "it broke"}
			close(c)
			return c
		}
		rate := &run{gate: newSlots(Phase{Schedule: pace.Constant{Num: 1, Per: time.Second}, Duration: 2 * time.Second, MaxInFlight: 2}, time.Now(), nil)}
		loop := &run{gate: newLoop(Phase{Calls: 2, Concurrency: 2}, nil)}
		for _, r := range []*run{rate, loop} {
			for range 2 {
				if _, stop := r.gate.Pace(0, 0); stop {
					t.Fatal("the phase is over too soon")
				}
			}
			if _, ok := r.gate.begin(1); !ok {
				t.Fatal("a call in time was not let through")
			}
			r.drain(results())
			r.gate.end(0)
			r.gate.Pace(0, 2)
			if !closed(r.gate.settled()) {
				t.Error("the phase is not settled")
			}
		}
		got := []counts{rate.gate.counts(), loop.gate.counts()}
		for i := range got {
			got[i].ended = time.Time{}
		}
		want := []counts{{planned: 2, sent: 1, dropped: 1}, {planned: 2, sent: 1}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(counts{})); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}
