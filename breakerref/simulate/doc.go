// Package simulate says what a circuit breaker of Resilience4j will do under a traffic:
// breakerref in virtual time, over many trials.
package simulate
