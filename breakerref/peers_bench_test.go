package breakerref_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/faultline-go/faultline/breakerref"
)

// A subject is a breaker behind one function: a call that succeeds.
type subject struct {
	name string
	call func()
}

// subjects are this machine, wrapped in a lock and told the time, and two breakers in
// wide use, all with 50 % of 100 calls. Of the two, gobreaker reads the clock itself in
// every call, failsafe-go does not while it is closed and counts calls.
func subjects(tb testing.TB) []subject {
	tb.Helper()
	cfg := breakerref.Default()
	cfg.TransitionsOnly = true // as the others do
	m, err := breakerref.New(cfg, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	ours, now := &locked{m: m}, time.Now()
	sony := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 100 && 2*c.TotalFailures >= c.Requests },
	})
	failsafe := circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(50, 100).Build()
	return []subject{
		{"faultline", func() {
			ours.acquire(now)
			ours.record(now, false)
		}},
		{"gobreaker", func() { _, _ = sony.Execute(func() (any, error) { return nil, nil }) }}, //nolint:nilnil // a call without a result
		{"failsafe", func() {
			if failsafe.TryAcquirePermit() {
				failsafe.RecordSuccess()
			}
		}},
	}
}

// BenchmarkPeers compares what a call costs, the three by turns in every round:
//
//	go test -run='^$' -bench=Peers -benchtime=40x ./breakerref
func BenchmarkPeers(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(map[int]string{1: "single", 64: "64goroutines"}[goroutines], func(b *testing.B) {
			const calls = 200_000
			s := subjects(b)
			cost := make([][]float64, len(s))
			for round := 0; b.Loop(); round++ {
				for k := range s {
					i := (k + round) % len(s)
					cost[i] = append(cost[i], float64(timed(goroutines, calls, s[i].call).Nanoseconds())/calls)
				}
			}
			best := min(middle(cost[1]), middle(cost[2]))
			for i := range s {
				b.ReportMetric(middle(cost[i]), s[i].name+"-ns/call")
			}
			b.ReportMetric(middle(cost[0])/best, "ratio")
			b.ReportMetric(0, "ns/op") // An iteration is a round.
		})
	}
}

// timed makes so many calls from so many goroutines and returns how long it took.
func timed(goroutines, calls int, call func()) time.Duration {
	var all sync.WaitGroup
	began := time.Now()
	for range goroutines {
		all.Go(func() {
			for range calls / goroutines {
				call()
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

func middle(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[len(sorted)/2]
}

// TestCallsAllocateNothing counts allocations of calls in CLOSED, with windows of every
// kind that have been filled.
func TestCallsAllocateNothing(t *testing.T) {
	for _, kind := range []breakerref.WindowType{breakerref.CountBased, breakerref.TimeBased} {
		for _, lockFree := range []bool{false, true} {
			cfg := breakerref.Default()
			cfg.WindowType, cfg.LockFree = kind, lockFree
			now := time.Unix(1_735_689_600, 0)
			m, err := breakerref.New(cfg, now)
			if err != nil {
				t.Fatal(err)
			}
			events := make([]breakerref.Event, 0, 8)
			call := func() {
				m.Acquire(now)
				m.Record(now, false, 0)
				events = m.AppendEvents(events[:0])
			}
			for range 1000 {
				call()
			}
			if got := testing.AllocsPerRun(1000, call); got != 0 {
				t.Errorf("%v, lock-free %v: %v allocations in a call", kind, lockFree, got)
			}
		}
	}
}

// BenchmarkRecordMillion records into a window of a million calls that is full.
func BenchmarkRecordMillion(b *testing.B) {
	cfg := breakerref.Default()
	cfg.Window = 1_000_000
	now := time.Unix(1_735_689_600, 0)
	m, err := breakerref.New(cfg, now)
	if err != nil {
		b.Fatal(err)
	}
	events := make([]breakerref.Event, 0, 8)
	for range cfg.Window {
		m.Record(now, false, 0)
		events = m.AppendEvents(events[:0])
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Record(now, false, 0)
		events = m.AppendEvents(events[:0])
	}
}
