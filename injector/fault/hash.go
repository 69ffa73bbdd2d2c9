package fault

import (
	"encoding/binary"
	"hash/fnv"
	"math/bits"
)

// golden is the increment of SplitMix64: 2^64 over the golden ratio, made odd.
const golden = 0x9E3779B97F4A7C15

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// number is the index-th number of a stream.
func number(hash, index uint64) uint64 { return mix(hash + (index+1)*golden) }

// seedHash starts the stream of one rule.
func seedHash(seed uint64, id string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seed)
	h.Write(b[:])
	h.Write([]byte(id))
	return h.Sum64()
}

// What the numbers of one rule are drawn for. Each has a stream of its own, or
// else the requests that a rule hits would have latencies of a kind.
const (
	forSelection = 0xD1B54A32D192ED03
	forStrata    = 0x8CB92BA72F3D8DD7
)

// permute is where the permutation of 0..n-1 that the key names puts x. It is the
// swap-or-not shuffle (Hoang, Morris and Rogaway, CRYPTO 2012): in each round,
// pairs that add up to a number of that round change places or do not. So every n
// is served without a table and without walking.
func permute(n, key, x uint64) uint64 {
	if n < 2 {
		return x
	}
	for round := range uint64(shuffleRounds) {
		k := number(key, round)
		sum, _ := bits.Mul64(k, n)
		partner := sum + n - x
		if partner >= n {
			partner -= n
		}
		if mix(k^max(x, partner))&1 == 1 {
			x = partner
		}
	}
	return x
}

// shuffleRounds is enough for the small n that occur: the tests count how often
// each value comes to each place.
const shuffleRounds = 32
