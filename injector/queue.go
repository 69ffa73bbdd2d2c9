package injector

import (
	"sync"
	"time"
)

// chunk is bytes on their way; none are the FIN behind all others.
type chunk struct {
	bytes []byte
	at    time.Time // when they came
}

// mostQueued is how much of one direction is on its way at most; then its source is not
// read from until some of it has gone. Every chunk weighs a little more than its bytes.
const (
	mostQueued  = 16 << 20
	chunkWeight = 64
)

// queue keeps chunks in order, from one goroutine for another.
type queue struct {
	mu       sync.Mutex
	chunks   []chunk
	weight   int
	readable chan struct{}
	writable chan struct{}
}

func newQueue() *queue {
	return &queue{readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
}

// tell wakes the other side, if it sleeps.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // It has been told.
	}
}

// push waits for room; when done comes first, the chunk is thrown away.
func (q *queue) push(c chunk, done <-chan struct{}) {
	for {
		q.mu.Lock()
		if q.weight < mostQueued {
			q.chunks = append(q.chunks, c)
			q.weight += len(c.bytes) + chunkWeight
			q.mu.Unlock()
			tell(q.readable)
			return
		}
		q.mu.Unlock()
		select {
		case <-q.writable:
		case <-done:
			return
		}
	}
}

// pop waits for a chunk; false: done came first.
func (q *queue) pop(done <-chan struct{}) (chunk, bool) {
	for {
		q.mu.Lock()
		if len(q.chunks) > 0 {
			c := q.chunks[0]
			q.chunks = q.chunks[1:]
			q.weight -= len(c.bytes) + chunkWeight
			q.mu.Unlock()
			tell(q.writable)
			return c, true
		}
		q.mu.Unlock()
		select {
		case <-q.readable:
		case <-done:
			return chunk{}, false
		}
	}
}
