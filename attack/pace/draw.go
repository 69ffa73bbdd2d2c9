package pace

import (
	"math/bits"
	"time"
)

// Draw is chance without a state: 64 bits by (seed, index), which depend on nothing
// else. It is SplitMix64's output function over both (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators").
func Draw(seed, index uint64) uint64 { return scramble(scramble(seed) ^ index) }

// Below scales 64 random bits to 0..n-1.
func Below(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}

// Between scales 64 random bits to a duration from least to most, both included.
func Between(random uint64, least, most time.Duration) time.Duration {
	return least + time.Duration(Below(random, uint64(most-least)+1))
}

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
