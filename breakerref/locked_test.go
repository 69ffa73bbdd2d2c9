package breakerref_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// locked is a machine for many goroutines, as a service would wrap it.
type locked struct {
	mu sync.Mutex
	m  *breakerref.Machine
}

func (l *locked) acquire(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m.Acquire(now)
}

func (l *locked) record(now time.Time, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m.Record(now, failed, 0)
}

// TestManyGoroutines sends 64 at once against a breaker whose wait is over, round
// after round: exactly the permitted ones get through, and their outcomes decide.
func TestManyGoroutines(t *testing.T) {
	const goroutines, permitted = 64, 7
	rounds := 500
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		rounds = 10_000
	}
	cfg := breakerref.Default()
	cfg.Permitted, cfg.Initial, cfg.Wait = permitted, breakerref.Open, time.Second
	now := time.Unix(1_735_689_600, 0)
	m, err := breakerref.New(cfg, now)
	if err != nil {
		t.Fatal(err)
	}
	l := &locked{m: m}
	for round := range rounds {
		now = now.Add(cfg.Wait + 1)
		admitted := storm(goroutines, func() bool { return l.acquire(now) })
		if admitted != permitted || m.State() != breakerref.HalfOpen {
			t.Fatalf("round %d: %d were admitted and the breaker is %v, want %d and HALF_OPEN", round, admitted, m.State(), permitted)
		}
		// All fail, so that the next round begins in OPEN as well.
		storm(permitted, func() bool { l.record(now, true); return true })
		if m.State() != breakerref.Open {
			t.Fatalf("round %d: the breaker is %v, want OPEN", round, m.State())
		}
		m.Events()
	}
}

// storm runs f in so many goroutines that start together, and counts those that
// return true.
func storm(n int, f func() bool) (yes int) {
	start, results := make(chan struct{}), make(chan bool)
	for range n {
		go func() {
			<-start
			results <- f()
		}()
	}
	close(start)
	for range n {
		if <-results {
			yes++
		}
	}
	return yes
}

// TestBreakersOfOneServiceAreIndependent opens a writer's breaker and one reader's;
// those of the other readers do not notice.
func TestBreakersOfOneServiceAreIndependent(t *testing.T) {
	now := time.Unix(1_735_689_600, 0)
	cfg := breakerref.Default()
	cfg.Window = 4
	breakers := make([]*breakerref.Machine, 4) // that of the writer first
	for i := range breakers {
		var err error
		if breakers[i], err = breakerref.New(cfg, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range cfg.Window {
		for j, m := range breakers {
			m.Acquire(now)
			m.Record(now, j < 2 || i == 0, 0)
		}
	}
	for j, want := range []breakerref.State{breakerref.Open, breakerref.Open, breakerref.Closed, breakerref.Closed} {
		if got := breakers[j].State(); got != want {
			t.Errorf("breaker %d is %v, want %v", j, got, want)
		}
	}
}
