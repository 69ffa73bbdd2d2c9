package trace

// block is how many attempts lie together.
const block = 1024

// column is one field of a block of attempts. Most fields are the same for all of them, and then
// one value is all that is kept.
type column[T comparable] struct {
	same T
	each *[block]T // nil: all are same
}

// set sets the field of one attempt; first: no other one has been set.
func (c *column[T]) set(i int, x T, first bool) {
	switch {
	case c.each != nil:
		c.each[i] = x
	case first:
		c.same = x
	case x != c.same:
		c.each = new([block]T)
		for k := range c.each {
			c.each[k] = c.same
		}
		c.each[i] = x
	}
}

// at is the field of one attempt.
func (c *column[T]) at(i int) T {
	if c.each == nil {
		return c.same
	}
	return c.each[i]
}

// The fields of an attempt, by what they are kept as. A test sets every field of an attempt, so
// that none is left out here.
const (
	textFields = 13
	longFields = 7
	flagFields = 2
)

func textsOf(a *Attempt) [textFields]*string {
	return [...]*string{
		&a.Injector, &a.ID, &a.By, &a.Phase, &a.Peer, &a.Method, &a.Path,
		(*string)(&a.Outcome), &a.GRPC, &a.Rule, &a.Action, &a.Detail, &a.Spared,
	}
}

// Where in textsOf are the two that are asked for alone.
const (
	injectorField = iota
	idField
)

func longsOf(a *Attempt) [longFields]*int64 {
	return [...]*int64{
		(*int64)(&a.Arr), (*int64)(&a.Dep), (*int64)(&a.Abandon), (*int64)(&a.Delay), (*int64)(&a.Closed), &a.BytesUp, &a.BytesDown,
	}
}

// arrField is where the instant of arrival is in longsOf.
const arrField = 0

func flagsOf(a *Attempt) [flagFields]*bool { return [...]*bool{&a.Late, &a.Stream} }

// columns are the attempts of a block, without a pointer for each of them, so that a collection
// of garbage costs the same however many there are.
type columns struct {
	texts  [textFields]column[ref]
	longs  [longFields]column[int64]
	flags  [flagFields]column[bool]
	status column[int]
	// seq is by how much the number at the injector is above the place in the block, which is the same
	// for all if there is one injector.
	seq  column[int]
	set  bool // some attempt is
	over bool // all are, and nothing changes any more
}

// put puts an attempt in its place.
func (c *columns) put(i int, a *Attempt, t *texts) {
	first := !c.set
	c.set = true
	for n, s := range textsOf(a) {
		c.texts[n].set(i, t.ref(n, *s), first)
	}
	for n, x := range longsOf(a) {
		c.longs[n].set(i, *x, first)
	}
	for n, x := range flagsOf(a) {
		c.flags[n].set(i, *x, first)
	}
	c.status.set(i, a.Status, first)
	c.seq.set(i, a.Seq-i, first)
}

// attempt is the one in a place; text finds what it refers to.
func (c *columns) attempt(i int, text func(ref) string) Attempt {
	a := Attempt{Status: c.status.at(i), Seq: c.seq.at(i) + i}
	for n, s := range textsOf(&a) {
		*s = text(c.texts[n].at(i))
	}
	for n, x := range longsOf(&a) {
		*x = c.longs[n].at(i)
	}
	for n, x := range flagsOf(&a) {
		*x = c.flags[n].at(i)
	}
	return a
}
