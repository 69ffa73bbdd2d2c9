package injector

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the caller has ended his side of a connection, also while what he
// sent before is unread. Of networks that are not the operating system's it knows nothing.
func hungUp(nc net.Conn) bool {
	if s, ok := nc.(*secured); ok {
		nc = s.under.Conn
	}
	c, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	socket, err := c.SyscallConn()
	if err != nil {
		return false
	}
	over := false
	err = socket.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(polled, 0)
		over = err == nil && n == 1 && polled[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && over
}
