package pace

import (
	"math"
	"time"
)

// Burst is Calls slots due at once, at offset 0 and again after each Every. They are
// due a nanosecond apart, in which nothing happens but that their order is known:
// in virtual time it would be up to the scheduler.
type Burst struct {
	Calls int
	Every time.Duration // longer than Calls nanoseconds
}

var _ Schedule = Burst{}

// Due is the instant of the burst that slot n belongs to, and its place in it.
func (b Burst) Due(n int) time.Duration {
	if b.none() || n < 0 || int64(n/b.Calls) >= int64(never/b.Every) {
		return never
	}
	return time.Duration(n/b.Calls)*b.Every + time.Duration(n%b.Calls)
}

// Count is how many slots are due before offset d.
func (b Burst) Count(d time.Duration) int {
	if b.none() || d <= 0 {
		return 0
	}
	bursts, rest := int64(d/b.Every), int64(d%b.Every)
	if bursts >= int64(math.MaxInt/b.Calls) {
		return math.MaxInt
	}
	return int(bursts)*b.Calls + int(min(rest, int64(b.Calls)))
}

// none reports whether nothing is ever due.
func (b Burst) none() bool { return b.Calls <= 0 || b.Every <= time.Duration(b.Calls) }
