package breakerref_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// A clone and its original go separate ways, also in what has not happened yet:
// timers that Reset left, and events that were not taken.
func TestCloneSharesNothing(t *testing.T) {
	cfg := breakerref.Default()
	cfg.HalfOpenMaxWait = 5 * time.Second
	cfg.Wait = time.Minute
	start := time.Unix(1_735_689_600, 0)
	m, err := breakerref.New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	leaveTimer := func(m *breakerref.Machine, now time.Time) {
		for _, to := range []breakerref.State{breakerref.Open, breakerref.HalfOpen} {
			if err := m.Transition(now, to); err != nil {
				t.Fatal(err)
			}
		}
		m.Reset(now)
	}
	for range 3 { // So that the lists have room behind their ends.
		leaveTimer(m, start)
	}
	c := m.Clone()
	leaveTimer(m, start.Add(time.Second))
	leaveTimer(c, start.Add(2*time.Second))

	for at, m := range map[time.Duration]*breakerref.Machine{time.Second: m, 2 * time.Second: c} {
		events := m.Events()
		if got := events[len(events)-1]; got.Kind != breakerref.EventReset || !got.At.Equal(start.Add(at)) {
			t.Errorf("the last event is %v at %v, want RESET at %v", got, got.At.Sub(start), at)
		}
		if got := len(events); got != 16 {
			t.Errorf("%d events, want 16", got)
		}
		m.Advance(start.Add(30 * time.Second))
		// The last of the timers left behind opens the breaker anew.
		if got, want := m.OpenUntil().Sub(start), at+cfg.HalfOpenMaxWait+cfg.Wait; got != want {
			t.Errorf("open until %v, want %v", got, want)
		}
	}
}

// Instants that carry a monotonic reading are compared by the wall clock, which
// also the windows slide by.
func TestMonotonicReadingIsDropped(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	now, _ := ctx.Deadline()
	if !strings.Contains(now.String(), "m=") {
		t.Fatal("a deadline has no monotonic reading any more")
	}
	m, err := breakerref.New(breakerref.Default(), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Transition(now, breakerref.Open); err != nil {
		t.Fatal(err)
	}
	if got := m.OpenUntil().String(); strings.Contains(got, "m=") {
		t.Errorf("%s has a monotonic reading", got)
	}
}

func TestUnknownStateIsRefused(t *testing.T) {
	m, err := breakerref.New(breakerref.Default(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []breakerref.State{-1, 6} {
		if err := m.Transition(time.Time{}, to); err == nil || m.State() != breakerref.Closed {
			t.Errorf("%v: error %v, now %v", to, err, m.State())
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		breakerref.State(-1).String():      "State(-1)",
		breakerref.HalfOpen.String():       "HALF_OPEN",
		breakerref.TimeBased.String():      "TIME_BASED",
		breakerref.EventFailure.String():   "ERROR",
		breakerref.EventKind(0).String():   "EventKind(0)",
		breakerref.WindowType(-1).String(): "WindowType(-1)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
