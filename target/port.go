package target

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that FreePort chooses from. They lie below the range from which
// systems take the source ports of outgoing connections, so that between release
// and the launched process's own bind no connection of the load can take the port.
const (
	lowestPort  = 15000
	highestPort = 32000
	portTries   = 200
)

// FreePort finds a TCP port of 127.0.0.1 that nobody listens on and keeps it until
// release is called, which has to be before the process that is to use it starts.
// From then on the port is free for anybody.
func FreePort(ctx context.Context) (port int, release func() error, err error) {
	var lc net.ListenConfig
	var last error
	for range portTries {
		if last = ctx.Err(); last != nil {
			break // Listen does not look at it for a literal address.
		}
		port = lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close, nil
		}
		last = err
	}
	return 0, nil, fmt.Errorf("find a free port of 127.0.0.1 from %d to %d: %w", lowestPort, highestPort, last)
}
