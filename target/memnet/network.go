package memnet

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The ports that a network gives out by itself: to a listener that asked for
// port 0, counting up, and to the near end of the n-th dial to an address.
const (
	firstListenPort = 20000
	firstDialPort   = 32768
	dialPorts       = 65536 - firstDialPort
)

// Network is one in-process network; addresses are host:port, with any host
// name. An empty host, 0.0.0.0 and [::] listen on every name; localhost is
// 127.0.0.1. It is safe for concurrent use.
type Network struct {
	clock *clock

	mu        sync.Mutex
	listeners map[string]*listener
	dials     map[string]uint64 // number of dials so far, by address
	nextPort  int
}

// New returns an empty network whose offsets are drawn from seed.
func New(seed uint64) *Network {
	return &Network{
		clock:     newClock(seed),
		listeners: map[string]*listener{},
		dials:     map[string]uint64{},
		nextPort:  firstListenPort,
	}
}

// Listen opens a listener at addr (host:port; port 0 is replaced by a free
// one). Only the networks tcp, tcp4 and tcp6 are known. An address in use is
// syscall.EADDRINUSE.
func (n *Network) Listen(network, addr string) (net.Listener, error) {
	host, port, err := parse(network, addr)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == 0 {
		port = n.freePort(host)
	}
	l := newListener(n, host, port)
	if _, taken := n.listeners[l.key]; taken {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	n.listeners[l.key] = l
	return l, nil
}

// freePort returns the next port that nobody listens on at host. A port that
// was given out once does not come again.
func (n *Network) freePort(host string) int {
	for {
		port := n.nextPort
		n.nextPort++
		if _, taken := n.listeners[key(host, port)]; !taken {
			return port
		}
	}
}

// remove forgets a closed listener.
func (n *Network) remove(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, l.key)
}

// lookup finds who listens at an address: on that very name, or on all names.
func (n *Network) lookup(host string, port int) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l, ok := n.listeners[key(host, port)]; ok {
		return l
	}
	return n.listeners[key("", port)]
}

// DialContext connects to addr; the peer sees this end as 127.0.0.1 with a port
// that follows from how many dials to addr came before. Nobody listening there
// is syscall.ECONNREFUSED; a context that ends first is its error.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := parse(network, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	d := &dial{
		far:    address(host, port),
		result: make(chan net.Conn, 1),
	}
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: d.far, Err: err}
	}
	number := n.number(key(host, port))
	d.near = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: firstDialPort + int(number%dialPorts)}
	d.up = n.clock.newLine(key(host, port), number, 0)
	d.down = n.clock.newLine(key(host, port), number, 1)
	d.up.hop(func() { d.arrive(n.lookup(host, port)) })
	select {
	case c := <-d.result:
		if c == nil {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: d.far, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return c, nil
	case <-ctx.Done():
		d.giveUp()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: d.far, Err: ctx.Err()}
	}
}

// number counts a dial.
func (n *Network) number(key string) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := n.dials[key]
	n.dials[key]++
	return number
}

// dial is a connection in the making: a hop to the listener and one back.
type dial struct {
	near, far net.Addr
	up, down  *line
	result    chan net.Conn // nil for a refusal

	mu      sync.Mutex
	givenUp bool
}

// arrive is the first hop's end: l, which may be nil, answers.
func (d *dial) arrive(l *listener) {
	var near *conn
	if l != nil {
		var far *conn
		near, far = newPair(d)
		if !l.offer(far) {
			near = nil
		}
	}
	d.down.hop(func() { d.finish(near) })
}

// finish is the second hop's end.
func (d *dial) finish(c *conn) {
	d.mu.Lock()
	gone := d.givenUp
	if !gone && c != nil {
		d.result <- c
	} else if !gone {
		d.result <- nil
	}
	d.mu.Unlock()
	if gone && c != nil {
		_ = c.Close() // The dialler went away; its end closes at once.
	}
}

// giveUp closes the connection that came, or will come, too late.
func (d *dial) giveUp() {
	d.mu.Lock()
	d.givenUp = true
	d.mu.Unlock()
	select {
	case c := <-d.result:
		if c != nil {
			_ = c.Close() // Nobody has used it.
		}
	default:
	}
}

// parse splits an address and brings its host to one form.
func parse(network, addr string) (host string, port int, err error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return "", 0, net.UnknownNetworkError(network)
	}
	host, number, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(number)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, &net.AddrError{Err: "port must be a number from 0 to 65535", Addr: addr}
	}
	switch host = strings.ToLower(host); host {
	case "0.0.0.0", "::":
		host = ""
	case "localhost":
		host = "127.0.0.1"
	}
	return host, port, nil
}

func key(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// address is a *net.TCPAddr where that can say it, since servers look for one.
func address(host string, port int) net.Addr {
	if host == "" {
		return &net.TCPAddr{IP: net.IPv6unspecified, Port: port}
	}
	if ip := net.ParseIP(host); ip != nil {
		return &net.TCPAddr{IP: ip, Port: port}
	}
	return name(key(host, port))
}

// name is the address of a host that is not a number.
type name string

func (name) Network() string  { return "tcp" }
func (n name) String() string { return string(n) }
