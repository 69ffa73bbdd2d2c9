package injector

import (
	"io"
	"net"
	"net/http"
	"time"
)

// bared is the connection of the network, below what watches it and below TLS.
func bared(nc net.Conn) net.Conn {
	if c, ok := nc.(*conn); ok {
		nc = c.Conn
	}
	if s, ok := nc.(*secured); ok {
		nc = s.under.Conn
	}
	return nc
}

// closeSoftly ends a connection by FIN. If the caller has sent more than was read, or is about to,
// that is read for a while: a kernel that nobody reads from answers by RST, which may throw away
// what the caller has not read yet. It does not wait for that. i.work is counted by who calls.
func (i *Injector) closeSoftly(nc net.Conn, more bool) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !more && !hasUnread(nc) || !ok || half.CloseWrite() != nil {
		_ = nc.Close() // A caller who is gone already is no error.
		return
	}
	below := bared(nc)
	_ = below.SetReadDeadline(time.Now().Add(lingering))
	read := make(chan struct{})
	i.work.Go(func() {
		_, _ = io.Copy(io.Discard, below)
		close(read)
	})
	i.work.Go(func() {
		select {
		case <-read:
		case <-i.closing:
		}
		_ = nc.Close()
	})
}

// breakOff ends the connection by FIN, whatever of the request is unread.
func (x *exchange) breakOff() {
	if x.stream != nil || x.isClosing() {
		return
	}
	if nc, buffered, err := http.NewResponseController(x.w.ResponseWriter).Hijack(); err == nil {
		x.closeSoftly(nc, buffered.Reader.Buffered() > 0)
	}
}

// sentStep is how long it takes at most until it is seen that all was sent.
const sentStep = time.Millisecond

// awaitSent waits until the caller's kernel has all that was sent: a RST throws away what it has
// not. It waits for nobody who left, and for no fault that was cleared.
func (x *exchange) awaitSent(nc net.Conn, left <-chan struct{}) {
	for unsent(nc) > 0 && !isClosed(left) && !isClosed(x.phase.cleared) {
		if !x.sleepUntil(time.Now().Add(sentStep)) {
			return
		}
	}
}
