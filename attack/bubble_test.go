package attack_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack/pace"
	"github.com/faultline-go/faultline/target/trace"
)

// TestSameTraceEveryTime is the signature habit: a minute of traffic, both
// sides recorded, the same bytes in 20 runs of 20.
func TestSameTraceEveryTime(t *testing.T) {
	for _, latency := range []time.Duration{0, 60 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			runs := 20
			if raceDetector || testing.Short() {
				runs = 3 // Its tenfold price would be paid 40 times.
			}
			var first string
			var longest time.Duration
			for i := range runs {
				began := time.Now()
				got := minute(t, latency)
				longest = max(longest, time.Since(began))
				if i == 0 {
					first = got
				} else if got != first {
					t.Fatalf("run %d differs from the first: %s", i, firstDifference(first, got))
				}
			}
			t.Logf("the longest of %d runs took %v", runs, longest)
		})
	}
}

// minute is 60 s at 100/s against a SUT of some latency.
func minute(t *testing.T, latency time.Duration) (out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(latency))
		p := w.run(t, rate(time.Minute, 1000))
		want := trace.Phase{Name: "one", To: time.Minute, OpenLoop: true, Planned: 6000, Sent: 6000}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("phase (-want +got):\n%s", diff)
		}
		tr := w.finish(t)
		if len(tr.Calls) != 6000 || len(tr.Attempts) != 6000 {
			t.Errorf("%d calls, %d attempts, want 6000 of each", len(tr.Calls), len(tr.Attempts))
		}
		for i, c := range tr.Calls {
			if c.ID != fmt.Sprintf("one/%d", i) || c.Class != "primary" || c.Sched != time.Duration(i)*10*time.Millisecond || c.Send != c.Sched {
				t.Fatalf("call %d is %+v", i, c)
			}
		}
		out = encode(t, tr)
	})
	return out
}

// firstDifference shows where two encodings part.
func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	near := func(s string) string { return s[max(0, i-100):min(len(s), i+100)] }
	return fmt.Sprintf("at byte %d\n%s\n%s", i, near(a), near(b))
}

// TestClosedLoopSameTraceEveryTime has 8 workers that start at one instant.
func TestClosedLoopSameTraceEveryTime(t *testing.T) {
	once := func() (out string) {
		synctest.Test(t, func(t *testing.T) {
			w := newBubbleWorld(t, after(20*time.Millisecond))
			p := calls(400, 8)
			p.Gap = 5 * time.Millisecond
			w.run(t, p)
			out = encode(t, w.finish(t))
		})
		return out
	}
	first := once()
	for range 19 {
		if got := once(); got != first {
			t.Fatal(firstDifference(first, got))
		}
	}
}

// TestStalledSystem holds every call from 1 s to 2.5 s, with room
// for 10: what does not fit is counted and never made up for.
func TestStalledSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			d := time.Duration(0)
			if s := time.Since(start); s >= time.Second && s < 2500*time.Millisecond {
				d = 2500*time.Millisecond - s
			}
			after(d)(rw, r)
		})
		p := rate(5*time.Second, 10)
		got := w.run(t, p)
		tr := w.finish(t)
		// Slots 100 to 109 are held until 2.5 s, so 110 to 249 find no room, and 250
		// too: the held answers are on their way back when it is due.
		want := trace.Phase{Name: "one", To: 5 * time.Second, OpenLoop: true, Planned: 500, Sent: 359, Saturated: 141}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("phase (-want +got):\n%s", diff)
		}
		for i := 1; i < len(tr.Calls); i++ {
			if apart := tr.Calls[i].Send - tr.Calls[i-1].Send; apart < 10*time.Millisecond {
				t.Errorf("%s was sent %v after %s: that is catching up", tr.Calls[i].ID, apart, tr.Calls[i-1].ID)
			}
		}
	})
}

// TestLateProcess has a process that stalls: slots that it slept through are
// dropped, those within MaxLate still go.
func TestLateProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(0))
		p := rate(time.Second, 10)
		p.Schedule = stalling{p.Schedule, map[int]time.Duration{50: 105 * time.Millisecond}}
		got := w.run(t, p)
		tr := w.finish(t)
		// Slot 49 left at 490 ms and the process slept until 595 ms: 50 to 58 are
		// more than 10 ms late, 59 is 5 ms late and goes.
		want := trace.Phase{Name: "one", To: time.Second, OpenLoop: true, Planned: 100, Sent: 91, Dropped: 9}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("phase (-want +got):\n%s", diff)
		}
		c := tr.Calls[50]
		if c.ID != "one/50" || c.Sched != 590*time.Millisecond || c.Send != 595*time.Millisecond {
			t.Errorf("the first call after the stall is %+v", c)
		}
	})
}

