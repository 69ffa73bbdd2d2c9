//go:build unix

package injector

import (
	"fmt"
	"net"
	"syscall"
)

// holdPort keeps a port that nobody listens at: connections are refused at once, and no
// other process can take it.
func holdPort(addr string) (release func(), err error) {
	fd, err := bound(addr)
	if err != nil {
		return nil, fmt.Errorf("keep the port: %w", err)
	}
	return func() { _ = syscall.Close(fd) }, nil
}

// bound returns a socket that is bound to an address, and no more.
func bound(addr string) (int, error) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return 0, err
	}
	family := syscall.AF_INET6
	var sa syscall.Sockaddr
	if ip := a.IP.To4(); ip != nil {
		family, sa = syscall.AF_INET, &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}
	} else {
		sa = &syscall.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, err
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, sa)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}
