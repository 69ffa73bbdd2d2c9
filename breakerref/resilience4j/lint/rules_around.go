package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// aroundRules are about modules that stand at the same method.
func aroundRules() []Rule {
	return []Rule{retryOnOpen(), retryMultiplies(), breakerAroundRetry(), ordersEqual(), bulkheadOpens(), rateLimitOpens(), hiddenLimiter(), limitIncludesQueue()}
}

// The library's own exceptions, and what they all are.
const (
	notPermitted     = "io.github.resilience4j.circuitbreaker.CallNotPermittedException"
	bulkheadFull     = "io.github.resilience4j.bulkhead.BulkheadFullException"
	requestForbidden = "io.github.resilience4j.ratelimiter.RequestNotPermitted"
)

// covers reports whether a list has one of the library's exceptions, or what it is a
// subclass of.
func covers(list []string, class string) bool {
	return slices.Contains(list, class) || slices.Contains(list, "java.lang.RuntimeException") || everythingIn(list)
}

// everythingIn reports whether a list has every exception.
func everythingIn(list []string) bool {
	return slices.Contains(list, "java.lang.Exception") || slices.Contains(list, "java.lang.Throwable")
}

// outside reports whether one module certainly stands around another.
func (v *view) outside(outer, inner resilience4j.Module) bool {
	if slices.ContainsFunc(v.problems, func(p resilience4j.Problem) bool { return strings.Contains(plain(p.Key), "aspectorder") }) {
		return false
	}
	a, b := v.order(outer), v.order(inner)
	return a.Order < b.Order
}

// order is a module's place; both bulkheads have one.
func (v *view) order(m resilience4j.Module) resilience4j.Aspect {
	if m == resilience4j.ThreadPoolBulkhead {
		m = resilience4j.Bulkhead
	}
	for _, a := range v.file.AspectOrder() {
		if a.Module == m {
			return a
		}
	}
	return resilience4j.Aspect{Module: m}
}

// retried returns the breakers that have a retry of the same name which retries at all.
func (c *checker) retried(outer, inner resilience4j.Module, each func(breaker, retry *subject)) {
	if !c.outside(outer, inner) {
		return
	}
	for _, s := range c.breakers() {
		if r, there := c.beside(s, resilience4j.Retry); there && r.sure("maxAttempts") && r.num("maxAttempts") > 1 {
			each(s, r)
		}
	}
}

func retryOnOpen() Rule {
	return Rule{
		ID: "retry-on-open-breaker", Severity: Warning, Whole: true,
		Title:  "A retry that calls an open breaker again",
		Why:    "The retry stands around the breaker and retries everything, also CallNotPermittedException: while the breaker is open each call waits for all attempts, instead of failing at once, and is counted as rejected several times.",
		Source: "resilience4j#1065, #1740, #1653",
		Fix:    "add " + notPermitted + " to the retry's ignoreExceptions",
		check: func(c *checker) {
			c.retried(resilience4j.Retry, resilience4j.CircuitBreaker, func(_, r *subject) {
				retries := r.list("retryExceptions")
				if !r.sure("retryExceptions", "ignoreExceptions", "retryExceptionPredicate") || r.set("retryExceptionPredicate") ||
					covers(r.list("ignoreExceptions"), notPermitted) || len(retries) > 0 && !covers(retries, notPermitted) {
					return
				}
				at := r.own().At
				if r.set("ignoreExceptions") {
					at = r.pos("ignoreExceptions")
				}
				c.findIn(r, at, "it retries CallNotPermittedException, the answer of an open breaker")
			})
		},
	}
}

