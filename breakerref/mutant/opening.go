package mutant

import (
	"math"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// Kinds of rules that name defects, as package assert has them.
const (
	opens       = "breaker.opens"
	stays       = "breaker.stays_closed"
	leaks       = "breaker.leak"
	lasts       = "breaker.open_duration"
	probes      = "breaker.half_open_probes"
	reopens     = "breaker.reopens_on_failed_probe"
	closes      = "breaker.closes"
	stuck       = "breaker.never_stuck"
	recovers    = "recovery.time"
	fast        = "short.latency"
	rejections  = "short.share"
	agrees      = "reported_state_agrees"
	agreesCount = "metric.agrees"
	fallbacks   = "fallback.share"
	abandons    = "downstream.abandoned_after"
	shares      = "primary.share"
	rates       = "downstream.rate"
)

// breaker is a mutant of Resilience4j's breaker.
func breaker(name, says string, c Change, caught ...string) Mutant {
	return Mutant{Name: name, Says: says, Part: PartBreaker, Base: Resilience4j, Caught: caught, Breaker: c, Needs: Needs{Library: true}}
}

// numbered is one by its numbers.
func numbered(name, says string, config func(*breakerref.Config), caught ...string) Mutant {
	return breaker(name, says, Change{Config: config}, caught...)
}

// needs adds to what a service must have.
func (m Mutant) needs(add func(*Needs)) Mutant {
	add(&m.Needs)
	return m
}

func ofCalls(n *Needs)  { n.CallWindow = true }
func ofTime(n *Needs)   { n.TimeWindow = true }
func ofProbes(n *Needs) { n.HalfOpen = true }

// anyones is a mutant of any breaker: a model of another one can have it as well.
func (m Mutant) anyones() Mutant {
	m.Needs.Library = false
	return m
}

// opening are the mutants of when a breaker opens.
func opening() []Mutant {
	return []Mutant{
		breaker("no_breaker", "lets every call through, as where self-invocation bypasses the breaker",
			Change{wrong: func(w *wrong) { w.bypassed = true }}, opens).anyones(),
		breaker("never_opens", "hears of no outcome while it is closed", Change{wrong: neverOpens}, opens).anyones(),
		breaker("opens_once", "opens once and then never again", Change{wrong: opensOnce}, opens).anyones(),
		breaker("opens_without_cause", "opens at every 60th outcome, whatever came of them", Change{wrong: opensWithoutCause}, stays),
		numbered("opens_early", "opens one call early: its minimum of calls is one less", func(c *breakerref.Config) {
			c.MinimumCalls = max(1, least(*c)-1)
		}, opens).needs(ofCalls),
		numbered("opens_late", "opens one call late: its minimum of calls is one more", func(c *breakerref.Config) {
			c.MinimumCalls = least(*c) + 1
			c.Window = max(c.Window, c.MinimumCalls)
		}, opens).needs(ofCalls),
		numbered("rate_above", "opens above its failure rate, not at it: > for >=", func(c *breakerref.Config) {
			c.FailureRate = above(c.FailureRate)
		}, opens),
		numbered("rate_too_low", "opens at four fifths of its failure rate", func(c *breakerref.Config) { c.FailureRate *= 0.8 }, stays),
		numbered("rate_too_high", "opens at six fifths of its failure rate", func(c *breakerref.Config) {
			c.FailureRate = min(100, c.FailureRate*1.2)
		}, opens),
		numbered("minimum_ignored", "opens at the first failure: its minimum of calls is ignored", func(c *breakerref.Config) { c.MinimumCalls = 1 }, opens),
		numbered("minimum_is_window", "waits for a full window where fewer calls are enough", func(c *breakerref.Config) { c.MinimumCalls = c.Window }, opens).needs(ofCalls),
		numbered("defaults_instead", "is not found by its name, so that the defaults hold", func(c *breakerref.Config) {
			name := c.Name
			*c = breakerref.Default()
			c.Name = name
		}, opens),
		breaker("success_opens_nothing", "looks at its rate after failures only", Change{wrong: successOpensNothing}, opens),
	}
}

// least is how many calls a closed breaker needs.
func least(c breakerref.Config) int {
	if c.WindowType == breakerref.CountBased {
		return min(c.MinimumCalls, c.Window)
	}
	return c.MinimumCalls
}

func neverOpens(w *wrong) {
	w.outcome = func(time.Time, Permit, *Outcome) bool { return w.State() != breakerref.Closed }
}

func opensOnce(w *wrong) {
	opened := false
	w.moved = func(_ time.Time, _, to breakerref.State) { opened = opened || to == breakerref.Open }
	w.outcome = func(time.Time, Permit, *Outcome) bool { return !opened || w.State() != breakerref.Closed }
}

func opensWithoutCause(w *wrong) {
	const every = 60
	n := 0
	w.outcome = func(now time.Time, _ Permit, _ *Outcome) bool {
		if n++; n%every == 0 && w.State() == breakerref.Closed {
			_ = w.library.Transition(now, breakerref.Open) // It may, from CLOSED.
			return false
		}
		return true
	}
}

func successOpensNothing(w *wrong) {
	w.outcome = func(now time.Time, _ Permit, o *Outcome) bool { return o.Failed || !w.wouldOpen(now, *o) }
}

// above is the next rate above one. At 100 there is none, and what opens at 100 never opens.
func above(rate float32) float32 { return math.Nextafter32(rate, 100) }
