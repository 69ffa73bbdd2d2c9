//go:build !linux

package injector

import (
	"net"
	"syscall"
)

// hungUp knows nothing here: a caller who leaves is missed when all that he sent is read.
func hungUp(net.Conn) bool { return false }

// unsent knows nothing here: what the caller's kernel has no room for is lost by a RST.
func unsent(net.Conn) int { return 0 }

// hasUnread does not know, and so supposes it of connections of the operating system.
func hasUnread(nc net.Conn) bool {
	_, ok := bared(nc).(syscall.Conn)
	return ok
}
