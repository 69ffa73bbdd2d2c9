package mutant

import (
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// waiting are the mutants of how long a breaker is open.
func waiting() []Mutant {
	wait := func(by func(time.Duration) time.Duration) func(*breakerref.Config) {
		return func(c *breakerref.Config) {
			c.Wait = by(c.Wait)
			if c.WaitMax > 0 {
				c.WaitMax = by(c.WaitMax)
			}
		}
	}
	return []Mutant{
		numbered("wait_doubled", "stays open for twice its wait", wait(func(d time.Duration) time.Duration { return 2 * d }), lasts),
		numbered("wait_halved", "stays open for half of its wait", wait(func(d time.Duration) time.Duration {
			return max(time.Millisecond, (d / 2).Truncate(time.Millisecond))
		}), lasts),
		numbered("wait_in_seconds", "rounds its wait up to whole seconds", wait(func(d time.Duration) time.Duration {
			return (d + time.Second - 1).Truncate(time.Second)
		}), lasts),
		numbered("wait_grows", "waits twice as long each time that probes fail, where its wait is constant", func(c *breakerref.Config) { c.WaitMultiplier = 2 }, lasts),
		numbered("wait_random", "waits for up to half more or less than it should", func(c *breakerref.Config) { c.WaitRandom = 0.5 }, lasts),
		breaker("wait_not_reset", "waits longer at each opening, also after it has closed", Change{wrong: waitNotReset}, lasts),
		breaker("wait_from_last_failure", "begins its wait anew with each failure that comes late", Change{wrong: waitFromLast}, lasts),
		breaker("reopens_for_less", "waits for a quarter of its wait when probes have failed", Change{wrong: reopensForLess}, lasts),
		numbered("never_half_opens", "stays open for ever", wait(func(time.Duration) time.Duration { return 1000 * time.Hour }), stuck),
	}
}

// waitNotReset waits for half of the wait more at each opening.
func waitNotReset(w *wrong) {
	openings := 0
	w.moved = func(now time.Time, _, to breakerref.State) {
		if to != breakerref.Open {
			return
		}
		_ = w.library.OpenFor(now, w.cfg.Wait+time.Duration(openings)*w.cfg.Wait/2) // It may, in OPEN.
		openings++
	}
}

func waitFromLast(w *wrong) {
	w.outcome = func(now time.Time, _ Permit, o *Outcome) bool {
		if o.Failed && w.State() == breakerref.Open {
			_ = w.library.OpenFor(now, w.cfg.Wait) // It may, in OPEN.
		}
		return true
	}
}

func reopensForLess(w *wrong) {
	w.moved = func(now time.Time, from, to breakerref.State) {
		if from == breakerref.HalfOpen && to == breakerref.Open {
			_ = w.library.OpenFor(now, w.cfg.Wait/4) // It may, in OPEN.
		}
	}
}
