package lint

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// slowRules are about slow calls.
func slowRules() []Rule { return []Rule{slowRateUnset(), slowDurationUnset(), slowUnreachable()} }

const (
	slowKey     = "slowCallDurationThreshold"
	slowRateKey = "slowCallRateThreshold"
)

func slowRateUnset() Rule {
	return Rule{
		ID: "slow-rate-unset", Severity: Warning, Whole: true,
		Title:  "Slow calls that open nothing unless all are slow",
		Why:    "slowCallRateThreshold is 100 where it is not set: one quick call in the window, such as one that fails at once, keeps the breaker closed.",
		Source: "the library's circuit breaker, 2.4.0",
		Fix:    "set slowCallRateThreshold, as 50",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.set(slowKey) && s.unset(slowRateKey) {
					c.findIn(s, s.pos(slowKey), "slowCallDurationThreshold is set, but slowCallRateThreshold is 100: every call must be slow")
				}
			}
		},
	}
}

func slowDurationUnset() Rule {
	return Rule{
		ID: "slow-duration-unset", Severity: Warning, Whole: true,
		Title:  "A share of slow calls, with a minute to be slow",
		Why:    "slowCallDurationThreshold is a minute where it is not set, and most clients give up long before that: no call is ever slow.",
		Source: "resilience4j#1597",
		Fix:    "set slowCallDurationThreshold, below the client's timeout",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if s.set(slowRateKey) && s.num(slowRateKey) < 100 && s.unset(slowKey) {
					c.findIn(s, s.pos(slowRateKey), "slowCallRateThreshold is set, but slowCallDurationThreshold is a minute")
				}
			}
		},
	}
}

func slowUnreachable() Rule {
	return Rule{
		ID: "slow-threshold-unreachable", Severity: Warning,
		Title:  "No call lasts as long as the slow threshold",
		Why:    "A call is slow if it took longer than slowCallDurationThreshold, and it is looked at when it ends. If a time limiter, or the client, ends it before that, it is a failure and never slow.",
		Source: "resilience4j#1597, #381, #667",
		Fix:    "put slowCallDurationThreshold below the timeout",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if !s.set(slowKey) {
					continue
				}
				over := s.dur(slowKey)
				if limit := c.opt.ClientTimeout; limit > 0 && over >= limit {
					c.findIn(s, s.pos(slowKey), fmt.Sprintf("slowCallDurationThreshold is %s, and the client gives up after %s", s.text(slowKey), short(limit)))
					continue
				}
				t, there := c.beside(s, resilience4j.TimeLimiter)
				if !there || !t.set("timeoutDuration") || t.dur("timeoutDuration") == 0 || over < t.dur("timeoutDuration") || !c.outside(resilience4j.CircuitBreaker, resilience4j.TimeLimiter) {
					continue
				}
				c.findIn(s, s.pos(slowKey), fmt.Sprintf("slowCallDurationThreshold is %s, and the time limiter of the same name ends calls after %s", s.text(slowKey), t.text("timeoutDuration")))
			}
		},
	}
}

// short writes a duration without the parts that are zero.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
