package injector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// CanShut reports why this system cannot do to those who connect what an action says, or nil.
func CanShut(fault.Action) error { return nil }

// fillBacklog keeps a port whose queue of connections is full, so that the kernel drops
// further ones in silence: whoever connects runs into his own timeout.
func fillBacklog(addr string) (release func(), err error) {
	fd, err := bound(addr)
	if err != nil {
		return nil, fmt.Errorf("keep the port: %w", err)
	}
	var queued []net.Conn
	release = func() {
		for _, c := range queued {
			_ = c.Close()
		}
		_ = syscall.Close(fd)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		release()
		return nil, fmt.Errorf("listen with an empty queue: %w", err)
	}
	// One or two connections fill it, by the kernel's version.
	const most = 16
	dialer := net.Dialer{Timeout: 100 * time.Millisecond}
	for range most {
		c, err := dialer.DialContext(context.Background(), "tcp", addr)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return release, nil
		}
		if err != nil {
			release()
			return nil, fmt.Errorf("fill the queue: %w", err)
		}
		queued = append(queued, c)
	}
	release()
	return nil, errors.New("the kernel goes on accepting connections, with an empty queue too")
}
