package limit

import (
	"math"
	"math/bits"
	"time"
)

// AtomicRateLimiterConfig describes an AtomicRateLimiter. The name that
// Resilience4j gives a property stands in parentheses.
type AtomicRateLimiterConfig struct {
	LimitForPeriod     int           // (limitForPeriod) permits of a cycle
	LimitRefreshPeriod time.Duration // (limitRefreshPeriod) length of a cycle
	Timeout            time.Duration // (timeoutDuration) longest wait of a caller
}

// DefaultAtomicRateLimiterConfig returns what Resilience4j uses where nothing is
// configured. The refresh period is indeed in nanoseconds.
func DefaultAtomicRateLimiterConfig() AtomicRateLimiterConfig {
	return AtomicRateLimiterConfig{
		LimitForPeriod:     50,
		LimitRefreshPeriod: 500 * time.Nanosecond,
		Timeout:            5 * time.Second,
	}
}

// Validate returns all that is wrong with the configuration, joined, or nil. The
// ranges are those of Resilience4j's builder.
func (c AtomicRateLimiterConfig) Validate() error {
	var p problems
	p.require(c.LimitForPeriod >= 1 && c.LimitForPeriod <= math.MaxInt32,
		"limitForPeriod", c.LimitForPeriod, "from 1 to 2147483647")
	p.require(c.LimitRefreshPeriod >= 1, "limitRefreshPeriod", c.LimitRefreshPeriod, "at least 1ns")
	p.require(c.Timeout >= 0, "timeoutDuration", c.Timeout, "at least 0")
	return p.join()
}

// AtomicRateLimiter is the rate limiter of Resilience4j 2.4.0
// (io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter), in its 32-bit
// and 64-bit integers that wrap.
//
// Time is cut into cycles from the creation of the limiter. With each, permits
// become min(permits + LimitForPeriod, LimitForPeriod). A caller who finds too few
// takes them from the cycles to come, so that they go below zero, and waits for the
// cycle that pays them; if that is further away than Timeout, it takes none and is
// rejected, but only after it has been parked for all of Timeout. Twice the limit
// can pass around the border of two cycles (#1356).
//
// A clock that steps back over cycles takes their permits out again, and puts them
// back when it passes them for the second time.
//
// RetryAfter and Reset, which the library does not tell, are exact unless integers
// wrap or the clock is behind the creation.
type AtomicRateLimiter struct {
	cfg     AtomicRateLimiterConfig
	created time.Time
	state   cycle // as of the last call
}

// cycle is the state that the library swaps atomically.
type cycle struct {
	number    int64
	permits   int32
	nanosWait int64 // what the call that led here would have to wait
}

// NewAtomicRateLimiter returns a limiter whose first cycle begins at created, or
// what is wrong with the configuration.
func NewAtomicRateLimiter(cfg AtomicRateLimiterConfig, created time.Time) (*AtomicRateLimiter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &AtomicRateLimiter{
		cfg:     cfg,
		created: created,
		state:   cycle{permits: int32(cfg.LimitForPeriod)},
	}, nil
}

// Config returns the configuration in force.
func (a *AtomicRateLimiter) Config() AtomicRateLimiterConfig { return a.cfg }

// Take asks for n permits as acquirePermission does: Wait is the time that the
// caller is parked, also if it is rejected. Remaining counts the permits that are to
// be had without waiting. One with a negative n puts permits in. The library takes
// an n of 32 bits; others are never allowed here.
func (a *AtomicRateLimiter) Take(now time.Time, n int) Decision {
	d := a.Reserve(now, n)
	if !d.Allowed {
		d.Wait = a.cfg.Timeout
	}
	return d
}

// Reserve asks for n permits as reservePermission does: it differs from Take in
// that a rejected caller learns so at once.
func (a *AtomicRateLimiter) Reserve(now time.Time, n int) Decision {
	d := Decision{Limit: a.cfg.LimitForPeriod, RetryAfter: Never}
	nanos := a.nanos(now)
	if n < math.MinInt32 || n > math.MaxInt32 {
		a.state = a.next(nanos, 1, -1)
	} else {
		a.state = a.next(nanos, int32(n), a.cfg.Timeout)
		d.Allowed = a.state.nanosWait <= int64(a.cfg.Timeout)
		if d.Allowed {
			d.Wait = max(time.Duration(a.state.nanosWait), 0)
			d.RetryAfter = 0
		} else {
			d.RetryAfter = a.retryAfter(nanos, int32(n), a.state.nanosWait)
		}
	}
	d.Remaining = max(int(a.Permits(now)), 0)
	d.Reset = a.reset(nanos)
	return d
}

