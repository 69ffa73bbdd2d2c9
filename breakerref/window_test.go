package breakerref

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// ring is a time based window as the library builds it: a bucket for every second
// and one that is the head. It is what timeWindow has to agree with under a clock
// that steps back.
type ring struct {
	buckets []counts
	epochs  []int64
	head    int
}

func newRing(size int, now int64) *ring {
	r := &ring{buckets: make([]counts, size), epochs: make([]int64, size)}
	for i := range r.epochs {
		r.epochs[i] = now + int64(i)
	}
	return r
}

func (r *ring) touch(now int64) {
	ahead := now - r.epochs[r.head]
	if ahead == 0 {
		return
	}
	left := min(ahead, int64(len(r.buckets)))
	for {
		left--
		r.head = (r.head + 1) % len(r.buckets)
		r.buckets[r.head] = counts{}
		r.epochs[r.head] = now - left
		if left <= 0 {
			return
		}
	}
}

func (r *ring) read(now int64) counts {
	r.touch(now)
	var sum counts
	for _, b := range r.buckets {
		sum.calls += b.calls
		sum.failed += b.failed
		sum.slow += b.slow
		sum.slowFailed += b.slowFailed
	}
	return sum
}

// chain is a lock-free window as the library builds it: as many slices as seconds, and
// one that begins after another as long as a second has passed.
type chain struct {
	slices []counts // the current one last
	began  time.Time
}

func newChain(size int, now time.Time) *chain {
	return &chain{slices: make([]counts, size), began: now}
}

func (c *chain) touch(now time.Time) {
	for now.Sub(c.began) >= time.Second {
		elapsed := now.Sub(c.began)
		next := c.began.Add(time.Second)
		if elapsed >= time.Duration(len(c.slices)+1)*time.Second {
			next = now.Add(-time.Duration(len(c.slices)-1) * time.Second)
		}
		c.slices = append(c.slices[1:], counts{})
		c.began = next
	}
}

func (c *chain) read(now time.Time) counts {
	c.touch(now)
	var sum counts
	for _, s := range c.slices {
		sum.calls += s.calls
		sum.failed += s.failed
		sum.slow += s.slow
		sum.slowFailed += s.slowFailed
	}
	return sum
}

func TestSliceWindowAgainstChain(t *testing.T) { rapid.Check(t, sliceWindowAgainstChain) }
func FuzzSliceWindow(f *testing.F)             { f.Fuzz(rapid.MakeFuzz(sliceWindowAgainstChain)) }

func sliceWindowAgainstChain(t *rapid.T) {
	size := rapid.IntRange(1, 5).Draw(t, "size")
	now := time.Unix(1_735_689_600, 0)
	w := window(newSliceWindow(size, now, false))
	c := newChain(size, now)
	t.Repeat(map[string]func(*rapid.T){
		"record": func(t *rapid.T) {
			o := outcome{rapid.Bool().Draw(t, "failed"), rapid.Bool().Draw(t, "slow")}
			got := w.record(now, o)
			c.touch(now)
			c.slices[size-1].add(o)
			if want := c.read(now); got != want {
				t.Fatalf("record: got %+v, the chain has %+v", got, want)
			}
		},
		"read": func(t *rapid.T) {
			if got, want := w.read(now), c.read(now); got != want {
				t.Fatalf("read: got %+v, the chain has %+v", got, want)
			}
		},
		"wait": func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(-1500, 7500).Draw(t, "ms")) * time.Millisecond)
		},
		"clone": func(*rapid.T) {
			spoiled := w
			w = w.clone()
			spoiled.record(now.Add(time.Second), outcome{failed: true})
		},
	})
}

func TestTimeWindowAgainstRing(t *testing.T) { rapid.Check(t, timeWindowAgainstRing) }
func FuzzTimeWindow(f *testing.F)            { f.Fuzz(rapid.MakeFuzz(timeWindowAgainstRing)) }

func timeWindowAgainstRing(t *rapid.T) {
	size := rapid.IntRange(1, 5).Draw(t, "size")
	now := time.Unix(1_735_689_600, 0)
	w := window(newTimeWindow(size, now))
	r := newRing(size, now.Unix())
	t.Repeat(map[string]func(*rapid.T){
		"record": func(t *rapid.T) {
			o := outcome{rapid.Bool().Draw(t, "failed"), rapid.Bool().Draw(t, "slow")}
			got := w.record(now, o)
			r.touch(now.Unix())
			r.buckets[r.head].add(o)
			// Once touched, the ring moves no further at its own head.
			if want := r.read(r.epochs[r.head]); got != want {
				t.Fatalf("record: got %+v, the ring has %+v", got, want)
			}
		},
		"read": func(t *rapid.T) {
			if got, want := w.read(now), r.read(now.Unix()); got != want {
				t.Fatalf("read: got %+v, the ring has %+v", got, want)
			}
		},
		"wait": func(t *rapid.T) {
			now = now.Add(time.Duration(rapid.IntRange(-3, 7).Draw(t, "seconds")) * time.Second)
		},
		"clone": func(*rapid.T) {
			spoiled := w
			w = w.clone()
			spoiled.record(now.Add(time.Second), outcome{failed: true})
		},
	})
}

// A window costs what it holds, not what it could hold.
func TestHugeWindowIsCheap(t *testing.T) {
	const size = 1<<31 - 1
	now := time.Unix(0, 0)
	for _, w := range []window{&callWindow{size: size}, newTimeWindow(size, now)} {
		w.record(now, outcome{failed: true})
		w = w.clone()
		if got := w.record(now.Add(time.Hour), outcome{slow: true}); got != (counts{calls: 2, failed: 1, slow: 1}) {
			t.Errorf("%T: got %+v", w, got)
		}
	}
}
