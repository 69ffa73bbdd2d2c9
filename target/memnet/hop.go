package memnet

import (
	"hash/fnv"
	"sync"
	"time"
)

// clock hands out the instants at which hops are delivered.
type clock struct {
	seed  uint64
	epoch time.Time

	mu    sync.Mutex
	taken map[time.Duration]struct{} // instants of hops under way, from epoch
}

func newClock(seed uint64) *clock {
	return &clock{seed: seed, epoch: time.Now(), taken: map[time.Duration]struct{}{}}
}

// now is the time since the network was made.
func (c *clock) now() time.Duration { return time.Since(c.epoch) }

// line is one direction of one connection: its hops arrive in the order in
// which they left. The owner of a line calls it from one goroutine at a time.
type line struct {
	clock *clock
	key   uint64 // tells this line from the others of the network
	hops  uint64
	last  time.Duration // when the latest hop arrives
}

// newLine returns the line of one direction (0 or 1) of dial number n to addr.
func (c *clock) newLine(addr string, n, direction uint64) *line {
	h := fnv.New64a()
	_, _ = h.Write([]byte(addr)) // A hash's Write does not fail.
	return &line{clock: c, key: mix(mix(c.seed^h.Sum64()) + n<<1 + direction)}
}

// hop calls arrive after this line's next offset and returns that instant. When
// the instant belongs to another hop, the next free nanosecond is taken.
func (l *line) hop(arrive func()) time.Duration {
	c := l.clock
	offset := time.Duration(1 + mix(l.key^l.hops)%999)
	l.hops++
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	at := max(now+offset, l.last+1)
	for c.has(at) {
		at++
	}
	c.taken[at] = struct{}{}
	l.last = at
	time.AfterFunc(at-now, func() {
		c.mu.Lock()
		delete(c.taken, at)
		c.mu.Unlock()
		arrive()
	})
	return at
}

func (c *clock) has(at time.Duration) bool {
	_, ok := c.taken[at]
	return ok
}

// mix spreads the bits of x over 64 bits: the output function of SplitMix64
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
