package breakerref_test

import (
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// drainEvery keeps the list of events short, as a caller would.
const drainEvery = 64

func machine(b *testing.B, kind breakerref.WindowType) (*breakerref.Machine, time.Time) {
	b.Helper()
	cfg := breakerref.Default()
	cfg.WindowType = kind
	now := time.Unix(1_735_689_600, 0)
	m, err := breakerref.New(cfg, now)
	if err != nil {
		b.Fatal(err)
	}
	return m, now
}

func BenchmarkAcquireClosed(b *testing.B) {
	m, now := machine(b, breakerref.CountBased)
	b.ReportAllocs()
	for b.Loop() {
		m.Acquire(now)
	}
}

func BenchmarkAcquireOpen(b *testing.B) {
	m, now := machine(b, breakerref.CountBased)
	if err := m.Transition(now, breakerref.Open); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Acquire(now)
		if i%drainEvery == 0 {
			m.Events()
		}
	}
}

func BenchmarkRecordCount(b *testing.B) { benchmarkRecord(b, breakerref.CountBased) }
func BenchmarkRecordTime(b *testing.B)  { benchmarkRecord(b, breakerref.TimeBased) }

// benchmarkRecord records a success per millisecond and a failure among ten, which
// opens nothing.
func benchmarkRecord(b *testing.B, kind breakerref.WindowType) {
	m, now := machine(b, kind)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Millisecond)
		m.Record(now, i%10 == 9, time.Millisecond)
		if i%drainEvery == 0 {
			m.Events()
		}
	}
	if m.State() != breakerref.Closed {
		b.Fatal("the breaker opened")
	}
}

func BenchmarkClone(b *testing.B) {
	m, now := machine(b, breakerref.CountBased)
	for range 100 {
		m.Record(now, false, 0)
	}
	m.Events()
	b.ReportAllocs()
	for b.Loop() {
		m.Clone()
	}
}