// stalling is a schedule that keeps its asker for a while: a process that did
// not get the processor.
type stalling struct {
	pace.Schedule
	at map[int]time.Duration // by slot
}

func (s stalling) Due(n int) time.Duration {
	time.Sleep(s.at[n])
	delete(s.at, n)
	return s.Schedule.Due(n)
}

func TestStragglersDoNotHoldThePhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(time.Second))
		one := w.run(t, rate(500*time.Millisecond, 100))
		p := rate(500*time.Millisecond, 100)
		p.Index, p.Name = 1, "two"
		two := w.run(t, p)
		if one.To != 500*time.Millisecond || two.From != one.To || two.To != time.Second {
			t.Errorf("phases run from %v to %v and from %v to %v", one.From, one.To, two.From, two.To)
		}
		tr := w.finish(t)
		if n := len(tr.Calls); n != 100 {
			t.Errorf("%d calls were recorded, want 100", n)
		}
		for _, c := range tr.Calls {
			if c.Class != "primary" {
				t.Fatalf("%+v", c)
			}
		}
		if last := tr.Calls[99].End; last < 1990*time.Millisecond {
			t.Errorf("the last call ended at %v", last)
		}
	})
}

func TestLockstep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(20*time.Millisecond))
		p := calls(50, 1)
		p.Gap = 5 * time.Millisecond
		got := w.run(t, p)
		tr := w.finish(t)
		if got.Planned != 50 || got.Sent != 50 || got.OpenLoop || got.To != tr.Calls[49].End {
			t.Errorf("phase is %+v, the last call ended at %v", got, tr.Calls[49].End)
		}
		for i := 1; i < len(tr.Calls); i++ {
			if gap := tr.Calls[i].Send - tr.Calls[i-1].End; gap != p.Gap {
				t.Errorf("%s was sent %v after the end of the call before", tr.Calls[i].ID, gap)
			}
			if tr.Calls[i].Sched != tr.Calls[i].Send {
				t.Errorf("%s: scheduled %v, sent %v", tr.Calls[i].ID, tr.Calls[i].Sched, tr.Calls[i].Send)
			}
		}
	})
}

// TestClosedLoopKeepsItsConcurrency looks at how many calls overlap.
func TestClosedLoopKeepsItsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(20*time.Millisecond))
		got := w.run(t, calls(40, 4))
		tr := w.finish(t)
		if got.Sent != 40 || len(tr.Calls) != 40 {
			t.Errorf("%d sent, %d recorded, want 40", got.Sent, len(tr.Calls))
		}
		most := 0
		for _, c := range tr.Calls {
			n := 0
			for _, d := range tr.Calls {
				if d.Send <= c.Send && c.Send < d.End {
					n++
				}
			}
			most = max(most, n)
		}
		if most != 4 {
			t.Errorf("at most %d calls were in flight, want 4", most)
		}
	})
}

func TestUntilEndsThePhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(0))
		asked := 0
		p := calls(100, 1)
		p.Until = func() bool { asked++; return asked > 20 }
		got := w.run(t, p)
		tr := w.finish(t)
		if asked != 21 || got.Sent != 20 || got.Planned != 100 || len(tr.Calls) != 20 {
			t.Errorf("asked %d times, %d calls recorded, phase is %+v", asked, len(tr.Calls), got)
		}
	})
}

// TestRoundTimeoutsAtTheLimitSameTraceEveryTime has calls whose timeout is a
// multiple of the slots' distance and exactly as much room as that needs: the
// end of one call and the slot of another would fall on one instant.
func TestRoundTimeoutsAtTheLimitSameTraceEveryTime(t *testing.T) {
	once := func() (out string) {
		synctest.Test(t, func(t *testing.T) {
			w := newBubbleWorld(t, after(time.Hour))
			p := w.run(t, rate(6*time.Second, 200))
			out = encode(t, p) + encode(t, w.finish(t))
		})
		return out
	}
	first := once()
	for range 9 {
		if got := once(); got != first {
			t.Fatal(firstDifference(first, got))
		}
	}
}
