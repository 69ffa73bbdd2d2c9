package draft_test

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/experiments/draft"
)

// checkout is a service that is launched and has a fallback.
func checkout(c breakerref.Config) draft.Service {
	return draft.Service{
		Name: "checkout", BaseURL: "http://127.0.0.1:{{sut.port}}", Command: []string{"java", "-jar", "app \"new\".jar"},
		Env: map[string]string{"PAYMENTS_URL": "{{injectors.payments.url}}", "PORT": "{{sut.port}}"}, Ready: "/actuator/health",
		Method: "POST", Path: "/checkout?x=1", Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"order":"{{.ID}}"}`,
		Dependency: "payments", Listen: "127.0.0.1:0", Stub: `{"state":"PAID"}`, Primary: "PAID", Fallback: "QUEUED", Breaker: c,
	}
}

// TestTypicalBreakers writes experiments for breakers as people have them. Write itself
// sees to it that a right service passes and wrong ones fail; here it is asked that nothing
// is left out but what no load can tell.
func TestTypicalBreakers(t *testing.T) {
	for name, c := range map[string]struct {
		with func(*breakerref.Config)
		left []string
	}{
		"as the library has it": {with: func(*breakerref.Config) {}},
		"ten calls":             {with: func(c *breakerref.Config) { c.Window, c.MinimumCalls, c.Wait, c.Permitted = 10, 5, 5*time.Second, 3 }},
		"gobreaker's": {with: func(c *breakerref.Config) {
			c.Window, c.MinimumCalls, c.FailureRate, c.Wait, c.Permitted = 6, 6, 100, time.Minute, 1
		}},
		"over ten seconds": {with: func(c *breakerref.Config) {
			c.WindowType, c.Window, c.MinimumCalls, c.Wait, c.Permitted = breakerref.TimeBased, 10, 20, 10*time.Second, 5
		}},
		"all of ten seconds": {left: []string{"trips"}, with: func(c *breakerref.Config) {
			c.WindowType, c.Window, c.MinimumCalls, c.Wait, c.FailureRate, c.Permitted = breakerref.TimeBased, 10, 10, time.Second, 100, 2
		}},
		"a wait that grows": {with: func(c *breakerref.Config) {
			c.Window, c.MinimumCalls, c.Wait, c.WaitMultiplier, c.WaitMax = 20, 10, time.Second, 2, time.Minute
		}},
		"a wait that is drawn": {with: func(c *breakerref.Config) {
			c.Window, c.MinimumCalls, c.Wait, c.WaitRandom = 20, 20, 2*time.Second, 0.5
		}},
		"slow calls": {with: func(c *breakerref.Config) {
			c.Window, c.MinimumCalls, c.Wait, c.SlowRate, c.SlowDuration = 20, 20, 2*time.Second, 50, 500*time.Millisecond
		}},
		"half-open for a time": {with: func(c *breakerref.Config) {
			c.Window, c.MinimumCalls, c.Wait, c.HalfOpenMaxWait = 20, 20, time.Second, time.Second
		}},
		"decides before all probes are answered": {
			left: []string{"reopens"},
			with: func(c *breakerref.Config) { c.Window, c.MinimumCalls, c.Wait, c.Permitted = 10, 3, time.Second, 6 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := breakerref.Default()
			c.with(&cfg)
			out, err := draft.Write(checkout(cfg))
			if err != nil {
				t.Fatalf("%v\n%s", err, out.Source)
			}
			left := []string(nil)
			for _, a := range out.Left {
				left = append(left, a.ID)
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left out: %v, wanted %v\n%s", left, c.left, out.Source)
			}
			if ids := len(out.Forecast.Assertions); ids < 8 {
				t.Errorf("%d assertions\n%s", ids, out.Source)
			}
		})
	}
}

// TestEveryBreakerHasADraft does so for random breakers, some of them odd, of which little
// may be left out.
func TestEveryBreakerHasADraft(t *testing.T) {
	if os.Getenv("FAULTLINE_DEEP") == "" {
		t.Skip("takes a minute; FAULTLINE_DEEP=1 runs it")
	}
	left, written := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		c := breakerref.Default()
		if rapid.Bool().Draw(t, "time") {
			c.WindowType = breakerref.TimeBased
		}
		c.Window = rapid.IntRange(5, 120).Draw(t, "window")
		c.MinimumCalls = rapid.IntRange(2, min(100, 10*c.Window)).Draw(t, "minimum")
		c.Permitted = rapid.IntRange(1, 20).Draw(t, "permitted")
		c.FailureRate = float32(rapid.IntRange(1, 100).Draw(t, "rate"))
		c.Wait = time.Duration(rapid.IntRange(1_000, 20_000).Draw(t, "wait")) * time.Millisecond
		switch rapid.IntRange(0, 3).Draw(t, "growth") {
		case 0:
			c.WaitMultiplier = float64(rapid.IntRange(10, 30).Draw(t, "factor")) / 10
			c.WaitMax = time.Duration(rapid.IntRange(0, 2).Draw(t, "max")) * c.Wait
		case 1:
			c.WaitRandom = float64(rapid.IntRange(1, 50).Draw(t, "jitter")) / 100
		}
		if rapid.Bool().Draw(t, "slow") {
			c.SlowDuration = time.Duration(rapid.IntRange(300, 5000).Draw(t, "over")) * time.Millisecond
			c.SlowRate = float32(rapid.IntRange(1, 100).Draw(t, "share"))
		}
		if c.Validate() != nil {
			t.Skip("no such breaker")
		}
		out, err := draft.Write(checkout(c))
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Source)
		}
		written++
		for _, a := range out.Left {
			left[a.ID]++
		}
	})
	for id, n := range left {
		if n > int(math.Ceil(float64(written)/5)) {
			t.Errorf("%s is left out of %d of %d", id, n, written)
		}
	}
	t.Logf("%d written, left out: %v", written, left)
}
