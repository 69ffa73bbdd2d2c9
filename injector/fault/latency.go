package fault

import (
	"math/bits"
	"time"
)

// draw takes the latency of one request: uniform over the nanoseconds from Min
// to Max, both included.
func (l Latency) draw(hash, index uint64) time.Duration {
	if l.Max <= l.Min {
		return l.Min
	}
	// The high word of a product scales a 64-bit number to [0, span] with a
	// bias below span/2^64.
	over, _ := bits.Mul64(number(hash, index), uint64(l.Max-l.Min)+1)
	return l.Min + time.Duration(over)
}
