package mutant

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/target/match"
)

// counting are the mutants of what a breaker counts, and for how long.
func counting() []Mutant {
	return slices.Concat(windows(), outcomes(), slowness())
}

// windows are those of the window.
func windows() []Mutant {
	return []Mutant{
		numbered("window_never_slides", "forgets nothing, where its window is of time", func(c *breakerref.Config) {
			c.WindowType, c.Window = breakerref.CountBased, endless
		}, stays).needs(ofTime),
		numbered("calls_never_leave", "forgets nothing, where its window is of calls", func(c *breakerref.Config) {
			c.MinimumCalls, c.Window = least(*c), endless
		}, opens).needs(ofCalls),
		numbered("window_in_minutes", "takes the seconds of its window for minutes", func(c *breakerref.Config) { c.Window *= 60 }, stays).needs(ofTime),
		numbered("window_of_calls", "takes the seconds of its window for calls", func(c *breakerref.Config) {
			c.WindowType, c.Window = breakerref.CountBased, max(c.Window, c.MinimumCalls)
		}, stays).needs(ofTime),
		breaker("window_kept", "keeps its window when it closes, with the failures in it", Change{wrong: windowKept}, closes, stays).needs(ofCalls),
		breaker("success_clears_window", "counts failures in a row: a success empties its window", Change{wrong: successClears}, opens),
	}
}

// endless is the size of a window that nothing leaves.
const endless = 100_000

// windowKept fills the new window with what was in the old one, as far as that does not open
// it at once.
func windowKept(w *wrong) {
	var kept []Outcome
	w.outcome = func(_ time.Time, _ Permit, o *Outcome) bool {
		if w.State() == breakerref.Closed {
			kept = append(kept, *o)
			kept = kept[max(0, len(kept)-w.cfg.Window):]
		}
		return true
	}
	w.moved = func(now time.Time, _, to breakerref.State) {
		if to != breakerref.Closed {
			return
		}
		for _, o := range kept {
			if !w.wouldOpen(now, o) {
				w.library.Record(now, o.Failed, o.Took)
			}
		}
	}
}

func successClears(w *wrong) {
	w.outcome = func(now time.Time, _ Permit, o *Outcome) bool {
		if o.Failed || w.State() != breakerref.Closed {
			return true
		}
		_ = w.library.Transition(now, breakerref.Closed) // It may, from CLOSED.
		return false
	}
}

// outcomes are those of what counts.
func outcomes() []Mutant {
	counts := func(name, says string, failure func(*match.Failure), caught ...string) Mutant {
		return breaker(name, says, Change{Failure: failure}, caught...).anyones()
	}
	return []Mutant{
		breaker("successes_uncounted", "leaves successes out of its rate", Change{wrong: successesUncounted}, stays),
		breaker("counted_twice", "counts every outcome twice, as where it is applied twice", Change{wrong: countedTwice}, opens),
		breaker("rejections_counted", "counts what it rejects as failed probes", Change{wrong: rejectionsCounted}, closes).needs(ofProbes),
		counts("4xx_counted", "counts answers of 4xx as failures", func(f *match.Failure) { f.Classes = append(slices.Clone(f.Classes), 4) }, stays),
		counts("ignored_counted", "counts every 5xx as a failure, where some are ignored", func(f *match.Failure) { f.Classes = append(slices.Clone(f.Classes), 5) }, stays),
		counts("5xx_uncounted", "takes every answer for a success, a 5xx too", func(f *match.Failure) { f.Classes, f.Statuses = nil, nil }, opens),
		counts("resets_uncounted", "takes a reset connection for a success", func(f *match.Failure) { f.Reset, f.EOF = false, false }, opens),
		counts("timeouts_uncounted", "takes a call that it gave up for a success", func(f *match.Failure) { f.Abandon = false }, opens),
	}
}

func successesUncounted(w *wrong) {
	w.outcome = func(_ time.Time, _ Permit, o *Outcome) bool { return o.Failed || w.State() != breakerref.Closed }
}

func countedTwice(w *wrong) {
	w.outcome = func(now time.Time, _ Permit, o *Outcome) bool {
		if w.State() == breakerref.Closed {
			w.library.Record(now, o.Failed, o.Took)
		}
		return true
	}
}

func rejectionsCounted(w *wrong) {
	w.refused = func(now time.Time, state breakerref.State) bool {
		if state == breakerref.HalfOpen {
			w.library.Record(now, true, 0)
		}
		return false
	}
}

// slowness are those of slow calls.
func slowness() []Mutant {
	return []Mutant{
		numbered("slow_ignored", "does not look at how long calls take", func(c *breakerref.Config) { c.SlowDuration = 1000 * time.Hour }, opens),
		numbered("slow_tenfold", "takes ten times its limit for slow: a wrong unit", func(c *breakerref.Config) { c.SlowDuration *= 10 }, opens),
		breaker("slow_if_failed", "counts slow calls only where they failed", Change{wrong: slowIfFailed}, opens),
		numbered("slow_rate_above", "opens above its rate of slow calls, not at it: > for >=", func(c *breakerref.Config) { c.SlowRate = above(c.SlowRate) }, opens),
	}
}

func slowIfFailed(w *wrong) {
	w.outcome = func(_ time.Time, _ Permit, o *Outcome) bool {
		if !o.Failed {
			o.Took = 0
		}
		return true
	}
}
