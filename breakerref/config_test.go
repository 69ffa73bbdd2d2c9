package breakerref_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
)

func TestDefault(t *testing.T) {
	want := breakerref.Config{
		WindowType: breakerref.CountBased, Window: 100, MinimumCalls: 100,
		FailureRate: 50, SlowRate: 100, SlowDuration: 60 * time.Second,
		Wait: 60 * time.Second, Permitted: 10, Initial: breakerref.Closed,
	}
	if diff := cmp.Diff(want, breakerref.Default()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if err := breakerref.Default().Validate(); err != nil {
		t.Errorf("the default does not validate: %v", err)
	}
}

func TestValidate(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name string
		edit func(*breakerref.Config)
		want string // Empty: valid.
	}{
		{"type", func(c *breakerref.Config) { c.WindowType = 2 }, "slidingWindowType is WindowType(2), must be COUNT_BASED or TIME_BASED"},
		{"no window", func(c *breakerref.Config) { c.Window = 0 }, "slidingWindowSize is 0, must be from 1 to 2147483647"},
		{"vast window", func(c *breakerref.Config) { c.Window = math.MaxInt32 + 1 }, "slidingWindowSize is 2147483648, must be from 1 to 2147483647"},
		{"smallest window", func(c *breakerref.Config) { c.Window = 1 }, ""},
		{"no minimum", func(c *breakerref.Config) { c.MinimumCalls = -1 }, "minimumNumberOfCalls is -1, must be from 1 to 2147483647"},
		{"minimum above window", func(c *breakerref.Config) { c.MinimumCalls = 101 }, ""},
		{"no failures", func(c *breakerref.Config) { c.FailureRate = 0 }, "failureRateThreshold is 0, must be above 0 and at most 100 (percent)"},
		{"few failures", func(c *breakerref.Config) { c.FailureRate = 0.001 }, ""},
		{"all failures", func(c *breakerref.Config) { c.FailureRate = 100 }, ""},
		{"more than all", func(c *breakerref.Config) { c.FailureRate = 101 }, "failureRateThreshold is 101, must be above 0 and at most 100 (percent)"},
		{"not a number", func(c *breakerref.Config) { c.FailureRate = nan }, "failureRateThreshold is NaN, must be above 0 and at most 100 (percent)"},
		{"slow rate", func(c *breakerref.Config) { c.SlowRate = 100.5 }, "slowCallRateThreshold is 100.5, must be above 0 and at most 100 (percent)"},
		{"slow duration", func(c *breakerref.Config) { c.SlowDuration = 0 }, "slowCallDurationThreshold is 0s, must be at least 1ns"},
		{"wait below 1 ms", func(c *breakerref.Config) { c.Wait = 999 * time.Microsecond }, "waitDurationInOpenState is 999µs, must be at least 1ms"},
		{"multiplier", func(c *breakerref.Config) { c.WaitMultiplier = -1 }, "exponentialBackoffMultiplier is -1, must be above 0, or 0 for a wait that does not grow"},
		{"infinite multiplier", func(c *breakerref.Config) { c.WaitMultiplier = math.Inf(1) }, "exponentialBackoffMultiplier is +Inf, must be above 0, or 0 for a wait that does not grow"},
		{"limit below 1 ms", func(c *breakerref.Config) { c.WaitMultiplier, c.WaitMax = 2, 1 }, "exponentialMaxWaitDurationInOpenState is 1ns, must be at least 1ms, or 0 for no limit"},
		{"limit of nothing", func(c *breakerref.Config) { c.WaitMax = time.Second }, "exponentialMaxWaitDurationInOpenState is 1s, must be 0 unless exponentialBackoffMultiplier is set"},
		{"permitted", func(c *breakerref.Config) { c.Permitted = 0 }, "permittedNumberOfCallsInHalfOpenState is 0, must be from 1 to 2147483647"},
		{"half-open wait", func(c *breakerref.Config) { c.HalfOpenMaxWait = -time.Millisecond }, "maxWaitDurationInHalfOpenState is -1ms, must be at least 0s"},
		{"initial", func(c *breakerref.Config) { c.Initial = 6 }, "initialState is State(6), must be CLOSED, OPEN, HALF_OPEN, DISABLED, METRICS_ONLY or FORCED_OPEN"},
		{"two at once", func(c *breakerref.Config) { c.Window, c.Wait = 0, 0 }, "slidingWindowSize is 0, must be from 1 to 2147483647\nwaitDurationInOpenState is 0s, must be at least 1ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := breakerref.Default()
			c.Name = "payments"
			tt.edit(&c)
			got := message(c.Validate())
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			_, err := breakerref.New(c, time.Time{})
			if (err != nil) != (tt.want != "") {
				t.Errorf("New: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), `"payments"`) {
				t.Errorf("New does not name the breaker: %v", err)
			}
		})
	}
}