func retryMultiplies() Rule {
	return Rule{
		ID: "retry-multiplies-calls", Severity: Note,
		Title:  "Each attempt counts as a call of the breaker",
		Why:    "The retry stands around the breaker, so the breaker sees every attempt, and opens after fewer failing calls of the application than its minimum says. And a fallbackMethod of @CircuitBreaker hides the failure from the retry, which then never retries: put it on @Retry.",
		Source: "resilience4j#515, #1318, #558, #593, #614, #1444, #1613",
		Fix:    "know it; or change the order with retryAspectOrder",
		check: func(c *checker) {
			c.retried(resilience4j.Retry, resilience4j.CircuitBreaker, func(s, r *subject) {
				if !s.sure(minimumKey, sizeKey, typeKey) {
					return
				}
				c.findIn(r, r.where("maxAttempts"), fmt.Sprintf("a failing call is up to %g calls of the breaker of the same name; it may open after %s instead of %g",
					r.num("maxAttempts"), failing(math.Ceil(s.minimum()/r.num("maxAttempts"))), s.minimum()))
			})
		},
	}
}

// failing counts failing calls in words.
func failing(n float64) string {
	if n == 1 {
		return "1 failing call"
	}
	return fmt.Sprintf("%g failing calls", n)
}

func breakerAroundRetry() Rule {
	return Rule{
		ID: "breaker-around-retry", Severity: Note,
		Title:  "The breaker sees a call only after its last attempt",
		Why:    "The aspect orders put the breaker around the retry. It counts one outcome for all attempts, so it opens later, the waits between attempts count as the call's duration, and the dependency gets every attempt until then.",
		Source: "resilience4j#515",
		Fix:    "know it; or let the retry stand around the breaker, as it does by default",
		check: func(c *checker) {
			c.retried(resilience4j.CircuitBreaker, resilience4j.Retry, func(_, r *subject) {
				at := c.order(resilience4j.Retry).Origin.Pos
				if at.Line == 0 {
					at = c.order(resilience4j.CircuitBreaker).Origin.Pos
				}
				c.findIn(r, at, "the breaker of the same name stands around it: "+c.nesting())
			})
		},
	}
}

// nesting writes the modules as they stand around a method.
func (v *view) nesting() string {
	var b strings.Builder
	orders := v.file.AspectOrder()
	for _, a := range orders {
		b.WriteString(a.Module.String() + "(")
	}
	return b.String() + "method" + strings.Repeat(")", len(orders))
}

func ordersEqual() Rule {
	return Rule{
		ID: "aspect-orders-equal", Severity: Warning,
		Title:  "Two aspects of one order",
		Why:    "Which of them stands around the other is then for Spring to say, and may change with a release, or with the order of beans. Whether attempts count as calls depends on it.",
		Source: "Spring Framework, ordering of advice",
		Fix:    "give them different orders; the lower one is further out",
		check: func(c *checker) {
			orders := c.file.AspectOrder()
			for i, a := range orders {
				for _, b := range orders[:i] {
					if a.Order != b.Order || a.Origin.Pos.Line == 0 && b.Origin.Pos.Line == 0 {
						continue
					}
					at := b.Origin.Pos
					if a.Origin.Pos.Line > at.Line {
						at = a.Origin.Pos
					}
					c.find(at, fmt.Sprintf("%v and %v have the order %d", b.Module, a.Module, a.Order), "")
				}
			}
		},
	}
}

// openedBy tells the breakers that count as a failure what a module inside them throws.
func (c *checker) openedBy(m resilience4j.Module, class string) {
	if !c.outside(resilience4j.CircuitBreaker, m) {
		return
	}
	for _, s := range c.breakers() {
		if _, there := c.beside(s, m); !there || !s.sure("recordExceptions", "ignoreExceptions") {
			continue
		}
		if has(s.chain, "recordFailurePredicate") || has(s.chain, "ignoreExceptionPredicate") {
			continue // A class of the application decides.
		}
		records := s.list("recordExceptions")
		if covers(s.list("ignoreExceptions"), class) || len(records) > 0 && !covers(records, class) {
			continue
		}
		at := s.own().At
		if s.set("ignoreExceptions") {
			at = s.pos("ignoreExceptions")
		}
		c.findIn(s, at, fmt.Sprintf("%s of the %v of the same name counts as a failure", simple(class), m))
	}
}

