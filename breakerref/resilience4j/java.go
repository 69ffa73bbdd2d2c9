package resilience4j

import (
	"slices"
	"unicode/utf16"
)

// hashOrder sorts names as a Java HashMap of the given number of buckets goes over them,
// if no two share a bucket; those that do keep their order.
func hashOrder(names []string, buckets uint32) []string {
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int {
		return int(spread(a)&(buckets-1)) - int(spread(b)&(buckets-1))
	})
	return out
}

// spread is the hash that HashMap makes of a String's.
func spread(s string) uint32 {
	var h uint32
	for _, c := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(c)
	}
	return h ^ h>>16
}

// hashSetSize is how many buckets a HashSet has that grew to n names one by one.
func hashSetSize(n int) uint32 {
	size := uint32(16)
	for 3*size < 4*uint32(max(0, n)) {
		size *= 2
	}
	return size
}

// hashMapSizes are how many buckets a HashMap may have that took n names at once: by
// Java 17 and by Java 21.
func hashMapSizes(n int) []uint32 {
	power := func(least int) uint32 {
		size := uint32(1)
		for size < uint32(max(0, least)) {
			size *= 2
		}
		return size
	}
	return []uint32{power(4*n/3 + 1), power((4*n + 2) / 3)}
}

// preferred returns which of several names that are the same to Spring it finds: the one
// that is spelt with hyphens throughout, else the first one of a HashSet.
func preferred(names []string, dashed string) string {
	if slices.Contains(names, dashed) {
		return dashed
	}
	return hashOrder(names, hashSetSize(len(names)))[0]
}
