package injector

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ahead is what a caller sent while his request was served, and whether that is looked for.
type ahead struct {
	mu    sync.Mutex
	bytes []byte
	since time.Time // when the first of it came

	stir   sync.Cond   // of the three below, which change under its lock, mu
	looks  bool        // the request that is served takes its time
	over   atomic.Bool // the look has to end
	always bool        // net/http has nothing to do with the connection any more

	brief atomic.Bool // the request is answered at once

	some atomic.Bool // bytes has some, for who only wants to know whether there is something to do
}

// lookAhead is how net/http learns that a caller has left whose request is served. It asks for one
// byte and, when there is one, would ask no more, and never learn it. So what comes is kept here, until
// the caller leaves, or the request is through and net/http ends the look by a deadline.
//
// Most requests are answered at once. Then there is nothing to look for, and the system is not asked.
func (c *conn) lookAhead(p []byte) (int, error) {
	if c.ahead.brief.Load() {
		return 0, nil // The look is over, and need not be ended.
	}
	if !c.ahead.wait() {
		return 0, os.ErrDeadlineExceeded
	}
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

// wait waits until it is known whether the request takes its time; false: it did not.
func (a *ahead) wait() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.looks && !a.over.Load() && !a.always {
		a.stir.Wait()
	}
	return a.looks || a.always
}

// look says that the request takes its time.
func (a *ahead) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks = true
	a.stir.Broadcast()
}

// end ends a look. It reports whether one may be under way that only the network can end.
func (a *ahead) end() (looks bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over.Store(true)
	a.stir.Broadcast()
	return a.looks || a.always
}

// anew says that no look is under way that has been ended: the next one is of another request. net/http
// says so before it begins one, too.
func (a *ahead) anew() {
	if a.brief.Load() {
		a.brief.Store(false)
	}
	if !a.over.Load() {
		return // As most often.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over.Swap(false) {
		a.looks = false
	}
}

// leave says that net/http leaves the connection to others.
func (a *ahead) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always = true
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
	a.some.Store(len(a.bytes) > 0)
	return len(a.bytes)
}

// takeAhead takes some of it out.
func (c *conn) takeAhead(p []byte) (int, time.Time) {
	a := &c.ahead
	if !a.some.Load() {
		return 0, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := copy(p, a.bytes)
	if a.bytes = a.bytes[n:]; len(a.bytes) == 0 {
		a.bytes = nil
		a.some.Store(false)
	}
	return n, a.since
}
