package limit

import "time"

// Config is the configuration of one of the limiters of this package.
type Config interface {
	// Validate returns all that is wrong with the configuration, joined, or nil.
	Validate() error
	// New returns an unused limiter that was created at an instant, of which only an
	// AtomicRateLimiter takes notice; or what is wrong with the configuration.
	New(created time.Time) (Limiter, error)
}

// New is NewTokenBucket.
func (c TokenBucketConfig) New(time.Time) (Limiter, error) { return made(NewTokenBucket(c)) }

// New is NewFixedWindow.
func (c FixedWindowConfig) New(time.Time) (Limiter, error) { return made(NewFixedWindow(c)) }

// New is NewSlidingLog.
func (c SlidingLogConfig) New(time.Time) (Limiter, error) { return made(NewSlidingLog(c)) }

// New is NewSlidingWindowCounter.
func (c SlidingWindowCounterConfig) New(time.Time) (Limiter, error) {
	return made(NewSlidingWindowCounter(c))
}

// New is NewGCRA.
func (c GCRAConfig) New(time.Time) (Limiter, error) { return made(NewGCRA(c)) }

// New is NewAtomicRateLimiter.
func (c AtomicRateLimiterConfig) New(created time.Time) (Limiter, error) {
	return made(NewAtomicRateLimiter(c, created))
}

// made keeps a nil pointer from becoming a Limiter that is not nil.
func made[L Limiter](l L, err error) (Limiter, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}
