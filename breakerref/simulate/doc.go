// Package simulate says what a circuit breaker of Resilience4j will do under a traffic:
// breakerref in virtual time, over many trials.
//
//	m := simulate.Default()
//	m.Breaker.MinimumCalls = 20
//	r, err := simulate.Run(m.Complete(), simulate.Options{Seed: 1})
//	r.ToOpen.P50 // ns from the beginning of the outage
//
// A [Model] is plain data: a breaker, the calls that come, and what the dependency makes
// of them. A trial ([Play]) is a function of the model, a seed and its number; it touches
// no clock and starts no goroutine. [Run] plays many, and a healthy time beside them, on
// a [Runner] that the caller has.
//
// # Random numbers
//
// What chance has in store for an attempt is a hash of seed, trial, call and attempt, and
// arrivals are drawn apart. So models that differ in their breaker meet the same calls,
// failures and latencies ([RunAll]): common random numbers.
//
// # Order
//
// At one instant, ends of attempts and what was put off come before a call that arrives,
// and among themselves in the order in which they were put off. An outage has its first
// instant and not its last one; a timer of a breaker that is due at either comes after the
// border.
//
// # Speed
//
// Nearly all calls meet a closed breaker, so its window is counted here, by integers
// where breakerref has instants of the wall clock; an opening, and all that is not closed,
// is the machine's. [PlayStepwise] tells the machine everything, and comes to the same.
//
// docs/simulate.md has the model for users, with what it leaves out.
package simulate
