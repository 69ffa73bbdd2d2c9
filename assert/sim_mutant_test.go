package assert_test

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// mutant is a defect: how to make a breaker that has it, and the rules that name
// it, which must never pass.
type mutant struct {
	name  string
	make  func(breakerref.Config, time.Time) breaker
	rules []string
	fits  func(setup) bool // nil: always
	with  func(*setup)     // a defect outside the breaker; nil: none
}

// change is a defect of the configuration.
func change(name string, f func(*breakerref.Config), rules ...string) mutant {
	return mutant{name: name, rules: rules, make: func(c breakerref.Config, now time.Time) breaker {
		f(&c)
		return reference(c, now)
	}}
}

// leaky lets every k-th rejected call through.
func leaky(name string, k int) mutant {
	return mutant{name: name, rules: []string{"no leak", "while open"}, make: func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), leak: k}
	}}
}

// lies records outcomes in a state as something else.
func lies(name string, in breakerref.State, failed bool, rules ...string) mutant {
	return mutant{name: name, rules: rules, make: func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), lie: true, in: in, failed: failed}
	}}
}

// deaf swallows the outcomes of probes, so that half-open never ends.
func deaf() mutant {
	return mutant{name: "half-open for ever", rules: []string{"closes", "closes after"}, make: func(c breakerref.Config, now time.Time) breaker {
		return &defective{Machine: reference(c, now), deaf: true}
	}}
}

// outside is a defect of the service around its breaker.
func outside(name string, with func(*setup), rules ...string) mutant {
	return mutant{name: name, rules: rules, with: with, make: func(c breakerref.Config, now time.Time) breaker { return reference(c, now) }}
}

// services are defects that the new rules name.
func services() []mutant {
	forbidden := outside("falls back where it must not", func(s *setup) { s.FallsBack = true }, "forbidden")
	forbidden.fits = func(s setup) bool { return s.Pay > 0 && !s.NoFallback }
	return []mutant{
		forbidden,
		outside("has no timeout", func(s *setup) { s.SUTTimeout = 0 }, "gives up", "gives up max"),
		outside("has a timeout that is too long", func(s *setup) { s.SUTTimeout *= 2 }, "gives up", "gives up max"),
		outside("has a timeout that is too short", func(s *setup) { s.SUTTimeout /= 2 }, "gives up"),
		outside("has no fallback", func(s *setup) { s.NoFallback = true }, "errors"),
	}
}

// defects are all mutants.
func defects() []mutant {
	few := change("permits ten", func(c *breakerref.Config) { c.Permitted = 10 }, "probes", "probes max")
	few.fits = func(s setup) bool { return s.Breaker.Permitted < 10 }
	less := change("permits one less", func(c *breakerref.Config) { c.Permitted-- }, "probes")
	less.fits = func(s setup) bool { return s.Breaker.Permitted > 1 }
	early := change("opens one early", func(c *breakerref.Config) {
		c.MinimumCalls = min(c.MinimumCalls, c.Window) - 1
	}, "opens")
	early.fits = func(s setup) bool {
		return min(s.Breaker.MinimumCalls, s.Breaker.Window) > 1 && s.Breaker.WindowType == breakerref.CountBased
	}
	return []mutant{
		few,
		change("permits one more", func(c *breakerref.Config) { c.Permitted++ }, "probes", "probes max"),
		less,
		change("default window", func(c *breakerref.Config) {
			c.WindowType, c.Window, c.MinimumCalls = breakerref.CountBased, 100, 100
		}, "opens"),
		early,
		change("opens one late", func(c *breakerref.Config) {
			c.MinimumCalls = min(c.MinimumCalls, c.Window) + 1
			c.Window = max(c.Window, c.MinimumCalls)
		}, "opens"),
		change("opens at a lower rate", func(c *breakerref.Config) { c.FailureRate *= 0.8 }, "stays"),
		change("waits twice as long", func(c *breakerref.Config) { c.Wait *= 2 }, "waits"),
		change("waits half as long", func(c *breakerref.Config) { c.Wait /= 2 }, "waits"),
		change("waits a fifth longer", func(c *breakerref.Config) { c.Wait += c.Wait / 5 }, "waits"),
		change("never half-opens", func(c *breakerref.Config) { c.Wait, c.WaitMax = 1000*time.Hour, 0 }, "not stuck", "waits", "closes", "closes after", "recovers"),
		lies("never opens", breakerref.Closed, false, "opens", "opens within", "opens some time"),
		lies("closes after failed probes", breakerref.HalfOpen, false, "reopens"),
		lies("never closes", breakerref.HalfOpen, true, "closes", "closes after"),
		deaf(),
		leaky("leaks every second", 2), leaky("leaks every third", 3), leaky("leaks every tenth", 10), leaky("leaks every hundredth", 100),
	}
}

// defective is the reference with a defect.
type defective struct {
	*breakerref.Machine
	leak, rejected int
	lie            bool
	in             breakerref.State
	failed         bool
	deaf           bool
	leaked         []time.Time
}

// Acquire implements breaker.
func (d *defective) Acquire(now time.Time) bool {
	if d.Machine.Acquire(now) {
		return true
	}
	d.rejected++
	if d.leak == 0 || d.rejected%d.leak != 0 {
		return false
	}
	if d.State() == breakerref.Open {
		d.leaked = append(d.leaked, now)
	}
	return true
}

// Record implements breaker.
func (d *defective) Record(now time.Time, failed bool, took time.Duration) {
	switch state := d.State(); {
	case d.deaf && state == breakerref.HalfOpen:
	case d.lie && state == d.in:
		d.Machine.Record(now, d.failed, ms)
	default:
		d.Machine.Record(now, failed, took)
	}
}
