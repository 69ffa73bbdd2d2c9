package pace

import (
	"math"
	"time"
)

// Burst is Calls slots due at one instant, at offset 0 and again after each Every.
type Burst struct {
	Calls int
	Every time.Duration
}

var _ Schedule = Burst{}

// Due is the instant of the burst that slot n belongs to.
func (b Burst) Due(n int) time.Duration {
	if b.none() || n < 0 || int64(n/b.Calls) > int64(never/b.Every) {
		return never
	}
	return time.Duration(n/b.Calls) * b.Every
}

// Count is how many slots are due before offset d.
func (b Burst) Count(d time.Duration) int {
	if b.none() || d <= 0 {
		return 0
	}
	bursts := (d-1)/b.Every + 1
	if int64(bursts) > int64(math.MaxInt/b.Calls) {
		return math.MaxInt
	}
	return int(bursts) * b.Calls
}

// none reports whether nothing is ever due.
func (b Burst) none() bool { return b.Calls <= 0 || b.Every <= 0 }
