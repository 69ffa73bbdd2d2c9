package trace

import (
	"maps"
	"slices"
)

// ledger is a growing list of attempts. One that has no end yet is kept as it is, as few are; the
// others are kept in little room.
type ledger struct {
	n      int
	blocks []*attempts
	texts  texts

	open  []*Attempt // those without an end, in any order; and room that is free
	free  []int      // where in open
	spare *[block]uint32
}

// attempts are those of one block.
type attempts struct {
	ended *columns
	// open is by place 1 + where in ledger.open one is that has no end, or 0; nil: all have one.
	open *[block]uint32
	left int // how many have none
	full bool
}

// add appends an attempt and returns its place.
func (l *ledger) add(a Attempt) int {
	place := l.n
	if place%block == 0 {
		l.blocks = append(l.blocks, &attempts{ended: &columns{}})
	}
	b := l.blocks[place/block]
	l.n++
	b.full = l.n%block == 0
	*l.begin(b, place%block) = a
	return place
}

// begin makes room for an attempt without an end.
func (l *ledger) begin(b *attempts, i int) *Attempt {
	if b.open == nil {
		if b.open, l.spare = l.spare, nil; b.open == nil {
			b.open = new([block]uint32)
		}
	}
	if len(l.free) == 0 {
		l.open = append(l.open, new(Attempt))
		l.free = append(l.free, len(l.open)-1)
	}
	last := len(l.free) - 1
	at := l.free[last]
	l.free = l.free[:last]
	b.open[i] = uint32(at) + 1
	b.left++
	return l.open[at]
}

// openAt is the attempt in a place while it has no end, or nil.
func (l *ledger) openAt(place int) *Attempt {
	b := l.blocks[place/block]
	if b.open == nil || b.open[place%block] == 0 {
		return nil
	}
	return l.open[b.open[place%block]-1]
}

// change gives out an attempt to be changed, until end.
func (l *ledger) change(place int) *Attempt {
	if a := l.openAt(place); a != nil {
		return a
	}
	a := l.begin(l.blocks[place/block], place%block)
	*a = l.blocks[place/block].ended.attempt(place%block, l.texts.text)
	return a
}

// end says that an attempt has its end.
func (l *ledger) end(place int) {
	b, i := l.blocks[place/block], place%block
	if b.ended.over {
		return // Who has a copy of the block reads it. It is odd to have two ends.
	}
	at := b.open[i] - 1
	b.ended.put(i, l.open[at], &l.texts)
	b.open[i] = 0
	l.free = append(l.free, int(at))
	if b.left--; b.left == 0 && b.full {
		b.ended.over = true
		l.spare, b.open = b.open, nil
	}
}

// at is a copy of the attempt in a place.
func (l *ledger) at(place int) Attempt {
	if a := l.openAt(place); a != nil {
		return *a
	}
	return l.blocks[place/block].ended.attempt(place%block, l.texts.text)
}

// key is what the attempt in a place is looked up by.
func (l *ledger) key(place int) (injector, id string, arr int64) {
	if a := l.openAt(place); a != nil {
		return a.Injector, a.ID, int64(a.Arr)
	}
	c, i := l.blocks[place/block].ended, place%block
	return l.texts.text(c.texts[injectorField].at(i)), l.texts.text(c.texts[idField].at(i)), c.longs[arrField].at(i)
}

// reading is the attempts as they were at an instant.
type reading struct {
	n      int
	blocks []*columns
	some   map[int][]Attempt // of blocks that were not over
	texts  view
}

// read returns the attempts as they are.
func (l *ledger) read() reading {
	r := reading{n: l.n, some: map[int][]Attempt{}, texts: l.texts.view()}
	for k, b := range l.blocks {
		r.blocks = append(r.blocks, b.ended)
		if b.left == 0 && b.ended.over {
			continue
		}
		some := make([]Attempt, min(l.n-k*block, block))
		for i := range some {
			some[i] = l.at(k*block + i)
		}
		r.some[k] = some
	}
	return r
}

// at is the attempt in a place.
func (r reading) at(place int) Attempt {
	if some, ok := r.some[place/block]; ok {
		return some[place%block]
	}
	return r.blocks[place/block].attempt(place%block, r.texts.text)
}

// injector is where the attempt in a place came to.
func (r reading) injector(place int) string {
	if some, ok := r.some[place/block]; ok {
		return some[place%block].Injector
	}
	return r.texts.text(r.blocks[place/block].texts[injectorField].at(place % block))
}

// injectors are those that attempts came to, sorted.
func (r reading) injectors() []string {
	all := map[string]struct{}{}
	for place, last := 0, ""; place < r.n; place++ {
		if injector := r.injector(place); injector != last || place == 0 {
			all[injector], last = struct{}{}, injector
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// all are the attempts; nil if there is none.
func (r reading) all() []Attempt {
	if r.n == 0 {
		return nil
	}
	all := make([]Attempt, r.n)
	for place := range all {
		all[place] = r.at(place)
	}
	return all
}