// Drain does what drainPermissions does: it takes as many permits as there were
// after the last call. In the cycle of that call this leaves none, and strikes the
// reservations if there are any; in a later one it leaves what was refreshed since,
// or more than the limit if there were reservations.
func (a *AtomicRateLimiter) Drain(now time.Time) {
	a.state = a.next(a.nanos(now), a.state.permits, 0)
}

// ChangeLimitForPeriod changes the limit from the next cycle on: permits stay as
// they are. The cycles that passed since the last call are refreshed with the new
// limit too.
func (a *AtomicRateLimiter) ChangeLimitForPeriod(limit int) error {
	cfg := a.cfg
	cfg.LimitForPeriod = limit
	return a.change(cfg)
}

// ChangeTimeout changes the longest wait of the callers to come
// (changeTimeoutDuration).
func (a *AtomicRateLimiter) ChangeTimeout(timeout time.Duration) error {
	cfg := a.cfg
	cfg.Timeout = timeout
	return a.change(cfg)
}

func (a *AtomicRateLimiter) change(cfg AtomicRateLimiterConfig) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	a.cfg = cfg
	return nil
}

// Permits returns the permits at now; below 0, so many are reserved of the cycles
// to come (getAvailablePermissions).
func (a *AtomicRateLimiter) Permits(now time.Time) int32 {
	return a.next(a.nanos(now), 1, -1).permits
}

// NextWait returns how long a call for one permit would wait if there were no
// timeout (getNanosToWait).
func (a *AtomicRateLimiter) NextWait(now time.Time) time.Duration {
	return time.Duration(a.next(a.nanos(now), 1, -1).nanosWait)
}

// Cycle returns the number of the cycle at now, from 0 on (getCycle).
func (a *AtomicRateLimiter) Cycle(now time.Time) int64 {
	return a.next(a.nanos(now), 1, -1).number
}

func (a *AtomicRateLimiter) nanos(now time.Time) int64 {
	return int64(now.Sub(a.created))
}

// next is the state after a call for n permits that waits no longer than timeout.
func (a *AtomicRateLimiter) next(nanos int64, n int32, timeout time.Duration) cycle {
	limit := int64(a.cfg.LimitForPeriod)
	next := cycle{number: nanos / int64(a.cfg.LimitRefreshPeriod), permits: a.state.permits}
	if elapsed := next.number - a.state.number; elapsed != 0 {
		next.permits = int32(min(int64(next.permits)+elapsed*limit, limit))
	}
	next.nanosWait = a.nanosWait(nanos, n, next)
	if int64(timeout) >= next.nanosWait {
		next.permits -= n
	}
	return next
}

// nanosWait is the time until the cycle that pays the nth permit.
func (a *AtomicRateLimiter) nanosWait(nanos int64, n int32, c cycle) int64 {
	if c.permits >= n {
		return 0
	}
	period, limit := int64(a.cfg.LimitRefreshPeriod), int32(a.cfg.LimitForPeriod)
	toNext := (c.number+1)*period - nanos
	missing := n - (c.permits + limit) // at the start of the next cycle
	cycles := (missing + limit - 1) / limit
	return int64(cycles)*period + toNext
}

// retryAfter is when a rejected call would be admitted. The cycle that pays it stays
// the same as time goes by, unless permits reach the limit before it is near enough:
// they do not grow any more, so that it is never near enough.
func (a *AtomicRateLimiter) retryAfter(nanos int64, n int32, wait int64) time.Duration {
	if nanos > math.MaxInt64-wait {
		return Never
	}
	after := wait - int64(a.cfg.Timeout)
	if a.next(nanos+after, n, -1).nanosWait > int64(a.cfg.Timeout) {
		return Never
	}
	return time.Duration(after)
}

// reset is when permits are at the limit again.
func (a *AtomicRateLimiter) reset(nanos int64) time.Duration {
	limit := int64(a.cfg.LimitForPeriod)
	missing := limit - int64(a.state.permits)
	cycles := int64(1) // more than the limit last until the next cycle
	switch {
	case missing == 0:
		return 0
	case missing > 0:
		cycles = (missing + limit - 1) / limit
	}
	period := int64(a.cfg.LimitRefreshPeriod)
	left := time.Duration(period - nanos%period)
	hi, lo := bits.Mul64(uint64(cycles-1), uint64(period))
	if hi > 0 || lo > math.MaxInt64 {
		return Never
	}
	return sum(left, time.Duration(lo))
}
