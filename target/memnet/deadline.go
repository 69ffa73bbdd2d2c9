package memnet

import (
	"net"
	"time"
)

// passed reports whether a deadline has come; the zero deadline never does.
func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadline(t, true, true) }

// SetReadDeadline sets when waiting and later reads are
// os.ErrDeadlineExceeded; the zero time takes the deadline away.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, true, false) }

// SetWriteDeadline does the same for writes.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, false, true) }

func (c *conn) setDeadline(t time.Time, read, write bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	if read {
		stop(c.readTimer)
		c.readBefore, c.readTimer = t, c.alarm(t)
	}
	if write {
		stop(c.writeTimer)
		c.writeBefore, c.writeTimer = t, c.alarm(t)
	}
	c.signal() // Whoever waits has to look at the new deadline.
	return nil
}

// alarm wakes this end's waiters at t. Waking them too often does no harm: they
// look at the deadline itself. The lock is held.
func (c *conn) alarm(t time.Time) *time.Timer {
	if t.IsZero() || passed(t) {
		return nil
	}
	return time.AfterFunc(time.Until(t), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.signal()
	})
}
