package limit

import (
	"math"
	"time"
)

// Never is the answer to "when?" for what does not come by waiting, or not within
// the 292 years that a time.Duration holds.
const Never = time.Duration(math.MaxInt64)

// Limiter is what the limiters of this package have in common.
type Limiter interface {
	// Take asks at now for n calls at once: all of them pass or none does.
	Take(now time.Time, n int) Decision
}

var (
	_ Limiter = (*TokenBucket)(nil)
	_ Limiter = (*GCRA)(nil)
	_ Limiter = (*FixedWindow)(nil)
	_ Limiter = (*SlidingLog)(nil)
	_ Limiter = (*SlidingWindowCounter)(nil)
	_ Limiter = (*AtomicRateLimiter)(nil)
)

// Decision is the answer to one call. What it says about the future holds if
// nobody calls in between; durations count from the now of the call.
type Decision struct {
	Allowed bool

	// Limit is the most that a fresh limiter lets through at one instant.
	Limit int
	// Remaining is the most that would still pass at once after this call.
	Remaining int
	// Reset is the time until the limiter is as good as new; 0: it is.
	Reset time.Duration
	// RetryAfter is the time until the same call would be allowed. It is 0 if it
	// was, and Never if it asks for more than can ever pass.
	RetryAfter time.Duration
	// Wait is how long the caller is held before it goes on: a reservation if the
	// call is allowed, else the time until it learns that it is not.
	Wait time.Duration
}

// later says the same of the future as seen from an instant that lies behind.
func (d Decision) later(behind time.Duration) Decision {
	if d.Reset > 0 {
		d.Reset = sum(d.Reset, behind)
	}
	if !d.Allowed {
		d.RetryAfter = sum(d.RetryAfter, behind)
	}
	return d
}

// sum adds two durations of which neither is negative and stops at Never.
func sum(a, b time.Duration) time.Duration {
	if a > Never-b {
		return Never
	}
	return a + b
}

// since is the time from one instant to a later one, both in Unix nanoseconds. It
// stops at Never.
func since(from, to int64) time.Duration {
	if from < 0 && to > math.MaxInt64+from {
		return Never
	}
	return time.Duration(to - from)
}

// steady is a clock that stands still where the given one goes back, because a
// limiter that followed it would count a stretch of time twice.
type steady struct {
	at int64 // Unix nanoseconds
}

func newSteady() steady { return steady{at: math.MinInt64} }

// advance returns the instant it is now and how far the given clock is behind it.
func (s *steady) advance(now time.Time) (at int64, behind time.Duration) {
	given := now.UnixNano()
	if given < s.at {
		return s.at, since(given, s.at)
	}
	s.at = given
	return given, 0
}

// firstTrue returns the smallest duration that satisfies a condition which is false
// at 0 and stays true once it is; Never if none does. A guess that is off by no more
// than two nanoseconds saves most of the steps.
func firstTrue(guess time.Duration, cond func(time.Duration) bool) time.Duration {
	below, at := time.Duration(0), Never // cond is false at below, and true at at or never
	if high := sum(guess, 2); cond(high) {
		at = high
	}
	if low := guess - 2; low > below && !cond(low) {
		below = low
	}
	for at-below > 1 {
		mid := below + (at-below)/2
		if cond(mid) {
			at = mid
		} else {
			below = mid
		}
	}
	return at
}
