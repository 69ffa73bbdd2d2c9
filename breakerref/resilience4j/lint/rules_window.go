package lint

import (
	"fmt"
	"math"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// windowRules are about when a breaker may open.
func windowRules() []Rule {
	return []Rule{
		minimumUnset(), minimumByWindow(), minimumAboveWindow(), minimumNeverReached(), windowNeedsTraffic(), singleFailure(), threshold100(), initialState(),
	}
}

const (
	minimumKey = "minimumNumberOfCalls"
	sizeKey    = "slidingWindowSize"
	typeKey    = "slidingWindowType"
	failureKey = "failureRateThreshold"
	permitKey  = "permittedNumberOfCallsInHalfOpenState"
)

// timeBased reports whether the window is one of seconds.
func (s *subject) timeBased() bool { return s.text(typeKey) == "TIME_BASED" }

// minimum is how many calls the breaker really waits for: a window of calls cannot hold
// more than its size.
func (s *subject) minimum() float64 {
	if s.timeBased() {
		return s.num(minimumKey)
	}
	return min(s.num(minimumKey), s.num(sizeKey))
}

func minimumUnset() Rule {
	return Rule{
		ID: "minimum-calls-unset", Severity: Warning, Whole: true,
		Title:  "A breaker that looks at nothing before the 100th call",
		Why:    "minimumNumberOfCalls is 100 where it is not set: until 100 calls are in the window the failure rate is not computed, so a service with little traffic may fail for minutes. Many expect 10.",
		Source: "resilience4j#966, #2143",
		Fix:    "set minimumNumberOfCalls to what the traffic reaches within a few seconds, as 10 or 20",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.unset(minimumKey) && s.sure(sizeKey, typeKey) && s.minimum() >= 100 {
					c.findIn(s, s.at(), "minimumNumberOfCalls is not set, so it cannot open before 100 calls")
				}
			}
		},
	}
}

func minimumByWindow() Rule {
	return Rule{
		ID: "minimum-calls-by-window", Severity: Note, Whole: true,
		Title:  "A breaker that waits until its window is full",
		Why:    "minimumNumberOfCalls is 100 where it is not set, and a window of calls cuts it down to its size: the size decides when the breaker may open.",
		Source: "resilience4j#1349",
		Fix:    "set minimumNumberOfCalls",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.unset(minimumKey) && s.sure(sizeKey, typeKey) && s.minimum() < 100 {
					c.findIn(s, s.where(sizeKey), fmt.Sprintf("minimumNumberOfCalls is not set; the window makes it %g", s.minimum()))
				}
			}
		},
	}
}

func minimumAboveWindow() Rule {
	return Rule{
		ID: "minimum-above-window", Severity: Warning,
		Title:  "A minimum that the window cannot hold",
		Why:    "A window of calls never holds more than its size, so the library takes the size for the minimum, and says nothing: with a window of 5 and a minimum of 10 the breaker opens at the 5th call.",
		Source: "resilience4j#1349",
		Fix:    "lower minimumNumberOfCalls, or raise slidingWindowSize",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if !s.set(minimumKey) || !s.sure(sizeKey, typeKey) || s.timeBased() || s.num(minimumKey) <= s.num(sizeKey) {
					continue
				}
				if c.partial && s.unset(sizeKey) {
					continue
				}
				c.findIn(s, s.pos(minimumKey), fmt.Sprintf("minimumNumberOfCalls is %g, but a window of %g calls makes it %g", s.num(minimumKey), s.num(sizeKey), s.num(sizeKey)))
			}
		},
	}
}

// attempts is how many calls of the breaker one failing call of the application makes.
func (c *checker) attempts(s *subject) float64 {
	r, there := c.beside(s, resilience4j.Retry)
	if !there || !c.outside(resilience4j.Retry, resilience4j.CircuitBreaker) {
		return 1
	}
	return max(1, r.num("maxAttempts"))
}

