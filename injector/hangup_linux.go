package injector

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the caller has ended his side of a connection, also while what he
// sent before is unread. Of networks that are not the operating system's it knows nothing.
func hungUp(nc net.Conn) bool { return polled(nc, unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) }

// polled reports whether the kernel says one of these of a connection.
func polled(nc net.Conn, events int16) bool {
	over := false
	onSocket(nc, func(fd int) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		over = err == nil && n == 1 && p[0].Revents&events != 0
	})
	return over
}

// unsent is how many bytes the kernel has taken that the caller's has not; 0 of who is gone.
func unsent(nc net.Conn) int {
	if polled(nc, unix.POLLHUP|unix.POLLERR) {
		return 0 // They count still, and never come to an end.
	}
	return queued(nc, unix.SIOCOUTQ)
}

// hasUnread reports whether bytes have come that nobody has read: closing would be RST.
func hasUnread(nc net.Conn) bool { return queued(nc, unix.SIOCINQ) > 0 }

// queued is how many bytes are in one of the kernel's queues of a connection.
func queued(nc net.Conn, which uint) (n int) {
	onSocket(nc, func(fd int) {
		if size, err := unix.IoctlGetInt(fd, which); err == nil {
			n = size
		}
	})
	return n
}

// onSocket has something done to the socket below a connection, if it has one.
func onSocket(nc net.Conn, do func(fd int)) {
	c, ok := bared(nc).(syscall.Conn)
	if !ok {
		return
	}
	if socket, err := c.SyscallConn(); err == nil {
		_ = socket.Control(func(fd uintptr) { do(int(fd)) }) // Of a closed one there is nothing to know.
	}
}
