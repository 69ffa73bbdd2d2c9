package lint

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// halfOpenRules are about how a breaker finds out that it may close.
func halfOpenRules() []Rule {
	return []Rule{permittedUnset(), decidesEarly(), halfOpenWaitUnset(), neverDecides(), targetWithoutWait(), lazyHalfOpen()}
}

const (
	halfOpenWaitKey = "maxWaitDurationInHalfOpenState"
	targetKey       = "transitionToStateAfterWaitDuration"
	automaticKey    = "automaticTransitionFromOpenToHalfOpenEnabled"
)

func permittedUnset() Rule {
	return Rule{
		ID: "permitted-calls-unset", Severity: Note, Whole: true,
		Title:  "Ten probes, because nobody said how many",
		Why:    "permittedNumberOfCallsInHalfOpenState is 10 where it is not set. That many calls go to a dependency that was down a moment ago, and all of them must have ended before the breaker decides. Many expect one.",
		Source: "resilience4j#343, #528",
		Fix:    "set permittedNumberOfCallsInHalfOpenState, as 3",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.unset(permitKey) {
					c.findIn(s, s.at(), "permittedNumberOfCallsInHalfOpenState is not set: up to 10 probes")
				}
			}
		},
	}
}

func decidesEarly() Rule {
	return Rule{
		ID: "half-open-decides-early", Severity: Note,
		Title:  "A breaker that decides before its probes are back",
		Why:    "Half open, the breaker decides when the smaller of minimumNumberOfCalls and permittedNumberOfCallsInHalfOpenState has ended. Probes that are still out then count in the state that follows, after closing against a window that is empty.",
		Source: "resilience4j#1351 (right), #1869 (wrong), #736, #2172",
		Fix:    "set permittedNumberOfCallsInHalfOpenState to at most minimumNumberOfCalls",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if !s.set(minimumKey) || !s.set(permitKey) || s.num(minimumKey) >= s.num(permitKey) {
					continue
				}
				c.findIn(s, s.pos(permitKey), fmt.Sprintf("of %g probes it decides after %g, because that is minimumNumberOfCalls", s.num(permitKey), s.num(minimumKey)))
			}
		},
	}
}

func halfOpenWaitUnset() Rule {
	return Rule{
		ID: "half-open-wait-unset", Severity: Warning, Whole: true,
		Title:  "A probe that never ends keeps the breaker half open",
		Why:    "maxWaitDurationInHalfOpenState is off where it is not set. If the probes hang, because the client has no timeout, no call is let through any more until the application is started again. A time limiter of the same name, or --client-timeout, settles it.",
		Source: "resilience4j#903, #935, #1389, #568",
		Fix:    "set maxWaitDurationInHalfOpenState, as 30s, and give the client a timeout",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if _, limited := c.beside(s, resilience4j.TimeLimiter); limited || c.opt.ClientTimeout > 0 {
					continue
				}
				if s.sure(halfOpenWaitKey) && s.dur(halfOpenWaitKey) == 0 {
					c.findIn(s, s.where(halfOpenWaitKey), "maxWaitDurationInHalfOpenState is off: probes that hang keep it half open for ever")
				}
			}
		},
	}
}

func neverDecides() Rule {
	return Rule{
		ID: "half-open-never-decides", Severity: Warning,
		Title:  "A breaker that has no time to close",
		Why:    "When maxWaitDurationInHalfOpenState is over before enough probes have come, the breaker opens again, however well the dependency is. Then it waits again, and so on.",
		Source: "resilience4j#1568, #1533",
		Fix:    "lower permittedNumberOfCallsInHalfOpenState, or raise maxWaitDurationInHalfOpenState",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if c.opt.Rate <= 0 || !s.set(halfOpenWaitKey) || s.dur(halfOpenWaitKey) == 0 || !s.sure(minimumKey, permitKey, targetKey) || s.text(targetKey) == "CLOSED" {
					continue
				}
				if c.partial && (s.unset(minimumKey) || s.unset(permitKey)) {
					continue
				}
				// The first probe begins the state, the others come at the rate.
				needed := min(s.num(minimumKey), s.num(permitKey))
				takes := time.Duration((needed - 1) / c.opt.Rate * float64(time.Second))
				if takes <= s.dur(halfOpenWaitKey) {
					continue
				}
				c.findIn(s, s.pos(halfOpenWaitKey), fmt.Sprintf("at %g calls a second %g probes take %s, and maxWaitDurationInHalfOpenState is %s",
					c.opt.Rate, needed, short(takes.Round(100*time.Millisecond)), s.text(halfOpenWaitKey)))
			}
		},
	}
}

func targetWithoutWait() Rule {
	return Rule{
		ID: "target-state-without-wait", Severity: Warning, Whole: true,
		Title:  "A state to go to, after no time",
		Why:    "transitionToStateAfterWaitDuration says where the breaker goes when maxWaitDurationInHalfOpenState is over. As long as that is off it does nothing.",
		Source: "the library's circuit breaker, 2.4.0",
		Fix:    "set maxWaitDurationInHalfOpenState, or remove transitionToStateAfterWaitDuration",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.set(targetKey) && s.sure(halfOpenWaitKey) && s.dur(halfOpenWaitKey) == 0 {
					c.findIn(s, s.pos(targetKey), "transitionToStateAfterWaitDuration does nothing, because maxWaitDurationInHalfOpenState is off")
				}
			}
		},
	}
}

func lazyHalfOpen() Rule {
	return Rule{
		ID: "lazy-half-open", Severity: Note,
		Title:  "A health indicator that stays open while nobody calls",
		Why:    "Without automaticTransitionFromOpenToHalfOpenEnabled the breaker leaves the open state when a call comes, not when the wait is over. A service that is taken out of the load balancer because it is open gets none.",
		Source: "resilience4j#2167, #279, #1012",
		Fix:    "set automaticTransitionFromOpenToHalfOpenEnabled: true, or do not route by this indicator",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if c.partial && s.unset(automaticKey) || !s.sure(automaticKey) || s.on(automaticKey) {
					continue
				}
				if s.set("registerHealthIndicator") && s.on("registerHealthIndicator") {
					c.findIn(s, s.pos("registerHealthIndicator"), "its health is shown, and stays open after the wait until a call comes")
				}
			}
		},
	}
}
