package limit

import (
	"math/bits"
	"time"
)

// SlidingWindowCounterConfig describes a SlidingWindowCounter.
type SlidingWindowCounterConfig struct {
	Limit  int
	Window time.Duration
}

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c SlidingWindowCounterConfig) Validate() error {
	var p problems
	p.atLeastOne("limit", c.Limit)
	p.span("window", c.Window)
	return p.join()
}

// SlidingWindowCounter estimates a sliding window from two counts: that of the
// current window of the clock, and that of the one before, weighted by the share of
// it that a sliding window would still cover,
//
//	previous * (Window - elapsed)/Window + current
//
// and lets calls through as long as the estimate, with them, is at most Limit. The
// windows are counted from the Unix epoch. The estimate is not rounded; others
// round the weighted count down and let one call more through.
//
// Between two calls that are a time D < Window apart, themselves included, no more
// than Limit*(1 + D/Window) pass: around a border no more than Limit where
// FixedWindow lets twice as many through. Over a whole window, close to twice the
// limit can still pass: all of it at the end of one window, which the estimate
// takes for spread out, and nearly all of it again at the end of the next.
//
// While the clock is behind where it has been, the limiter stands still.
type SlidingWindowCounter struct {
	cfg               SlidingWindowCounterConfig
	clock             steady
	number            int64 // of the current window
	previous, current int
}

// NewSlidingWindowCounter returns an unused limiter, or what is wrong with the
// configuration.
func NewSlidingWindowCounter(cfg SlidingWindowCounterConfig) (*SlidingWindowCounter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &SlidingWindowCounter{cfg: cfg, clock: newSteady()}, nil
}

// Take asks for n calls at once.
func (s *SlidingWindowCounter) Take(now time.Time, n int) Decision {
	at, behind := s.clock.advance(now)
	number, into := cut(at, s.cfg.Window)
	switch number - s.number {
	case 0:
	case 1:
		s.previous, s.current = s.current, 0
	default:
		s.previous, s.current = 0, 0
	}
	s.number = number

	left := s.cfg.Window - into
	d := Decision{Limit: s.cfg.Limit}
	d.Allowed = n >= 0 && n <= s.room(left)
	if d.Allowed {
		s.current += n
	} else {
		d.RetryAfter = s.retryAfter(left, n)
	}
	d.Remaining = s.room(left)
	switch {
	case s.current > 0:
		d.Reset = left + s.cfg.Window
	case s.previous > 0:
		d.Reset = left
	}
	return d.later(behind)
}

// room is how many calls pass while so much of the current window is left. Whole
// calls fit if they do beside the weighted count rounded up.
func (s *SlidingWindowCounter) room(left time.Duration) int {
	hi, lo := bits.Mul64(uint64(s.previous), uint64(left))
	weighted, rest := bits.Div64(hi, lo, uint64(s.cfg.Window))
	if rest > 0 {
		weighted++
	}
	return max(s.cfg.Limit-s.current-int(weighted), 0)
}

// retryAfter looks for the first instant with enough room in this window, then in
// the next, where the current count is the previous one, then in the one after.
func (s *SlidingWindowCounter) retryAfter(left time.Duration, n int) time.Duration {
	if n < 0 || n > s.cfg.Limit {
		return Never
	}
	if rest := s.restFor(s.previous, s.cfg.Limit-s.current-n); rest > 0 {
		return left - rest
	}
	return left + s.cfg.Window - s.restFor(s.current, s.cfg.Limit-n)
}

// restFor is the longest rest of a window at which a previous count weighs no more
// than the given room; 0, if it does so only when the window is over.
func (s *SlidingWindowCounter) restFor(previous, room int) time.Duration {
	switch {
	case room < 0:
		return 0
	case previous <= room:
		return s.cfg.Window
	}
	hi, lo := bits.Mul64(uint64(room), uint64(s.cfg.Window))
	rest, _ := bits.Div64(hi, lo, uint64(previous))
	return time.Duration(rest)
}
