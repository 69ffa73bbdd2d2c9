package limit

import "time"

// SlidingLogConfig describes a SlidingLog.
type SlidingLogConfig struct {
	Limit  int
	Window time.Duration
}

// Validate returns all that is wrong with the configuration, joined, or nil.
func (c SlidingLogConfig) Validate() error {
	var p problems
	p.atLeastOne("limit", c.Limit)
	p.span("window", c.Window)
	return p.join()
}

// SlidingLog remembers when calls passed and lets Limit of them through in any
// stretch of one Window, exactly. It holds up to Limit instants. A call stops
// counting one Window after it passed, at that instant; one that did not pass never
// counts.
//
// While the clock is behind where it has been, the limiter stands still.
type SlidingLog struct {
	cfg   SlidingLogConfig
	clock steady
	log   []passed // the oldest first; those before first no longer count
	first int
	used  int
}

// passed are the calls of one instant.
type passed struct {
	at int64 // Unix nanoseconds
	n  int
}

// NewSlidingLog returns an unused limiter, or what is wrong with the configuration.
func NewSlidingLog(cfg SlidingLogConfig) (*SlidingLog, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &SlidingLog{cfg: cfg, clock: newSteady()}, nil
}

// Take asks for n calls at once.
func (s *SlidingLog) Take(now time.Time, n int) Decision {
	at, behind := s.clock.advance(now)
	s.expire(at)
	d := Decision{Limit: s.cfg.Limit}
	d.Allowed = n >= 0 && n <= s.cfg.Limit-s.used
	if d.Allowed {
		s.record(at, n)
	} else {
		d.RetryAfter = s.retryAfter(at, n)
	}
	if s.used > 0 {
		d.Reset = s.cfg.Window - since(s.log[len(s.log)-1].at, at)
	}
	d.Remaining = s.cfg.Limit - s.used
	return d.later(behind)
}

func (s *SlidingLog) expire(at int64) {
	for s.first < len(s.log) && since(s.log[s.first].at, at) >= s.cfg.Window {
		s.used -= s.log[s.first].n
		s.first++
	}
	// Moving only when half is dead keeps the cost per call constant.
	if 2*s.first >= len(s.log) {
		s.log = s.log[:copy(s.log, s.log[s.first:])]
		s.first = 0
	}
}

func (s *SlidingLog) record(at int64, n int) {
	if n == 0 {
		return
	}
	s.used += n
	if last := len(s.log) - 1; last >= s.first && s.log[last].at == at {
		s.log[last].n += n
		return
	}
	s.log = append(s.log, passed{at, n})
}

// retryAfter is when enough of the oldest calls no longer count.
func (s *SlidingLog) retryAfter(at int64, n int) time.Duration {
	if n < 0 || n > s.cfg.Limit {
		return Never
	}
	room := s.cfg.Limit - s.used
	for _, p := range s.log[s.first:] {
		if room += p.n; room >= n {
			return s.cfg.Window - since(p.at, at)
		}
	}
	return Never
}