func bulkheadOpens() Rule {
	return Rule{
		ID: "bulkhead-full-opens-breaker", Severity: Warning, Whole: true,
		Title:  "A full bulkhead opens the breaker",
		Why:    "The bulkhead stands inside the breaker, so a burst of calls to a dependency that is well counts as failures of the dependency.",
		Source: "resilience4j#1656, #989, #596",
		Fix:    "add " + bulkheadFull + " to the breaker's ignoreExceptions",
		check: func(c *checker) {
			c.openedBy(resilience4j.Bulkhead, bulkheadFull)
			c.openedBy(resilience4j.ThreadPoolBulkhead, bulkheadFull)
		},
	}
}

func rateLimitOpens() Rule {
	return Rule{
		ID: "rate-limit-opens-breaker", Severity: Warning, Whole: true,
		Title:  "An exhausted rate limiter opens the breaker",
		Why:    "The rate limiter stands inside the breaker, so calls that were never sent count as failures of the dependency.",
		Source: "resilience4j#1656",
		Fix:    "add " + requestForbidden + " to the breaker's ignoreExceptions",
		check:  func(c *checker) { c.openedBy(resilience4j.RateLimiter, requestForbidden) },
	}
}

func hiddenLimiter() Rule {
	return Rule{
		ID: "hidden-time-limiter", Severity: Warning, Whole: true,
		Title:  "Spring Cloud's time limiter of one second",
		Why:    "Spring Cloud CircuitBreaker, and so its Gateway and Feign, puts a time limiter around each breaker. Where none is configured it ends calls after a second.",
		Source: "spring-cloud-circuitbreaker#92, #174, #178, #268; spring-cloud-gateway#2449; resilience4j#2062",
		Fix:    "configure resilience4j.timelimiter for it (configs.default.timeoutDuration), or set spring.cloud.circuitbreaker.resilience4j.disable-time-limiter: true",
		check: func(c *checker) {
			if _, set := c.config(resilience4j.TimeLimiter, "default"); set || !c.springCloud() {
				return
			}
			for _, s := range c.breakers() {
				if _, limited := c.beside(s, resilience4j.TimeLimiter); !limited && !s.config {
					c.findIn(s, s.own().At, "Spring Cloud ends its calls after 1 s, because no time limiter is configured")
				}
			}
		},
	}
}

// springCloud reports whether the breakers are Spring Cloud's, with its time limiter.
func (v *view) springCloud() bool {
	used := false
	for _, w := range v.below("spring.cloud.circuitbreaker.", "spring.cloud.gateway.", "spring.cloud.openfeign.circuitbreaker.", "feign.circuitbreaker.") {
		key := plain(w.key)
		switch {
		case strings.Contains(key, "disabletimelimiter"), key == "spring.cloud.circuitbreaker.resilience4j.enabled" && w.value == "false":
			return false
		case strings.HasPrefix(key, "spring.cloud.circuitbreaker."), strings.HasSuffix(key, "circuitbreaker.enabled") && w.value == "true":
			used = true
		case strings.HasPrefix(key, "spring.cloud.gateway.") && strings.Contains(key, "filters[") && strings.HasPrefix(w.value, "CircuitBreaker"):
			used = true
		}
	}
	return used
}

func limitIncludesQueue() Rule {
	return Rule{
		ID: "time-limit-includes-queue", Severity: Note,
		Title:  "The time limit counts the time in the queue",
		Why:    "The time limiter starts when the call is handed to the thread pool. In a burst calls time out that were never sent, and those in the queue are still sent afterwards, for nobody.",
		Source: "resilience4j#2103, #1460",
		Fix:    "make queueCapacity small, or 0, so that calls are refused rather than late",
		check: func(c *checker) {
			for _, p := range c.of(resilience4j.ThreadPoolBulkhead) {
				if _, limited := c.beside(p, resilience4j.TimeLimiter); !limited || !p.sure("queueCapacity") || p.num("queueCapacity") <= 0 || c.partial && p.unset("queueCapacity") {
					continue
				}
				c.findIn(p, p.where("queueCapacity"), fmt.Sprintf("up to %g calls wait in the queue while the time limiter of the same name counts", p.num("queueCapacity")))
			}
		},
	}
}
