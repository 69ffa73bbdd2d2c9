package injector

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stepped is a clock that a test moves; it rings when it is told to.
type stepped struct {
	rings chan struct{}
	mu    sync.Mutex
	sets  []time.Duration
}

func (s *stepped) set(in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = append(s.sets, in)
}

func (s *stepped) wait() bool {
	_, ok := <-s.rings
	return ok
}

func (s *stepped) close() { close(s.rings) }

// Whoever waits is woken, never early, also when others are dropped meanwhile.
func TestAlarmRingsInTime(t *testing.T) {
	a := newAlarm()
	if a == nil {
		t.Skip("there is no clock of the kernel here, and the runtime's timers are used")
	}
	defer a.close()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			due := time.Now().Add(time.Duration(rand.Int64N(int64(30 * time.Millisecond))))
			b, other := a.at(due), a.at(due.Add(-time.Microsecond))
			a.drop(other)
			a.drop(other)
			<-b.rung
			if now := time.Now(); now.Before(due) {
				t.Errorf("%v early", due.Sub(now))
			}
			a.drop(b)
		})
	}
	all.Wait()
	if len(a.bells) != 0 {
		t.Errorf("%d bells are left", len(a.bells))
	}
}

// A clock that rings too early, or for a bell that was dropped, is set anew and wakes nobody.
func TestAlarmIsNotFooled(t *testing.T) {
	s := &stepped{rings: make(chan struct{})}
	a := &alarm{clock: s}
	a.running.Go(a.run)
	late := a.at(time.Now().Add(time.Hour))
	soon := a.at(time.Now().Add(time.Minute))
	a.drop(soon)
	s.rings <- struct{}{}
	s.rings <- struct{}{} // The one before is through.
	if isClosed(late.rung) || isClosed(soon.rung) {
		t.Error("one rang early")
	}
	a.close()
	a.close()
	if n := len(s.sets); n < 3 || s.sets[n-1] < 59*time.Minute {
		t.Errorf("the clock was set to %v", s.sets)
	}
}

// The bells ring in the order of their instants, whichever were dropped.
func TestBellsAreAHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &alarm{clock: &stepped{}}
		epoch := time.Now().Add(time.Hour)
		var left []*bell
		for _, n := range rapid.SliceOf(rapid.IntRange(-5, 20)).Draw(t, "instants, or drops") {
			if n >= 0 {
				left = append(left, a.at(epoch.Add(time.Duration(n))))
			} else if len(left) > 0 {
				k := -n % len(left)
				a.drop(left[k])
				left = slices.Delete(left, k, k+1)
			}
			first := slices.MinFunc(append(left, &bell{at: epoch.Add(time.Hour)}), func(x, y *bell) int { return cmp.Compare(x.at.UnixNano(), y.at.UnixNano()) })
			if len(a.bells) != len(left) || len(left) > 0 && !a.bells[0].at.Equal(first.at) {
				t.Fatalf("%d bells of %d", len(a.bells), len(left))
			}
		}
	})
}
