package limit

import (
	"math"
	"sort"
	"time"
)

// Unlimited is the rate of a token bucket that lets everything through, whatever
// its burst (rate.Inf).
const Unlimited = math.MaxFloat64

// TokenBucketConfig describes a TokenBucket.
type TokenBucketConfig struct {
	Rate  float64 // tokens that flow in per second; 0: the first fill is all there is; or Unlimited
	Burst int     // tokens that the bucket holds, and holds at first
}

// Validate returns all that is wrong with the configuration, joined, or nil.
// golang.org/x/time/rate takes anything; what is refused here blocks for ever or
// computes with values that are not numbers there.
func (c TokenBucketConfig) Validate() error {
	var p problems
	p.require(c.Rate >= 0 && c.Rate <= math.MaxFloat64, "rate", c.Rate,
		"at least 0 (per second), or Unlimited")
	p.require(c.Burst >= 0 && int64(c.Burst) <= 1<<53, "burst", c.Burst,
		"from 0 to 2^53, up to which floating point counts")
	return p.join()
}

// TokenBucket is the limiter of golang.org/x/time/rate v0.16.0, in the same 64-bit
// floating point: a bucket of tokens that refills steadily, and from which a
// reservation may take more than there is.
//
// A clock that steps back takes the bucket with it: a call that is allowed sets
// the bucket's instant to its own, so that the time up to the old one fills the
// bucket once more. A call that is not allowed changes nothing.
type TokenBucket struct {
	cfg    TokenBucketConfig
	tokens float64   // below 0: so many are promised
	last   time.Time // when that was so
}

// NewTokenBucket returns a full bucket, or what is wrong with the configuration.
func NewTokenBucket(cfg TokenBucketConfig) (*TokenBucket, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &TokenBucket{cfg: cfg, tokens: float64(cfg.Burst)}, nil
}

// Take asks for n tokens at once (AllowN). A call whose wait would be shorter than
// a nanosecond passes. One with a negative n puts tokens in.
func (b *TokenBucket) Take(now time.Time, n int) Decision {
	return b.Reserve(now, n, 0)
}

// Reserve asks for n tokens, to be had after at most the given wait (what WaitN
// does with a deadline; ReserveN, if the wait is Never). If allowed, the tokens are
// gone at once and the caller has to wait.
func (b *TokenBucket) Reserve(now time.Time, n int, longestWait time.Duration) Decision {
	if b.cfg.Rate == Unlimited {
		return Decision{Allowed: true, Limit: math.MaxInt, Remaining: math.MaxInt}
	}
	left, wait := b.without(now, n)
	d := Decision{Limit: b.cfg.Burst}
	d.Allowed = n <= b.cfg.Burst && wait <= longestWait
	if d.Allowed {
		d.Wait = wait
		b.tokens, b.last = left, now
	} else {
		d.RetryAfter = b.retryAfter(now, n, longestWait, wait)
	}
	d.Remaining = b.remaining(now)
	d.Reset = b.reset(now)
	return d
}

// Tokens returns how many tokens there are at now; below 0, so many are promised
// (TokensAt).
func (b *TokenBucket) Tokens(now time.Time) float64 {
	elapsed := max(now.Sub(b.last), 0)
	filled := b.flow(elapsed)
	return min(b.tokens+filled, float64(b.cfg.Burst))
}

// without returns what would be left without n tokens, and how long it takes until
// that is not negative, in whole nanoseconds, the rest cut off.
func (b *TokenBucket) without(now time.Time, n int) (left float64, wait time.Duration) {
	left = b.Tokens(now) - float64(n)
	if left < 0 {
		wait = b.timeFor(-left)
	}
	return left, wait
}

// flow returns how many tokens flow in during d.
func (b *TokenBucket) flow(d time.Duration) float64 {
	return d.Seconds() * b.cfg.Rate
}

// timeFor returns how long it takes until so many tokens have flowed in.
func (b *TokenBucket) timeFor(tokens float64) time.Duration {
	if b.cfg.Rate == 0 {
		return Never
	}
	nanos := tokens / b.cfg.Rate * float64(time.Second)
	if nanos >= float64(math.MaxInt64) {
		return Never
	}
	return time.Duration(nanos)
}

// retryAfter searches for the instant, because the wait that floating point
// promises may be a little too short or too long.
func (b *TokenBucket) retryAfter(now time.Time, n int, longestWait, wait time.Duration) time.Duration {
	if n > b.cfg.Burst || longestWait < 0 {
		return Never
	}
	guess := sum(b.behind(now), wait-longestWait)
	return firstTrue(guess, func(d time.Duration) bool {
		_, wait := b.without(now.Add(d), n)
		return wait <= longestWait
	})
}

// reset searches for the same reason.
func (b *TokenBucket) reset(now time.Time) time.Duration {
	full := float64(b.cfg.Burst)
	missing := full - b.Tokens(now)
	if missing <= 0 {
		return 0
	}
	guess := b.timeFor(missing)
	if guess == Never {
		return Never
	}
	return firstTrue(sum(b.behind(now), guess), func(d time.Duration) bool {
		return b.Tokens(now.Add(d)) >= full
	})
}

// behind is how far now lies before the bucket's instant.
func (b *TokenBucket) behind(now time.Time) time.Duration {
	return max(b.last.Sub(now), 0)
}

// remaining is more than the whole tokens if the next one is less than a nanosecond
// away.
func (b *TokenBucket) remaining(now time.Time) int {
	whole := int(max(b.Tokens(now), 0))
	return whole + sort.Search(b.cfg.Burst-whole, func(i int) bool {
		_, wait := b.without(now, whole+i+1)
		return wait > 0
	})
}
