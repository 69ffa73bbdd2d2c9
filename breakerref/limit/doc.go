// Package limit says what a rate limiter lets through: the usual ones, each a small
// struct over explicit time that answers every call with a Decision.
//
//	l, err := limit.NewGCRA(limit.GCRAConfig{Limit: 100, Period: time.Second, Burst: 10})
//	d := l.Take(now, 1)
//	if !d.Allowed {
//		// 429, Retry-After: d.RetryAfter
//	}
//
// A limiter holds no clock, no timer and no lock: it is not safe for concurrent use;
// wrap it in a lock. What it says of the future holds if nobody calls in between,
// and to the nanosecond: the same call is allowed at now+RetryAfter and not one
// nanosecond before, and the limiter is as good as new at now+Reset and not before.
//
//	limiter                most within a time D               state
//	TokenBucket            Burst + Rate*(D + 1ns)             tokens, instant
//	GCRA                   Burst + Limit*D/Period             an instant
//	FixedWindow            2*Limit, for D up to Window        a count
//	SlidingLog             Limit, for D below Window          up to Limit instants
//	SlidingWindowCounter   Limit*(1 + D/Window), D < Window   two counts
//	AtomicRateLimiter      2*limit, for D up to the period,   permits, cycle
//	                       if nobody waits
//
// TokenBucket and AtomicRateLimiter copy a library, also where it surprises: the
// first in 64-bit floating point, the second in integers that wrap. The others
// compute in whole nanoseconds or fractions of them and round nothing, so that no
// number of periods makes them drift.
//
// A call asks for n at once, and gets all or none. With n = 0 it takes nothing and
// is allowed unless more is promised or used than there is. A negative n puts tokens
// or permits into the two that copy a library, as it does there, and is never
// allowed by the others.
//
// # Clocks that step back
//
//   - FixedWindow, SlidingLog, SlidingWindowCounter and Keyed stand still until the
//     clock is where it was. They never allow more than without the step.
//   - GCRA misses the calls of the time that the clock went back by.
//   - TokenBucket follows the clock if a call is allowed, and fills a second time.
//   - AtomicRateLimiter takes out the permits of the cycles that the clock went back
//     by, and puts them back as it passes them again.
//
// The two that copy a library measure the time between two instants, by the
// monotonic clock if both have a reading of it. The others read the wall clock;
// their instants lie between the years 1678 and 2116.
//
// # Not modelled
//
// Cancelling a reservation and changing rate or burst (golang.org/x/time/rate); the
// count of waiting threads, events, and what interrupting a thread does
// (Resilience4j); logs that also count rejected calls.
package limit
