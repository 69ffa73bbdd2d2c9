package injector

import (
	"sync"
	"time"
)

// ahead is what a caller sent while his request was served.
type ahead struct {
	mu    sync.Mutex
	bytes []byte
	since time.Time // when the first of it came
}

// lookAhead is how net/http learns that a caller has left whose request is served. It asks for one
// byte and, when there is one, would ask no more, and never learn it. So what comes is kept here, until
// the caller leaves, or the request is through and net/http ends the look by a deadline.
func (c *conn) lookAhead(p []byte) (int, error) {
	buffer := p // Few send anything, so there is no other until they do.
	for {
		n, err := c.Conn.Read(buffer)
		if n > 0 && c.keepAhead(buffer[:n]) >= mostAhead { // He sends without end; he may begin the next request.
			n, _ = c.takeAhead(p)
			return n, nil
		}
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.noteEnd(err)
			return 0, err
		}
		if len(buffer) == 1 {
			buffer = make([]byte, 1<<10)
		}
	}
}

// keepAhead adds to what is kept, and returns how much that is.
func (c *conn) keepAhead(p []byte) int {
	a := &c.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(p) > 0 && len(a.bytes) == 0 {
		a.since = time.Now()
	}
	a.bytes = append(a.bytes, p...)
	return len(a.bytes)
}

// takeAhead takes some of it out.
func (c *conn) takeAhead(p []byte) (int, time.Time) {
	a := &c.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	n := copy(p, a.bytes)
	if a.bytes = a.bytes[n:]; len(a.bytes) == 0 {
		a.bytes = nil
	}
	return n, a.since
}
