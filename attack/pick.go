package attack

import (
	"math/bits"
	"time"

	"github.com/faultline-go/faultline/target/match"
)

// pick chooses the target of call seq by weight. It depends on nothing but the
// seed and seq, so a run can be repeated and read off from its trace.
func pick(targets []match.Target, seed, seq uint64) match.Target {
	total := 0
	for _, t := range targets {
		total += t.Weight
	}
	if total == 0 {
		return targets[below(mix(seed, seq), uint64(len(targets)))]
	}
	at := below(mix(seed, seq), uint64(total))
	for _, t := range targets {
		if at < t.Weight {
			return t
		}
		at -= t.Weight
	}
	return targets[len(targets)-1] // Not reached: at is below the sum.
}

// jitter is added to a call's timeout: 1 to 999 ns. In a bubble a round timeout
// would otherwise end a call at the very instant at which a later slot is due,
// and it would be up to the scheduler whether the slot finds room.
func jitter(phase int, seq uint64) time.Duration {
	return time.Duration(1 + below(mix(uint64(phase), seq), 999))
}

// below scales 64 random bits to 0..n-1.
func below(x, n uint64) int {
	hi, _ := bits.Mul64(x, n)
	return int(hi)
}

// mix hashes two numbers to 64 bits: SplitMix64's output function (Steele, Lea
// and Flood, "Fast splittable pseudorandom number generators") over both.
func mix(a, b uint64) uint64 { return scramble(scramble(a) ^ b) }

func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
