package lint

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// moduleRules are about what is around the breaker, and about what is seen of it.
func moduleRules() []Rule {
	return []Rule{retryOnce(), refreshUnset(), limiterWaitUnset(), poolNeverGrows(), healthOff(), healthFails(), bufferSmall()}
}

func retryOnce() Rule {
	return Rule{
		ID: "retry-once", Severity: Warning,
		Title:  "A retry that never retries",
		Why:    "maxAttempts counts the first call: 1 is no retry at all, 2 is one.",
		Source: "the library's retry, 2.4.0",
		Fix:    "set maxAttempts to one more than the retries that are wanted",
		check: func(c *checker) {
			for _, s := range c.of(resilience4j.Retry) {
				if s.set("maxAttempts") && s.num("maxAttempts") == 1 {
					c.findIn(s, s.pos("maxAttempts"), "maxAttempts is 1, which is the first call and no retry")
				}
			}
		},
	}
}

func refreshUnset() Rule {
	return Rule{
		ID: "rate-limiter-refresh-unset", Severity: Warning, Whole: true,
		Title:  "A rate limiter that limits nothing",
		Why:    "limitRefreshPeriod is 500 nanoseconds where it is not set: a limit of 10 is then 20 million calls a second.",
		Source: "the library's rate limiter, 2.4.0",
		Fix:    "set limitRefreshPeriod, as 1s",
		check: func(c *checker) {
			for _, s := range c.of(resilience4j.RateLimiter) {
				if s.set("limitForPeriod") && s.unset("limitRefreshPeriod") {
					c.findIn(s, s.pos("limitForPeriod"), fmt.Sprintf("limitForPeriod is %s, and limitRefreshPeriod is 500 ns because it is not set", s.text("limitForPeriod")))
				}
			}
		},
	}
}

func limiterWaitUnset() Rule {
	return Rule{
		ID: "rate-limiter-wait-unset", Severity: Note, Whole: true,
		Title:  "Callers of an exhausted rate limiter wait five seconds",
		Why:    "timeoutDuration is 5 s where it is not set. A caller whose turn does not come in that time is parked for all of it, with its thread, and refused then.",
		Source: "resilience4j#822, #730",
		Fix:    "set timeoutDuration, as 0 or 100ms",
		check: func(c *checker) {
			for _, s := range c.of(resilience4j.RateLimiter) {
				if s.unset("timeoutDuration") {
					c.findIn(s, s.at(), "timeoutDuration is not set: callers wait up to 5 s before they are refused")
				}
			}
		},
	}
}

func poolNeverGrows() Rule {
	return Rule{
		ID: "pool-never-grows", Severity: Warning,
		Title:  "A thread pool that grows only when its queue is full",
		Why:    "Java's pool starts a thread beyond the core only when no more fits into the queue. With a long queue calls wait while threads that are allowed are never started.",
		Source: "Java, ThreadPoolExecutor; the library's thread pool bulkhead",
		Fix:    "set coreThreadPoolSize to maxThreadPoolSize, or queueCapacity to a few",
		check: func(c *checker) {
			for _, s := range c.of(resilience4j.ThreadPoolBulkhead) {
				core, most, queue := s.num("coreThreadPoolSize"), s.num("maxThreadPoolSize"), s.num("queueCapacity")
				if !s.set("coreThreadPoolSize") || !s.set("maxThreadPoolSize") || !s.sure("queueCapacity") || c.partial && s.unset("queueCapacity") {
					continue
				}
				if core > 0 && most > core && queue > most {
					c.findIn(s, s.pos("maxThreadPoolSize"), fmt.Sprintf("beyond %g threads one is started only when %g calls wait", core, queue))
				}
			}
		},
	}
}

func healthOff() Rule {
	return Rule{
		ID: "health-indicator-off", Severity: Note, Whole: true,
		Title:  "A health indicator that is not shown",
		Why:    "registerHealthIndicator has no effect unless management.health.circuitbreakers.enabled is true (for a rate limiter: management.health.ratelimiters.enabled), which it is not by default.",
		Source: "resilience4j#1074, #762, #607",
		Fix:    "set management.health.circuitbreakers.enabled: true (or ratelimiters), if that is not done elsewhere",
		check: func(c *checker) {
			for m, part := range map[resilience4j.Module]string{resilience4j.CircuitBreaker: "circuitbreakers", resilience4j.RateLimiter: "ratelimiters"} {
				enabled := c.below("management.health." + part + ".enabled")
				if len(enabled) > 0 && enabled[len(enabled)-1].value != "false" {
					continue
				}
				for _, s := range c.of(m) {
					if s.set("registerHealthIndicator") && s.on("registerHealthIndicator") {
						c.findIn(s, s.pos("registerHealthIndicator"), "registerHealthIndicator is true, but management.health."+part+".enabled is not")
					}
				}
			}
		},
	}
}

func healthFails() Rule {
	return Rule{
		ID: "health-fails-service", Severity: Warning,
		Title:  "An open breaker makes the whole service unhealthy",
		Why:    "With allowHealthIndicatorToFail an open breaker is DOWN. Where the platform restarts, or takes out, what is down, the failure of one dependency takes every replica.",
		Source: "resilience4j#1664, #1642",
		Fix:    "leave allowHealthIndicatorToFail off, or keep the indicator out of the liveness and readiness groups",
		check: func(c *checker) {
			for _, s := range c.subjects {
				if s.set("allowHealthIndicatorToFail") && s.on("allowHealthIndicatorToFail") {
					c.findIn(s, s.pos("allowHealthIndicatorToFail"), "an open breaker, or an exhausted limiter, reports the service as DOWN")
				}
			}
		},
	}
}

func bufferSmall() Rule {
	return Rule{
		ID: "event-buffer-small", Severity: Note,
		Title:  "Rejections push the opening out of the events",
		Why:    "The actuator keeps the last eventConsumerBufferSize events, 100 by default, of all kinds. While the breaker is open each rejected call is one, so the transition to open is gone when someone looks.",
		Source: "the library's event consumer registry, 2.4.0",
		Fix:    "raise eventConsumerBufferSize above what is rejected in one open period",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				if c.opt.Rate <= 0 || !s.sure("eventConsumerBufferSize", openWaitKey) || c.partial && (s.unset("eventConsumerBufferSize") || s.unset(openWaitKey)) {
					continue
				}
				rejected := c.opt.Rate * s.dur(openWaitKey).Seconds()
				if held := s.num("eventConsumerBufferSize"); rejected > held {
					c.findIn(s, s.where("eventConsumerBufferSize"), fmt.Sprintf("at %g calls a second it holds %s of rejections, and the breaker is open for %s",
						c.opt.Rate, short(time.Duration(held/c.opt.Rate*float64(time.Second)).Round(100*time.Millisecond)), s.text(openWaitKey)))
				}
			}
		},
	}
}
