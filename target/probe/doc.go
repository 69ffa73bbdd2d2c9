// Package probe asks a target what it thinks of itself: the states of its circuit breakers
// and its counters, from Spring Boot's actuator, from a page of Prometheus' text format or
// from Envoy's admin interface.
//
// What it learns becomes marks of the trace, each with the interval in which it was true:
// the target answered with something that held at some instant between the question and the
// answer. What it could not learn becomes a mark too, so that silence is never taken for
// agreement.
//
// It must not disturb what it looks at. Each server is asked by one goroutine, over one
// connection of its own, with at most one request under way; a page that is slow is asked
// for more seldom, so that the target spends at most a tenth of its time on it; an answer is
// read up to [MaxPage] and no further; a redirection is not followed, since it may lead
// through the breaker.
package probe