func minimumNeverReached() Rule {
	return Rule{
		ID: "minimum-never-reached", Severity: Error,
		Title:  "A breaker that can never open",
		Why:    "A time-based window forgets what is older than its seconds. If fewer calls than minimumNumberOfCalls come within them, the failure rate is never computed and stays at -1, whatever fails.",
		Source: "resilience4j#1925, #1516, #1002, #1443, #1070",
		Fix:    "lower minimumNumberOfCalls, or make the window longer",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if c.opt.Rate <= 0 || !s.sure(sizeKey, typeKey, minimumKey) || !s.timeBased() {
					continue
				}
				calls := c.opt.Rate * s.num(sizeKey) * c.attempts(s)
				if calls >= s.num(minimumKey) || c.partial && (s.unset(sizeKey) || s.unset(minimumKey)) {
					continue
				}
				c.findIn(s, s.where(minimumKey), fmt.Sprintf("at %g calls a second a window of %gs holds about %.3g calls, of the %g that minimumNumberOfCalls asks for",
					c.opt.Rate, s.num(sizeKey), calls, s.num(minimumKey)))
			}
		},
	}
}

// mostNeeded is the rate from which on a time-based window is worth a word: a service
// of one replica often has less.
const mostNeeded = 5

func windowNeedsTraffic() Rule {
	return Rule{
		ID: "time-window-needs-traffic", Severity: Warning,
		Title:  "A time-based window that asks for much traffic",
		Why:    "A time-based window forgets what is older than its seconds, and below minimumNumberOfCalls nothing opens. With a short window and a high minimum that takes more calls a second than many services have. With --rate this is decided instead of guessed.",
		Source: "resilience4j#1443 (2 s and 100 calls), #1070, #1925",
		Fix:    "lower minimumNumberOfCalls, make the window longer, or lint with --rate",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if c.opt.Rate > 0 || !s.sure(sizeKey, typeKey, minimumKey) || !s.timeBased() || s.unset(minimumKey) {
					continue // Where the minimum is not set, that is what there is to say.
				}
				if c.partial && s.unset(sizeKey) {
					continue
				}
				if needed := s.num(minimumKey) / s.num(sizeKey); needed >= mostNeeded {
					c.findIn(s, s.pos(minimumKey), fmt.Sprintf("below %.3g calls a second it can never open: minimumNumberOfCalls is %g in %gs", needed, s.num(minimumKey), s.num(sizeKey)))
				}
			}
		},
	}
}

func singleFailure() Rule {
	return Rule{
		ID: "single-failure-opens", Severity: Warning,
		Title:  "One failure opens the breaker",
		Why:    "As soon as the minimum of calls is reached the rate is computed, and the threshold counts as exceeded when it is met. With so few calls, or so low a threshold, one failure among them is enough.",
		Source: "the library's circuit breaker, 2.4.0",
		Fix:    "raise minimumNumberOfCalls or failureRateThreshold so that it takes two failures",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if !s.sure(minimumKey, sizeKey, typeKey, failureKey) || s.num(failureKey) == 0 {
					continue
				}
				failures := math.Ceil(s.minimum() * s.num(failureKey) / 100)
				if failures > 1 || c.partial && (s.unset(minimumKey) || s.unset(failureKey)) {
					continue
				}
				at := s.where(minimumKey)
				if s.unset(minimumKey) {
					at = s.where(failureKey)
				}
				c.findIn(s, at, fmt.Sprintf("one failure among the first %g calls opens it (failureRateThreshold %g)", s.minimum(), s.num(failureKey)))
			}
		},
	}
}

func threshold100() Rule {
	return Rule{
		ID: "failure-threshold-100", Severity: Note,
		Title:  "A breaker that opens only if every call fails",
		Why:    "One success in the window keeps it closed: a dependency of which one replica of three is well, or one endpoint, never opens it.",
		Source: "the library's circuit breaker, 2.4.0",
		Fix:    "lower failureRateThreshold",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.set(failureKey) && s.num(failureKey) == 100 && s.sure(minimumKey, sizeKey, typeKey) && s.minimum() > 1 {
					c.findIn(s, s.pos(failureKey), "failureRateThreshold is 100: one success in the window keeps it closed")
				}
			}
		},
	}
}

func initialState() Rule {
	return Rule{
		ID: "initial-state", Severity: Warning,
		Title:  "A breaker that does not start closed",
		Why:    "OPEN and FORCED_OPEN reject the first calls after each deployment, the latter for ever; DISABLED and METRICS_ONLY never reject any.",
		Source: "the library's circuit breaker, 2.4.0",
		Fix:    "remove initialState, or keep it for a profile that needs it",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.set("initialState") && s.text("initialState") != "CLOSED" {
					c.findIn(s, s.pos("initialState"), "initialState is "+s.text("initialState"))
				}
			}
		},
	}
}
