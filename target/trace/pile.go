package trace

// chunk is how many records lie together.
const chunk = 4096

// pile is a growing list whose records never move. A slice of a million of them
// takes hundreds of milliseconds to grow, and all who record would wait for it.
type pile[T any] struct {
	chunks [][]T
	n      int
}

// add appends a record and returns its place.
func (p *pile[T]) add(x T) int {
	if p.n%chunk == 0 {
		p.chunks = append(p.chunks, make([]T, 0, chunk))
	}
	last := len(p.chunks) - 1
	p.chunks[last] = append(p.chunks[last], x)
	p.n++
	return p.n - 1
}

// at is the record at a place.
func (p *pile[T]) at(i int) *T { return &p.chunks[i/chunk][i%chunk] }

// all is a copy of the records; nil if there is none.
func (p *pile[T]) all() []T {
	if p.n == 0 {
		return nil
	}
	out := make([]T, 0, p.n)
	for _, c := range p.chunks {
		out = append(out, c...)
	}
	return out
}
