package breakerref

import "slices"

// turns adds up the outcomes of the latest size buckets of a window that slides by the
// time. The library keeps a ring of buckets; here turn counts how often that ring has
// advanced, and only buckets with outcomes are kept, each with the turn it belongs to.
type turns struct {
	size    int
	turn    int64
	buckets []bucket // oldest first
	totals  counts
}

type bucket struct {
	turn int64
	counts
}

// add counts an outcome in the current bucket.
func (w *turns) add(o outcome) counts {
	last := len(w.buckets) - 1
	if last < 0 || w.buckets[last].turn != w.turn {
		w.buckets = append(w.buckets, bucket{turn: w.turn})
		last++
	}
	w.buckets[last].add(o)
	w.totals.add(o)
	return w.totals
}

// advance begins n further buckets and forgets those that are no longer among the latest.
func (w *turns) advance(n int64) {
	w.turn += n
	gone := 0
	for gone < len(w.buckets) && w.buckets[gone].turn <= w.turn-int64(w.size) {
		w.totals.remove(w.buckets[gone].counts)
		gone++
	}
	w.buckets = w.buckets[gone:]
}

func (w turns) clone() turns {
	w.buckets = slices.Clone(w.buckets)
	return w
}