func TestZeroConfigIsNotValid(t *testing.T) {
	if n := strings.Count(message(breakerref.Config{}.Validate()), "\n") + 1; n != 7 {
		t.Errorf("%d problems, want 7", n)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A wait that grows without limit stays a wait.
func TestWaitStopsAtLongestDuration(t *testing.T) {
	c := breakerref.Default()
	c.WaitMultiplier = 1e6
	now := time.Unix(0, 0)
	m, err := breakerref.New(c, now)
	if err != nil {
		t.Fatal(err)
	}
	before := now
	for range 10 {
		if err := m.Transition(now, breakerref.Open); err != nil {
			t.Fatal(err)
		}
		if m.OpenUntil().Before(before) {
			t.Fatalf("the wait shrank from %v to %v", before, m.OpenUntil())
		}
		before = m.OpenUntil()
	}
	if years := before.Sub(now).Hours() / 24 / 365.25; years < 292 {
		t.Errorf("the wait ended after %.0f years", years)
	}
}

func FuzzConfigValidate(f *testing.F) {
	f.Add(0, 100, 100, float32(50), float32(100), int64(time.Minute), int64(time.Minute), 0.0, int64(0), false, 10, int64(0), false, 0)
	f.Add(1, 1, 1, float32(0.001), float32(33.333332), int64(1), int64(time.Millisecond), 1.5, int64(time.Second), true, 1, int64(time.Millisecond), true, 1)
	f.Add(2, 0, -1, float32(math.NaN()), float32(101), int64(0), int64(-1), math.NaN(), int64(-1), true, 0, int64(-1), true, 6)
	f.Add(1, math.MaxInt32, math.MaxInt32, float32(100), float32(100), int64(math.MaxInt64), int64(math.MaxInt64), 1e300, int64(math.MaxInt64), true, math.MaxInt32, int64(math.MaxInt64), false, 2)
	f.Fuzz(func(t *testing.T, kind, window, minimum int, failure, slow float32, slowAfter, wait int64,
		growth float64, waitMax int64, auto bool, permitted int, halfOpenMax int64, closes bool, initial int,
	) {
		c := breakerref.Config{
			WindowType: breakerref.WindowType(kind), Window: window, MinimumCalls: minimum,
			FailureRate: failure, SlowRate: slow, SlowDuration: time.Duration(slowAfter),
			Wait: time.Duration(wait), WaitMultiplier: growth, WaitMax: time.Duration(waitMax), AutoHalfOpen: auto,
			Permitted: permitted, HalfOpenMaxWait: time.Duration(halfOpenMax), HalfOpenMaxWaitCloses: closes,
			Initial: breakerref.State(initial),
		}
		now := time.Unix(1_735_689_600, 0)
		m, err := breakerref.New(c, now)
		if invalid := c.Validate(); (invalid != nil) != (err != nil) {
			t.Fatalf("Validate says %v, New says %v", invalid, err)
		}
		if err == nil {
			exercise(t, m, now)
		}
	})
}

// exercise makes a few calls and holds what must hold for every configuration.
func exercise(t *testing.T, m *breakerref.Machine, now time.Time) {
	for i := range 40 {
		now = now.Add(time.Duration(i%5) * 7 * time.Millisecond)
		if m.Acquire(now) {
			m.Record(now, i%3 != 0, time.Duration(i)*time.Millisecond)
		}
		got := m.Metrics(now)
		for _, r := range []float32{got.FailureRate, got.SlowRate} {
			if r != -1 && !(r >= 0 && r <= 100) {
				t.Fatalf("rate %v", r)
			}
		}
		if got.Failed > got.Buffered || got.Slow > got.Buffered || got.SlowFailed > min(got.Failed, got.Slow) {
			t.Fatalf("counts %+v", got)
		}
		if (m.State() == breakerref.Open) == m.OpenUntil().IsZero() {
			t.Fatalf("%v until %v", m.State(), m.OpenUntil())
		}
	}
}
