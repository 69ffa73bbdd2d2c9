package simulate

// kind says what happens at an event.
type kind uint8

// The kinds of events.
const (
	attemptEnds kind = iota
	attemptBegins
	callComes
)

// event is something that will happen.
type event struct {
	at    int64 // ns since the beginning of the trial
	order uint64
	call  uint64
	began int64 // when the call came
	sent  int64 // when the attempt was

	replica uint16
	attempt uint16
	stage   stage // in which the call came
	kind    kind
	failed  bool
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// queue holds events and gives them back in the order of their time, and of two at the
// same instant the one that was put first. Most come in the order in which they will
// leave, and cost no more than a place in a ring; the others wait in a heap.
type queue struct {
	order uint64
	ring  []event // a power of two
	head  int
	n     int
	heap  []event
}

func newQueue() queue { return queue{ring: make([]event, 64)} }

// put adds an event.
func (q *queue) put(e *event) {
	q.order++
	e.order = q.order
	mask := len(q.ring) - 1
	if q.n > 0 && e.at < q.ring[(q.head+q.n-1)&mask].at {
		q.push(*e)
		return
	}
	if q.n == len(q.ring) {
		q.grow()
		mask = len(q.ring) - 1
	}
	q.ring[(q.head+q.n)&mask] = *e
	q.n++
}

func (q *queue) grow() {
	bigger := make([]event, 2*len(q.ring))
	for i := range q.n {
		bigger[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
	}
	q.ring, q.head = bigger, 0
}

// far is later than any event.
const far = int64(1) << 62

// next returns when the next event is due; far if there is none.
func (q *queue) next() int64 {
	at := far
	if q.n > 0 {
		at = q.ring[q.head].at
	}
	if len(q.heap) > 0 {
		at = min(at, q.heap[0].at)
	}
	return at
}

// take removes the next event, of which there has to be one.
func (q *queue) take(e *event) {
	if len(q.heap) > 0 && (q.n == 0 || q.heap[0].before(&q.ring[q.head])) {
		*e = q.pop()
		return
	}
	*e = q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}

func (q *queue) push(e event) {
	q.heap = append(q.heap, e)
	h, i := q.heap, len(q.heap)-1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

func (q *queue) pop() event {
	first, last := q.heap[0], q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	h, i := q.heap, 0
	for len(h) > 0 {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(&h[down]) {
			down++
		}
		if !h[down].before(&last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	if len(h) > 0 {
		h[i] = last
	}
	return first
}

// workers are the places at which the dependency works, by the time when each is free,
// the earliest first.
type workers []int64

// serve returns when work that comes at an instant and takes so long is done. The ones
// that came before are served before.
func (w workers) serve(at, takes int64) int64 {
	done := max(at, w[0]) + takes
	i := 0
	for {
		down := 2*i + 1
		if down >= len(w) {
			break
		}
		if down+1 < len(w) && w[down+1] < w[down] {
			down++
		}
		if w[down] >= done {
			break
		}
		w[i] = w[down]
		i = down
	}
	w[i] = done
	return done
}
