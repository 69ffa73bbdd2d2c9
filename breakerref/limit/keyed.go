package limit

import (
	"fmt"
	"time"
)

// Keyed holds one limiter per key, and no more than a set number of them. It lets
// go of a limiter only if that is as good as new, so that nobody can tell; if none
// is, a call for a new key ends in an error. What to do then is the caller's to say:
// there is no answer that is right for every key.
//
// While the clock is behind where it has been, it stands still for all keys, also
// for limiters that would follow it.
type Keyed struct {
	most  int
	fresh func(key string) (Limiter, error)
	now   time.Time // the latest instant it was told
	keys  map[string]*kept
	heap  []*kept // the first to be as good as new first
}

// kept is the limiter of one key.
type kept struct {
	key     string
	limiter Limiter
	freshAt time.Time
	never   bool // it is in use for ever; freshAt is as late as can be
	pos     int  // in the heap
}

// FullError says that a key had no place.
type FullError struct {
	Key        string
	Most       int           // keys that can be kept
	RetryAfter time.Duration // until the first of them can go, if its key is not used; or Never
}

// Error says what is full and what can be done.
func (e *FullError) Error() string {
	free := "none will be free"
	if e.RetryAfter != Never {
		free = fmt.Sprintf("the first is free in %v", e.RetryAfter)
	}
	return fmt.Sprintf("no room for key %q: the limiters of all keys that may be kept (%d) are in use, %s; "+
		"allow more keys, or decide without a limiter", e.Key, e.Most, free)
}

// NewKeyed returns a limiter for each of at most so many keys. Fresh makes the
// limiter of a key when it is first used; called again it has to make one that
// behaves alike, which for an AtomicRateLimiter means the same instant of creation.
func NewKeyed(mostKeys int, fresh func(key string) (Limiter, error)) (*Keyed, error) {
	var p problems
	p.atLeastOne("keys", mostKeys)
	if err := p.join(); err != nil {
		return nil, err
	}
	return &Keyed{most: mostKeys, fresh: fresh, keys: map[string]*kept{}}, nil
}

// Take asks the key's limiter for n calls. The error is a *FullError, or what fresh
// returned.
func (k *Keyed) Take(now time.Time, key string, n int) (Decision, error) {
	behind := max(k.now.Sub(now), 0)
	if behind > 0 {
		now = k.now
	}
	k.now = now
	e, ok := k.keys[key]
	if !ok {
		var err error
		if e, err = k.add(now, key, behind); err != nil {
			return Decision{}, err
		}
	}
	d := e.limiter.Take(now, n)
	e.freshAt, e.never = now.Add(d.Reset), d.Reset == Never
	k.down(k.up(e.pos))
	return d.later(behind), nil
}

// Len returns how many keys are kept, those that can go included.
func (k *Keyed) Len() int { return len(k.keys) }

func (k *Keyed) add(now time.Time, key string, behind time.Duration) (*kept, error) {
	full := len(k.keys) == k.most
	if full && k.heap[0].freshAt.After(now) {
		wait := Never
		if !k.heap[0].never {
			wait = sum(k.heap[0].freshAt.Sub(now), behind)
		}
		return nil, &FullError{Key: key, Most: k.most, RetryAfter: wait}
	}
	limiter, err := k.fresh(key)
	if err != nil {
		return nil, fmt.Errorf("make the limiter of key %q: %w", key, err)
	}
	e := &kept{key: key, limiter: limiter, freshAt: now}
	if full {
		delete(k.keys, k.heap[0].key)
		k.heap[0] = e
	} else {
		e.pos = len(k.heap)
		k.heap = append(k.heap, e)
	}
	k.keys[key] = e
	return e, nil
}

// up moves an entry towards the top until it is not before its parent, and returns
// where it is then.
func (k *Keyed) up(pos int) int {
	for pos > 0 {
		parent := (pos - 1) / 2
		if !k.before(pos, parent) {
			break
		}
		k.swap(pos, parent)
		pos = parent
	}
	return pos
}

// down moves an entry away from the top until no child is before it.
func (k *Keyed) down(pos int) {
	for {
		first := pos
		for child := 2*pos + 1; child <= 2*pos+2 && child < len(k.heap); child++ {
			if k.before(child, first) {
				first = child
			}
		}
		if first == pos {
			return
		}
		k.swap(pos, first)
		pos = first
	}
}

func (k *Keyed) before(i, j int) bool {
	return k.heap[i].freshAt.Before(k.heap[j].freshAt)
}

func (k *Keyed) swap(i, j int) {
	k.heap[i], k.heap[j] = k.heap[j], k.heap[i]
	k.heap[i].pos, k.heap[j].pos = i, j
}
