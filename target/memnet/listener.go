package memnet

import (
	"net"
	"sync"
)

// listener queues the connections that arrived and were not accepted yet; the
// queue has no bound.
type listener struct {
	network *Network
	key     string
	addr    net.Addr

	mu      sync.Mutex
	backlog []*conn
	closed  bool
	wake    chan struct{} // closed and replaced at every change
}

var _ net.Listener = (*listener)(nil)

func newListener(n *Network, host string, port int) *listener {
	return &listener{network: n, key: key(host, port), addr: address(host, port), wake: make(chan struct{})}
}

// Accept waits for the next connection; after Close it is net.ErrClosed.
func (l *listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		closed, wake := l.closed, l.wake
		var c *conn
		if len(l.backlog) > 0 {
			c = l.backlog[0]
			l.backlog = l.backlog[1:]
		}
		l.mu.Unlock()
		switch {
		case closed:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
		case c != nil:
			return c, nil
		}
		<-wake
	}
}

// Close refuses later dials and resets the connections that nobody accepted.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	l.closed = true
	left := l.backlog
	l.backlog = nil
	close(l.wake)
	l.mu.Unlock()
	l.network.remove(l)
	for _, c := range left {
		c.abort()
	}
	return nil
}

// Addr is the address that was listened on, with its port filled in.
func (l *listener) Addr() net.Addr { return l.addr }

// offer queues a connection, or reports that the listener is closed.
func (l *listener) offer(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.backlog = append(l.backlog, c)
	close(l.wake)
	l.wake = make(chan struct{})
	return true
}
