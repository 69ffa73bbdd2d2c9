package retry

import (
	"math"
	"time"
)

// mostMillis is as many milliseconds as a time.Duration holds.
const mostMillis = math.MaxInt64 / int64(time.Millisecond)

// WaitAfter returns how long the given call waits after an attempt, from 1, that is
// retried. The configuration must be valid.
func (c Config) WaitAfter(call uint64, attempt int) time.Duration {
	ms := c.grown(attempt)
	if c.RandomFactor != 0 {
		least, width := spread(ms, c.RandomFactor)
		ms = cut(max(1, least+chance(c.Seed, call, attempt)*width))
	}
	return c.atMost(ms)
}

// WaitBounds returns the shortest and the longest wait that can be after an attempt, from
// 1, whatever the call and the seed. With chance, the longest one may lie 1 ms above the
// range that is stated: floating point rounds up to it, if hardly ever.
func (c Config) WaitBounds(attempt int) (least, most time.Duration) {
	ms := c.grown(attempt)
	if c.RandomFactor == 0 {
		return c.atMost(ms), c.atMost(ms)
	}
	from, width := spread(ms, c.RandomFactor)
	return c.atMost(cut(max(1, from))), c.atMost(cut(max(1, from+mostChance*width)))
}

// grown returns the wait in milliseconds before chance and limit.
func (c Config) grown(attempt int) int64 {
	ms := c.Wait.Milliseconds()
	if c.Multiplier == 0 {
		return ms
	}
	for range attempt - 1 {
		next := cut(float64(ms) * c.Multiplier)
		if next == ms { // It stays so for ever.
			return ms
		}
		ms = next
	}
	return ms
}

// spread returns where the waits by chance begin, and over how much they are spread. The
// one more makes all whole milliseconds of the range alike once they are cut.
func spread(ms int64, factor float64) (least, width float64) {
	delta := factor * float64(ms)
	least = float64(ms) - delta
	return least, float64(ms) + delta - least + 1
}

// atMost applies the limit.
func (c Config) atMost(ms int64) time.Duration {
	if c.MaxWait != 0 {
		ms = min(ms, c.MaxWait.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond
}

// cut makes whole milliseconds, at most as many as there can be.
func cut(ms float64) int64 {
	if ms >= float64(mostMillis) {
		return mostMillis
	}
	return int64(ms)
}

// mostChance is the largest number that chance returns.
const mostChance = 1 - 1.0/(1<<53)

// chance is a number of [0, 1) that depends on its arguments alone: the words go through
// the output function of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014) one after the other.
func chance(seed, call uint64, attempt int) float64 {
	const golden = 0x9E3779B97F4A7C15 // 2^64 over the golden ratio, made odd.
	h := mix(mix(mix(seed+golden)+call+golden) + uint64(attempt)*golden)
	return float64(h>>11) / (1 << 53)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
