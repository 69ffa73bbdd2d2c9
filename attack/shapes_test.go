package attack_test

import (
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/trace"
)

// shapes are loads of two seconds.
func shapes() map[string]pace.Schedule {
	per := func(n int) pace.Constant { return pace.Constant{Num: n, Per: time.Second} }
	return map[string]pace.Schedule{
		"burst":   pace.Burst{Calls: 30, Every: 400 * time.Millisecond},
		"ramp":    pace.Ramp{From: per(0), To: per(300), Over: 2 * time.Second},
		"steps":   pace.Steps{{Rate: per(10), For: time.Second}, {Rate: per(300), For: time.Second}},
		"poisson": pace.Poisson(per(200), 2*time.Second, 1),
	}
}

// TestShapesAccountForEverySlot sends bursts and ramps against a service that holds
// calls, through a limit that they exceed: what was not sent was saturated, nothing
// is counted twice, and what was sent was due when its shape says.
func TestShapesAccountForEverySlot(t *testing.T) {
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBubbleWorld(t, after(100*time.Millisecond))
				p := rate(2*time.Second, 20)
				p.Schedule = s
				out := w.run(t, p)
				if out.Planned != s.Count(2*time.Second) || out.Planned != out.Sent+out.Dropped+out.Saturated {
					t.Errorf("%+v of %d slots", out, s.Count(2*time.Second))
				}
				if out.Dropped > 0 || out.Saturated == 0 {
					t.Errorf("%+v: the service held all allowed calls, nobody was late", out)
				}
				due := map[time.Duration]bool{}
				for n := range out.Planned {
					due[s.Due(n)] = true
				}
				calls := w.finish(t).Calls
				for _, c := range calls {
					if !due[c.Sched-out.From] || c.Send < c.Sched || c.Send > c.Sched+time.Millisecond {
						t.Fatalf("a call was due at %v and sent at %v", c.Sched, c.Send)
					}
				}
				if len(calls) != out.Sent {
					t.Errorf("%d calls were recorded, %d sent", len(calls), out.Sent)
				}
			})
		})
	}
}

// drawShape draws a schedule of any shape.
func drawShape(t *rapid.T, over time.Duration) pace.Schedule {
	per := func(name string) pace.Constant {
		return pace.Constant{Num: rapid.IntRange(30, 300).Draw(t, name), Per: time.Second}
	}
	ramp := func() pace.Ramp { return pace.Ramp{From: per("from"), To: per("to"), Over: over} }
	switch rapid.SampledFrom([]string{"constant", "ramp", "steps", "burst", "poisson"}).Draw(t, "shape") {
	case "ramp":
		return ramp()
	case "steps":
		return pace.Steps{{Rate: per("first"), For: over / 3}, {Rate: pace.Constant{}, For: over / 3}, {Rate: per("last"), For: over - 2*(over/3)}}
	case "burst":
		return pace.Burst{Calls: rapid.IntRange(1, 30).Draw(t, "calls"), Every: time.Duration(rapid.IntRange(50, 500).Draw(t, "every")) * time.Millisecond}
	case "poisson":
		return pace.Poisson(ramp(), over, rapid.Uint64().Draw(t, "seed"))
	}
	return per("num")
}

// TestEverySlotIsAccountedFor holds for any shape, room, latency and stalls.
func TestEverySlotIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rate(time.Duration(rapid.IntRange(500, 2000).Draw(rt, "ms"))*time.Millisecond, rapid.IntRange(1, 12).Draw(rt, "room"))
		if rapid.Bool().Draw(rt, "room for all") {
			p.MaxInFlight = 1000
		}
		stalls := map[int]time.Duration{}
		for range rapid.IntRange(0, 3).Draw(rt, "stalls") {
			stalls[rapid.IntRange(0, 100).Draw(rt, "slot")] = time.Duration(rapid.IntRange(1, 500).Draw(rt, "stall")) * time.Millisecond
		}
		schedule := drawShape(rt, p.Duration)
		p.Schedule = stalling{schedule, maps.Clone(stalls)}
		latency := time.Duration(rapid.IntRange(0, 400).Draw(rt, "latency")) * time.Millisecond
		var got trace.Phase
		var tr *trace.Trace
		synctest.Test(t, func(t *testing.T) {
			w := newBubbleWorld(t, after(latency))
			got = w.run(t, p)
			tr = w.finish(t)
		})
		if want := schedule.Count(p.Duration); got.Planned != want {
			rt.Errorf("planned %d, but %d slots were due", got.Planned, want)
		}
		if got.Planned != got.Sent+got.Dropped+got.Saturated {
			rt.Errorf("slots are missing or counted twice: %+v", got)
		}
		if len(tr.Calls) != got.Sent || len(tr.Attempts) != got.Sent {
			rt.Errorf("%d sent, but %d calls and %d attempts were recorded", got.Sent, len(tr.Calls), len(tr.Attempts))
		}
		if len(stalls) == 0 && got.Dropped != 0 || p.MaxInFlight == 1000 && got.Saturated != 0 {
			rt.Errorf("stalls %v, room for %d: %d dropped, %d saturated", stalls, p.MaxInFlight, got.Dropped, got.Saturated)
		}
		due := map[time.Duration]bool{}
		for n := range got.Planned {
			due[schedule.Due(n)] = true
		}
		for _, c := range tr.Calls {
			if !due[c.Sched] || c.Send < c.Sched || c.Send-c.Sched > attack.MaxLate {
				rt.Errorf("%s was due at %v and sent at %v", c.ID, c.Sched, c.Send)
			}
			delete(due, c.Sched) // Each slot is used once.
		}
	})
}

// TestStalledGenerator stalls for half a second in the middle of each shape, with
// room for all calls: what was due meanwhile is dropped, to the slot, and nothing is
// laid at the SUT's door.
func TestStalledGenerator(t *testing.T) {
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBubbleWorld(t, after(100*time.Millisecond))
				p := rate(2*time.Second, 1000)
				// The process sleeps from when it has sent the last call before 1 s.
				first := s.Count(time.Second)
				woke := s.Due(first-1) + 500*time.Millisecond
				p.Schedule = stalling{s, map[int]time.Duration{first: 500 * time.Millisecond}}
				out := w.run(t, p)
				w.finish(t)
				want := trace.Phase{Name: "one", To: 2 * time.Second, OpenLoop: true, Planned: s.Count(2 * time.Second)}
				want.Dropped = s.Count(woke-attack.MaxLate) - first
				want.Sent = want.Planned - want.Dropped
				if diff := cmp.Diff(want, out); diff != "" || want.Dropped == 0 {
					t.Errorf("phase (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestBothStall has a SUT that holds all allowed calls, and in the meantime a process
// that sleeps: what was due then would not have been sent by the best of processes.
func TestBothStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			after(max(0, time.Second-time.Since(start)))(rw, r)
		})
		p := rate(2*time.Second, 10)
		p.Schedule = stalling{p.Schedule, map[int]time.Duration{50: 300 * time.Millisecond}}
		got := w.run(t, p)
		w.finish(t)
		// Slots 0 to 9 are held until 1 s; 100 is due while their answers are under way.
		want := trace.Phase{Name: "one", To: 2 * time.Second, OpenLoop: true, Planned: 200, Sent: 109, Saturated: 91}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("phase (-want +got):\n%s", diff)
		}
	})
}
